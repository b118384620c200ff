"""Quotients of four transforms: L bases that hold what matrix C contributes to h.

Would catch: a wrong sign or factor of the folded part, public variables or ONE without their share, a key that is
folded although its form or its lack of C forbids it, an unsatisfied witness that gets a proof.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from cuzk_oracles.curve import add, mul

from cuzk.errors import InputError, UnsatisfiedError
from cuzk.groth16 import Prover
from cuzk.groth16.fold import folded_l_query, quotient_form
from cuzk.witness import Witness
from tests.prover.support import PARAMS, blinding, device, ints, key, oracle_waste, workload


@pytest.mark.parametrize("spec", ["cpu", "emu"])
@pytest.mark.parametrize("roots", ["snarkjs", "bellman"])
@pytest.mark.parametrize(("curve", "size", "public"), [("toy", 60, 0), ("toy", 60, 9), ("bn254", 20, 2)])
def test_the_same_proof(curve: str, size: int, public: int, roots: str, spec: str) -> None:
    """Bytes of six transforms, whatever the roots and the number of public variables."""
    load = workload("random", curve, size, public)
    made = key(load, "odd_lagrange", roots)
    proofs = [
        Prover(made, device(spec), variants={"Q1": value}).prove(load.witness, blinding=blinding(load.curve))
        for value in ("six_ntt", "four_ntt")
    ]
    assert proofs[0] == proofs[1]


def test_bases_in_the_exponent() -> None:
    """(beta u_i + alpha v_i + w_i)/delta for private variables, and w_i Z/(2 delta) more for all of them."""
    load = workload("random", "toy", 60, 3)
    made, params, r = key(load), PARAMS["toy"], load.curve.r
    secrets = oracle_waste(load.curve)
    n = 1 << made.log_domain
    omega = load.curve.root_of_unity(made.log_domain, "snarkjs")
    z = pow(secrets.tau, n, r) - 1
    columns = [0] * load.r1cs.num_variables
    for row, entries in enumerate(load.oracle_r1cs.c):
        lagrange = z * pow(omega, row, r) * pow(n * (secrets.tau - pow(omega, row, r)), -1, r)
        for variable, coefficient in entries:
            columns[variable] = (columns[variable] + coefficient * lagrange) % r
    own = ints(load.curve.g1, made.l_query)
    got = ints(load.curve.g1, folded_l_query(device("cpu"), made))
    factor = z * pow(2 * secrets.delta, -1, r)
    for i, column in enumerate(columns):
        more = mul(params.g1, column * factor % r, params.g1.generator)
        base = None if i <= made.num_public else own[i - made.num_public - 1]
        assert got[i] == add(params.g1, base, more), i


def test_a_key_says_what_it_allows() -> None:
    load = workload("random", "toy", 60, 3)
    odd, monomial = key(load), key(load, "monomial")
    assert [quotient_form(odd, value) for value in ("auto", "six_ntt", "four_ntt")] == [
        "six_ntt",
        "six_ntt",
        "four_ntt",
    ]
    assert [quotient_form(monomial, value) for value in ("auto", "seven_ntt")] == ["seven_ntt", "seven_ntt"]
    for made, value, possible in (
        (odd, "seven_ntt", "auto, six_ntt, four_ntt"),
        (monomial, "six_ntt", "auto, seven_ntt"),
        (monomial, "four_ntt", "auto, seven_ntt"),
        (dataclasses.replace(odd, c=None), "four_ntt", "auto, six_ntt"),
    ):
        with pytest.raises(InputError, match="impossible with this key") as error:
            Prover(made, device("cpu"), variants={"Q1": value})
        assert str(error.value.limit).endswith(possible)


def test_a_false_witness_is_refused() -> None:
    """The sums agree only where every row holds, so rows are checked."""
    load = workload("random", "bn254", 30, 1)
    values = load.witness.values.copy()
    values[int(load.r1cs.a.col.max()), 0] ^= np.uint64(1)
    bad = Witness(load.curve, values)
    with pytest.raises(UnsatisfiedError, match="constraint"):
        Prover(key(load), device("cpu"), variants={"Q1": "four_ntt"}).prove(bad, self_check=False)
