"""File readers: damaged files are refused by name, and what is accepted reads the same by a second parser.

A row of answers is one verdict: 0 as it should be, 1 an error that is not one of ours, 2 accepted and read
otherwise than by the second parser, 3 accepted although the second parser refuses, 4 a valid file refused.
"""

from __future__ import annotations

import functools
import itertools
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from cuzk_oracles import parsers
from cuzk_oracles.spmv import Row

from cuzk.csr import CsrMatrix
from cuzk.device import Device
from cuzk.errors import InputError
from cuzk.formats import load_cuzk_key, load_r1cs, load_witness, load_zkey
from cuzk.keys import ProvingKey
from cuzk.limbs import fr_to_ints, points_to_ints
from cuzk_fuzz.batch import Batch, Rows, Scope
from cuzk_fuzz.choices import Choices
from cuzk_fuzz.targets.more_files import READINGS
from cuzk_fuzz.targets.seed_files import CURVE_NAMES, KINDS, seed_file

_SEEDS = 3
_WORDS = (0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF)

#: How a file differs from the valid one it was made from.
DAMAGES = ("R.valid", "R.truncated", "R.one_byte", "R.one_word", "R.several_words", "R.longer", "R.shorter")


def _damage(choices: Choices, data: bytes) -> bytes:
    """One to three changes."""
    for _ in range(choices.between(1, 3)):
        at = choices.below(len(data) + 1)
        aligned = at & ~3
        kind = choices.below(9)
        if kind == 0:
            return data
        if kind == 1:
            data = data[:at]
        elif kind == 2:
            data = data[:at] + bytes([choices.take(1)[0]]) + data[at + 1 :]
        elif kind == 3:
            data = data[:aligned] + choices.pick(_WORDS).to_bytes(4, "little") + data[aligned + 4 :]
        elif kind == 4:
            old = int.from_bytes(data[aligned : aligned + 4], "little")
            new = (old + choices.pick((1, -1, 2, 256))) & 0xFFFFFFFF
            data = data[:aligned] + new.to_bytes(4, "little") + data[aligned + 4 :]
        elif kind == 5:
            data = data[:aligned] + b"\xff" * choices.pick((8, 32, 48)) + data[aligned + 8 :]
        elif kind == 6:
            data = data[:at] + choices.take(choices.between(1, 16)) + data[at:]
        elif kind == 7:
            data = data[:at] + data[at + choices.between(1, 16) :]
        else:
            other = choices.below(len(data) + 1)
            low, high = sorted((at, other))
            data = data[:low] + data[high:] + data[low:high]
        if not data:
            break
    return data


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="cuzk_fuzz_")


_names = itertools.count()


@dataclass(frozen=True)
class File:
    """A file: of which kind and curve, from which seed, and its bytes now."""

    kind: str
    curve: str
    seed: int
    data: bytes

    @property
    def valid(self) -> bytes:
        """The file it was made from."""
        return seed_file(self.kind, self.curve, self.seed)

    @property
    def damage(self) -> str:
        """Which of DAMAGES it shows."""
        old, new = self.valid, self.data
        if new == old:
            return "R.valid"
        if len(new) != len(old):
            return (
                "R.truncated" if old.startswith(new) else "R.longer" if len(new) > len(old) else "R.shorter"
            )
        changed = np.flatnonzero(np.frombuffer(old, np.uint8) != np.frombuffer(new, np.uint8)).tolist()
        if len(changed) == 1:
            return "R.one_byte"
        return "R.one_word" if changed[-1] // 4 == changed[0] // 4 else "R.several_words"


@dataclass(frozen=True, eq=False)
class ReadersBatch(Batch):
    """Files read by the reader of their kind and by a second parser."""

    target: ClassVar[str] = "readers"
    subject: str
    files: tuple[File, ...]
    op: str = "read"

    @classmethod
    def decode(cls, choices: Choices, scope: Scope) -> Self:
        """A few dozen files of one kind."""
        kind = choices.pick(KINDS)
        files = []
        for _ in choices.several(min(scope.cases, 48)):
            curve, seed = choices.pick(CURVE_NAMES), choices.below(_SEEDS)
            files.append(File(kind, curve, seed, _damage(choices, seed_file(kind, curve, seed))))
        return cls(kind, tuple(files))

    @property
    def num_cases(self) -> int:
        """Files."""
        return len(self.files)

    def answers(self, device: Device) -> Rows:  # noqa: ARG002 - readers need no device
        """A verdict a file."""
        return np.array([[_verdict(file)] for file in self.files], np.uint64)

    def expected(self) -> Rows:
        """Nothing to remark."""
        return np.zeros((self.num_cases, 1), np.uint64)

    def classes(self) -> Counter[str]:
        """Damages, by comparison with the valid files."""
        return Counter(file.damage for file in self.files)

    def keep(self, indices: Sequence[int]) -> Self:
        """Some files."""
        return replace(self, files=tuple(self.files[i] for i in indices))

    @property
    def size(self) -> tuple[int, ...]:
        """Bytes that differ from the valid file, and how much longer or shorter it is."""
        pairs = [(file.data, file.valid) for file in self.files]
        differing = sum(a != b for new, old in pairs for a, b in zip(new, old, strict=False))
        return sum(abs(len(new) - len(old)) for new, old in pairs), differing

    def smaller(self) -> Iterator[Self]:
        """Single differences undone."""
        if self.num_cases != 1:
            return
        (file,) = self.files
        old, new = file.valid, file.data
        for i in range(min(len(old), len(new))):
            if old[i] != new[i]:
                yield replace(self, files=(replace(file, data=new[:i] + old[i : i + 1] + new[i + 1 :]),))
        if len(new) < len(old):
            yield replace(self, files=(replace(file, data=new + old[len(new) : len(new) + 1]),))

    def to_json(self) -> dict[str, Any]:
        """Files in hexadecimal."""
        files = [
            {"curve": f.curve, "seed": f.seed, "damage": f.damage, "bytes": f.data.hex()} for f in self.files
        ]
        return {"target": self.target, "subject": self.subject, "op": self.op, "inputs": {"files": files}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of to_json."""
        kind = data["subject"]
        files = [
            File(kind, f["curve"], f["seed"], bytes.fromhex(f["bytes"])) for f in data["inputs"]["files"]
        ]
        return cls(kind, tuple(files))


def _normal(rows: Sequence[Row], r: int) -> list[dict[int, int]]:
    """Rows as sums by column without zeros; trailing empty rows do not count."""
    result: list[dict[int, int]] = []
    for row in rows:
        sums: dict[int, int] = {}
        for column, value in row:
            sums[column] = (sums.get(column, 0) + value) % r
        result.append({column: value for column, value in sums.items() if value})
    while result and not result[-1]:
        result.pop()
    return result


def _rows(matrix: CsrMatrix) -> list[Row]:
    dictionary = fr_to_ints(matrix.curve, matrix.dictionary)
    bounds = matrix.row_ptr.tolist()
    return [
        [(int(matrix.col[k]), dictionary[int(matrix.coeff[k])]) for k in range(bounds[i], bounds[i + 1])]
        for i in range(matrix.num_rows)
    ]


def _first_r1cs(path: Path) -> Any:
    x = load_r1cs(path)
    return x.num_variables, x.num_public, [_normal(_rows(m), x.curve.r) for m in x.matrices.values()]


def _second_r1cs(data: bytes) -> Any:
    file = parsers.parse_r1cs(data)
    x = file.r1cs
    return x.num_variables, x.num_public, [_normal(rows, file.prime) for rows in (x.a, x.b, x.c)]


def _first_zkey(path: Path) -> Any:
    return _key_content(load_zkey(path))


def _key_content(key: ProvingKey) -> Any:
    points = [
        points_to_ints(key.curve.g2 if "g2" in name else key.curve.g1, getattr(key, name))
        for name in ("ic", "a_query", "b_g1_query", "b_g2_query", "h_query", "l_query")
    ]
    return key.num_public, key.log_domain, points, [_normal(_rows(m), key.curve.r) for m in (key.a, key.b)]


def _second_zkey(data: bytes) -> Any:
    file = parsers.parse_zkey(data)
    key = file.key
    points = [key.ic, key.a_query, key.b_g1_query, key.b_g2_query, key.h_query, key.l_query]
    return key.num_public, key.log_n, points, [_normal(rows, file.params.r) for rows in (file.a, file.b)]


_READERS: dict[str, tuple[Callable[[Path], Any], Callable[[bytes], Any] | None]] = {
    "r1cs": (_first_r1cs, _second_r1cs),
    "wtns": (lambda path: load_witness(path).to_ints(), lambda data: parsers.parse_wtns(data).witness),
    "zkey": (_first_zkey, _second_zkey),
    # cuzk's own format has no second parser: what is accepted must be what the checksums are of.
    "key": (lambda path: _key_content(load_cuzk_key(path, verify="all")), None),
    **READINGS,
}


def _verdict(file: File) -> int:
    """0 if all is well; see the module's docstring."""
    first, second = _READERS[file.kind]
    path = Path(_folder().name, f"{next(_names)}.{file.kind}")
    path.write_bytes(file.data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            content = first(path)
    except InputError:
        return 4 if file.data == file.valid else 0
    except Exception:  # noqa: BLE001 - any other error is what this looks for
        return 1
    finally:
        path.unlink()
    if second is None:
        return 0 if content == _content_of_seed(file.kind, file.curve, file.seed) else 2
    try:
        return 0 if content == second(file.data) else 2
    except parsers.ParseError:
        return 3


@functools.cache
def _content_of_seed(kind: str, curve: str, seed: int) -> Any:
    path = Path(_folder().name, f"{next(_names)}.{kind}")
    path.write_bytes(seed_file(kind, curve, seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        content = _READERS[kind][0](path)
    path.unlink()
    return content
