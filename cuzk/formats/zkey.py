"""Read snarkjs's groth16 .zkey files, version 1, on both curves; zkey_write.py writes them.

Points are affine, uncompressed, Montgomery, little-endian. The circuit's coefficients are stored as coef *
R^2 and become Montgomery form here. Matrix C is not in the file. Keys read from a .zkey have odd-Lagrange H
points and number their rows by snarkjs's roots of unity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cuzk.csr import CsrMatrix, csr_from_indexed, intern_values
from cuzk.curves import Curve, curve_of_fr
from cuzk.errors import CurveMismatchError
from cuzk.formats.atomic import PathLike
from cuzk.formats.container import Container, SectionReader, naming_file, read_container
from cuzk.keys import ProvingKey
from cuzk.limbs import U64Array, field_from_limbs, first_not_below

MAGIC, VERSION = b"zkey", 1
GROTH16 = 1
_HASH_BYTES = 64


@dataclass(frozen=True)
class ZkeyHeader:
    """Section 2, in the order of the file."""

    curve: Curve
    num_variables: int
    num_public: int
    log_domain: int
    alpha_g1: U64Array
    beta_g1: U64Array
    beta_g2: U64Array
    gamma_g2: U64Array
    delta_g1: U64Array
    delta_g2: U64Array


def load_zkey(path: PathLike, *, strict: bool = False) -> ProvingKey:
    """Read a proving key with its circuit.

    Args:
        path: A groth16 .zkey file.
        strict: Refuse a key nobody contributed to; else it gives a SecurityWarning.

    Returns:
        The key, with ``c`` None. Points are checked to be below p, not to be on the curve.

    Raises:
        FormatError: The file does not parse, is no groth16 key, or holds a value out of bounds.
        CurveMismatchError: The primes belong to no curve of cuzk.
        RangeError: alpha, beta, gamma, delta or ic[0] is infinity.
        ShapeError: The rows that bind the public inputs are missing.
    """
    with naming_file(path):
        key = _load(read_container(path, MAGIC, VERSION, frozenset(range(1, 11))))
        key.check_binding_rows()
        key.check_degenerate(strict=strict)
    return key


def _load(container: Container) -> ProvingKey:
    header = read_header(container)
    count_contributions(container, header.curve)
    curve, num_variables, num_public = header.curve, header.num_variables, header.num_public
    a, b = _read_coefficients(container.section(4), header)

    def query(section_id: int, name: str, count: int) -> U64Array:
        reader = container.section(section_id)
        group = curve.g2 if name == "b_g2_query" else curve.g1
        expected = count * group.affine_bytes
        if reader.left != expected:
            raise reader.error(
                f"{name} has {reader.left} bytes",
                limit=f"{count} points of {group.affine_bytes} bytes: {expected}",
            )
        return reader.points(group, count, name)

    return ProvingKey(
        curve=curve,
        num_public=num_public,
        log_domain=header.log_domain,
        h_form="odd_lagrange",
        root_convention="snarkjs",
        alpha_g1=header.alpha_g1,
        beta_g1=header.beta_g1,
        delta_g1=header.delta_g1,
        beta_g2=header.beta_g2,
        gamma_g2=header.gamma_g2,
        delta_g2=header.delta_g2,
        ic=query(3, "ic", num_public + 1),
        a_query=query(5, "a_query", num_variables),
        b_g1_query=query(6, "b_g1_query", num_variables),
        b_g2_query=query(7, "b_g2_query", num_variables),
        l_query=query(8, "l_query", num_variables - num_public - 1),
        h_query=query(9, "h_query", 1 << header.log_domain),
        a=a,
        b=b,
    )


def read_header(container: Container) -> ZkeyHeader:
    """Parse sections 1 and 2."""
    reader = container.section(1)
    protocol = reader.u32("protocol")
    if protocol != GROTH16:
        raise reader.error(
            f"the key is for protocol {protocol}",
            limit=f"{GROTH16} (groth16)",
            remedy="make a key with `snarkjs groth16 setup`",
        )
    reader.expect_end()
    reader = container.section(2)
    curve = _read_curve(reader)
    num_variables, num_public, domain = (reader.u32(what) for what in ("variables", "public", "domain size"))
    if num_public >= num_variables:
        raise reader.error(
            f"{num_public} public variables", limit=f"fewer than the {num_variables} variables"
        )
    if domain == 0 or domain & (domain - 1) or domain.bit_length() - 1 > curve.two_adicity:
        raise reader.error(f"domain size {domain}", limit=f"a power of two up to 2^{curve.two_adicity}")
    header = ZkeyHeader(
        curve,
        num_variables,
        num_public,
        domain.bit_length() - 1,
        alpha_g1=reader.point(curve.g1, "alpha_g1"),
        beta_g1=reader.point(curve.g1, "beta_g1"),
        beta_g2=reader.point(curve.g2, "beta_g2"),
        gamma_g2=reader.point(curve.g2, "gamma_g2"),
        delta_g1=reader.point(curve.g1, "delta_g1"),
        delta_g2=reader.point(curve.g2, "delta_g2"),
    )
    reader.expect_end()
    return header


def _read_curve(reader: SectionReader) -> Curve:
    moduli = []
    for what in ("base", "scalar"):
        width = reader.u32(f"{what} field size")
        if width % 8 or not 8 <= width <= 128:
            raise reader.error(f"{what} field size {width}", limit="a multiple of 8, from 8 to 128 bytes")
        moduli.append((width, reader.integer(width, f"{what} field prime")))
    curve = curve_of_fr(moduli[1][1])
    if curve is not None and moduli == [(curve.fp.nbytes, curve.p), (curve.fr.nbytes, curve.r)]:
        return curve
    raise CurveMismatchError(
        f"the key is for the curve with p = {moduli[0][1]} and r = {moduli[1][1]}, which is not supported",
        where=f"{reader.path}: section 2",
        limit="bls12_381 or bn254",
        remedy="make the key with snarkjs for one of these curves",
    )


def coefficient_record(curve: Curve) -> np.dtype[Any]:
    """One entry of section 4."""
    return np.dtype(
        [("matrix", "<u4"), ("row", "<u4"), ("wire", "<u4"), ("value", "<u8", (curve.fr.limbs,))], align=False
    )


def _read_coefficients(reader: SectionReader, header: ZkeyHeader) -> tuple[CsrMatrix, CsrMatrix]:
    """Section 4 as matrices A and B with as many rows as the highest row that is used."""
    curve = header.curve
    count = reader.u32("number of coefficients")
    record = coefficient_record(curve)
    first = reader.offset
    entries = reader.take(count * record.itemsize, "coefficients").view(record)
    reader.expect_end()
    bounds = {"matrix": 2, "row": 1 << header.log_domain, "wire": header.num_variables}
    columns: dict[str, Any] = {}
    for i, (name, bound) in enumerate(bounds.items()):
        column = columns[name] = np.array(entries[name])
        if count and int(column.max()) >= bound:
            bad = int(np.argmax(column >= bound))
            raise reader.error(
                f"coefficient {bad} has {name} {int(column[bad])}",
                offset=first + bad * record.itemsize + 4 * i,
                index=bad,
                limit=f"{name} < {bound}",
            )
    distinct, index = intern_values(np.array(entries["value"]).reshape(count, curve.fr.limbs))
    bad_value = first_not_below(distinct, curve.r)
    if bad_value is not None:
        bad = int(np.argmax(index == bad_value))
        raise reader.error(
            f"coefficient {bad} is not below the scalar field's modulus",
            offset=first + bad * record.itemsize + 12,
            index=bad,
            limit=f"r = {curve.r}",
        )
    # The file has coef * R^2; dividing by R^2 and multiplying by R gives Montgomery form.
    twice = curve.fr.mont_r_inv * curve.fr.mont_r_inv
    dictionary = field_from_limbs(curve.fr, distinct, twice)
    num_rows = int(columns["row"].max()) + 1 if count else 0
    if num_rows <= header.num_public:
        raise reader.error(
            f"the matrices have {num_rows} rows",
            limit=f"at least {header.num_public + 1} that bind public inputs",
        )
    a, b = (
        csr_from_indexed(
            curve,
            (num_rows, header.num_variables),
            columns["row"][chosen],
            columns["wire"][chosen],
            index[chosen],
            dictionary,
        )
        for chosen in (columns["matrix"] == 0, columns["matrix"] == 1)
    )
    return a, b


def count_contributions(container: Container, curve: Curve) -> int:
    """Walk section 10 and return how many contributions the key's ceremony had.

    Raises:
        FormatError: The section does not parse.
    """
    reader = container.section(10)
    reader.take(_HASH_BYTES, "circuit hash")
    count = reader.u32("number of contributions")
    for _ in range(count):
        for group in (curve.g1, curve.g1, curve.g1, curve.g2):
            reader.point(group, "contribution")
        reader.take(_HASH_BYTES, "transcript")
        reader.u32("contribution type")
        reader.take(reader.u32("size of the parameters"), "contribution parameters")
    reader.expect_end()
    return count


def read_ceremony(path: PathLike) -> bytes:
    """The content of section 10: circuit hash and contributions, which a ProvingKey does not keep.

    Raises:
        FormatError: The file does not parse.
    """
    container = read_container(path, MAGIC, VERSION, frozenset(range(1, 11)))
    count_contributions(container, read_header(container).curve)
    reader = container.section(10)
    return reader.take(reader.left, "contributions").tobytes()
