"""Files built from bytes by hand, sharing nothing with the writers under test.

The circuit is c = a * b: variables 1, c (public), a, b; one constraint (-a) * b = -c as circom writes it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from cuzk.curves import Curve

Sections = list[tuple[int, bytes]]
Save = Callable[[bytes], Path]


def container(magic: bytes, version: int, sections: Sections) -> bytes:
    """Magic, version, count, then id, size, content of each section."""
    out = struct.pack("<4sII", magic, version, len(sections))
    for section_id, content in sections:
        out += struct.pack("<IQ", section_id, len(content)) + content
    return out


def le(value: int, nbytes: int) -> bytes:
    """A little-endian number."""
    return value.to_bytes(nbytes, "little")


def combination(terms: list[tuple[int, int]], nbytes: int) -> bytes:
    """A linear combination of a .r1cs."""
    return struct.pack("<I", len(terms)) + b"".join(struct.pack("<I", w) + le(c, nbytes) for w, c in terms)


def r1cs_sections(curve: Curve) -> Sections:
    """Sections of the example circuit, in circom's order 2, 1, 3."""
    n8, r = curve.fr.nbytes, curve.r
    header = le(n8, 4) + le(r, n8) + struct.pack("<IIIIQI", 4, 1, 0, 2, 6, 1)
    rows = combination([(2, r - 1)], n8) + combination([(3, 1)], n8) + combination([(1, r - 1)], n8)
    return [(2, rows), (1, header), (3, struct.pack("<4Q", 0, 1, 2, 5))]


def wtns_sections(curve: Curve, values: list[int]) -> Sections:
    """Sections of a witness."""
    n8 = curve.fr.nbytes
    return [
        (1, le(n8, 4) + le(curve.r, n8) + le(len(values), 4)),
        (2, b"".join(le(value, n8) for value in values)),
    ]


@dataclass
class ZkeyParts:
    """The example circuit's key; points are small multiples of the generators, chosen to be told apart."""

    curve: Curve
    multiples: dict[str, int] = field(
        default_factory=lambda: {
            "alpha": 2,
            "beta": 3,
            "gamma": 1,
            "delta": 5,
            "ic": 11,
            "a": 21,
            "b": 31,
            "h": 51,
            "l": 41,
        }
    )

    def g1(self, k: int) -> bytes:
        """K times the generator, x || y, Montgomery, little-endian; 0 is all zero."""
        n8, p = self.curve.fp.nbytes, self.curve.p
        point = self.curve.g1.plain.mul(self.curve.g1.generator, k)
        coords = (0, 0) if point is None else point
        return b"".join(le(c * 2 ** (8 * n8) % p, n8) for c in coords)

    def g2(self, k: int) -> bytes:
        """As g1, x.c0 || x.c1 || y.c0 || y.c1."""
        n8, p = self.curve.fp.nbytes, self.curve.p
        point = self.curve.g2.plain.mul(self.curve.g2.generator, k)
        (x0, x1), (y0, y1) = ((0, 0), (0, 0)) if point is None else point
        return b"".join(le(c * 2 ** (8 * n8) % p, n8) for c in (x0, x1, y0, y1))

    def coefficient(self, matrix: int, row: int, wire: int, value: int) -> bytes:
        """An entry of section 4; the value is stored times R^2."""
        n8, r = self.curve.fr.nbytes, self.curve.r
        return struct.pack("<III", matrix, row, wire) + le(value * 2 ** (16 * n8) % r, n8)

    def header(self, num_variables: int = 4, num_public: int = 1, domain: int = 4) -> bytes:
        """Section 2."""
        fp, fr, m = self.curve.fp, self.curve.fr, self.multiples
        fields = le(fp.nbytes, 4) + le(fp.modulus, fp.nbytes) + le(fr.nbytes, 4) + le(fr.modulus, fr.nbytes)
        points = self.g1(m["alpha"]) + self.g1(m["beta"]) + self.g2(m["beta"])
        points += self.g2(m["gamma"]) + self.g1(m["delta"]) + self.g2(m["delta"])
        return fields + struct.pack("<III", num_variables, num_public, domain) + points

    def coefficients(self) -> list[bytes]:
        """Entries of section 4: the constraint, then the rows that bind ONE and the public variable."""
        minus_one = self.curve.r - 1
        return [
            self.coefficient(0, 0, 2, minus_one),
            self.coefficient(1, 0, 3, 1),
            self.coefficient(0, 1, 0, 1),
            self.coefficient(0, 2, 1, 1),
        ]

    def contribution(self) -> bytes:
        """One entry of section 10."""
        params = b"\x01\x03abc"
        points = self.g1(5) + self.g1(6) + self.g1(7) + self.g2(8)
        return points + bytes(range(64)) + struct.pack("<II", 0, len(params)) + params

    def sections(self) -> Sections:
        """All ten sections, in the order of `snarkjs groth16 setup`."""
        m = self.multiples
        entries = self.coefficients()
        a_points = self.g1(0) + self.g1(m["a"]) + self.g1(m["a"] + 1) + self.g1(0)
        content = {
            1: le(1, 4),
            2: self.header(),
            3: self.g1(m["ic"]) + self.g1(m["ic"] + 1),
            4: le(len(entries), 4) + b"".join(entries),
            5: a_points,
            6: b"".join(self.g1(k) for k in (0, 0, 0, m["b"])),
            7: b"".join(self.g2(k) for k in (0, 0, 0, m["b"])),
            8: self.g1(m["l"]) + self.g1(m["l"] + 1),
            9: b"".join(self.g1(m["h"] + i) for i in range(4)),
            10: bytes(64) + le(1, 4) + self.contribution(),
        }
        return [(i, content[i]) for i in (1, 2, 4, 3, 9, 8, 5, 6, 7, 10)]


def zkey_bytes(curve: Curve) -> bytes:
    """The example circuit's .zkey."""
    return container(b"zkey", 1, ZkeyParts(curve).sections())


def replaced(sections: Sections, section_id: int, content: bytes) -> Sections:
    """The sections with another content of one of them."""
    return [(i, content if i == section_id else old) for i, old in sections]
