"""The group law against four libraries and, on small curves, against counting.

Would catch: a wrong slope, a missing case (infinity, equal, opposite), a scalar reduced where it must not be,
a coordinate system converted with the wrong power of z, a subgroup check that accepts everything.
"""

from typing import Any

import pytest
from cuzk_oracles import curve, edge_points, lineages, msm, third_party
from cuzk_oracles.curve import Group
from cuzk_oracles.params import BLS12_381, BN254, TINY, TOY, Params
from cuzk_oracles.third_party import Adapter, LibraryRejected
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from tests.strategies import points, values

GROUPS: list[Group[Any]] = [g for c in (BLS12_381, BN254, TOY) for g in (c.g1, c.g2)]
each_group = pytest.mark.parametrize("group", GROUPS, ids=[g.name for g in GROUPS])

LIBRARIES = [
    pytest.param(c, adapter, id=f"{c.name}-{adapter.module}")
    for c in (BLS12_381, BN254)
    for adapter in third_party.installed()
    if adapter.supports("point", c)
]


def _library_add(adapter: Adapter, c: Params, i: int, left: Any, right: Any) -> Any:
    return adapter.g1_add(c, left, right) if i == 1 else adapter.g2_add(c, left, right)


def _library_mul(adapter: Adapter, c: Params, i: int, k: int, point: Any) -> Any:
    return adapter.g1_mul(c, k, point) if i == 1 else adapter.g2_mul(c, k, point)


@pytest.mark.parametrize("name", ["bls12_381", "bn254"])
def test_enough_lineages(name: str) -> None:
    """Without at least two other lineages the tests below would check little."""
    found = {
        lineages.lineage(adapter.module)
        for adapter in third_party.installed()
        if adapter.supports("point") and name in lineages.LIBRARIES[adapter.module].curves
    }
    assert len(found) >= 2


@pytest.mark.parametrize("i", [1, 2], ids=["g1", "g2"])
@pytest.mark.parametrize(("c", "adapter"), LIBRARIES)
@settings(max_examples=25)
@given(data=st.data())
def test_add_against_libraries(c: Params, adapter: Adapter, i: int, data: st.DataObject) -> None:
    group: Group[Any] = c.g1 if i == 1 else c.g2
    base = points.subgroup_points(group)
    left = data.draw(base)
    right = data.draw(
        st.one_of(base, st.sampled_from([left, curve.neg(group, left), curve.double(group, left), None]))
    )
    assert _library_add(adapter, c, i, left, right) == curve.add(group, left, right)


@pytest.mark.parametrize("i", [1, 2], ids=["g1", "g2"])
@pytest.mark.parametrize(("c", "adapter"), LIBRARIES)
@settings(max_examples=8)
@given(data=st.data())
def test_mul_against_libraries(c: Params, adapter: Adapter, i: int, data: st.DataObject) -> None:
    group: Group[Any] = c.g1 if i == 1 else c.g2
    k, point = data.draw(values.scalars(c.r)), data.draw(points.subgroup_points(group))
    assert _library_mul(adapter, c, i, k, point) == curve.mul(group, k, point)


@pytest.mark.parametrize(("c", "adapter"), LIBRARIES)
def test_infinity_and_order_against_libraries(c: Params, adapter: Adapter) -> None:
    groups: tuple[Group[Any], ...] = (c.g1, c.g2)
    for i, group in enumerate(groups, start=1):
        g = group.generator
        assert _library_mul(adapter, c, i, 0, g) is None
        assert _library_mul(adapter, c, i, c.r - 1, g) == curve.neg(group, g)
        assert _library_add(adapter, c, i, g, curve.neg(group, g)) is None


CHECKING = [p for p in LIBRARIES if "py_ecc" not in str(p.id)]  # py_ecc computes with anything


@pytest.mark.parametrize(("c", "adapter"), CHECKING)
def test_libraries_agree_that_a_point_is_off_the_curve(c: Params, adapter: Adapter) -> None:
    off = (1, 1)
    assert not curve.is_on_curve(c.g1, off)
    with pytest.raises(LibraryRejected):
        adapter.g1_add(c, off, None)


@each_group
@settings(max_examples=20)
@given(data=st.data())
def test_group_axioms(group: Group[Any], data: st.DataObject) -> None:
    """Also outside the subgroup, where the libraries refuse to go."""
    (p, q), s = data.draw(points.point_pairs(group)), data.draw(points.points(group))
    total = curve.add(group, p, q)
    assert curve.is_on_curve(group, total)
    assert total == curve.add(group, q, p)
    assert curve.add(group, total, s) == curve.add(group, p, curve.add(group, q, s))
    assert curve.add(group, p, None) == p
    assert curve.add(group, p, curve.neg(group, p)) is None
    assert curve.double(group, p) == curve.add(group, p, p)


@each_group
@settings(max_examples=8)
@given(data=st.data())
def test_scalar_laws(group: Group[Any], data: st.DataObject) -> None:
    p = data.draw(points.points(group))
    j, k = data.draw(st.integers(-(2**70), 2**70)), data.draw(st.integers(-(2**70), 2**70))
    assert curve.mul(group, j + k, p) == curve.add(group, curve.mul(group, j, p), curve.mul(group, k, p))
    assert curve.mul(group, j * k, p) == curve.mul(group, j, curve.mul(group, k, p))


@each_group
@given(data=st.data())
def test_extended_coordinates(group: Group[Any], data: st.DataObject) -> None:
    p, z = data.draw(points.points(group)), data.draw(points.z_values(group))
    f = group.field
    x, y, zz, zzz = curve.to_xyzz(group, p, z)
    assert curve.from_xyzz(group, (x, y, zz, zzz)) == p
    assert f.mul(f.mul(zz, zz), zz) == f.mul(zzz, zzz)
    assert curve.from_jacobian(group, curve.to_jacobian(group, p, z)) == p
    if p is not None:
        # Y^2 = X^3 + b Z^6 with Z^6 = ZZ^3
        z6 = f.mul(f.mul(zz, zz), zz)
        assert f.mul(y, y) == f.add(f.mul(f.mul(x, x), x), f.mul(group.b, z6))


@each_group
@given(data=st.data())
def test_lift_x(group: Group[Any], data: st.DataObject) -> None:
    p = data.draw(points.points(group))
    if p is None:
        reject()
    assert curve.lift_x(group, p[0]) in (p, curve.neg(group, p))


@each_group
def test_subgroup_check_rejects(group: Group[Any]) -> None:
    outside = edge_points.outside_subgroup(group)
    assert (outside is None) == (group.cofactor == 1)
    if outside is not None:
        assert curve.is_on_curve(group, outside)
        assert not curve.in_subgroup(group, outside)
    assert curve.in_subgroup(group, None)
    x, y = group.generator
    off_curve = (x, group.field.add(y, group.field.lift(1)))
    assert not curve.in_subgroup(group, off_curve)


def test_order_three_point_of_bls12_381() -> None:
    point = edge_points.outside_subgroup(BLS12_381.g1)
    assert point == (0, 2)
    assert curve.mul(BLS12_381.g1, 3, point) is None


@each_group
@settings(max_examples=10)
@given(data=st.data())
def test_fixed_base(group: Group[Any], data: st.DataObject) -> None:
    k = data.draw(values.scalars(group.r))
    assert _table(group).mul(k) == curve.mul(group, k, group.generator)


_TABLES: dict[str, msm.FixedBase[Any]] = {}


def _table(group: Group[Any]) -> msm.FixedBase[Any]:
    if group.name not in _TABLES:
        _TABLES[group.name] = msm.FixedBase(group, group.generator, group.r.bit_length())
    return _TABLES[group.name]


def test_fixed_base_refuses_large_scalars() -> None:
    with pytest.raises(ValueError, match="outside the table"):
        _table(TOY.g1).mul(1 << 16)


# --- small curves, everything -----------------------------------------------------------------------------


def test_tiny_group_is_cyclic_of_order_31() -> None:
    """All 31 x 31 sums from the list of multiples: the addition table of Z/31."""
    for group in (TINY.g1, TINY.g2):
        _check_addition_table(group)


def _check_addition_table(group: Group[Any]) -> None:
    multiples = [None, *curve.multiples(group, group.generator, group.r - 1)]
    assert len(set(multiples)) == group.r
    for i, p in enumerate(multiples):
        for j, q in enumerate(multiples):
            assert curve.add(group, p, q) == multiples[(i + j) % group.r]


def test_tiny_points_are_all_points() -> None:
    found = set(curve.all_points(TINY.g1))
    assert found == {None, *curve.multiples(TINY.g1, TINY.g1.generator, TINY.r - 1)}


def test_toy_group_is_cyclic() -> None:
    """Every one of the 61441 points is a multiple of the generator, and the next multiple is the sum."""
    on_curve = set(curve.all_points(TOY.g1))
    assert len(on_curve) == TOY.r
    assert on_curve == {None, *curve.multiples(TOY.g1, TOY.g1.generator, TOY.r - 1)}


def test_total_of_nothing_is_infinity() -> None:
    assert curve.total(TOY.g1, []) is None
    assert curve.multiples(TOY.g1, None, 2) == [None, None]
