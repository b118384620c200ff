"""snarkjs's JSON files, both ways: verification key, proof, public inputs.

Numbers are decimal strings, points projective with third coordinate "1" (infinity: 0, 1, 0), Fp2 elements
[c0, c1]. Reading is strict (see strict_json). A proof's points may be off the curve: that is for ``verify``.
The bytes written equal JSON.stringify(value, null, 1), which is what snarkjs writes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cuzk.curves import CURVES, Curve, GroupSpec
from cuzk.errors import CurveMismatchError, FormatError, RangeError
from cuzk.formats.atomic import PathLike, atomic_write
from cuzk.formats.container import naming_file
from cuzk.formats.kinds import KINDS, json_kind
from cuzk.formats.strict_json import Fields, read_json
from cuzk.keys import VerifyingKey
from cuzk.limbs import AffinePoint, U64Array, points_from_ints, points_to_ints
from cuzk.proof import Proof

PROTOCOL = "groth16"
_VKEY_POINTS = {
    "vk_alpha_1": "alpha_g1",
    "vk_beta_2": "beta_g2",
    "vk_gamma_2": "gamma_g2",
    "vk_delta_2": "delta_g2",
}
_VKEY_KEYS = frozenset({"protocol", "curve", "nPublic", "IC", *_VKEY_POINTS})
_MAX_PUBLIC = 1 << 28
_BLOCK = 1 << 10

PairingValue = Sequence[Sequence[Sequence[int]]]
"""A value of the pairing as 2 x 3 x 2 ints: Fp12 over Fp6 over Fp2 over Fp."""

AlphaBeta = Callable[[AffinePoint, AffinePoint], PairingValue]
"""Computes e(alpha_g1, beta_g2) from affine ints."""


def load_vkey(path: PathLike, *, strict: bool = False) -> VerifyingKey:
    """Read a verification key.

    Args:
        path: A verification_key.json.
        strict: Refuse a key nobody contributed to; else it gives a SecurityWarning.

    Returns:
        The key; its points are below p, not checked to be on the curve. The precomputed pairing
        ``vk_alphabeta_12`` may be missing and is checked for shape only: nothing may rely on it.

    Raises:
        FormatError: The file does not parse, nPublic disagrees with IC, or a coordinate is >= p.
        CurveMismatchError: Unknown curve.
        RangeError: alpha, beta, gamma, delta or IC[0] is infinity.
    """
    with naming_file(path):
        return parse_vkey(read_json(path), path, strict=strict)


def parse_vkey(value: Any, path: PathLike | None = None, *, strict: bool = False) -> VerifyingKey:
    """As load_vkey, from parsed JSON."""
    _refuse_other_kind(value, "vkey_json", path)
    fields = Fields(value, path, _VKEY_KEYS, frozenset({"vk_alphabeta_12"}))
    curve = _read_curve(fields, None)
    num_public = fields.count("nPublic", _MAX_PUBLIC)
    points = {
        name: _read_point(fields, curve.g1 if name.endswith("g1") else curve.g2, fields.values[key], key)
        for key, name in _VKEY_POINTS.items()
    }
    ic_values = fields.array(fields.values["IC"], "IC")
    if len(ic_values) != num_public + 1:
        raise fields.error(
            f"IC has {len(ic_values)} points", place="IC", limit=f"nPublic + 1 = {num_public + 1} points"
        )
    _check_alphabeta(fields, curve)
    for name, point in points.items():
        _refuse_zero(fields, point, name)
    encoded = {
        name: points_from_ints(curve.g1 if name.endswith("g1") else curve.g2, [point])[0]
        for name, point in points.items()
    }
    key = VerifyingKey(curve, ic=_read_ic(fields, curve, ic_values), **encoded)
    key.check_degenerate(strict=strict)
    return key


def _read_ic(fields: Fields, curve: Curve, values: list[Any]) -> U64Array:
    """The IC points, a block at a time: as ints they take more memory than as text."""
    blocks = []
    for first in range(0, len(values), _BLOCK):
        points = []
        for i, entry in enumerate(values[first : first + _BLOCK], first):
            points.append(_read_point(fields, curve.g1, entry, f"IC[{i}]"))
            _refuse_zero(fields, points[-1], f"IC[{i}]")
        blocks.append(points_from_ints(curve.g1, points))
    return np.concatenate(blocks)


def _refuse_zero(fields: Fields, point: AffinePoint, place: str) -> None:
    if point is not None and not any(_flatten(point)):
        raise fields.error("(0, 0) is not a point of the curve", place=place)


def vkey_to_json(key: VerifyingKey, alphabeta: AlphaBeta | None = None) -> dict[str, Any]:
    """A verification key as snarkjs writes it.

    Args:
        key: The key.
        alphabeta: Computes the precomputed pairing; without it ``vk_alphabeta_12`` is left out, which
            snarkjs's and our ``verify`` do not read.
    """
    curve = key.curve
    out: dict[str, Any] = {"protocol": PROTOCOL, "curve": curve.snarkjs_name, "nPublic": key.num_public}
    for name, attribute in _VKEY_POINTS.items():
        group = curve.g1 if attribute.endswith("g1") else curve.g2
        out[name] = _point_to_json(group, getattr(key, attribute))
    if alphabeta is not None:
        value = alphabeta(points_to_ints(curve.g1, key.alpha_g1)[0], points_to_ints(curve.g2, key.beta_g2)[0])
        out["vk_alphabeta_12"] = [[[str(c) for c in fp2] for fp2 in fp6] for fp6 in value]
    out["IC"] = [_point_to_json(curve.g1, point) for point in key.ic]
    return out


def save_vkey(path: PathLike, key: VerifyingKey, alphabeta: AlphaBeta | None = None) -> None:
    """Write a verification key, replacing the target in one step."""
    _save(path, vkey_to_json(key, alphabeta))


def load_proof(path: PathLike, curve: Curve | None = None) -> Proof:
    """Read a proof.

    Args:
        path: A proof.json.
        curve: The curve it must be for; also taken where an old file names none.

    Raises:
        FormatError: The file does not parse or a coordinate is >= p.
        CurveMismatchError: Unknown curve, none at all, or another one than ``curve``.
    """
    return parse_proof(read_json(path), curve, path)


def parse_proof(value: Any, curve: Curve | None = None, path: PathLike | None = None) -> Proof:
    """As load_proof, from parsed JSON."""
    _refuse_other_kind(value, "proof_json", path)
    fields = Fields(value, path, frozenset({"protocol", "pi_a", "pi_b", "pi_c"}), frozenset({"curve"}))
    found = _read_curve(fields, curve)
    a, b, c = (
        _read_point(fields, group, fields.values[key], key)
        for group, key in ((found.g1, "pi_a"), (found.g2, "pi_b"), (found.g1, "pi_c"))
    )
    return Proof.from_ints(found, a, b, c)


def proof_to_json(proof: Proof) -> dict[str, Any]:
    """A proof as snarkjs writes it."""
    curve = proof.curve
    return {
        "pi_a": _point_to_json(curve.g1, proof.a),
        "pi_b": _point_to_json(curve.g2, proof.b),
        "pi_c": _point_to_json(curve.g1, proof.c),
        "protocol": PROTOCOL,
        "curve": curve.snarkjs_name,
    }


def save_proof(path: PathLike, proof: Proof) -> None:
    """Write a proof, replacing the target in one step."""
    _save(path, proof_to_json(proof))


def load_public(path: PathLike, curve: Curve) -> list[int]:
    """Read public inputs, outputs first, ONE not included.

    Raises:
        FormatError: Not a list of decimal strings, each below r.
    """
    return parse_public(read_json(path), curve, path)


def parse_public(value: Any, curve: Curve, path: PathLike | None = None) -> list[int]:
    """As load_public, from parsed JSON."""
    _refuse_other_kind(value, "public_json", path)
    fields = Fields({}, path, frozenset())
    entries = fields.array(value, "public inputs")
    return [fields.element(entry, curve.r, f"public input {i}") for i, entry in enumerate(entries)]


def public_to_json(values: Sequence[int], curve: Curve) -> list[str]:
    """Public inputs as snarkjs writes them.

    Raises:
        RangeError: A value is negative or >= r.
    """
    for i, value in enumerate(values):
        if not 0 <= value < curve.r:
            raise RangeError(
                f"public input {i} is {value}",
                limit=f"0 <= value < r = {curve.r}",
                remedy="give it reduced mod r",
            )
    return [str(value) for value in values]


def save_public(path: PathLike, values: Sequence[int], curve: Curve) -> None:
    """Write public inputs, replacing the target in one step."""
    _save(path, public_to_json(values, curve))


def dump_json(value: Any) -> bytes:
    """The bytes of JSON.stringify(value, null, 1)."""
    return json.dumps(value, indent=1, ensure_ascii=False).encode()


def _save(path: PathLike, value: Any) -> None:
    with atomic_write(path) as file:
        file.write(dump_json(value))


def _refuse_other_kind(value: Any, wanted: str, path: PathLike | None) -> None:
    """Say what a file is that one of snarkjs's others was named for."""
    found = json_kind(value)
    if found not in (None, wanted):
        raise FormatError(
            f"not a file of the kind {KINDS[wanted]}, but of another: {KINDS[found]}",
            path=path,
            limit=KINDS[wanted],
            remedy="name the right file; two arguments may have changed places",
        )


def _read_curve(fields: Fields, expected: Curve | None) -> Curve:
    protocol = fields.text("protocol")
    if protocol != PROTOCOL:
        raise fields.error(f"protocol {protocol!r}", place="protocol", limit=PROTOCOL)
    where = None if fields.path is None else str(fields.path)
    if "curve" not in fields.values:
        if expected is None:
            raise CurveMismatchError(
                "the file names no curve", where=where, limit='a key "curve"',
                remedy='add "curve": "bn128" or "curve": "bls12381"',
            )  # fmt: skip
        return expected
    name = fields.text("curve")
    found = next((curve for curve in CURVES.values() if curve.snarkjs_name == name), None)
    if found is None:
        names = ", ".join(curve.snarkjs_name for curve in CURVES.values())
        raise CurveMismatchError(
            f"unknown curve {name!r}", where=where, limit=f"one of {names}",
            remedy="make the circuit for one of these curves (circom --prime)",
        )  # fmt: skip
    if expected is not None and found is not expected:
        raise CurveMismatchError(
            f"the file is for {found.snarkjs_name}, expected {expected.snarkjs_name}",
            where=where,
            remedy="use a key and a proof of one curve",
        )
    return found


def _read_point(fields: Fields, group: GroupSpec, value: Any, place: str) -> AffinePoint:
    """A projective point whose third coordinate is 1, or infinity as (0, 1, 0)."""
    p = group.fp.modulus

    def coordinate(entry: Any, where: str) -> Any:
        if group.degree == 1:
            return fields.element(entry, p, where)
        parts = fields.array(entry, where, 2)
        return tuple(fields.element(part, p, f"{where}[{i}]") for i, part in enumerate(parts))

    x, y, z = (coordinate(entry, f"{place}[{i}]") for i, entry in enumerate(fields.array(value, place, 3)))
    zero, one = (0, 1) if group.degree == 1 else ((0, 0), (1, 0))
    if z == one:
        return x, y
    if (x, y, z) == (zero, one, zero):
        return None
    raise fields.error(
        "the point is not in the normal form", place=f"{place}[2]", limit="third coordinate 1, or (0, 1, 0)"
    )


def _point_to_json(group: GroupSpec, point: U64Array) -> list[Any]:
    affine = points_to_ints(group, np.asarray(point))[0]
    if group.degree == 1:
        x, y, z = (*affine, 1) if affine is not None else (0, 1, 0)
        return [str(x), str(y), str(z)]
    coords = (*affine, (1, 0)) if affine is not None else ((0, 0), (1, 0), (0, 0))
    return [[str(part) for part in coord] for coord in coords]


def _flatten(point: tuple[Any, Any]) -> list[int]:
    return [part for coord in point for part in (coord if isinstance(coord, tuple) else (coord,))]


def _check_alphabeta(fields: Fields, curve: Curve) -> None:
    if "vk_alphabeta_12" not in fields.values:
        return
    place = "vk_alphabeta_12"
    for i, fp6 in enumerate(fields.array(fields.values[place], place, 2)):
        for j, fp2 in enumerate(fields.array(fp6, f"{place}[{i}]", 3)):
            for k, part in enumerate(fields.array(fp2, f"{place}[{i}][{j}]", 2)):
                fields.element(part, curve.p, f"{place}[{i}][{j}][{k}]")
