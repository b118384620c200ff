"""Constants of Poseidon over the scalar field of BLS12-381, as Filecoin uses it; all are computed.

An instance has width t = arity + 1, S-box x^5, R_F full and R_P partial rounds. A round adds t constants, applies
the S-box (partial: to element 0 only) and multiplies the state, a row vector, by the matrix M. Element 0 starts as the
tag 2^arity - 1 (a Merkle tree node with all children present), and element 1 is the result.

The optimised form gives the same results with fewer products; its constants are what the circuit is made of:

* constants move behind the S-box: adding k before a round is adding k M^-1 before the previous product;
* those of partial rounds move to the front, element 0 apart, because elements 1..t-1 pass the S-box unchanged;
* M = M' M'' with M' = diag(1, M^) and M'' sparse; M' commutes with a partial S-box, so it moves to the
  round before. Only the last of the first full rounds keeps a dense matrix of its own, the "pre-sparse" one.

Source: Grassi et al., Poseidon, https://eprint.iacr.org/2019/458, appendices B and F; the Filecoin instances are those
of the library neptune (strength "standard").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice
from math import ceil, log2

from cuzk.curves import get_curve
from cuzk.errors import RangeError

__all__ = [
    "ARITIES",
    "MODULUS",
    "Instance",
    "Matrix",
    "Optimised",
    "SparseMatrix",
    "instance",
    "round_numbers",
]

#: r, the order of BLS12-381's groups.
MODULUS = get_curve("bls12_381").r
_BITS = MODULUS.bit_length()
_SECURITY_BITS = 128
#: Arities with published values; Filecoin uses 2, 8 and 11, its tests 4 and 36.
ARITIES = (2, 4, 8, 11, 16, 24, 36)

Matrix = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class SparseMatrix:
    """M'': first column w_hat, first row v, ones on the rest of the diagonal.

    Attributes:
        w_hat: The first column, t elements.
        v: The first row without its first element, t - 1 elements.
    """

    w_hat: tuple[int, ...]
    v: tuple[int, ...]


@dataclass(frozen=True)
class Optimised:
    """Constants of the optimised form.

    Attributes:
        constants: 8 t + R_P values for R_F = 8. Order: those before round 0 (t); those behind the S-boxes of the
            first R_F/2 full rounds (t each), of the partial rounds (one each), of the last R_F/2 - 1 full rounds
            (t each); nothing is added after the very last S-boxes.
        pre_sparse: Matrix of round R_F/2 - 1.
        sparse: One matrix for each partial round.
    """

    constants: tuple[int, ...]
    pre_sparse: Matrix
    sparse: tuple[SparseMatrix, ...]


@dataclass(frozen=True)
class Instance:
    """Poseidon of one arity.

    Attributes:
        arity: Number of elements hashed.
        full_rounds: R_F.
        partial_rounds: R_P.
        round_constants: R_F + R_P rows of t values.
        mds: M, t rows of t values; symmetric.
    """

    arity: int
    full_rounds: int
    partial_rounds: int
    round_constants: Matrix
    mds: Matrix

    @property
    def width(self) -> int:
        """t, the number of state elements."""
        return self.arity + 1

    @property
    def tag(self) -> int:
        """The domain separation tag, element 0 of the first state."""
        return (1 << self.arity) - 1

    @cached_property
    def optimised(self) -> Optimised:
        """The constants of the optimised form."""
        pre_sparse, sparse = _factor_rounds(self.mds, self.partial_rounds)
        return Optimised(_compress(self), pre_sparse, sparse)


@cache
def instance(arity: int) -> Instance:
    """Poseidon of this arity.

    Raises:
        RangeError: Not one of ARITIES.
    Checked by: tests/circuits/test_poseidon.py (published values; the oracle's constants).
    """
    if arity not in ARITIES:
        raise RangeError(f"no Poseidon of arity {arity}", limit=f"arities {', '.join(map(str, ARITIES))}")
    width = arity + 1
    full, partial = round_numbers(width)
    values = _grain(width, full, partial)
    rows = tuple(tuple(islice(values, width)) for _ in range(full + partial))
    mds = tuple(tuple(pow(i + width + j, -1, MODULUS) for j in range(width)) for i in range(width))
    return Instance(arity, full, partial, rows, mds)


def _is_secure(width: int, full: int, partial: int) -> bool:
    """Whether this many rounds resist the attacks known to the paper, without margin."""
    statistical = 6 if (_BITS - 3) * (width + 1) >= _SECURITY_BITS else 10
    interpolation = 0.43 * _SECURITY_BITS + log2(width) - partial
    groebner = (0.21 * _BITS - partial, (0.14 * _BITS - 1 - partial) / (width - 1))
    return full >= max(statistical, *map(ceil, (interpolation, *groebner)))


def round_numbers(width: int) -> tuple[int, int]:
    """R_F and R_P: the fewest S-boxes that are secure with the margin of 2 full and 7.5% partial rounds.

    Source: the search of the Poseidon authors, with the constants of the paper's section 5.5.
    """
    candidates = [
        (width * (full + 2) + ceil(1.075 * partial), full + 2, ceil(1.075 * partial))
        for full in range(2, 20, 2)
        for partial in range(4, 200)
        if _is_secure(width, full, partial)
    ]
    _, full, partial = min(candidates)
    return full, partial


def _grain(width: int, full: int, partial: int) -> Iterator[int]:
    """Field elements from the self-shrinking Grain LFSR, those >= r left out.

    The 80 bits it starts with: 1 (prime field) in 2 bits, 1 (the S-box code of neptune) in 4, n = 255 in 12,
    t in 12, R_F and R_P in 10 each, thirty ones.
    """
    head = 0
    for value, bits in (
        (1, 2),
        (1, 4),
        (_BITS, 12),
        (width, 12),
        (full, 10),
        (partial, 10),
        ((1 << 30) - 1, 30),
    ):
        head = head << bits | value
    # Bit i of `state` is b_i of the register, so that b_0 is shifted out on the right.
    state = int(f"{head:080b}"[::-1], 2)

    def step() -> int:
        nonlocal state
        bit = (state ^ state >> 13 ^ state >> 23 ^ state >> 38 ^ state >> 51 ^ state >> 62) & 1
        state = state >> 1 | bit << 79
        return bit

    def shrunk() -> int:
        while not step():
            step()
        return step()

    for _ in range(160):
        step()
    while True:
        value = 0
        for _ in range(_BITS):
            value = value << 1 | shrunk()
        if value < MODULUS:
            yield value


def _row_times(row: Sequence[int], matrix: Matrix) -> list[int]:
    return [
        sum(x * m for x, m in zip(row, column, strict=True)) % MODULUS for column in zip(*matrix, strict=True)
    ]


def _product(left: Matrix, right: Matrix) -> Matrix:
    return tuple(tuple(_row_times(row, right)) for row in left)


def _inverse(matrix: Matrix) -> Matrix:
    """Gauss-Jordan elimination; the matrices here are invertible, as every minor of a Cauchy matrix is."""
    size = len(matrix)
    rows = [[*row, *(int(i == j) for j in range(size))] for i, row in enumerate(matrix)]
    for i in range(size):
        pivot = next(k for k in range(i, size) if rows[k][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        scale = pow(rows[i][i], -1, MODULUS)
        rows[i] = [x * scale % MODULUS for x in rows[i]]
        for k in range(size):
            if k != i and (factor := rows[k][i]):
                rows[k] = [(x - factor * y) % MODULUS for x, y in zip(rows[k], rows[i], strict=True)]
    return tuple(tuple(row[size:]) for row in rows)


def _factor_rounds(mds: Matrix, partial_rounds: int) -> tuple[Matrix, tuple[SparseMatrix, ...]]:
    """The pre-sparse matrix and the sparse ones, found from the last partial round backwards."""
    size = len(mds)
    matrix = mds
    sparse = []
    for _ in range(partial_rounds):
        lower_right = tuple(row[1:] for row in matrix[1:])
        inverse = _inverse(lower_right)
        first_column = [row[0] for row in matrix[1:]]
        w_hat = (sum(a * b for a, b in zip(row, first_column, strict=True)) % MODULUS for row in inverse)
        sparse.append(SparseMatrix((matrix[0][0], *w_hat), matrix[0][1:]))
        dense = ((1, *(0,) * (size - 1)), *((0, *row) for row in lower_right))
        matrix = _product(mds, dense)
    return matrix, tuple(reversed(sparse))


def _compress(plain: Instance) -> tuple[int, ...]:
    """The constants of the optimised form, in the order that `Optimised` states."""
    inverse = _inverse(plain.mds)
    half, rows = plain.full_rounds // 2, plain.round_constants
    first = [_row_times(row, inverse) for row in rows[1:half]]
    last = [_row_times(row, inverse) for row in rows[half + plain.partial_rounds + 1 :]]
    # What the round after the partial ones adds goes to the front through all of them, leaving element 0 behind.
    carried: Sequence[int] = rows[half + plain.partial_rounds]
    partial = []
    for row in reversed(rows[half : half + plain.partial_rounds]):
        key, *rest = _row_times(carried, inverse)
        partial.append(key)
        carried = [row[0], *((x + y) % MODULUS for x, y in zip(row[1:], rest, strict=True))]
    first.append(_row_times(carried, inverse))
    flat = [rows[0], *first, partial[::-1], *last]
    return tuple(value for part in flat for value in part)
