"""Read and write circom's .wtns witness files, version 2: a header and the values in standard form."""

from __future__ import annotations

import numpy as np

from cuzk.curves import curve_of_fr
from cuzk.errors import CurveMismatchError
from cuzk.formats.atomic import PathLike, atomic_write
from cuzk.formats.container import read_container, write_container
from cuzk.limbs import limbs_to_ints
from cuzk.witness import Witness

MAGIC, VERSION = b"wtns", 2


def load_witness(path: PathLike) -> Witness:
    """Read a witness.

    Raises:
        FormatError: The file does not parse, a value is >= r, or the first value is not 1.
        CurveMismatchError: The prime belongs to no curve of cuzk.
    """
    container = read_container(path, MAGIC, VERSION, frozenset({1, 2}))
    reader = container.section(1)
    width = reader.u32("field size")
    if width % 8 or not 8 <= width <= 64:
        raise reader.error(f"field size {width}", limit="a multiple of 8, from 8 to 64 bytes")
    prime = reader.integer(width, "prime")
    curve = curve_of_fr(prime)
    if curve is None or curve.fr.nbytes != width:
        raise CurveMismatchError(
            f"the witness is over a field of {width} bytes with the prime {prime}, which is not supported",
            where=f"{container.path}: section 1",
            limit="the scalar fields of bls12_381 and bn254",
            remedy="compile with --prime bls12381 or --prime bn128",
        )
    count = reader.u32("number of values")
    reader.expect_end()
    reader = container.section(2)
    first = reader.offset
    values = reader.field_array(curve.fr, count, "witness")
    reader.expect_end()
    if count == 0 or limbs_to_ints(values[0]) != [1]:
        raise reader.error(
            "the first value is not the constant 1",
            offset=first,
            index=0,
            limit="at least one value, the first is 1",
            remedy="compute the witness again with the circuit's own program",
        )
    return Witness(curve, values)


def save_witness(path: PathLike, witness: Witness) -> None:
    """Write a witness as a .wtns file that only its owner can read.

    Raises:
        InputError: The target cannot be written.
    """
    content = encode_witness(witness)
    with atomic_write(path, private=True) as file:
        file.write(content)


def encode_witness(witness: Witness) -> bytes:
    """The bytes of ``save_witness``."""
    fr = witness.curve.fr
    header = (
        fr.nbytes.to_bytes(4, "little")
        + fr.modulus.to_bytes(fr.nbytes, "little")
        + witness.num_variables.to_bytes(4, "little")
    )
    body = np.ascontiguousarray(witness.values, dtype="<u8").tobytes()
    return write_container(MAGIC, VERSION, [(1, header), (2, body)])
