"""The large circuit: exact size, satisfied, every row needed, and with the mix of values it promises.

Would catch: a row that holds whatever the witness is, a size that is off, a generator that depends on the clock.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from cuzk.formats.r1cs import encode_r1cs
from tests.workloads import mixed_circuit


@pytest.mark.parametrize("curve", ["toy", "bn254", "bls12_381"])
@pytest.mark.parametrize("size", [1, 2, 65, 66, 67, 500])
def test_sizes_are_exact_and_rows_hold(curve: str, size: int) -> None:
    r1cs, witness = mixed_circuit(curve, size)
    r1cs.validate()
    assert (r1cs.num_constraints, r1cs.num_public, r1cs.num_variables) == (size, 1, size + 2)
    assert r1cs.unconstrained_variables() == []
    assert r1cs.first_unsatisfied(witness) is None


def test_every_variable_matters() -> None:
    """A change of any single value breaks a row."""
    r1cs, witness = mixed_circuit("bn254", 140)
    for index in range(1, witness.num_variables):
        values = witness.values.copy()
        values[index, 0] ^= np.uint64(2)
        assert r1cs.first_unsatisfied(dataclasses.replace(witness, values=values)) is not None, index


def test_the_mix_of_values() -> None:
    r1cs, witness = mixed_circuit("bn254", 1 << 13)
    small = ~witness.values[:, 1:].any(axis=1)
    zeros = (small & (witness.values[:, 0] == 0)).mean()
    ones = (small & (witness.values[:, 0] == 1)).mean()
    assert 0.2 < zeros < 0.3
    assert 0.2 < ones < 0.3
    assert 0.45 < (~small).mean() < 0.55
    assert 1.9 < r1cs.a.nnz / r1cs.num_constraints < 2.1


def test_equal_arguments_give_equal_circuits_and_other_seeds_others() -> None:
    (first, witness), (again, same), (other, _) = (mixed_circuit("bls12_381", 300, seed=s) for s in (1, 1, 2))
    assert encode_r1cs(first) == encode_r1cs(again) != encode_r1cs(other)
    assert (witness.values == same.values).all()


def test_a_circuit_without_rows_has_no_output() -> None:
    with pytest.raises(ValueError, match="needs a row"):
        mixed_circuit("bn254", 0)
