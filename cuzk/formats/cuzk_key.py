"""Our own key file: versioned, checksummed, memory-mapped in place.

A fixed start of 64 bytes (magic, version, length and BLAKE2b-256 of the header), a header in JSON that says
what the key is and where each array lies, then the arrays, each at a multiple of 4096 bytes, in the memory
form that DESIGN's data table fixes, so that loading is a mapping and nothing is converted. Every byte is in
docs/formats.md.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, BinaryIO, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from cuzk.compiled_rows import UnwrittenMatrix
from cuzk.csr import CsrMatrix
from cuzk.curves import Curve
from cuzk.errors import FormatError, RangeError
from cuzk.formats.array_file import Section, write_arrays
from cuzk.formats.atomic import PathLike, atomic_write
from cuzk.formats.container import ByteArray, map_file, naming_file
from cuzk.formats.deferred import Deferred
from cuzk.formats.key_header import KEY_FILE, REMEDY, KeyHeader, key_facts, key_file, read_header
from cuzk.keys import ProvingKey
from cuzk.limbs import first_not_below

SMALL_BYTES = 1 << 24
_MANY_ENTRIES = 1 << 18  # whose digest takes longer than starting a thread

Verify = Literal["small", "all", "none"]
_MATRIX_PARTS = ("row_ptr", "col", "coeff", "dictionary")
_NO_POINTS = frozenset(
    {"curve", "num_public", "log_domain", "h_form", "root_convention", "a", "b", "c", "compiled", "b_places"}
)
_COEFF_DTYPES = frozenset({"u1", "u2", "u4"})


def _arrays(key: ProvingKey) -> Iterator[tuple[str, NDArray[Any]]]:
    """Every array of a key in the order of the file."""
    for name, _, array in key.points():
        yield name, array
    if key.b_places is not None:
        yield "b_places", key.b_places
    for letter, matrix in key.matrices.items() if key.compiled is None else ():
        for part in _MATRIX_PARTS:
            yield f"{letter}.{part}", getattr(matrix, part)


def save_cuzk_key(path: PathLike, key: ProvingKey, *, overwrite: bool = False) -> None:
    """Write a key; the file appears under its name only when it is complete and on disk.

    Args:
        path: Target.
        key: Any proving key, from whatever source.
        overwrite: Whether an existing file may be replaced.

    Raises:
        InputError: The target exists, or its directory is not writable.
    """
    with atomic_write(path, overwrite=overwrite) as file:
        write_cuzk_key(file, key)


def cuzk_key_to_bytes(key: ProvingKey) -> bytes:
    """The bytes of ``save_cuzk_key``."""
    buffer = io.BytesIO()
    write_cuzk_key(buffer, key)
    return buffer.getvalue()


def write_cuzk_key(file: BinaryIO, key: ProvingKey) -> None:
    """Write the bytes of ``save_cuzk_key`` to an open file."""
    write_arrays(file, key_file(key.compiled is not None), key_facts(key), dict(_arrays(key)))


def load_cuzk_key(path: PathLike, *, verify: Verify = "small", strict: bool = False) -> ProvingKey:
    """Map a key into memory.

    Args:
        path: A file written by save_cuzk_key.
        verify: Which arrays are compared with their checksum and have each coordinate compared with p: those
            of at most SMALL_BYTES, all (reads the whole file), or none. The circuit digest is compared
            unless the matrices are large or verify is none. Indices are always checked.
        strict: Refuse a key nobody contributed to; else it gives a SecurityWarning.

    Returns:
        The key; its arrays are read-only views of the file.

    Raises:
        FormatError: The file is damaged or not a key; the message names the section.
        CurveMismatchError: Unknown curve.
        ShapeError, RangeError: The parts contradict each other, or the key is degenerate.
    """
    if verify not in get_args(Verify):
        raise RangeError(
            f"unknown verify mode {verify!r}",
            limit=f"one of {', '.join(get_args(Verify))}",
            remedy="pass one of these",
        )
    key, checks = _checked(path, map_file(path), verify, strict)
    checks.wait()
    return key


def map_cuzk_key(path: PathLike, *, strict: bool = False) -> tuple[ProvingKey, Deferred]:
    """Map a key into memory, and compare large arrays of points with their checksums meanwhile.

    Args:
        path: A file written by save_cuzk_key.
        strict: As in load_cuzk_key.

    Returns:
        The key, which may be used at once (what indexes memory is checked), and the checks that are still running.
        Nothing made with the key may be given out before they have been waited for.

    Raises:
        As load_cuzk_key, here or when the checks are waited for.
    """
    return _checked(path, map_file(path), "all", strict)


def cuzk_key_from_bytes(data: bytes, *, strict: bool = False) -> ProvingKey:
    """Read a key from the bytes of its file, with all checks.

    Args:
        data: What ``cuzk_key_to_bytes`` or a file gave.
        strict: As in load_cuzk_key.

    Returns:
        The key; its arrays are read-only views of data.

    Raises:
        As load_cuzk_key.
    """
    key, checks = _checked("key from bytes", np.frombuffer(data, np.uint8), "all", strict)
    checks.wait()
    return key


def _checked(path: PathLike, data: ByteArray, verify: Verify, strict: bool) -> tuple[ProvingKey, Deferred]:
    with naming_file(path):
        key, header, checks = _load(path, data, verify)
        key.check_binding_rows()
        key.check_degenerate(strict=strict)

    def check_digest() -> None:
        if key.circuit_digest != header.circuit_digest:
            raise FormatError(
                f"the matrices have the circuit digest {key.circuit_digest}",
                path=path,
                section="header",
                limit=header.circuit_digest,
                remedy=REMEDY,
            )

    nnz = 0 if key.compiled is not None else key.a.nnz + key.b.nnz
    if verify == "all" and nnz > _MANY_ENTRIES:
        checks.append(check_digest)
    elif verify == "all" or (verify == "small" and nnz <= SMALL_BYTES):
        check_digest()
    return key, Deferred(checks)


def _load(
    path: PathLike, data: ByteArray, verify: Verify
) -> tuple[ProvingKey, KeyHeader, list[Callable[[], None]]]:
    """The key, its header, and the checks of points that may wait; all others are done."""
    header = read_header(path, data)
    curve = header.curve
    arrays: dict[str, NDArray[Any]] = {}
    checks: list[Callable[[], None]] = []
    for name, section in header.sections.items():
        arrays[name] = array = KEY_FILE.array(path, data, section)
        check = partial(_check_section, path, section, array, curve)
        if section.nbytes <= SMALL_BYTES or "." in name:
            if verify == "all" or (verify == "small" and section.nbytes <= SMALL_BYTES):
                check()
        elif verify == "all":
            checks.append(check)
    matrices: dict[str, Any]
    if header.compiled is None:
        matrices = dict(_read_matrices(path, header, arrays))
    else:
        shape = (header.num_constraints + header.num_public + 1, header.num_variables)
        rows = UnwrittenMatrix(curve, shape, header.compiled)
        matrices = {"a": rows, "b": rows, "compiled": header.compiled}
    expected = {*ProvingKey.__dataclass_fields__} - _NO_POINTS
    if header.compiled is not None:
        expected |= {"b_places"}
    if arrays.keys() != expected:
        raise FormatError(
            "the list of arrays is wrong",
            path=path,
            section="header",
            limit=f"missing: {sorted(expected - arrays.keys())}, unknown: {sorted(arrays.keys() - expected)}",
            remedy=REMEDY,
        )
    # Checked by ProvingKey itself: the two words, and shape and type of each array.
    words: dict[str, Any] = {"h_form": header.h_form, "root_convention": header.root_convention}
    parts: dict[str, Any] = {**arrays, **matrices}
    key = ProvingKey(
        curve=curve,
        num_public=header.num_public,
        log_domain=header.log_domain,
        **words,
        **parts,
    )
    if key.num_constraints != header.num_constraints:
        raise FormatError(
            f"num_constraints = {header.num_constraints}",
            path=path,
            section="header",
            limit=f"{key.num_constraints} by the matrices",
            remedy=REMEDY,
        )
    return key, header, checks


def _check_section(path: PathLike, section: Section, array: NDArray[Any], curve: Curve) -> None:
    """Compare an array with its checksum, and the coordinates of points with p."""
    KEY_FILE.check_digest(path, section, array)
    if section.name.endswith(("_g1", "_g2", "query")) or section.name == "ic":
        if section.dtype != "u8" or not section.shape or section.shape[-1] != curve.fp.limbs:
            raise FormatError(
                f"points of shape {section.shape} and type {section.dtype}", path=path, section=section.name,
                limit=f"u8, the last axis of length {curve.fp.limbs}", remedy=REMEDY,
            )  # fmt: skip
        bad = first_not_below(array.reshape(-1, curve.fp.limbs), curve.p)
        if bad is not None:
            raise FormatError(
                "a coordinate is not below p",
                path=path,
                section=section.name,
                offset=section.offset + bad * curve.fp.nbytes,
                index=bad,
                limit=f"p = {curve.p}",
                remedy=REMEDY,
            )


def _read_matrices(
    path: PathLike, header: KeyHeader, arrays: dict[str, NDArray[Any]]
) -> dict[str, CsrMatrix]:
    """Take the matrix parts out of ``arrays`` and check them."""
    matrices: dict[str, CsrMatrix] = {}
    for letter in ("A", "B", "C"):
        names = [f"{letter}.{part}" for part in _MATRIX_PARTS]
        if letter == "C" and not any(name in arrays for name in names):
            continue
        for name, allowed in zip(names, ({"i8"}, {"u4"}, _COEFF_DTYPES, {"u8"}), strict=True):
            section = header.sections.get(name)
            dimensions = 2 if name.endswith("dictionary") else 1
            if section is None or section.dtype not in allowed or len(section.shape) != dimensions:
                raise FormatError(
                    "the array is missing, or of the wrong type or shape",
                    path=path,
                    section=name,
                    limit=f"{' or '.join(sorted(allowed))}, {dimensions} axes",
                    remedy=REMEDY,
                )
        row_ptr, col, coeff, dictionary = (arrays.pop(name) for name in names)
        matrix = CsrMatrix(header.curve, header.num_variables, row_ptr, col, coeff, dictionary)
        matrix.validate(f"{path}: matrix {letter}")
        matrices[letter.lower()] = matrix
    return matrices
