"""Write snarkjs's groth16 .zkey files, version 1, on both curves; zkey.py reads them and describes the form."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from cuzk.errors import ShapeError
from cuzk.formats.atomic import PathLike, atomic_write
from cuzk.formats.zkey import GROTH16, MAGIC, VERSION, coefficient_record
from cuzk.keys import ProvingKey
from cuzk.limbs import field_from_ints, limbs_to_ints
from cuzk.row_order import root_exponent

__all__ = ["save_zkey", "section_10"]

_CHUNK = 1 << 20  # entries of section 4 written at a time


def save_zkey(
    path: PathLike, key: ProvingKey, *, ceremony: bytes | None = None, overwrite: bool = True
) -> None:
    """Write a proving key for snarkjs.

    Args:
        path: Target.
        key: With odd-Lagrange H points and rows numbered by snarkjs's roots (``groth16.convert`` makes them so).
            Matrix C has no place in the file.
        ceremony: Content of section 10 of the .zkey this key came from, to be kept; without it the file
            says that there were no contributions.
        overwrite: Whether an existing file may be replaced.

    Raises:
        ShapeError: The key has another form.
        InputError: The target cannot be written.
    """
    curve = key.curve
    if key.h_form != "odd_lagrange" or root_exponent(curve, key.root_convention, "snarkjs") != 1:
        raise ShapeError(
            f"the key has H points in {key.h_form} form and rows by {key.root_convention}'s roots",
            where=str(path),
            limit="a .zkey has odd_lagrange and snarkjs",
            remedy="convert the key first (cuzk key export does)",
        )
    entries = key.a.nnz + key.b.nnz
    if entries >= 1 << 32:
        raise ShapeError(
            f"{entries} coefficients",
            where=str(path),
            limit="2^32 - 1 in a .zkey",
            remedy="keep it as a cuzk key",
        )
    with atomic_write(path, overwrite=overwrite) as file:
        file.write(MAGIC + _u32(VERSION) + _u32(10))
        _section(file, 1, _u32(GROTH16))
        _section(file, 2, _header(key))
        _section(file, 3, key.ic)
        file.write(_u32(4) + _u64(4 + entries * coefficient_record(curve).itemsize) + _u32(entries))
        for part in _coefficients(key):
            file.write(part)
        for section_id, name in enumerate(("a_query", "b_g1_query", "b_g2_query", "l_query", "h_query"), 5):
            _section(file, section_id, getattr(key, name))
        _section(file, 10, section_10(key) if ceremony is None else ceremony)


def section_10(key: ProvingKey) -> bytes:
    """Circuit hash and no contributions.

    snarkjs's own hash is one over the points that the key had before its first contribution, which nobody can
    recover from a later key; ours is BLAKE2b-512 of the circuit digest, with the person ``cuzk-zkey``.
    """
    return hashlib.blake2b(key.circuit_digest.encode(), person=b"cuzk-zkey").digest() + _u32(0)


def _u32(value: int) -> bytes:
    return value.to_bytes(4, "little")


def _u64(value: int) -> bytes:
    return value.to_bytes(8, "little")


def _section(file: BinaryIO, section_id: int, content: Any) -> None:
    raw = content if isinstance(content, bytes) else memoryview(_bytes_of(content))
    file.write(_u32(section_id) + _u64(len(raw)))
    file.write(raw)


def _bytes_of(array: Any) -> Any:
    return np.ascontiguousarray(array, dtype="<u8").reshape(-1).view(np.uint8).data


def _header(key: ProvingKey) -> bytes:
    fields = b"".join(
        _u32(f.nbytes) + f.modulus.to_bytes(f.nbytes, "little") for f in (key.curve.fp, key.curve.fr)
    )
    sizes = b"".join(_u32(n) for n in (key.num_variables, key.num_public, key.domain_size))
    names = ("alpha_g1", "beta_g1", "beta_g2", "gamma_g2", "delta_g1", "delta_g2")
    return fields + sizes + b"".join(bytes(_bytes_of(getattr(key, name))) for name in names)


def _coefficients(key: ProvingKey) -> Iterator[bytes]:
    """The entries of section 4, row by row, A before B in each."""
    fr = key.curve.fr
    # Montgomery form of the Montgomery form: coefficient * R^2.
    tables = [field_from_ints(fr, limbs_to_ints(m.dictionary)) for m in (key.a, key.b)]
    rows = np.concatenate([key.a.rows_of(), key.b.rows_of()])
    order = np.argsort(rows, kind="stable")
    for first in range(0, len(order), _CHUNK):
        chosen = order[first : first + _CHUNK]
        records = np.zeros(len(chosen), coefficient_record(key.curve))
        records["row"] = rows[chosen]
        in_b = chosen >= key.a.nnz
        records["matrix"] = in_b
        for matrix, table, mine, shift in (
            (key.a, tables[0], ~in_b, 0), (key.b, tables[1], in_b, key.a.nnz)
        ):  # fmt: skip
            at = chosen[mine] - shift
            records["wire"][mine] = matrix.col[at]
            records["value"][mine] = table[matrix.coeff[at]]
        yield records.tobytes()
