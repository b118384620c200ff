"""Compiled circuits on disk (.pce, "pre-compiled circuit"): versioned, checksummed, memory-mapped in place.

The layout is that of our key file: start, header in JSON, arrays. The tables of all pieces follow one another in one
array per kind of table; the first array says how long each piece's share is. The reader checks that all counts fit
the arrays, so that no piece reaches outside; what the tables say is covered by checksums here, and is checked before a
device may follow them.

A file is found by name: `pce_name` has the circuit's name and a hash of the code that made it, so that a changed
circuit is never taken from an old file.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cuzk.curves import Curve, get_curve
from cuzk.errors import FormatError, InputError
from cuzk.formats.array_file import ArrayFile, write_arrays
from cuzk.formats.atomic import PathLike, atomic_write
from cuzk.formats.container import ByteArray, map_file
from cuzk.formats.strict_json import Fields, parse_json
from cuzk.limbs import first_not_below
from cuzk.pieces import CompiledCircuit, Instances, LocalRows, Piece, Program

__all__ = ["PceInfo", "cached_circuit", "code_digest", "load_pce", "pce_name", "save_pce"]

_REMEDY = "the file is damaged: delete it, it is made again when the circuit is compiled"
_PCE_FILE = ArrayFile(
    b"cuzk-pce", 1, "a compiled circuit", "compiled circuit", _REMEDY, frozenset({"u8", "u4", "i4"})
)

_COUNTS = ("num_inputs", "num_aux", "num_rows", "num_hints")
_TEXTS = ("curve", "circuit", "code")
_MAX_COUNT = 1 << 40
_MOST_OF_A_PIECE = 1 << 32
#: Columns of the table of sizes.
_SIZES = (
    "num_bound", "num_inputs", "num_aux", "num_hints", "num_rows", "terms of A", "terms of B", "terms of C", "bundles",
    "operands", "sum_terms", "linear_terms", "instances",
)  # fmt: skip
_BOUND, _INSTANCES = 0, 12
_LETTERS = ("A", "B", "C")
#: What a name of a file does not keep of a circuit's name.
_PLAIN = re.compile(r"[^A-Za-z0-9.-]+")


@dataclass(frozen=True)
class PceInfo:
    """What a file says of itself.

    Args:
        circuit: Name of the circuit.
        code: Hash of the code that made it, 64 hexadecimal digits; see code_digest.
    """

    circuit: str
    code: str


def code_digest(*roots: PathLike) -> str:
    """A hash of all Python files under some directories: their places and their bytes.

    Args:
        roots: Directories, such as those of the packages with circuits and with the front end, or single files.

    Returns:
        64 hexadecimal digits.
    """
    digest = hashlib.blake2b(digest_size=32)
    for root in map(Path, roots):
        for place in sorted(root.rglob("*.py")) if root.is_dir() else [root]:
            content = place.read_bytes()
            name = (place.relative_to(root.parent)).as_posix().encode()
            digest.update(len(name).to_bytes(8, "little") + name)
            digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()


def pce_name(circuit: str, code: str) -> str:
    """The name of a file: readable, and different for each circuit and each code.

    >>> pce_name("por:poseidon:8-0-0:64:public", "ab" * 32)
    'por_poseidon_8-0-0_64_public-fd44ec4e78699720.pce'
    """
    digest = hashlib.blake2b(f"{circuit}\n{code}".encode(), digest_size=8).hexdigest()
    return f"{_PLAIN.sub('_', circuit)[:80]}-{digest}.pce"


def save_pce(path: PathLike, circuit: CompiledCircuit, info: PceInfo, *, overwrite: bool = False) -> None:
    """Write a compiled circuit; the file appears under its name only when it is complete and on disk.

    Args:
        path: Target.
        circuit: All of it.
        info: Its name, and what made it.
        overwrite: Whether an existing file may be replaced.

    Raises:
        InputError: The target exists, or its directory is not writable.
    """
    facts = {
        "curve": circuit.curve.name,
        "circuit": info.circuit,
        "code": info.code,
        **{name: getattr(circuit, name) for name in _COUNTS},
    }
    with atomic_write(path, overwrite=overwrite) as file:
        write_arrays(file, _PCE_FILE, facts, _arrays(circuit))


def _sizes(piece: Piece) -> list[int]:
    """A piece's row of the table of sizes."""
    program = piece.program
    tables = (program.bundles, program.operands, program.sum_terms, program.linear_terms, piece.instances)
    return [
        *(piece.num_bound, piece.num_inputs, piece.num_aux, piece.num_hints, piece.num_rows),
        *(len(side.var) for side in piece.rows),
        *(len(table) for table in tables),
    ]


def _parts(piece: Piece) -> Iterator[tuple[str, NDArray[Any]]]:
    """All tables of a piece by the names of the arrays that they are in, in the order of the file."""
    for letter, side in zip(_LETTERS, piece.rows, strict=True):
        for name in ("row_ptr", "var", "coeff"):
            yield f"{letter}.{name}", getattr(side, name)
    for name in ("bundles", "operands", "sum_terms", "linear_terms"):
        yield name, getattr(piece.program, name)
    for name in ("row_base", "aux_base", "input_base", "hint_base", "level"):
        yield name, getattr(piece.instances, name)
    yield "bindings", piece.instances.bindings.reshape(-1)


def _arrays(circuit: CompiledCircuit) -> dict[str, NDArray[Any]]:
    """All arrays of a file."""
    sizes = np.array([_sizes(piece) for piece in circuit.pieces], dtype=np.uint64)
    joined: dict[str, list[NDArray[Any]]] = {name: [] for name in _LAYOUT}
    for piece in circuit.pieces:
        for name, array in _parts(piece):
            joined[name].append(array)
    return {
        "sizes": sizes.reshape(-1, len(_SIZES)),
        "dictionary": circuit.dictionary,
        **{
            name: np.concatenate([np.zeros((0, *axes), np.dtype(f"<{dtype}")), *joined[name]])
            for name, (dtype, axes, _) in _LAYOUT.items()
        },
    }


#: Array -> its type, its axes after the first, and the column of the table of sizes that says how many entries a piece
#: has; one more for row_ptr, times num_bound for bindings.
_LAYOUT: dict[str, tuple[str, tuple[int, ...], int]] = {
    **{f"{letter}.row_ptr": ("u4", (), 4) for letter in _LETTERS},
    **{f"{letter}.var": ("i4", (), 5 + i) for i, letter in enumerate(_LETTERS)},
    **{f"{letter}.coeff": ("u4", (), 5 + i) for i, letter in enumerate(_LETTERS)},
    "bundles": ("i4", (4,), 8),
    "operands": ("i4", (4,), 9),
    "sum_terms": ("i4", (2,), 10),
    "linear_terms": ("i4", (2,), 11),
    **dict.fromkeys(("row_base", "aux_base", "input_base", "hint_base"), ("u8", (), _INSTANCES)),
    "level": ("u4", (), _INSTANCES),
    "bindings": ("i4", (), _INSTANCES),
}


def load_pce(path: PathLike, *, verify: bool = True) -> tuple[CompiledCircuit, PceInfo]:
    """Map a compiled circuit into memory.

    Args:
        path: A file written by save_pce.
        verify: Whether arrays are compared with their checksums, which reads the whole file. Start, header, layout and
            counts are always checked.

    Returns:
        The circuit, whose arrays are read-only views of the file, and what the file says of itself.

    Raises:
        FormatError: The file is damaged or no compiled circuit; the message names the section.
        CurveMismatchError: Unknown curve.
    """
    data = map_file(path)
    text = _PCE_FILE.header(path, data)
    fields = Fields(parse_json(text, path), path, frozenset({*_COUNTS, *_TEXTS, "sections"}))
    curve = get_curve(fields.text("curve"))
    num_inputs, num_aux, num_rows, num_hints = (fields.count(name, _MAX_COUNT) for name in _COUNTS)
    arrays = _read_arrays(path, data, fields, len(text), verify=verify)
    _check_dictionary(path, curve, arrays["dictionary"])
    pieces = _Pieces(path, arrays).all()
    circuit = CompiledCircuit(curve, num_inputs, num_aux, num_rows, num_hints, arrays["dictionary"], pieces)
    return circuit, PceInfo(fields.text("circuit"), fields.text("code"))


def cached_circuit(
    directory: PathLike,
    name: str,
    code: str,
    compile_it: Callable[[], CompiledCircuit],
    check: Callable[[CompiledCircuit], None] | None = None,
) -> CompiledCircuit:
    """A compiled circuit from a directory of files; made and put there where it is missing or damaged.

    Args:
        directory: Where the files are; made if need be. Where it cannot be written, nothing is kept.
        name: Name of the circuit.
        code: Hash of the code that makes it.
        compile_it: Makes it.
        check: Raises an InputError where a circuit from a file contradicts itself: it is then made again.
    """
    path = Path(directory) / pce_name(name, code)
    info = PceInfo(name, code)
    if path.exists():
        with contextlib.suppress(InputError):
            circuit, found = load_pce(path)
            if found == info:
                if check is not None:
                    check(circuit)
                return circuit
    circuit = compile_it()
    with contextlib.suppress(OSError, InputError):
        path.parent.mkdir(parents=True, exist_ok=True)
        save_pce(path, circuit, info, overwrite=True)
    return circuit


def _damage(path: PathLike, section: str, what: str, limit: str) -> FormatError:
    return FormatError(what, path=path, section=section, limit=limit, remedy=_REMEDY)


def _read_arrays(
    path: PathLike, data: ByteArray, fields: Fields, header_bytes: int, *, verify: bool
) -> dict[str, NDArray[Any]]:
    """All arrays, each of its type and number of axes."""
    expected: dict[str, tuple[str, tuple[int, ...] | None]]
    expected = {"sizes": ("u8", (len(_SIZES),)), "dictionary": ("u8", None)}
    expected |= {name: (dtype, axes) for name, (dtype, axes, _) in _LAYOUT.items()}
    sections = _PCE_FILE.sections(path, fields, header_bytes, len(data))
    if list(sections) != list(expected):
        raise _damage(path, "header", "the list of arrays is wrong", ", ".join(expected))
    arrays = {}
    for name, section in sections.items():
        dtype, axes = expected[name]
        if section.dtype != dtype or not section.shape or section.shape[1:] != (axes or section.shape[1:]):
            what = f"an array of shape {section.shape} and type {section.dtype}"
            raise _damage(path, name, what, f"{dtype}, axes after the first: {axes}")
        arrays[name] = _PCE_FILE.array(path, data, section)
        if verify:
            _PCE_FILE.check_digest(path, section, arrays[name])
    return arrays


def _check_dictionary(path: PathLike, curve: Curve, dictionary: NDArray[Any]) -> None:
    if dictionary.shape[1:] != (curve.fr.limbs,):
        raise _damage(
            path, "dictionary", f"coefficients of shape {dictionary.shape}", f"{curve.fr.limbs} limbs each"
        )
    bad = first_not_below(dictionary, curve.r)
    if bad is not None:
        raise _damage(path, "dictionary", f"coefficient {bad} is not reduced", f"r = {curve.r}")


class _Pieces:
    """Takes the arrays apart again, piece by piece."""

    def __init__(self, path: PathLike, arrays: dict[str, NDArray[Any]]) -> None:
        self._path, self._arrays = path, arrays
        self._sizes: list[list[int]] = arrays["sizes"].tolist()
        self._done = dict.fromkeys(_LAYOUT, 0)

    def all(self) -> tuple[Piece, ...]:
        """All pieces, which together use up every array."""
        pieces = tuple(self._piece(sizes) for sizes in self._sizes)
        for name, done in self._done.items():
            if done != len(self._arrays[name]):
                raise _damage(
                    self._path, name, f"{len(self._arrays[name])} entries", f"{done} by the table of sizes"
                )
        return pieces

    def _take(self, name: str, sizes: list[int]) -> NDArray[Any]:
        """A piece's share of an array."""
        count = sizes[_LAYOUT[name][2]]
        count = count + 1 if name.endswith("row_ptr") else count
        count = count * sizes[_BOUND] if name == "bindings" else count
        first, array = self._done[name], self._arrays[name]
        if count > len(array) - first:
            what = f"a piece has {count} entries from {first} on"
            raise _damage(self._path, name, what, f"{len(array)} entries")
        self._done[name] = first + count
        return array[first : first + count]

    def _piece(self, sizes: list[int]) -> Piece:
        if max(sizes) >= _MOST_OF_A_PIECE:  # a table without entries may have such an axis
            limit = f"fewer than {_MOST_OF_A_PIECE} entries or variables"
            raise _damage(self._path, "sizes", f"a piece of {max(sizes)} entries or variables", limit)
        parts = {name: self._take(name, sizes) for name in _LAYOUT}
        a, b, c = (
            LocalRows(parts[f"{letter}.row_ptr"], parts[f"{letter}.var"], parts[f"{letter}.coeff"])
            for letter in _LETTERS
        )
        num_bound, num_inputs, num_aux, num_hints, *_ = sizes
        instances = Instances(
            parts["row_base"],
            parts["aux_base"],
            parts["input_base"],
            parts["hint_base"],
            parts["bindings"].reshape(sizes[_INSTANCES], num_bound),
            parts["level"],
        )
        program = Program(parts["bundles"], parts["operands"], parts["sum_terms"], parts["linear_terms"])
        return Piece(num_bound, num_inputs, num_aux, num_hints, (a, b, c), program, instances)
