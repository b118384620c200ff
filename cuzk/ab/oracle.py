"""The oracle's side of a comparison: what one element should be, from plain integers.

The oracles are slow, so they are asked for one element, or for sums of a few thousand terms; beyond that nobody says
which side is wrong, only that the two differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cuzk.ab.compare import Difference
from cuzk.ab.runner import _R_BLIND, _S_BLIND, Trace
from cuzk.ab.workload import Workload
from cuzk.curves import GroupSpec
from cuzk.errors import InputError
from cuzk.limbs import U64Array, field_to_ints, fr_to_ints, points_to_ints

if TYPE_CHECKING:
    from cuzk_oracles.params import Params

__all__ = ["affine", "ask", "bases_of", "bit_sum", "can_sum", "group_of", "windows"]

#: Most terms of a sum that is asked for, and most rows of a transform.
_MOST_TERMS = {"g1": 4096, "g2": 1024}
_MOST_ROWS = 8192


def _params(workload: Workload) -> Params:
    try:
        from cuzk_oracles.params import BLS12_381, BN254, TOY
    except ImportError as error:
        raise InputError(
            "the oracles are not installed",
            remedy="install the package with its oracles: pip install 'cuzk[oracles]'",
        ) from error
    return {"bls12_381": BLS12_381, "bn254": BN254, "toy": TOY}[workload.key.curve.name]


def group_of(workload: Workload, name: str) -> GroupSpec:
    """The group of a point by its name."""
    return workload.key.curve.g2 if name in ("sum_b_g2", "ones_b_g2", "proof_b") else workload.key.curve.g1


def _oracle_group(workload: Workload, group: GroupSpec) -> Any:
    params = _params(workload)
    return params.g2 if group.name == "g2" else params.g1


def bases_of(workload: Workload, query: str) -> list[Any]:
    """A query's bases as ints."""
    group = group_of(workload, f"sum_{query}")
    return points_to_ints(group, getattr(workload.key, f"{query}_query"))


def can_sum(workload: Workload, query: str) -> bool:
    """Whether a query is small enough to be summed here."""
    group = group_of(workload, f"sum_{query}")
    return len(getattr(workload.key, f"{query}_query")) <= _MOST_TERMS[group.name]


def affine(group: GroupSpec, xyzz: U64Array) -> Any:
    """A point in XYZZ form, Montgomery, as affine ints; None is infinity."""
    fp = group.curve.fp
    values = field_to_ints(fp, np.ascontiguousarray(xyzz).reshape(-1, fp.limbs))
    half = len(values) // 4
    x, y, zz, zzz = (tuple(values[i * half : (i + 1) * half]) for i in range(4))
    if not any(zz):
        return None
    from cuzk_oracles import curve as curves
    from cuzk_oracles.params import BLS12_381, BN254, TOY

    params = {"bls12_381": BLS12_381, "bn254": BN254, "toy": TOY}[group.curve.name]
    parts = (x, y, zz, zzz) if half == 2 else tuple(part[0] for part in (x, y, zz, zzz))
    return curves.from_xyzz(params.g2 if half == 2 else params.g1, parts)  # type: ignore[arg-type]


def ask(workload: Workload, at: Difference, trace: Trace) -> tuple[bool, Any]:
    """What an element should be.

    Args:
        workload: What was proved.
        at: The element.
        trace: Of a run whose values before this one are known to be the other's too.

    Returns:
        Whether the oracle answered, and its answer.
    """
    name = at.name
    if name in ("a", "b", "c"):
        return _row(workload, name, at)
    if name.startswith("h_"):
        return _h(workload, at, trace)
    if name.startswith(("sum_", "ones_")):
        return _sum(workload, at, trace)
    return True, _proof_point(workload, at, trace)


def _row(workload: Workload, name: str, at: Difference) -> tuple[bool, Any]:
    from cuzk_oracles.spmv import spmv

    matrix, r = workload.key.matrices.get(name.upper()), workload.key.curve.r
    if matrix is None:  # c is the product of the other two where nobody knows C
        a, b = (_row(workload, other, at)[1] for other in ("a", "b"))
        return True, a * b % r
    if at.index >= matrix.num_rows:
        return True, 0
    w = workload.witnesses[at.circuit].to_ints()
    return True, spmv([matrix.row(at.index)], w, r)[0]


def _h(workload: Workload, at: Difference, trace: Trace) -> tuple[bool, Any]:
    from cuzk_oracles.groth16 import KeyForm, h_scalars

    key = workload.key
    if key.domain_size > _MOST_ROWS or not all(name in trace.values for name in ("a", "b", "c")):
        return False, None
    abc = [fr_to_ints(key.curve, trace.values[name][at.circuit]) for name in ("a", "b", "c")]
    form = KeyForm(key.root_convention, at.name.removeprefix("h_"))
    values = h_scalars(_params(workload), form, key.log_domain, abc[0], abc[1], abc[2])
    return True, values[at.index] if at.index < len(values) else 0


def _scalars(workload: Workload, query: str, at: Difference, trace: Trace) -> list[int]:
    key = workload.key
    if query == "h":
        name = next(name for name in trace.values if name.startswith("h_"))
        return fr_to_ints(key.curve, trace.values[name][at.circuit])
    w = workload.witnesses[at.circuit].to_ints()
    return w[key.num_public + 1 :] if query == "l" else w


def _sum(workload: Workload, at: Difference, trace: Trace) -> tuple[bool, Any]:
    from cuzk_oracles import curve, msm

    kind, _, query = at.name.partition("_")
    if not can_sum(workload, query):
        return False, None
    group = _oracle_group(workload, group_of(workload, at.name))
    bases, scalars = bases_of(workload, query), _scalars(workload, query, at, trace)
    if kind == "ones":
        return True, curve.total(group, [base for base, s in zip(bases, scalars, strict=False) if s == 1])
    return True, msm.msm_buckets(group, bases, scalars[: len(bases)])


def _proof_point(workload: Workload, at: Difference, trace: Trace) -> Any:
    """A point of the proof from the sums, which both sides agree on."""
    from cuzk_oracles import curve

    key, params = workload.key, _params(workload)
    g1, g2 = params.g1, params.g2

    def point(group: GroupSpec, array: U64Array) -> Any:
        return points_to_ints(group, array.reshape(1, *group.affine_shape))[0]

    def total(query: str) -> Any:
        return point(group_of(workload, f"sum_{query}"), trace.values[f"sum_{query}"][at.circuit])

    delta = point(key.curve.g1, key.delta_g1)
    a = curve.total(g1, [point(key.curve.g1, key.alpha_g1), total("a"), curve.mul(g1, _R_BLIND, delta)])
    if at.name == "proof_a":
        return a
    if at.name == "proof_b":
        delta_g2 = curve.mul(g2, _S_BLIND, point(key.curve.g2, key.delta_g2))
        return curve.total(g2, [point(key.curve.g2, key.beta_g2), total("b_g2"), delta_g2])
    b1 = curve.total(g1, [point(key.curve.g1, key.beta_g1), total("b_g1"), curve.mul(g1, _S_BLIND, delta)])
    minus_rs = curve.neg(g1, curve.mul(g1, _R_BLIND * _S_BLIND, delta))
    terms = [total("l"), total("h"), curve.mul(g1, _S_BLIND, a), curve.mul(g1, _R_BLIND, b1), minus_rs]
    return curve.total(g1, terms)


def windows(
    workload: Workload,
    group: GroupSpec,
    terms: Sequence[tuple[int, Any, int]],
    window_bits: int,
    num_windows: int,
) -> Iterator[tuple[dict[int, Any], dict[int, int]]]:
    """The buckets of each window from the lowest, one window at a time.

    Args:
        workload: Over which curve.
        group: The bases' group.
        terms: (place in the query, base, scalar).
        window_bits: Bits of a signed digit.
        num_windows: Windows.

    Yields:
        Bucket -> sum, without those that are infinity; bucket -> place of its first term.
    """
    from cuzk_oracles import curve
    from cuzk_oracles.msm import signed_digits

    points = _oracle_group(workload, group)
    digits = [signed_digits(scalar, window_bits, num_windows) for _, _, scalar in terms]
    for w in range(num_windows):
        sums: dict[int, Any] = {}
        first: dict[int, int] = {}
        for (place, base, _), own in zip(terms, digits, strict=True):
            if not own[w]:
                continue
            bucket = abs(own[w])
            signed = base if own[w] > 0 else curve.neg(points, base)
            sums[bucket] = curve.add(points, sums.get(bucket), signed)
            first.setdefault(bucket, place)
        yield {bucket: value for bucket, value in sums.items() if value is not None}, first


def bit_sum(workload: Workload, group: GroupSpec, buckets: Mapping[int, Any], bit: int) -> Any:
    """The sum of the buckets whose number has a bit set."""
    from cuzk_oracles import curve

    return curve.total(
        _oracle_group(workload, group), [value for bucket, value in buckets.items() if bucket >> bit & 1]
    )
