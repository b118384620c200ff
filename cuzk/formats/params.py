"""bellperson's proving keys (.params) and verifying keys (.vk) on BLS12-381.

Neither magic nor padding; lengths are u32, big-endian; points are affine, uncompressed, big-endian, standard form
(Zcash: G1 x || y, G2 x.c1 || x.c0 || y.c1 || y.c0, three flag bits). A .params holds points only: which variable
a point of the A or B query belongs to follows from the circuit, which therefore must be given to read one.
Variables that no row of A (or B) uses have no entry there, except that A has one for every public variable.
The H points are monomial, and rows are numbered by bellman's roots of unity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cuzk.csr import IntArray
from cuzk.curves import Curve, GroupSpec, RootConvention, get_curve
from cuzk.errors import CurveMismatchError
from cuzk.formats.atomic import PathLike
from cuzk.formats.container import ByteArray, SectionReader, map_file, naming_file
from cuzk.keys import ProvingKey, VerifyingKey
from cuzk.limbs import U64Array, field_from_limbs, first_not_below
from cuzk.relation import R1CS

__all__ = [
    "CURVE",
    "FIXED",
    "QUERIES",
    "ParamsInfo",
    "densities",
    "group_of",
    "is_params",
    "is_vk",
    "load_params",
    "load_vk",
    "scan_params",
]

CURVE: Curve = get_curve("bls12_381")
FIXED = ("alpha_g1", "beta_g1", "beta_g2", "gamma_g2", "delta_g1", "delta_g2")
QUERIES = ("ic", "h_query", "l_query", "a_query", "b_g1_query", "b_g2_query")

_FIXED_BYTES = 3 * CURVE.g1.affine_bytes + 3 * CURVE.g2.affine_bytes
_FLAGS, _INFINITY = 0xE0, 0x40
_CHUNK = 1 << 12  # points looked at or converted at one time
_REMEDY = "the file is damaged or not complete; fetch it again and compare its published digest"


@dataclass(frozen=True)
class ParamsInfo:
    """What a .params file holds: the number of points of each query by name, in the order of the file."""

    counts: dict[str, int]


def group_of(name: str) -> GroupSpec:
    """The group of a part of the file."""
    return CURVE.g2 if "_g2" in name else CURVE.g1


def densities(key_or_circuit: ProvingKey | R1CS) -> dict[str, IntArray]:
    """The variables that have an entry in each of the A and B queries, in order.

    Every public variable is in A: bellperson adds a row that binds it, as ours do.
    """
    first = np.arange(key_or_circuit.num_public + 1)
    a, b = (np.unique(matrix.col).astype(np.int64) for matrix in (key_or_circuit.a, key_or_circuit.b))
    return {"a_query": np.union1d(first, a), "b_g1_query": b, "b_g2_query": b}


def load_params(
    path: PathLike, circuit: R1CS, *, root_convention: RootConvention = "bellman", strict: bool = False
) -> ProvingKey:
    """Read a proving key.

    Args:
        path: A .params file.
        circuit: The circuit it was made for.
        root_convention: Whose roots number the circuit's rows; "snarkjs" only for a key that was exported
            from one of snarkjs's. The file does not say; a proof with the wrong one does not verify.
        strict: Refuse a key nobody contributed to; else it gives a SecurityWarning.

    Returns:
        The key with the circuit's matrices. Points are checked to be below p and not infinity, not to be on
        the curve.

    Raises:
        FormatError: The file does not parse, or holds infinity or a coordinate >= p.
        CurveMismatchError: The circuit is over another curve.
        ShapeError: The numbers of points are not those of this circuit.
    """
    if circuit.curve is not CURVE:
        raise CurveMismatchError(
            f"the circuit is over {circuit.curve.name}", where=str(path), limit=f"{CURVE.name} in a .params",
            remedy="name the circuit that the key was made for",
        )  # fmt: skip
    with naming_file(path):
        expected = _expected_counts(circuit)
        parts: dict[str, U64Array] = {}
        for name, reader, count in _parts(path):
            if name in expected and count != expected[name]:
                raise reader.error(
                    f"{count} points in {name}",
                    limit=f"{expected[name]} for this circuit",
                    remedy="name the circuit that the key was made for",
                )
            parts[name] = _to_mont(group_of(name), _read_points(reader, group_of(name), count, name))
        for name, present in densities(circuit).items():
            full = np.zeros((circuit.num_variables, *group_of(name).affine_shape), np.uint64)
            full[present] = parts[name]
            parts[name] = full
        for name in FIXED:
            parts[name] = parts[name][0]
        a, b, c = circuit.with_binding_rows()
        key = ProvingKey(
            curve=CURVE, num_public=circuit.num_public, log_domain=circuit.domain_log2,
            h_form="monomial", root_convention=root_convention, a=a, b=b, c=c, compiled=None, **parts,
        )  # fmt: skip
        key.check_binding_rows()
        key.check_degenerate(strict=strict)
    return key


def load_vk(path: PathLike, *, strict: bool = False) -> VerifyingKey:
    """Read a verifying key; beta_g1 and delta_g1, which verifying does not need, are checked and left out.

    Raises:
        FormatError: The file does not parse, or holds infinity or a coordinate >= p.
    """
    with naming_file(path):
        parts = {
            name: _to_mont(group_of(name), _read_points(reader, group_of(name), count, name))
            for name, reader, count in _parts(path, only_vk=True)
        }
        single = {name: parts[name][0] for name in ("alpha_g1", "beta_g2", "gamma_g2", "delta_g2")}
        key = VerifyingKey(CURVE, ic=parts["ic"], **single)
        key.check_degenerate(strict=strict)
    return key


def scan_params(path: PathLike, *, only_vk: bool = False) -> ParamsInfo:
    """Check a .params (or .vk) as far as that goes without its circuit, and say what it holds.

    Raises:
        FormatError: As load_params.
    """
    counts = {}
    for name, reader, count in _parts(path, only_vk=only_vk):
        for first in range(0, count, _CHUNK):
            _read_points(reader, group_of(name), min(_CHUNK, count - first), name)
        if name not in FIXED:
            counts[name] = count
    return ParamsInfo(counts)


def is_params(data: ByteArray) -> bool:
    """Whether bytes have the chain of lengths of a .params."""
    return _chain_ends(data, QUERIES)


def is_vk(data: ByteArray) -> bool:
    """Whether bytes have the length of a .vk."""
    return _chain_ends(data, QUERIES[:1])


def _chain_ends(data: ByteArray, names: tuple[str, ...]) -> bool:
    if len(data) < _FIXED_BYTES or data[0] & _FLAGS:
        return False
    at = _FIXED_BYTES
    for name in names:
        if at + 4 > len(data):
            return False
        at += 4 + int.from_bytes(data[at : at + 4].tobytes(), "big") * group_of(name).affine_bytes
    return at == len(data)


def _expected_counts(circuit: R1CS) -> dict[str, int]:
    present = densities(circuit)
    return {
        "ic": circuit.num_public + 1,
        "h_query": (1 << circuit.domain_log2) - 1,
        "l_query": circuit.num_variables - circuit.num_public - 1,
        **{name: len(variables) for name, variables in present.items()},
    }


def _parts(path: PathLike, *, only_vk: bool = False) -> Iterator[tuple[str, SectionReader, int]]:
    """Name, reader at its first point and number of points of each part; the caller reads the points.

    Raises:
        FormatError: A part ends after the file, or bytes follow the last one.
    """
    data = map_file(path)
    reader = SectionReader(str(path), data, "verifying key", 0, len(data))
    for name in FIXED:
        yield name, reader, 1
    for name in QUERIES[:1] if only_vk else QUERIES:
        reader.section = name
        at = reader.offset
        count = int.from_bytes(reader.take(4, f"number of points in {name}").tobytes(), "big")
        if count * group_of(name).affine_bytes > reader.left:
            raise reader.error(
                f"{count} points in {name} end after the file",
                offset=at,
                limit=f"{reader.left} bytes are left",
                remedy=_REMEDY,
            )
        yield name, reader, count
    reader.expect_end()


def _read_points(reader: SectionReader, group: GroupSpec, count: int, name: str) -> U64Array:
    """Points in standard form, c0 before c1. Shape (count, 2 * degree, limbs) uint64, each coordinate < p."""
    fp, width = group.fp, 2 * group.degree
    start = reader.offset
    raw = reader.take(count * group.affine_bytes, name).reshape(count, group.affine_bytes)

    def refuse(index: int, what: str, limit: str, coordinate: int = 0) -> None:
        raise reader.error(
            f"point {index} of {name} {what}",
            offset=start + index * group.affine_bytes + coordinate * fp.nbytes,
            index=index,
            limit=limit,
            remedy=_REMEDY,
        )

    flags = raw[:, 0] & _FLAGS
    if flags.any():
        bad = int(np.argmax(flags != 0))
        if flags[bad] == _INFINITY:
            refuse(bad, "is the point at infinity", "only other points")
        refuse(bad, f"has the flags 0x{int(flags[bad]):02x}", "0x00: uncompressed points")
    coordinates = np.ascontiguousarray(raw.reshape(count, width, fp.nbytes)[..., ::-1]).view("<u8")
    too_large = first_not_below(coordinates.reshape(-1, fp.limbs), fp.modulus)
    if too_large is not None:
        refuse(
            too_large // width, "has a coordinate that is not below p", f"p = {fp.modulus}", too_large % width
        )
    if count and not coordinates.reshape(count, -1).any(axis=1).all():
        zero = int(np.argmin(coordinates.reshape(count, -1).any(axis=1)))
        refuse(zero, "is (0, 0), which is no point of the curve", "points of the curve")
    return coordinates if group.degree == 1 else coordinates[:, [1, 0, 3, 2]]


def _to_mont(group: GroupSpec, points: U64Array) -> U64Array:
    """Standard form to Montgomery form. Returns Shape (count, *affine_shape)."""
    return field_from_limbs(group.fp, points.reshape(-1, group.fp.limbs)).reshape(-1, *group.affine_shape)
