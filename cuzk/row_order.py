"""The order of a key's rows: which row of its matrices is which row of its circuit.

Row j of a key belongs to omega^j, with omega the n-th root of unity of the key's root convention. Where two
conventions have different roots, omega_old = omega_new^k for one odd k, so the same key numbered by the other
root has row k*i mod n where row i was: the polynomials, and with them every point, stay what they are.
A key is thus either in the circuit's own order (its rows, then the binding rows) or renumbered.
"""

from __future__ import annotations

import functools

import numpy as np

from cuzk.csr import CsrMatrix, IntArray, csr_from_indexed
from cuzk.curves import Curve, RootConvention
from cuzk.limbs import field_from_ints

__all__ = ["binds_public", "move_odd_points", "move_rows", "root_exponent", "row_places", "trimmed"]

_Matrices = dict[str, CsrMatrix]


@functools.cache
def root_exponent(curve: Curve, old: RootConvention, new: RootConvention) -> int:
    """The k < 2^two_adicity with root(old) = root(new)^k at every size.

    Source: Pohlig & Hellman 1978, doi:10.1109/TIT.1978.1055817: in a group of order 2^s, bit by bit.
    """
    r, s = curve.r, curve.two_adicity
    base, target = (curve.root_of_unity(s, convention) for convention in (new, old))
    inverse, k = pow(base, -1, r), 0
    for bit in range(s):
        rest = target * pow(inverse, k, r) % r
        if pow(rest, 1 << (s - 1 - bit), r) != 1:
            k |= 1 << bit
    return k


def row_places(curve: Curve, log_n: int, old: RootConvention, new: RootConvention) -> IntArray:
    """For each row of the old numbering its row in the new one. Shape (2^log_n,) int64."""
    n = 1 << log_n
    return np.arange(n, dtype=np.int64) * (root_exponent(curve, old, new) % n) % n


def move_rows(matrix: CsrMatrix, places: IntArray) -> CsrMatrix:
    """A matrix with row i at places[i], of len(places) rows."""
    return csr_from_indexed(
        matrix.curve,
        (len(places), matrix.num_cols),
        places[matrix.rows_of()],
        matrix.col,
        matrix.coeff,
        matrix.dictionary,
    )


def move_odd_points(curve: Curve, log_n: int, old: RootConvention, new: RootConvention) -> IntArray:
    """For each odd-Lagrange H point of the old numbering its place in the new one. Shape (n,) int64.

    Point i is that of v_old^(2i+1) = v_new^(k(2i+1)), which is point (k(2i+1) - 1)/2 mod n of the new numbering.
    """
    n = 1 << log_n
    k = root_exponent(curve, old, new) % (2 * n)
    return ((2 * np.arange(n, dtype=np.int64) + 1) * k % (2 * n) - 1) // 2


def trimmed(matrices: _Matrices) -> _Matrices:
    """The matrices without the rows at the end that are empty in all of them."""
    used = max(int(np.searchsorted(matrix.row_ptr, matrix.nnz)) for matrix in matrices.values())
    return {name: matrix.with_rows(used) for name, matrix in matrices.items()}


def binds_public(matrices: _Matrices, num_public: int) -> bool:
    """Whether the last rows bind ONE and the public variables: A holds 1 on variable i, the others nothing."""
    a = matrices["A"]
    count = num_public + 1
    first = a.num_rows - count
    if first < 0:
        return False
    entries = slice(int(a.row_ptr[first]), None)
    return bool(
        np.array_equal(np.diff(a.row_ptr[first:]), np.ones(count))
        and np.array_equal(a.col[entries], np.arange(count))
        and (a.dictionary[a.coeff[entries]] == field_from_ints(a.curve.fr, [1])).all()
        and all(m.row_ptr[first] == m.nnz for name, m in matrices.items() if name != "A")
    )
