"""A small reference prover: the proof of a .zkey and a .wtns with blinding that the caller picks.

It exists to make, and to re-check, the ``proof_rR_sS.json`` files: what any prover must output,
number for number, for those files and that blinding. It shares no code with the package or with
its oracles: the files are read with ``struct``, field arithmetic is Python ints, and only the five
multi-scalar multiplications come from a library (zksnake, built on arkworks).

The method is snarkjs's own. With w a primitive n-th root of unity and v^2 = w:

* A, B on the n-th roots from the coefficients in the key; C = A * B there, point by point;
* each of the three interpolated, then evaluated at the odd 2n-th roots v^(2i+1);
* P_i = A_i * B_i - C_i there. P vanishes on the n-th roots, so P(tau) is a combination of these n
  values with weights L_(2i+1)(tau), and those, over delta and in G1, are the key's H points.

Usage: ``python make_golden.py [--blinding R,S] [--check] FOLDER...``; a folder NAME holds NAME.zkey
and NAME.wtns. ``--check`` writes nothing and compares with the files that are there.
"""

from __future__ import annotations

import argparse
import json
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zksnake._algebra import ec_bls12_381, ec_bn254

# The smallest quadratic non-residue of both scalar fields, from which snarkjs takes its roots of unity.
NON_RESIDUE = 5


@dataclass(frozen=True)
class CurveInfo:
    """What differs between the two curves: the name in the JSON files, and the library's module."""

    name: str
    library: Any


# By the size in bytes of a base field element.
CURVES = {32: CurveInfo("bn128", ec_bn254), 48: CurveInfo("bls12381", ec_bls12_381)}


def sections(path: Path, magic: bytes) -> dict[int, bytes]:
    """Split an iden3 container file into its sections, by id; they may stand in any order."""
    data = path.read_bytes()
    if data[:4] != magic:
        raise ValueError(f"{path}: magic {data[:4]!r}, expected {magic!r}")
    (count,) = struct.unpack_from("<I", data, 8)
    offset, found = 12, {}
    for _ in range(count):
        kind, size = struct.unpack_from("<IQ", data, offset)
        offset += 12
        found[kind] = data[offset : offset + size]
        offset += size
    if offset != len(data):
        raise ValueError(f"{path}: sections end at byte {offset}, the file at {len(data)}")
    return found


class Zkey:
    """A Groth16 proving key as snarkjs stores it; coordinates leave Montgomery form on the way in.

    Attributes:
        curve: Name and library module.  q, r: moduli of base and scalar field.
        num_variables, num_public, domain_size: Sizes; num_public leaves the constant 1 out.
        coefficients: (matrix 0 = A or 1 = B, row, variable, value) with the value in normal form.
    """

    def __init__(self, path: Path) -> None:
        self._sections = sections(path, b"zkey")
        header = self._sections[2]
        (self._width,) = struct.unpack_from("<I", header, 0)
        self.curve = CURVES[self._width]
        position = 4 + self._width
        self.q = int.from_bytes(header[4:position], "little")
        self.r = int.from_bytes(header[position + 4 : position + 36], "little")
        sizes = struct.unpack_from("<III", header, position + 36)
        self.num_variables, self.num_public, self.domain_size = sizes
        self._from_mont = pow(1 << (8 * self._width), -1, self.q)
        points = header[position + 48 :]
        one, two = 2 * self._width, 4 * self._width
        self.alpha_g1 = self._g1(points[:one])
        self.beta_g1 = self._g1(points[one : 2 * one])
        self.beta_g2 = self._g2(points[2 * one : 2 * one + two])
        # gamma_g2 stands here; a prover has no use for it.
        self.delta_g1 = self._g1(points[2 * one + 2 * two : 3 * one + 2 * two])
        self.delta_g2 = self._g2(points[3 * one + 2 * two :])
        # A stored coefficient is value * 2^512 mod r, so that the product with a plain witness value,
        # reduced once by 2^256, is in Montgomery form.
        unscale = pow(1 << 512, -1, self.r)
        raw = self._sections[4]
        (count,) = struct.unpack_from("<I", raw, 0)
        self.coefficients = [
            (matrix, row, variable, int.from_bytes(value, "little") * unscale % self.r)
            for matrix, row, variable, value in struct.iter_unpack("<III32s", raw[4 : 4 + 44 * count])
        ]

    def _coordinates(self, raw: bytes) -> list[int]:
        width = self._width
        return [
            int.from_bytes(raw[i : i + width], "little") * self._from_mont % self.q
            for i in range(0, len(raw), width)
        ]

    def _g1(self, raw: bytes) -> Any:
        coordinates = self._coordinates(raw)
        return self.curve.library.PointG1(*coordinates) if any(coordinates) else None

    def _g2(self, raw: bytes) -> Any:
        coordinates = self._coordinates(raw)
        return self.curve.library.PointG2(*coordinates) if any(coordinates) else None

    def g1_query(self, section: int) -> list[Any]:
        """Points of a G1 section; None stands for infinity."""
        raw, size = self._sections[section], 2 * self._width
        return [self._g1(raw[i : i + size]) for i in range(0, len(raw), size)]

    def g2_query(self, section: int) -> list[Any]:
        """Points of a G2 section; None stands for infinity."""
        raw, size = self._sections[section], 4 * self._width
        return [self._g2(raw[i : i + size]) for i in range(0, len(raw), size)]


def read_witness(path: Path, r: int) -> list[int]:
    """Witness values in normal form; refuses a file of another field."""
    found = sections(path, b"wtns")
    (width,) = struct.unpack_from("<I", found[1], 0)
    if int.from_bytes(found[1][4 : 4 + width], "little") != r:
        raise ValueError(f"{path}: the witness is over another field than the key")
    return [int.from_bytes(found[2][i : i + width], "little") for i in range(0, len(found[2]), width)]


def transform(values: list[int], root: int, r: int) -> list[int]:
    """sum_j values[j] * root^(i*j) for every i, by halving; len(values) is a power of two."""
    if len(values) == 1:
        return values
    even = transform(values[0::2], root * root % r, r)
    odd = transform(values[1::2], root * root % r, r)
    low, high, power = [], [], 1
    for a, b in zip(even, odd, strict=True):
        term = b * power % r
        low.append((a + term) % r)
        high.append((a - term) % r)
        power = power * root % r
    return low + high


def quotient_values(key: Zkey, witness: list[int]) -> list[int]:
    """P = A*B - C at the odd 2n-th roots of unity."""
    r, n = key.r, key.domain_size
    rows = [[0] * n, [0] * n]
    for matrix, row, variable, value in key.coefficients:
        rows[matrix][row] = (rows[matrix][row] + value * witness[variable]) % r
    product = [a * b % r for a, b in zip(*rows, strict=True)]
    v = pow(NON_RESIDUE, (r - 1) // (2 * n), r)
    w = v * v % r
    shifted = []
    for values in (*rows, product):
        coefficients = transform(values, pow(w, -1, r), r)
        scale = pow(n, -1, r)
        for i in range(n):
            coefficients[i] = coefficients[i] * scale % r
            scale = scale * v % r
        shifted.append(transform(coefficients, w, r))
    return [(a * b - c) % r for a, b, c in zip(*shifted, strict=True)]


def combine(multiply: Any, zero: Any, points: list[Any], scalars: list[int]) -> Any:
    """Multi-scalar multiplication that leaves out infinity and zero; the lengths must agree."""
    pairs = [(p, s) for p, s in zip(points, scalars, strict=True) if p is not None and s]
    return multiply([p for p, _ in pairs], [s for _, s in pairs]) if pairs else zero


def prove(key: Zkey, witness: list[int], r_blind: int, s_blind: int) -> dict[str, Any]:
    """The proof with the given blinding, as the object that snarkjs writes to proof.json."""
    if len(witness) != key.num_variables or witness[0] != 1:
        raise ValueError(f"witness of {len(witness)} values for a key of {key.num_variables} variables")
    library = key.curve.library
    zero_g1, zero_g2 = key.alpha_g1 * 0, key.beta_g2 * 0

    def msm_g1(section: int, scalars: list[int]) -> Any:
        return combine(library.multiscalar_mul_g1, zero_g1, key.g1_query(section), scalars)

    pi_a = msm_g1(5, witness) + key.alpha_g1 + key.delta_g1 * r_blind
    b_g1 = msm_g1(6, witness) + key.beta_g1 + key.delta_g1 * s_blind
    b_sum = combine(library.multiscalar_mul_g2, zero_g2, key.g2_query(7), witness)
    pi_b = b_sum + key.beta_g2 + key.delta_g2 * s_blind
    pi_c = msm_g1(8, witness[key.num_public + 1 :]) + msm_g1(9, quotient_values(key, witness))
    pi_c = pi_c + pi_a * s_blind + b_g1 * r_blind + key.delta_g1 * (-r_blind * s_blind % key.r)
    return {
        "pi_a": [str(pi_a.x), str(pi_a.y), "1"],
        "pi_b": [[str(c) for c in pi_b.x], [str(c) for c in pi_b.y], ["1", "0"]],
        "pi_c": [str(pi_c.x), str(pi_c.y), "1"],
        "protocol": "groth16",
        "curve": key.curve.name,
    }


def process(folder: Path, r_blind: int, s_blind: int, check: bool) -> bool:
    """Make or check the golden files of one folder; False if a check found a difference."""
    key = Zkey(folder / f"{folder.name}.zkey")
    witness = read_witness(folder / f"{folder.name}.wtns", key.r)
    made = {
        f"proof_r{r_blind}_s{s_blind}.json": prove(key, witness, r_blind, s_blind),
        f"public_r{r_blind}_s{s_blind}.json": [str(value) for value in witness[1 : key.num_public + 1]],
    }
    same = True
    for name, value in made.items():
        if check:
            equal = json.loads((folder / name).read_text()) == value
            same = same and equal
            print(f"{folder.parent.name}/{folder.name}/{name}: {'equal' if equal else 'DIFFERENT'}")
        else:
            (folder / name).write_text(json.dumps(value, indent=1) + "\n")
            print(f"{folder.parent.name}/{folder.name}/{name}: written")
    return same


def main() -> int:
    """Command line; exit status 1 if a check found a difference."""
    parser = argparse.ArgumentParser(description="Make or check proofs with known blinding.")
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--blinding", default="7,11", metavar="R,S")
    parser.add_argument("--check", action="store_true", help="compare with the files that are there")
    options = parser.parse_args()
    r_blind, s_blind = (int(part) for part in options.blinding.split(","))
    results = [process(folder.resolve(), r_blind, s_blind, options.check) for folder in options.folders]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
