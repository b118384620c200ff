"""A circuit with the shape of a Filecoin PoRep partition, at any power of two, made in NumPy alone.

Counts, densities and the mix of values are those of the 32 GiB partition (130,278,869 constraints over a domain of
2^27), scaled: 2.37 entries a row in A, 1 in B, about 2.2 in C; 99.7% of the private variables occur in A, 25.4% in
B; 51.3% of the values are 0, 47.4% are 1, the rest full-width.  Every row holds by construction: B picks a boolean
variable; where its value is 1, C repeats A, and where it is 0, C is made of variables whose value is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cuzk.csr import CsrMatrix
from cuzk.curves import Curve, get_curve
from cuzk.limbs import fr_from_ints
from cuzk.relation import R1CS
from cuzk.witness import Witness

#: The partition this is scaled from.
FULL_LOG, FULL_CONSTRAINTS, FULL_AUX = 27, 130_278_869, 130_169_893
NUM_PUBLIC = 327
SHARE_ZERO, SHARE_ONE = 0.513, 0.474
DENSITY_A, DENSITY_B = 0.997, 0.254
#: Share of rows with a third entry in A.
THIRD = 0.37

Ints = npt.NDArray[Any]


@dataclass(frozen=True)
class Shape:
    """Sizes for one domain."""

    num_constraints: int
    num_variables: int

    @classmethod
    def of(cls, log_domain: int) -> Shape:
        """The partition's counts scaled down to a domain of 2^log_domain."""
        scale = 2.0 ** (log_domain - FULL_LOG)
        rows = int(FULL_CONSTRAINTS * scale) - NUM_PUBLIC - 1
        return cls(rows, int(FULL_AUX * scale) + NUM_PUBLIC + 1)


def porep_shape(
    log_domain: int, *, curve: str = "bls12_381", dense: bool = False, seed: int = 1
) -> tuple[R1CS, Witness]:
    """A satisfied circuit.

    Args:
        log_domain: log2 of the domain, at least 12.
        curve: Name of the curve.
        dense: Full-width values everywhere but in the booleans of B, as in a PoSt circuit.
        seed: Of everything random.
    """
    spec, shape = get_curve(curve), Shape.of(log_domain)
    rng = np.random.default_rng(seed)
    values, kind = _values(spec, shape, rng, dense)
    booleans = np.flatnonzero(kind != 2)[NUM_PUBLIC + 1 :]
    in_b = rng.choice(booleans, min(len(booleans), int(DENSITY_B * shape.num_variables)), replace=False)
    b_col = rng.permutation(np.resize(in_b, shape.num_constraints)).astype(np.uint32)
    zeros = np.flatnonzero(kind == 0).astype(np.uint32)
    a_cols, a_coeff, entries = _rows_of_a(spec, shape, rng)
    is_one = kind[b_col] == 1
    c_cols = np.where(is_one[:, None], a_cols, rng.choice(zeros, a_cols.shape))
    c_cols[:, 1] = np.where(c_cols[:, 1] == c_cols[:, 0], zeros[0], c_cols[:, 1])
    c_entries = np.where(is_one, entries, 2)
    dictionary = fr_from_ints(spec, [1, spec.r - 1, 2, spec.r - 2, *(1 << i for i in range(2, 32))])
    n = shape.num_variables
    a = _csr(spec, n, a_cols, a_coeff, entries, dictionary)
    b = _csr(
        spec,
        n,
        b_col[:, None],
        np.zeros((len(b_col), 1), np.uint8),
        np.ones(len(b_col), np.int64),
        dictionary,
    )
    c = _csr(spec, n, c_cols, a_coeff, c_entries, dictionary)
    return R1CS(spec, n, NUM_PUBLIC, a, b, c), Witness(spec, values)


def _values(spec: Curve, shape: Shape, rng: np.random.Generator, dense: bool) -> tuple[Ints, Ints]:
    """Standard-form limbs, and per variable 0, 1 or 2 (full-width)."""
    draw = rng.random(shape.num_variables)
    kind = np.where(draw < SHARE_ZERO, 0, np.where(draw < SHARE_ZERO + SHARE_ONE, 1, 2)).astype(np.uint8)
    if dense:
        kind[rng.random(shape.num_variables) < 0.7] = 2
    kind[0] = 1
    values = np.zeros((shape.num_variables, spec.fr.limbs), np.uint64)
    values[kind == 1, 0] = 1
    wide = np.flatnonzero(kind == 2)
    limbs = rng.integers(0, 2**64, (len(wide), spec.fr.limbs), np.uint64, endpoint=False)
    limbs[:, -1] &= np.uint64((1 << (spec.fr.bits - 1) % 64) - 1)
    values[wide] = limbs
    return values, kind


def _rows_of_a(spec: Curve, shape: Shape, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    """Columns (rows, 3), coefficient indices, and how many entries of each row count."""
    rows, n = shape.num_constraints, shape.num_variables
    covered = rng.permutation(n)[: int(DENSITY_A * n)].astype(np.uint32)
    first = np.resize(covered, rows)
    step = rng.integers(1, len(covered), (2, rows))
    at = np.arange(rows) % len(covered)
    second = covered[(at + step[0]) % len(covered)]
    third = covered[(at + step[1]) % len(covered)]
    entries = np.where((rng.random(rows) < THIRD) & (second != third), 3, 2).astype(np.int64)
    coeff = np.where(
        rng.random((rows, 3)) < 0.7, rng.integers(0, 2, (rows, 3)), rng.integers(2, 34, (rows, 3))
    )
    return np.stack([first, second, third], axis=1), coeff.astype(np.uint8), entries


def _csr(spec: Curve, n: int, cols: Ints, coeff: Ints, entries: Ints, dictionary: Ints) -> CsrMatrix:
    keep = np.arange(cols.shape[1])[None, :] < entries[:, None]
    row_ptr = np.zeros(len(entries) + 1, np.int64)
    np.cumsum(entries, out=row_ptr[1:])
    return CsrMatrix(
        spec,
        n,
        row_ptr,
        np.ascontiguousarray(cols[keep], np.uint32),
        np.ascontiguousarray(coeff[keep]),
        dictionary,
    )
