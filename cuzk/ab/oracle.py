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

__all__ = [
    "affine",
    "ask",
    "bases_of",
    "bit_sum",
    "can_sum",
    "group_of",
    "h_values",
    "plain",
    "point",
    "suffix",
    "total",
    "windows",
]

#: End of the names of values of a key whose matrix C is folded into its L bases.
_FOLDED = "_folded"

#: Most terms of a sum that is asked for, and most rows of a transform.
_MOST_TERMS = {"g1": 4096, "g2": 1024}
_MOST_ROWS = 8192
_QUERIES = ("h", "l", "a", "b_g1", "b_g2")


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


def suffix(name: str) -> str:
    """What the names of the sums end with where h has this name: `_folded` or nothing."""
    return _FOLDED if name.endswith(_FOLDED) else ""


def plain(name: str) -> str:
    """A name without the mark of folded bases."""
    return name.removesuffix(_FOLDED)


def bases_of(workload: Workload, query: str) -> list[Any]:
    """A query's bases as ints; of `l_folded` those that the key's L bases and matrix C give."""
    group = group_of(workload, f"sum_{query}")
    if query == f"l{_FOLDED}":
        from cuzk.device import get_device
        from cuzk.groth16.fold import folded_l_query

        return points_to_ints(group, folded_l_query(get_device("cpu"), workload.key))
    return points_to_ints(group, getattr(workload.key, f"{plain(query)}_query"))


def can_sum(workload: Workload, query: str) -> bool:
    """Whether a query is small enough to be summed here."""
    group = group_of(workload, f"sum_{query}")
    return len(getattr(workload.key, f"{plain(query)}_query")) <= _MOST_TERMS[group.name]


def total(workload: Workload, group: GroupSpec, points: Sequence[Any]) -> Any:
    """The sum of some points, as ints."""
    from cuzk_oracles import curve

    return curve.total(_oracle_group(workload, group), list(points))


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
        return point(workload, name, at.circuit, trace)
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
    values = h_values(workload, at.name, at.circuit, trace)
    if values is None:
        return False, None
    return True, values[at.index] if at.index < len(values) else 0


def h_values(workload: Workload, name: str, circuit: int, trace: Trace) -> list[int] | None:
    """The scalars of the H query in the form of a name, from a run's a, b and c; None where they are too many.

    Args:
        workload: What was proved.
        name: `h_monomial`, `h_odd_lagrange`, or `h_folded`: A B at the odd roots, without C.
        circuit: Which circuit of the call.
        trace: Of the run.
    """
    from cuzk_oracles.groth16 import KeyForm, h_scalars

    key = workload.key
    if key.domain_size > _MOST_ROWS or not all(row in trace.values for row in ("a", "b", "c")):
        return None
    a, b, c = (fr_to_ints(key.curve, trace.values[row][circuit]) for row in ("a", "b", "c"))
    form = name.removeprefix("h_")
    if suffix(name):
        form, c = "odd_lagrange", [0] * len(a)
    return h_scalars(_params(workload), KeyForm(key.root_convention, form), key.log_domain, a, b, c)


def _scalars(workload: Workload, query: str, circuit: int, trace: Trace) -> list[int]:
    key = workload.key
    if plain(query) == "h":
        name = next(n for n in trace.values if n.startswith("h_") and suffix(n) == suffix(query))
        return fr_to_ints(key.curve, trace.values[name][circuit])
    w = workload.witnesses[circuit].to_ints()
    return w[key.num_public + 1 :] if query == "l" else w


def point(workload: Workload, name: str, circuit: int, trace: Trace) -> tuple[bool, Any]:
    """What a sum of some bases should be.

    Args:
        workload: What was proved.
        name: `sum_QUERY`, or `ones_QUERY` for the bases of scalar one; QUERY may be `h_folded` or `l_folded`.
        circuit: Which circuit of the call.
        trace: Of a run whose h is right.

    Returns:
        Whether the oracle answered, and its answer.
    """
    from cuzk_oracles import msm

    kind, _, query = name.partition("_")
    if plain(query) not in _QUERIES or not can_sum(workload, query):
        return False, None
    group = group_of(workload, name)
    if name == f"sum_l{_FOLDED}":
        return _folded_l(workload, circuit, trace)
    bases, scalars = bases_of(workload, query), _scalars(workload, query, circuit, trace)
    if kind == "ones":
        return True, total(workload, group, [p for p, s in zip(bases, scalars, strict=False) if s == 1])
    return True, msm.msm_buckets(_oracle_group(workload, group), bases, scalars[: len(bases)])


def _folded_l(workload: Workload, circuit: int, trace: Trace) -> tuple[bool, Any]:
    """The sum over folded L bases without using them: the one over L, and what h without C has too much over H."""
    from cuzk_oracles import msm

    r, group = workload.key.curve.r, workload.key.curve.g1
    both = [h_values(workload, f"h_{form}", circuit, trace) for form in ("odd_lagrange", "folded")]
    if None in both or not can_sum(workload, "h"):
        return False, None
    more = [(x - y) % r for x, y in zip(*both, strict=True)]
    _, over_l = point(workload, "sum_l", circuit, trace)
    over_h = msm.msm_buckets(_oracle_group(workload, group), bases_of(workload, "h"), more)
    return True, total(workload, group, [over_l, over_h])


def _proof_point(workload: Workload, at: Difference, trace: Trace) -> Any:
    """A point of the proof from the sums, which both sides agree on."""
    from cuzk_oracles import curve

    key, params = workload.key, _params(workload)
    g1, g2 = params.g1, params.g2

    def affine_ints(group: GroupSpec, array: U64Array) -> Any:
        return points_to_ints(group, array.reshape(1, *group.affine_shape))[0]

    def summed(query: str) -> Any:
        name = f"sum_{query}"
        array = trace.values[name if name in trace.values else f"{name}{_FOLDED}"][at.circuit]
        return affine_ints(group_of(workload, name), array)

    delta = affine_ints(key.curve.g1, key.delta_g1)
    a = curve.total(
        g1, [affine_ints(key.curve.g1, key.alpha_g1), summed("a"), curve.mul(g1, _R_BLIND, delta)]
    )
    if at.name == "proof_a":
        return a
    if at.name == "proof_b":
        delta_g2 = curve.mul(g2, _S_BLIND, affine_ints(key.curve.g2, key.delta_g2))
        return curve.total(g2, [affine_ints(key.curve.g2, key.beta_g2), summed("b_g2"), delta_g2])
    b1 = curve.total(
        g1, [affine_ints(key.curve.g1, key.beta_g1), summed("b_g1"), curve.mul(g1, _S_BLIND, delta)]
    )
    minus_rs = curve.neg(g1, curve.mul(g1, _R_BLIND * _S_BLIND, delta))
    terms = [summed("l"), summed("h"), curve.mul(g1, _S_BLIND, a), curve.mul(g1, _R_BLIND, b1), minus_rs]
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
