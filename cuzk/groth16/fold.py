"""The forms of the quotient that a key can serve (variant Q1), and the L bases that four transforms need.

With Z = x^n - 1, and A, B, C taken at the odd 2n-th roots, a witness that satisfies the circuit has

    sum_j (A_j B_j - C_j) H_j  =  sum_j A_j B_j H_j  -  sum_k c_k K_k,      K_k = sum_j l_k(odd_j) H_j,

where c_k is the k-th row's value of C w and l_k the Lagrange basis of the n rows.  The second sum is linear in the
witness, so it goes into the L bases, which get entries for the public variables too; then neither C w nor its two
transforms are needed for h.  It is the same group element only if A w o B w = C w, which is checked row by row.

The K_k are made from the H points themselves: interpolation, scaling and evaluation of scalars, transposed, are the
same three steps on points, in reverse order.
"""

from __future__ import annotations

import numpy as np

from cuzk.device.base import Device
from cuzk.errors import InputError
from cuzk.groth16.quotient import odd_coset_shift
from cuzk.keys import ProvingKey
from cuzk.limbs import U64Array
from cuzk.ops.point_ntt import point_ntt, scale_by_powers
from cuzk.ops.point_sums import column_terms, segment_sums

__all__ = ["folded_l_query", "quotient_form"]

#: Form of a key's H bases -> number of transforms without folding.
_OWN = {"odd_lagrange": "six_ntt", "monomial": "seven_ntt"}


def quotient_form(key: ProvingKey, setting: str) -> str:
    """What Q1 means for a key.

    Args:
        key: The proving key.
        setting: "auto", "seven_ntt", "six_ntt" or "four_ntt".

    Returns:
        One of the last three.

    Raises:
        InputError: The key's H bases, or its lack of matrix C, do not allow it.
    """
    own = _OWN[key.h_form]
    if setting in ("auto", own):
        return own
    if setting == "four_ntt" and own == "six_ntt":
        if key.c is not None:
            return setting
        possible, remedy = own, "name the circuit (--circuit C.r1cs), which has matrix C"
    else:
        possible = own if own == "seven_ntt" else "six_ntt, four_ntt"
        remedy = "leave Q1 out, or change the key's H bases with cuzk key convert --h-form"
    raise InputError(
        f"variant Q1={setting} (quotient) is impossible with this key: its H bases are {key.h_form}"
        + (", and it has no matrix C" if key.c is None else ""),
        limit=f"possible with this key: auto, {possible}",
        remedy=remedy,
    )


def folded_l_query(device: Device, key: ProvingKey) -> U64Array:
    """The L bases of all variables, with what C contributes to h folded in.

    Args:
        device: Where to compute.
        key: With H bases in odd Lagrange form, and with matrix C.

    Returns:
        On the host. Shape (num_variables, *affine_shape of G1) uint64. Form: affine, Montgomery; infinity where a
        variable has no base. Order: of the variables, ONE and the public ones first.

    Cost: two transforms of n points, n further scalar multiplications, one for each entry of C that is not 1 or -1.
    Checked by: tests/prover/test_fold.py.
    """
    curve, group = key.curve, key.curve.g1
    assert key.c is not None
    n = 1 << key.log_domain
    omega = curve.root_of_unity(key.log_domain, key.root_convention)
    shift = odd_coset_shift(curve, key.log_domain, key.root_convention)
    points = point_ntt(device, group, np.ascontiguousarray(key.h_query), omega)
    # -1/n: the inverse transform's factor, and the sign of C.
    points = scale_by_powers(device, group, points, shift, -pow(n, -1, curve.r) % curve.r)
    points = point_ntt(device, group, points, pow(omega, -1, curve.r))
    terms, columns = column_terms(device, group, points, key.c)
    first = key.num_public + 1
    own = np.arange(first, key.num_variables)
    order = np.argsort(np.concatenate([columns, own]), kind="stable")
    segments = np.concatenate([columns, own])[order]
    everything = np.concatenate([terms, key.l_query])[order]
    return segment_sums(device, group, everything, segments, key.num_variables)
