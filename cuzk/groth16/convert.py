"""Conversion of proving keys: H bases between their two forms, rows between conventions of roots.

With v the primitive 2n-th root of unity, v^2 = omega, and a quotient h = sum of c_j x^j, j < n - 1, the values
of A B - C at the odd roots are Z(v omega^i) h(v omega^i) = -2 sum_j c_j v^j omega^(i j). So::

    sum_i P_i H_odd[i] = sum_j c_j H_tau[j]      with   H_tau[j] = -2 v^j sum_i omega^(i j) H_odd[i]

and the other way round H_odd[i] = -1/(2n) sum_j omega^(-i j) v^(-j) H_tau[j]. A monomial key has no H_tau[n-1],
and none is needed: any point gives n odd points with the same sum for every h of degree n - 2 at most, thus for
every satisfied witness. Infinity is taken. The odd points are then others than those a ceremony publishes,
the proofs are the same; single sums over H_odd are not (see docs/formats.md, "Roots of unity and H bases").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from cuzk.curves import RootConvention
from cuzk.device.base import Device
from cuzk.groth16.quotient import odd_coset_shift
from cuzk.keys import HForm, ProvingKey
from cuzk.limbs import U64Array
from cuzk.ops.point_ntt import point_ntt, scale_by_powers
from cuzk.row_order import move_odd_points, move_rows, root_exponent, row_places, trimmed

__all__ = ["convert"]


def convert(
    key: ProvingKey,
    device: Device,
    *,
    h_form: HForm | None = None,
    root_convention: RootConvention | None = None,
    on_share: Callable[[float], object] = lambda _: None,
) -> ProvingKey:
    """The same key in another form: with fixed blinding it gives the same proof, byte for byte.

    Args:
        key: Its points are taken as checked, the H points also for the subgroup of order r.
        device: Where points are multiplied.
        h_form: Form of the H bases; as it is where None.
        root_convention: Whose roots of unity number the rows; as it is where None. Where that changes the rows,
            the matrices get n rows, and the key says that it is renumbered.
        on_share: Called with the share of the scalar multiplications that are done, 0 to 1.

    Returns:
        A key that shares what did not change with the given one.

    Raises:
        RangeError: The scalar field has no 2n-th root of unity, so there is no odd-Lagrange form.

    Cost: changing the H form (n/2)(log n + 1) scalar multiplications; changing the rows, none.
    Checked by: tests/prover/test_convert.py.
    """
    if root_convention is not None and root_convention != key.root_convention:
        key = _renumber(key, root_convention)
    if h_form is not None and h_form != key.h_form:
        key = replace(key, h_form=h_form, h_query=_change_h(key, device, h_form, on_share))
    return key


def _renumber(key: ProvingKey, convention: RootConvention) -> ProvingKey:
    args = key.curve, key.log_domain, key.root_convention, convention
    if root_exponent(key.curve, key.root_convention, convention) == 1:
        return replace(key, root_convention=convention)
    places = row_places(*args)
    moved = {name: move_rows(matrix, places) for name, matrix in key.matrices.items()}
    h_query = key.h_query
    if key.h_form == "odd_lagrange":
        h_query = np.empty_like(key.h_query)
        h_query[move_odd_points(*args)] = key.h_query
    result = replace(
        key, root_convention=convention, h_query=h_query, a=moved["A"], b=moved["B"], c=moved.get("C")
    )
    if result.is_renumbered:
        return result
    # Back in the circuit's order: without the empty rows that the way there has added.
    last = trimmed(moved)
    return replace(result, a=last["A"], b=last["B"], c=last.get("C"))


def _change_h(
    key: ProvingKey, device: Device, h_form: HForm, on_share: Callable[[float], object]
) -> U64Array:
    curve, group, n, r = key.curve, key.curve.g1, key.domain_size, key.curve.r
    shift = odd_coset_shift(curve, key.log_domain, key.root_convention)
    omega = shift * shift % r
    scaling = 2 / (key.log_domain + 1)  # its share of the work
    if h_form == "monomial":
        sums = point_ntt(device, group, key.h_query, omega, lambda share: on_share((1 - scaling) * share))
        ours = np.ascontiguousarray(sums[: n - 1])
        return scale_by_powers(
            device, group, ours, shift, -2, lambda share: on_share(1 - scaling * (1 - share))
        )
    padded = np.zeros((n, *group.affine_shape), np.uint64)
    padded[: n - 1] = scale_by_powers(
        device,
        group,
        key.h_query,
        pow(shift, -1, r),
        -pow(2 * n, -1, r),
        lambda share: on_share(scaling * share),
    )
    return point_ntt(
        device, group, padded, pow(omega, -1, r), lambda share: on_share(scaling + (1 - scaling) * share)
    )
