"""Public arithmetic properties of the multi-scalar multiplication, on examples that Hypothesis looks for.

Would catch: any digit, carry, sign, bucket or index fault that these relations see without an oracle, on
inputs that nobody thought of; a shrunk example names the smallest case.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from cuzk_oracles import curve as oracle_curve
from cuzk_oracles import msm as oracle_msm
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from cuzk.device import Device
from cuzk.ops.batch_add import batch_add
from cuzk.ops.fixed_base import fixed_base_mul
from cuzk.ops.msm import msm
from cuzk.ops.points import scalar_mul
from tests.kernels.fr_support import open_device
from tests.kernels.msm_support import Point, Subject, run_msm, subject
from tests.strategies.points import points, subgroup_points
from tests.strategies.values import scalars

#: Every group once, and the emulator on groups of every kind of coordinate.
CASES = [
    *(("toy", "g1", "cpu"), ("toy", "g2", "emu"), ("bn254", "g1", "emu"), ("bn254", "g2", "cpu")),
    *(("bls12_381", "g1", "cpu"), ("bls12_381", "g2", "cpu")),
]
everywhere = pytest.mark.parametrize(("curve_name", "group_name", "device_name"), CASES)
windows = st.none() | st.integers(2, 9)

Term = tuple[Point, int]


def term_lists(s: Subject, most: int = 8, *, subgroup: bool = False) -> st.SearchStrategy[list[Term]]:
    """Short lists of (base, scalar): special points and scalars, equal and opposite neighbours among them."""
    base = subgroup_points(s.oracle) if subgroup else points(s.oracle)

    @st.composite
    def build(draw: DrawFn) -> list[Term]:
        chosen: list[Term] = draw(st.lists(st.tuples(base, scalars(s.r)), max_size=most))
        again = st.sampled_from(chosen) if chosen else st.nothing()
        for point, k in draw(st.lists(again, max_size=4)) if chosen else []:
            how = draw(st.sampled_from(("same", "negated point", "negated scalar")))
            point = oracle_curve.neg(s.oracle, point) if how == "negated point" else point
            chosen.append((point, (s.r - k) % s.r if how == "negated scalar" else k))
        return chosen

    return build()


def run(device: Device, s: Subject, terms: Sequence[Term], **options: Any) -> Point:
    return run_msm(device, s, s.limbs([p for p, _ in terms]), [k for _, k in terms], **options)


def opened(curve_name: str, group_name: str, device_name: str) -> tuple[Device, Subject]:
    return open_device(device_name), subject(curve_name, group_name)


@everywhere
@given(data=st.data())
def test_equals_the_definition(
    data: st.DataObject, curve_name: str, group_name: str, device_name: str
) -> None:
    device, s = opened(curve_name, group_name, device_name)
    terms = data.draw(term_lists(s, 5))
    wanted = oracle_msm.msm_naive(s.oracle, [p for p, _ in terms], [k for _, k in terms])
    assert run(device, s, terms, window_bits=data.draw(windows)) == wanted


@everywhere
@given(data=st.data())
def test_splitting_and_order(data: st.DataObject, curve_name: str, group_name: str, device_name: str) -> None:
    device, s = opened(curve_name, group_name, device_name)
    terms = data.draw(term_lists(s))
    whole = run(device, s, terms)
    cut = data.draw(st.integers(0, len(terms)))
    c = data.draw(windows)
    left, right = run(device, s, terms[:cut], window_bits=c), run(device, s, terms[cut:], window_bits=c)
    assert oracle_curve.add(s.oracle, left, right) == whole
    assert run(device, s, data.draw(st.permutations(terms)), window_bits=c) == whole


@everywhere
@given(data=st.data())
def test_linearity(data: st.DataObject, curve_name: str, group_name: str, device_name: str) -> None:
    # Scalars wrap modulo r, so the bases are in the subgroup.
    device, s = opened(curve_name, group_name, device_name)
    terms = data.draw(term_lists(s, subgroup=True))
    a = data.draw(scalars(s.r))
    second = [data.draw(scalars(s.r)) for _ in terms]
    mixed = [(p, (a * k + t) % s.r) for (p, k), t in zip(terms, second, strict=True)]
    first = oracle_curve.mul(s.oracle, a, run(device, s, terms))
    other = run(device, s, [(p, t) for (p, _), t in zip(terms, second, strict=True)])
    assert run(device, s, mixed) == oracle_curve.add(s.oracle, first, other)


@everywhere
@given(data=st.data())
def test_negation(data: st.DataObject, curve_name: str, group_name: str, device_name: str) -> None:
    device, s = opened(curve_name, group_name, device_name)
    terms = data.draw(term_lists(s))
    whole = run(device, s, terms)
    negated = [(oracle_curve.neg(s.oracle, p), k) for p, k in terms]
    assert run(device, s, negated) == oracle_curve.neg(s.oracle, whole)
    assert run(device, s, [*terms, *negated]) is None
    inside = data.draw(term_lists(s, subgroup=True))
    flipped = [(oracle_curve.neg(s.oracle, p), (s.r - k) % s.r) for p, k in inside]
    assert run(device, s, flipped) == run(device, s, inside)  # -k is r - k only in the subgroup


@everywhere
@given(data=st.data())
def test_neutral_terms_and_merging(
    data: st.DataObject, curve_name: str, group_name: str, device_name: str
) -> None:
    device, s = opened(curve_name, group_name, device_name)
    terms = data.draw(term_lists(s))
    whole = run(device, s, terms)
    padding = [(None, s.r - 1), (s.oracle.generator, 0), (None, 0)] * data.draw(st.integers(0, 12))
    assert run(device, s, [*terms, *padding]) == whole
    # k P + k' P = (k + k') P: one base twice, or once with the sum of its scalars.
    low = [(p, k // 2) for p, k in terms]
    high = [(p, k - k // 2) for p, k in terms]
    assert run(device, s, [*low, *high]) == whole


@everywhere
@given(data=st.data())
def test_index_lists(data: st.DataObject, curve_name: str, group_name: str, device_name: str) -> None:
    device, s = opened(curve_name, group_name, device_name)
    terms = data.draw(term_lists(s).filter(bool))
    chosen = data.draw(st.lists(st.integers(0, len(terms) - 1), max_size=20))
    bases, values = device.upload(s.limbs([p for p, _ in terms])), s.scalars([k for _, k in terms])
    indices = device.upload(np.array(chosen, np.uint32))
    picked = s.point(msm(device, s.spec, bases, device.upload(values), indices=indices))
    assert picked == run(device, s, [terms[i] for i in chosen])
    ones = s.point(batch_add(device, s.spec, bases, indices))
    assert ones == run(device, s, [(terms[i][0], 1) for i in chosen])


@everywhere
@given(data=st.data())
def test_single_terms_agree_with_the_other_multiplications(
    data: st.DataObject, curve_name: str, group_name: str, device_name: str
) -> None:
    device, s = opened(curve_name, group_name, device_name)
    base, k = data.draw(points(s.oracle)), data.draw(scalars(s.r))
    wanted = run(device, s, [(base, k)], window_bits=data.draw(windows))
    scalar = device.upload(s.scalars([k]))
    limbs = s.limbs([base])
    assert s.point(device.download(scalar_mul(device, s.spec, device.upload(limbs), scalar))[0]) == wanted
    fixed = fixed_base_mul(device, s.spec, scalar, base=limbs[0], window_bits=4)
    assert s.point(device.download(fixed)[0]) == wanted
