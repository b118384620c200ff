"""Small valid files of every kind that is read, to be damaged: circuits, witnesses, keys; and those of more_files."""

from __future__ import annotations

import functools
import struct
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cuzk_oracles import samples
from cuzk_oracles.qap import R1CS as OracleR1CS

from cuzk.curves import Curve, get_curve
from cuzk.formats import load_zkey, save_cuzk_key
from cuzk.limbs import points_from_ints
from cuzk_fuzz.subjects import Term, subject
from cuzk_fuzz.targets.more_files import MAKERS

KINDS = ("r1cs", "wtns", "zkey", "key", *MAKERS)
CURVE_NAMES = ("bn254", "bls12_381")

Section = tuple[int, bytes]


def le(value: int, nbytes: int) -> bytes:
    """A little-endian number."""
    return value.to_bytes(nbytes, "little")


def container(magic: bytes, version: int, sections: Sequence[Section]) -> bytes:
    """Magic, version, number of sections, then id, size and content of each."""
    head = magic + struct.pack("<II", version, len(sections))
    return head + b"".join(struct.pack("<IQ", i, len(content)) + content for i, content in sections)


def _system(curve: Curve, seed: int) -> tuple[OracleR1CS, list[int]]:
    return samples.random_r1cs(seed, curve.r, 3, 1, 4)


def _r1cs(curve: Curve, seed: int) -> bytes:
    system, _ = _system(curve, seed)
    n8 = curve.fr.nbytes
    header = le(n8, 4) + le(curve.r, n8)
    header += struct.pack(
        "<IIIIQI", system.num_variables, 1, 0, 2, system.num_variables, system.num_constraints
    )
    body = b""
    for rows in zip(system.a, system.b, system.c, strict=True):
        for row in rows:
            body += le(len(row), 4) + b"".join(le(column, 4) + le(value, n8) for column, value in row)
    labels = b"".join(le(i, 8) for i in range(system.num_variables))
    return container(b"r1cs", 1, [(2, body), (1, header), (3, labels)])


def _wtns(curve: Curve, seed: int) -> bytes:
    _, w = _system(curve, seed)
    n8 = curve.fr.nbytes
    header = le(n8, 4) + le(curve.r, n8) + le(len(w), 4)
    return container(b"wtns", 2, [(1, header), (2, b"".join(le(value, n8) for value in w))])


def _zkey(curve: Curve, seed: int) -> bytes:
    """A key whose points are small multiples of the generators: readers do not know what they should be."""
    system, _ = _system(curve, seed)
    n8, r, variables = curve.fr.nbytes, curve.r, system.num_variables
    g1, g2 = subject(f"{curve.name}_g1"), subject(f"{curve.name}_g2")

    def points(group: Any, first: int, count: int) -> bytes:
        terms = [Term((first + i) % 60 + 1) for i in range(count)]
        return points_from_ints(group.spec, [group.point(term) for term in terms]).astype("<u8").tobytes()

    log_n = (system.num_constraints + system.num_public).bit_length()
    fp = curve.fp
    header = le(fp.nbytes, 4) + le(curve.p, fp.nbytes) + le(n8, 4) + le(r, n8)
    header += struct.pack("<III", variables, system.num_public, 1 << log_n)
    header += points(g1, 1, 2) + points(g2, 3, 2) + points(g1, 5, 1) + points(g2, 5, 1)
    entries = [(m, i, col, v) for m, rows in enumerate((system.a, system.b)) for i, row in enumerate(rows)
               for col, v in row]  # fmt: skip
    entries += [(0, system.num_constraints + j, j, 1) for j in range(system.num_public + 1)]
    stored = [
        struct.pack("<III", m, i, col) + le(v * pow(2, 128 * n8 // 8, r) % r, n8) for m, i, col, v in entries
    ]
    private = variables - system.num_public - 1
    return container(b"zkey", 1, [
        (1, le(1, 4)), (2, header), (4, le(len(stored), 4) + b"".join(stored)),
        (3, points(g1, 10, system.num_public + 1)), (9, points(g1, 20, 1 << log_n)), (8, points(g1, 30, private)),
        (5, points(g1, 40, variables)), (6, points(g1, 50, variables)), (7, points(g2, 50, variables)),
        (10, bytes(64) + le(0, 4)),
    ])  # fmt: skip


def _key(curve: Curve, seed: int) -> bytes:
    """The same key in cuzk's own format."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        source, target = Path(folder, "seed.zkey"), Path(folder, "seed.cuzk")
        source.write_bytes(_zkey(curve, seed))
        save_cuzk_key(target, load_zkey(source))
        return target.read_bytes()


@functools.cache
def seed_file(kind: str, curve_name: str, seed: int) -> bytes:
    """A valid file of a kind."""
    make = {"r1cs": _r1cs, "wtns": _wtns, "zkey": _zkey, "key": _key, **MAKERS}[kind]
    return make(get_curve(curve_name), seed)
