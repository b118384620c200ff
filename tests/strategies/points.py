"""Strategies for curve points, pairs of points, and Z coordinates."""

from functools import cache
from typing import Any

from cuzk_oracles import curve, edge_points, msm
from cuzk_oracles.curve import C, Group
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.strategies.values import by_id, field_elements, fp2_elements, scalars


@cache
def _multiples_of_generator(group: Group[Any]) -> msm.FixedBase[Any]:
    return msm.FixedBase(group, group.generator, group.r.bit_length())


def subgroup_points(group: Group[C]) -> SearchStrategy[tuple[C, C] | None]:
    """[k]G for k of class K or uniform; infinity for k = 0."""
    table: msm.FixedBase[C] = _multiples_of_generator(group)
    return scalars(group.r).map(table.mul)


def points(group: Group[C]) -> SearchStrategy[tuple[C, C] | None]:
    """Points of the curve: class P (also outside the subgroup), or [k]G."""
    return st.one_of(by_id(edge_points.points(group)), subgroup_points(group))


def point_pairs(group: Group[C]) -> SearchStrategy[tuple[tuple[C, C] | None, tuple[C, C] | None]]:
    """Two points: independent, equal, opposite, one the double or minus the double of the other."""
    base = points(group)
    return st.one_of(
        st.tuples(base, base),
        base.map(lambda p: (p, p)),
        base.map(lambda p: (p, curve.neg(group, p))),
        base.map(lambda p: (p, curve.double(group, p))),
        base.map(lambda p: (curve.neg(group, curve.double(group, p)), p)),
    )


def z_values(group: Group[C]) -> SearchStrategy[C]:
    """Coordinates z != 0 for extended representations, with edge values in each component."""
    field = group.field
    elements: SearchStrategy[Any] = field_elements(field.p) if field.degree == 1 else fp2_elements(field.p)
    return elements.filter(lambda z: z != field.lift(0))
