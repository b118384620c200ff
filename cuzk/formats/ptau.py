"""Read snarkjs's .ptau files, version 1: the first phase of a ceremony, prepared for the second or not.

Only the points that a circuit's domain needs are read, so a small circuit takes little of a large file.
"""

from __future__ import annotations

from cuzk.curves import CURVES, Curve, GroupSpec, RootConvention
from cuzk.errors import CurveMismatchError, FormatError, RangeError
from cuzk.formats.atomic import PathLike
from cuzk.formats.container import Container, naming_file, read_container
from cuzk.limbs import U64Array, points_from_ints
from cuzk.powers_of_tau import PowersOfTau
from cuzk.row_order import root_exponent

__all__ = ["MAGIC", "VERSION", "is_prepared", "load_ptau", "open_ptau", "read_header"]

MAGIC, VERSION = b"ptau", 1
_MAX_POWER = 32
_TAU_G1, _TAU_G2, _ALPHA, _BETA, _BETA_G2 = 2, 3, 4, 5, 6
_LAGRANGE = {_TAU_G1: 12, _TAU_G2: 13, _ALPHA: 14, _BETA: 15}


def open_ptau(path: PathLike) -> Container:
    """Split a file into its sections.

    Raises:
        FormatError: The file does not parse.
    """
    return read_container(path, MAGIC, VERSION, frozenset({*range(1, 8), *_LAGRANGE.values()}))


def read_header(container: Container) -> tuple[Curve, int]:
    """Curve and power p of section 1; the sizes of all sections are checked against p.

    Raises:
        FormatError: A section of another size than the power asks for.
        CurveMismatchError: The prime belongs to no curve of cuzk.
    """
    reader = container.section(1)
    width = reader.u32("field size")
    if width % 8 or not 8 <= width <= 128:
        raise reader.error(f"field size {width}", limit="a multiple of 8, from 8 to 128 bytes")
    prime = reader.integer(width, "prime")
    curve = next((c for c in CURVES.values() if (c.fp.nbytes, c.p) == (width, prime)), None)
    if curve is None:
        raise CurveMismatchError(
            f"the powers are on a curve over the field with p = {prime}, which is not supported",
            where=f"{container.path}: section 1",
            limit="bls12_381 or bn254",
            remedy="fetch the powers of tau of the circuit's curve",
        )
    power = reader.u32("power")
    if power > _MAX_POWER:
        raise reader.error(f"power {power}", limit=f"up to {_MAX_POWER}")
    reader.u32("power of the ceremony")
    reader.expect_end()
    n = 1 << power
    counts = {_TAU_G1: 2 * n - 1, _TAU_G2: n, _ALPHA: n, _BETA: n, _BETA_G2: 1}
    counts |= {_LAGRANGE[_TAU_G1]: 4 * n - 1} | dict.fromkeys((13, 14, 15), 2 * n - 1)
    for section_id, count in counts.items():
        if section_id in container.spans or section_id <= _BETA_G2:
            section = container.section(section_id)
            expected = count * _group(curve, section_id).affine_bytes
            if section.left != expected:
                raise section.error(
                    f"{section.left} bytes of points",
                    limit=f"{count} points for power {power}: {expected} bytes",
                )
    prepared = [section_id for section_id in _LAGRANGE.values() if section_id in container.spans]
    if prepared and len(prepared) != len(_LAGRANGE):
        raise FormatError(
            f"of the prepared sections there are only {prepared}",
            path=container.path,
            limit="all of 12 to 15, or none",
            remedy="prepare it again: snarkjs powersoftau prepare phase2",
        )
    return curve, power


def is_prepared(container: Container) -> bool:
    """Whether the file has the Lagrange bases, too."""
    return _LAGRANGE[_TAU_G1] in container.spans


def _group(curve: Curve, section_id: int) -> GroupSpec:
    return curve.g2 if section_id in (_TAU_G2, _BETA_G2, _LAGRANGE[_TAU_G2]) else curve.g1


def load_ptau(path: PathLike, log_n: int, *, root_convention: RootConvention = "snarkjs") -> PowersOfTau:
    """Read the powers of tau that a domain of size n = 2^log_n needs.

    Args:
        path: A .ptau, prepared for phase 2 or not.
        log_n: log2 of the circuit's domain size.
        root_convention: Whose roots number the rows; the prepared part serves snarkjs's only.

    Returns:
        The points; each is checked to be below p, not to be on the curve. That they are powers of one tau is
        not checked: `snarkjs powersoftau verify` does that.

    Raises:
        FormatError: The file does not parse, or does not start with the generators.
        CurveMismatchError: The prime belongs to no curve of cuzk.
        RangeError: The file has too few powers, or alpha or beta is infinity.
    """
    container = open_ptau(path)
    with naming_file(path):
        curve, power = read_header(container)
        if log_n > power:
            raise RangeError(
                f"the circuit needs a domain of 2^{log_n}, the file has powers for 2^{power}",
                remedy="fetch a larger .ptau",
            )
        for section_id in (_TAU_G1, _TAU_G2):
            group = _group(curve, section_id)
            if (
                _points(container, curve, section_id, 0, 1)[0] != points_from_ints(group, [group.generator])
            ).any():
                raise container.section(section_id).error(
                    "the powers do not start with the generator", limit=f"generator of {group.full_name}"
                )
        prepared = is_prepared(container) and root_exponent(curve, root_convention, "snarkjs") == 1
        found = _assemble(container, curve, log_n, prepared)
        for name, point in (("alpha", found.alpha_g1), ("beta", found.beta_g1), ("beta", found.beta_g2)):
            if not point.any():
                raise RangeError(f"{name} is the point at infinity", remedy="fetch another .ptau")
    return found


def _points(container: Container, curve: Curve, section_id: int, first: int, count: int) -> U64Array:
    """Points first .. first + count - 1 of a section."""
    group, reader = _group(curve, section_id), container.section(section_id)
    reader.take(first * group.affine_bytes, "points before")
    return reader.points(group, count, "powers of tau")


def _assemble(container: Container, curve: Curve, log_n: int, prepared: bool) -> PowersOfTau:
    n = 1 << log_n

    def block(section_id: int, count: int) -> U64Array:
        if prepared:
            return _points(container, curve, _LAGRANGE[section_id], n - 1, n)
        return _points(container, curve, section_id, 0, count)

    odd = _points(container, curve, _LAGRANGE[_TAU_G1], 2 * n - 1, 2 * n)[1::2] if prepared else None
    tau_g1 = block(_TAU_G1, 2 * n - 1)
    return PowersOfTau(
        curve=curve,
        log_n=log_n,
        is_lagrange=prepared,
        tau_g1=tau_g1,
        tau_g2=block(_TAU_G2, n),
        alpha_tau_g1=block(_ALPHA, n),
        beta_tau_g1=block(_BETA, n),
        odd_g1=tau_g1[:0] if odd is None else odd,
        alpha_g1=_points(container, curve, _ALPHA, 0, 1)[0],
        beta_g1=_points(container, curve, _BETA, 0, 1)[0],
        beta_g2=_points(container, curve, _BETA_G2, 0, 1)[0],
    )
