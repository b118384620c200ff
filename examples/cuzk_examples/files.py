"""Circuit and witness files in the formats of circom and snarkjs: .r1cs version 1 and .wtns version 2.

Both are containers: magic, version, number of sections, then each section as a 4-byte id, an 8-byte size and
its bytes. Everything is little-endian, and field elements are 32 bytes in standard form.
"""

from __future__ import annotations

import struct
from pathlib import Path

from cuzk_examples.circuit import Circuit, Row

ELEMENT_BYTES = 32


def container(magic: bytes, version: int, sections: list[tuple[int, bytes]]) -> bytes:
    """Join sections, given as (id, bytes), into a file."""
    parts = [magic, struct.pack("<II", version, len(sections))]
    for kind, content in sections:
        parts += [struct.pack("<IQ", kind, len(content)), content]
    return b"".join(parts)


def r1cs_bytes(circuit: Circuit) -> bytes:
    """The .r1cs file of a circuit. All its public variables count as outputs, as circom puts those first."""
    num_private = circuit.num_variables - 1 - circuit.num_public
    header = struct.pack("<I", ELEMENT_BYTES) + circuit.modulus.to_bytes(ELEMENT_BYTES, "little")
    header += struct.pack("<IIII", circuit.num_variables, circuit.num_public, 0, num_private)
    header += struct.pack("<QI", circuit.num_variables, circuit.num_constraints)
    # Few coefficients are distinct, so each is encoded once.
    encoded: dict[int, bytes] = {}
    parts: list[bytes] = []

    def append(row: Row) -> None:
        parts.append(struct.pack("<I", len(row)))
        for variable, coefficient in row:
            if coefficient not in encoded:
                encoded[coefficient] = coefficient.to_bytes(ELEMENT_BYTES, "little")
            parts.append(variable.to_bytes(4, "little"))
            parts.append(encoded[coefficient])

    for a, b, c in zip(circuit.a, circuit.b, circuit.c, strict=True):
        append(a)
        append(b)
        append(c)
    labels = struct.pack(f"<{circuit.num_variables}Q", *range(circuit.num_variables))
    return container(b"r1cs", 1, [(1, header), (2, b"".join(parts)), (3, labels)])


def wtns_bytes(circuit: Circuit) -> bytes:
    """The .wtns file with the circuit's values."""
    header = struct.pack("<I", ELEMENT_BYTES) + circuit.modulus.to_bytes(ELEMENT_BYTES, "little")
    header += struct.pack("<I", circuit.num_variables)
    values = b"".join([value.to_bytes(ELEMENT_BYTES, "little") for value in circuit.values])
    return container(b"wtns", 2, [(1, header), (2, values)])


def write_if_changed(path: Path, content: bytes) -> bool:
    """Write a file unless it holds just this content already; True if it was written."""
    if path.exists() and path.read_bytes() == content:
        return False
    path.write_bytes(content)
    return True
