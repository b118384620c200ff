"""Poseidon hashing outside the circuit, on plain ints.

`poseidon` computes the optimised form, `poseidon_plain` the form of the definition; the results are equal. One hash of
arity 8 takes about half a millisecond, which bounds the sectors that can be sealed here.

>>> hex(poseidon([0, 1]))
'0x396508d75e76a56b739e0fd902efe161a6fba9339d05a69d2e203c369a02e7ff'
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import mul

from cuzk.circuits.vanilla.poseidon_constants import MODULUS, Instance, Matrix, instance
from cuzk.errors import RangeError

__all__ = ["poseidon", "poseidon_many", "poseidon_plain"]


def poseidon(preimage: Sequence[int]) -> int:
    """Hash as many elements as some instance has as its arity.

    Args:
        preimage: The elements.  Form: standard, < r.
    Returns:
        The hash.  Form: standard, < r.
    Raises:
        RangeError: No instance of this arity; an element >= r.
    Cost: R_F (t^2 + 3 t) + R_P (2 t + 3) products.
    Checked by: tests/circuits/test_poseidon.py.
    """
    return _hash(instance(len(preimage)), _checked(preimage))


def poseidon_many(preimages: Iterable[Sequence[int]]) -> list[int]:
    """Hash preimages one after the other; as `poseidon` for each."""
    return [poseidon(preimage) for preimage in preimages]


def poseidon_plain(preimage: Sequence[int]) -> int:
    """Hash by the definition; as `poseidon`, at about twice the cost."""
    params = instance(len(preimage))
    state = [params.tag, *_checked(preimage)]
    half = params.full_rounds // 2
    for number, row in enumerate(params.round_constants):
        state = [x + k for x, k in zip(state, row, strict=True)]
        is_full = number < half or number >= half + params.partial_rounds
        boxes = params.width if is_full else 1
        state = [*(pow(x, 5, MODULUS) for x in state[:boxes]), *state[boxes:]]
        state = _times(state, params.mds)
    return state[1]


def _checked(preimage: Sequence[int]) -> Sequence[int]:
    for index, value in enumerate(preimage):
        if not 0 <= value < MODULUS:
            raise RangeError(
                "a value to be hashed is no field element",
                where=f"element {index}",
                limit=f"0 <= x < {MODULUS}",
            )
    return preimage


def _times(state: Sequence[int], matrix: Matrix) -> list[int]:
    """The state times a symmetric matrix, or times the transpose of any."""
    return [sum(map(mul, state, row)) % MODULUS for row in matrix]


def _box(x: int, key: int) -> int:
    square = x * x % MODULUS
    return (square * square % MODULUS * x + key) % MODULUS


def _hash(params: Instance, preimage: Sequence[int]) -> int:
    """Run the optimised form; the keys are taken in the order of `Optimised.constants`."""
    optimised, half = params.optimised, params.full_rounds // 2
    keys = iter(optimised.constants)
    state = [x + next(keys) for x in (params.tag, *preimage)]
    for _ in range(half - 1):
        state = _times([_box(x, next(keys)) for x in state], params.mds)
    state = _times([_box(x, next(keys)) for x in state], tuple(zip(*optimised.pre_sparse, strict=True)))
    for sparse in optimised.sparse:
        first = _box(state[0], next(keys))
        state[0] = first
        head = sum(map(mul, state, sparse.w_hat)) % MODULUS
        state = [head, *((x + first * v) % MODULUS for x, v in zip(state[1:], sparse.v, strict=True))]
    for _ in range(half - 1):
        state = _times([_box(x, next(keys)) for x in state], params.mds)
    state = _times([_box(x, 0) for x in state], params.mds)
    return state[1]
