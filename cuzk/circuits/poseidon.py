"""Poseidon as a circuit: the rows of neptune's first circuit, which is the one that Filecoin proves.

The optimised form of the hash (see cuzk.circuits.vanilla.poseidon_constants), with one variable per S-box input and
three per S-box. What lies between two S-boxes is linear and costs no row: an element of the state is a linear
combination until an S-box needs it. Elements that pass the partial rounds unchanged collect a term in each, which is
where most terms of matrix A come from.

>>> from cuzk.curves import get_curve
>>> cs = ConstraintSystem(get_curve("bls12_381"), with_values=True)
>>> digest = poseidon_hash(cs, [cs.alloc(0), cs.alloc(1)])
>>> hex(cs.value({digest: 1}) or 0)[:18], cs.num_constraints
('0x396508d75e76a56b', 311)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from cuzk.circuits.template import call_variable_template
from cuzk.circuits.vanilla.poseidon_constants import MODULUS, Matrix, SparseMatrix, instance
from cuzk.errors import CurveMismatchError
from cuzk.synthesis import ONE, ConstraintSystem, LinearCombination, Variable

__all__ = ["CIRCUIT_ARITIES", "poseidon_circuit", "poseidon_hash"]

#: Arities with a circuit name of their own: those that Filecoin's circuits and their tests use.
CIRCUIT_ARITIES = (2, 4, 8, 11)

_State = list[LinearCombination]


def poseidon_hash(cs: ConstraintSystem, preimage: Sequence[Variable]) -> Variable:
    """The hash of as many variables as some instance has as its arity.

    Args:
        cs: A system over BLS12-381.
        preimage: Variables, inputs or auxiliary ones.

    Returns:
        A new auxiliary variable.

    Raises:
        CurveMismatchError: The system is over another field.   RangeError: No instance of this arity.

    Cost: 3 a + 28 t + 4 R_P + 1 rows and as many new variables, for arity a and width t = a + 1.
    Checked by: tests/circuits/test_poseidon_gadget.py.
    """
    if cs.curve.r != MODULUS:
        raise CurveMismatchError(
            f"no Poseidon over the scalars of {cs.curve.name}",
            limit="the constants are those of bls12_381",
            remedy="record the circuit in a system over bls12_381",
        )
    instance(len(preimage))
    return call_variable_template(cs, _hash, preimage)[0]


def poseidon_circuit(cs: ConstraintSystem, *, arity: int) -> Variable:
    """``poseidon:ARITY``: elements and their hash; no inputs but ONE, as in neptune's test.

    Args:
        cs: An empty system over BLS12-381; its hints are the elements.
        arity: How many.

    Returns:
        The variable of the hash.

    Raises:
        Errors as of poseidon_hash.
    """
    return poseidon_hash(cs, [cs.alloc() for _ in range(arity)])


def _hash(cs: ConstraintSystem, preimage: Sequence[Variable]) -> list[Variable]:
    """All rounds; the keys are taken in the order of `Optimised.constants`."""
    params = instance(len(preimage))
    optimised, half = params.optimised, params.full_rounds // 2
    keys = iter(optimised.constants)
    before = [next(keys) for _ in range(params.width)]
    # The tag is a constant, and so is what the first S-box makes of it.
    state: _State = [
        LinearCombination({ONE: (pow(params.tag + before[0], 5, MODULUS) + next(keys)) % MODULUS})
    ]
    for variable, key in zip(preimage, before[1:], strict=True):
        terms = LinearCombination({variable: 1})
        terms.add_term(ONE, key)
        state.append(_fifth_power(cs, terms, next(keys)))
    box = partial(_pending_box, cs)
    for number in range(1, half):
        state = _times(state, params.mds)
        state = [box(x, next(keys)) for x in state]
        if number == half - 1:
            state = _times(state, optimised.pre_sparse)
    for sparse in optimised.sparse:
        state = _times_sparse(box(state[0], next(keys)), state, sparse)
    for _ in range(half - 1):
        state = _times([box(x, next(keys)) for x in state], params.mds)
    state = [box(x, 0) for x in state]
    return [_allocated(cs, _combined(state, (row[1] for row in params.mds)))]


def _combined(state: _State, factors: Iterable[int]) -> LinearCombination:
    """The sum of factor * element, coefficients mod r."""
    total = LinearCombination()
    for element, factor in zip(state, factors, strict=True):
        total.add_scaled(element, factor)
    return LinearCombination({variable: factor % MODULUS for variable, factor in total.items()})


def _times(state: _State, matrix: Matrix) -> _State:
    """The state, a row vector, times a matrix."""
    return [_combined(state, column) for column in zip(*matrix, strict=True)]


def _times_sparse(first: LinearCombination, state: _State, matrix: SparseMatrix) -> _State:
    """The state with another first element, times a sparse matrix."""
    result = [_combined([first, *state[1:]], matrix.w_hat)]
    for element, factor in zip(state[1:], matrix.v, strict=True):
        total = LinearCombination(element)
        total.add_scaled(first, factor)
        result.append(total)
    return result


def _allocated(cs: ConstraintSystem, terms: Mapping[Variable, int]) -> Variable:
    """A new variable equal to a linear combination; one row, sum * 1 = v."""
    return cs.define_product(terms, {ONE: 1})


def _pending_box(cs: ConstraintSystem, terms: Mapping[Variable, int], key: int) -> LinearCombination:
    """x^5 + key of a linear combination, which becomes a variable first; four rows."""
    return _fifth_power(cs, {_allocated(cs, terms): 1}, key)


def _fifth_power(cs: ConstraintSystem, x: Mapping[Variable, int], key: int) -> LinearCombination:
    """x^5 + key as a variable; three rows, x * x = x2, x2 * x2 = x4, x * x4 = x5 - key."""
    square = cs.define_product(x, x)
    fourth = cs.define_product({square: 1}, {square: 1})
    fifth = cs.define_product(x, {fourth: 1}, {ONE: -key} if key else None)
    return LinearCombination({fifth: 1})
