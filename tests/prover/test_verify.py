"""Verification: what is accepted, what is refused with which reason, and how long it takes."""

from __future__ import annotations

import dataclasses
import random
import statistics
import time

import numpy as np
import pytest
from cuzk_oracles import groth16 as oracle
from cuzk_oracles import verify as oracle_verify
from cuzk_oracles.curve import mul

from cuzk.errors import (
    CurveMismatchError,
    InputError,
    InternalError,
    NotInSubgroupError,
    NotOnCurveError,
    RangeError,
    SecurityWarning,
    ShapeError,
)
from cuzk.groth16 import PreparedVerifyingKey, Prover, verify
from cuzk.keys import VerifyingKey
from cuzk.limbs import points_from_ints
from cuzk.proof import Proof
from tests.prover.support import PARAMS, as_oracle, blinding, device, key, oracle_waste, workload
from tests.workloads import Workload

CURVES = ["bls12_381", "bn254"]


def proved(curve: str, public: int = 2) -> tuple[Workload, VerifyingKey, Proof]:
    load = workload("random", curve, 25, public)
    proof = Prover(key(load), device("cpu")).prove(
        load.witness, blinding=blinding(load.curve), self_check=False
    )
    return load, key(load).verifying_key(), proof


@pytest.mark.parametrize("public", [0, 1, 2, 9])
@pytest.mark.parametrize("curve", CURVES)
def test_accepts_and_agrees_with_another_lineage(curve: str, public: int) -> None:
    """A right proof holds, with each public input off by one it does not; py_ecc says the same."""
    load, vk, proof = proved(curve, public)
    assert verify(vk, load.public, proof) is True
    params = PARAMS[curve]
    plain = oracle.key_points(
        params, oracle.setup_exponents(params, load.oracle_r1cs, oracle_waste(load.curve))
    )
    assert oracle_verify.verify(params, plain.vk, load.public, as_oracle(proof), library="py_ecc")
    for i in range(min(public, 2)):
        wrong = [*load.public[:i], (load.public[i] + 1) % load.curve.r, *load.public[i + 1 :]]
        verdict = PreparedVerifyingKey(vk).verify(wrong, proof)
        assert not verdict
        assert verdict.reason == "the pairing equation does not hold"


@pytest.mark.parametrize("curve", CURVES)
def test_every_element_matters(curve: str) -> None:
    """Doubling or negating A, B or C, or swapping A and C, breaks the proof."""
    load, vk, proof = proved(curve)
    prepared = PreparedVerifyingKey(vk)
    params = PARAMS[curve]
    a, b, c = as_oracle(proof).a, as_oracle(proof).b, as_oracle(proof).c
    forged = {
        "2A": (mul(params.g1, 2, a), b, c),
        "2B": (a, mul(params.g2, 2, b), c),
        "2C": (a, b, mul(params.g1, 2, c)),
        "-A": (mul(params.g1, params.r - 1, a), b, c),
        "A<->C": (c, b, a),
    }
    for name, points in forged.items():
        assert not prepared.verify(load.public, Proof.from_ints(load.curve, *points)), name
    both = Proof.from_ints(load.curve, mul(params.g1, params.r - 1, a), mul(params.g2, params.r - 1, b), c)
    assert prepared.verify(load.public, both), "-A and -B is another valid proof: Groth16 is malleable"


@pytest.mark.parametrize("curve", CURVES)
def test_points_that_are_none(curve: str) -> None:
    """Identity, off the curve, outside the subgroup: the answer is no, with the reason and the element.

    In a batch too, and there with the proof.
    """
    load, vk, proof = proved(curve)
    prepared = PreparedVerifyingKey(vk)
    g1, g2 = load.curve.g1, load.curve.g2

    def reason(**changes: np.ndarray) -> str:
        bad = dataclasses.replace(proof, **changes)  # type: ignore[arg-type]
        verdict = prepared.verify(load.public, bad)
        assert not verdict
        together = prepared.verify_batch([load.public] * 2, [proof, bad])
        assert (bool(together), together.reason) == (False, f"proof 1: {verdict.reason}")
        return verdict.reason

    for name, group in (("a", g1), ("b", g2), ("c", g1)):
        assert reason(**{name: np.zeros(group.affine_shape, np.uint64)}).startswith(
            f"{name.upper()} is the identity"
        )
        off = np.array(getattr(proof, name))
        off.reshape(-1)[0] ^= np.uint64(1)
        assert reason(**{name: off}) == f"{name.upper()} is off the curve"
    assert (
        reason(b=points_from_ints(g2, [outside_subgroup(curve)])[0]) == "B is outside the subgroup of order r"
    )
    if curve == "bls12_381":
        three_torsion = points_from_ints(g1, [(0, 2)])[0]
        assert reason(a=three_torsion) == "A is outside the subgroup of order r"
        assert reason(c=three_torsion) == "C is outside the subgroup of order r"


def outside_subgroup(curve: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """A point of the G2 curve whose order does not divide r: nearly every point that was not made from one."""
    group = PARAMS[curve].g2
    rng = random.Random(3)
    while True:
        x = (rng.randrange(PARAMS[curve].p), rng.randrange(PARAMS[curve].p))
        y = group.field.sqrt(group.field.add(group.field.mul(group.field.mul(x, x), x), group.b))
        if y is not None and mul(group, PARAMS[curve].r, (x, y)) is not None:
            return x, y


@pytest.mark.parametrize("curve", CURVES)
def test_public_inputs_are_checked(curve: str) -> None:
    """X and x + r are not two names of one statement; the number of inputs must fit."""
    load, vk, proof = proved(curve)
    for value in (load.curve.r, load.public[0] + load.curve.r, -1):
        with pytest.raises(RangeError, match=r"public\[0\]"):
            verify(vk, [value, load.public[1]], proof)
    for inputs in ([], load.public[:1], [*load.public, 0]):
        with pytest.raises(ShapeError, match="public inputs"):
            verify(vk, inputs, proof)


@pytest.mark.parametrize("curve", CURVES)
def test_prepared_statements(curve: str) -> None:
    """What is prepared before the proof gives the same verdicts, and belongs to one key."""
    load, vk, proof = proved(curve)
    prepared = PreparedVerifyingKey(vk)
    assert prepared.verify(prepared.statement(load.public), proof)
    wrong = [load.public[0], (load.public[1] + 1) % load.curve.r]
    assert not prepared.verify(prepared.statement(wrong), proof)
    with pytest.raises(RangeError, match="public input 1"):
        prepared.statement([0, load.curve.r])
    with pytest.raises(ShapeError):
        prepared.statement([0])
    with pytest.raises(InternalError, match="another key"):
        PreparedVerifyingKey(vk).verify(prepared.statement(load.public), proof)


@pytest.mark.parametrize("curve", CURVES)
def test_keys_are_checked(curve: str) -> None:
    """Infinity where it would make every proof valid, points off the curve or out of the group, unused inputs."""
    load, vk, proof = proved(curve)
    for name in ("alpha_g1", "beta_g2", "gamma_g2", "delta_g2"):
        zero = np.zeros_like(getattr(vk, name))
        with pytest.raises(RangeError, match=name):
            verify(dataclasses.replace(vk, **{name: zero}), load.public, proof)
    ic = np.array(vk.ic)
    ic[0] = 0
    with pytest.raises(RangeError, match=r"ic\[0\]"):
        verify(dataclasses.replace(vk, ic=ic), load.public, proof)
    off = np.array(vk.ic)
    off[1].reshape(-1)[0] ^= np.uint64(1)
    with pytest.raises(NotOnCurveError, match=r"ic\[1\]"):
        verify(dataclasses.replace(vk, ic=off), load.public, proof)
    outside = points_from_ints(load.curve.g2, [outside_subgroup(curve)])[0]
    with pytest.raises(NotInSubgroupError, match="beta_g2"):
        verify(dataclasses.replace(vk, beta_g2=outside), load.public, proof)
    unused = np.array(vk.ic)
    unused[1] = 0
    assert not verify(dataclasses.replace(vk, ic=unused), load.public, proof)
    with pytest.warns(SecurityWarning):
        assert not verify(dataclasses.replace(vk, delta_g2=vk.gamma_g2), load.public, proof)


def test_curves_do_not_mix() -> None:
    """A proof of one curve against a key of another; the toy curve has no pairing."""
    (load, vk, _), (_, _, other) = proved("bls12_381"), proved("bn254")
    with pytest.raises(CurveMismatchError):
        verify(vk, load.public, other)
    toy_load = workload("random", "toy", 25, 2)
    with pytest.raises(InputError, match="no pairing"):
        PreparedVerifyingKey(key(toy_load).verifying_key())


@pytest.mark.parametrize("curve", CURVES)
def test_takes_at_most_20_ms(curve: str) -> None:
    """Prepared key, one public input, 1 to 2 ms on a 2 GHz core; thread time, since the machine is shared."""
    load, vk, proof = proved(curve, 1)
    prepared = PreparedVerifyingKey(vk)
    assert prepared.verify(load.public, proof)
    samples = []
    for _ in range(15):
        start = time.thread_time()
        prepared.verify(load.public, proof)
        samples.append(time.thread_time() - start)
    assert statistics.median(samples) <= 0.020
