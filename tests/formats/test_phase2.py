"""Set-up from powers of tau, against the key that the secrets themselves give.

Would catch: a basis for other roots, a column without one of its terms, a coefficient's sign, alpha and beta
swapped, the wrong block of a prepared file, H or L not divided by delta.
"""

from __future__ import annotations

import numpy as np
import pytest

from cuzk.curves import ROOT_CONVENTIONS, Curve, RootConvention, get_curve
from cuzk.errors import CurveMismatchError, RangeError, ShapeError
from cuzk.formats import load_ptau
from cuzk.groth16 import Prover, ToxicWaste
from cuzk.groth16.phase2 import setup_from_powers
from cuzk.groth16.setup import setup
from cuzk.keys import HForm, ProvingKey
from cuzk.telemetry import Recorder
from tests.formats.builders import Save
from tests.formats.ptau_builder import Secrets, ptau_bytes
from tests.prover.support import blinding, device, workload
from tests.telemetry.shares import Shares
from tests.workloads import Workload

DELTA = 17


def secrets_of(curve: Curve) -> Secrets:
    """Any three numbers that are not in a domain."""
    return Secrets(*(pow(3, k, curve.r) for k in (1001, 77, 5)))


def expected_key(load: Workload, h_form: HForm, roots: RootConvention) -> ProvingKey:
    """The key that the secrets give without a ceremony."""
    waste = ToxicWaste(*secrets_of(load.curve), 1, DELTA)
    return setup(load.r1cs, device("cpu"), toxic_waste=waste, h_form=h_form, root_convention=roots)


@pytest.mark.parametrize("prepared", [False, True])
@pytest.mark.parametrize("roots", ROOT_CONVENTIONS)
@pytest.mark.parametrize(
    ("curve", "size", "spec"),
    [("toy", 40, "cpu"), ("toy", 40, "emu"), ("bls12_381", 12, "cpu"), ("bn254", 12, "cpu")],
)
def test_every_element(
    curve: str, size: int, roots: RootConvention, prepared: bool, spec: str, save: Save
) -> None:
    load = workload("random", curve, size, 2)
    log_n = load.r1cs.domain_log2
    data = ptau_bytes(load.curve, log_n + 1, secrets_of(load.curve), prepared=prepared)
    powers = load_ptau(save(data), log_n, root_convention=roots)
    made = setup_from_powers(load.r1cs, powers, device(spec), delta=DELTA, root_convention=roots)
    # The toy curve and BLS12-381 have two conventions; a prepared file is for one of them.
    assert made.h_form == (
        "odd_lagrange" if prepared and (roots == "snarkjs" or curve == "bn254") else "monomial"
    )
    expected = expected_key(load, made.h_form, roots)
    for (name, _, one), (_, _, other) in zip(made.points(), expected.points(), strict=True):
        assert np.array_equal(one, other), name
    made.check_circuit(load.r1cs)
    made.check_binding_rows()


@pytest.mark.parametrize("prepared", [False, True])
def test_a_file_of_exactly_its_power(prepared: bool, save: Save) -> None:
    """The top power is missing, so the odd points are others; the proof is the same."""
    load = workload("random", "bn254", 12, 2)
    log_n = load.r1cs.domain_log2
    powers = load_ptau(save(ptau_bytes(load.curve, log_n, secrets_of(load.curve), prepared=prepared)), log_n)
    made = setup_from_powers(load.r1cs, powers, device("cpu"), delta=DELTA)
    expected = expected_key(load, made.h_form, "snarkjs")
    assert np.array_equal(made.h_query, expected.h_query) == (not prepared)
    proofs = [
        Prover(one, device("cpu")).prove(load.witness, blinding=blinding(load.curve))
        for one in (made, expected)
    ]
    assert proofs[0] == proofs[1]


def test_delta_is_drawn(save: Save) -> None:
    load = workload("random", "toy", 12, 2)
    log_n = load.r1cs.domain_log2
    powers = load_ptau(save(ptau_bytes(load.curve, log_n, secrets_of(load.curve), prepared=False)), log_n)
    deltas = {setup_from_powers(load.r1cs, powers, device("cpu")).delta_g1.tobytes() for _ in range(4)}
    assert len(deltas) > 1
    for wrong in (0, load.curve.r, -1):
        with pytest.raises(RangeError, match="delta"):
            setup_from_powers(load.r1cs, powers, device("cpu"), delta=wrong)


def test_powers_that_do_not_fit(save: Save) -> None:
    toy, bn = get_curve("toy"), get_curve("bn254")
    load = workload("random", "toy", 12, 2)
    log_n = load.r1cs.domain_log2
    data = save(ptau_bytes(toy, log_n + 1, secrets_of(toy), prepared=False))
    with pytest.raises(ShapeError, match=r"domain of 2\^"):
        setup_from_powers(load.r1cs, load_ptau(data, log_n + 1), device("cpu"))
    with pytest.raises(RangeError, match="larger"):
        load_ptau(data, log_n + 2)
    other = save(ptau_bytes(bn, log_n, secrets_of(bn), prepared=False))
    with pytest.raises(CurveMismatchError, match="bn254"):
        setup_from_powers(load.r1cs, load_ptau(other, log_n), device("cpu"))


@pytest.mark.parametrize("prepared", [False, True])
def test_progress_rises_to_the_end(prepared: bool, save: Save) -> None:
    """Each phase says how far it is: never backwards, never beyond its end, and at last all of it."""
    load = workload("random", "toy", 40, 2)
    log_n = load.r1cs.domain_log2
    data = ptau_bytes(load.curve, log_n + 1, secrets_of(load.curve), prepared=prepared)
    watcher = Shares()
    setup_from_powers(load.r1cs, load_ptau(save(data), log_n), device("cpu"), recorder=Recorder([watcher]))
    told = {phase: shares for phase, shares in watcher.shares.items() if phase != "points_single"}
    assert {"points_a", "points_b_g1", "points_b_g2", "points_h", "points_l"} <= set(told)
    for phase, shares in told.items():
        assert shares, phase
        assert shares == sorted(shares), phase
        assert 0 < shares[0] <= shares[-1] == 1, phase
    # C, A and B of L's columns take a third of nine tenths of nine tenths each, and their sums the rest.
    assert {round(share, 3) for share in told["points_l"]} >= {0.27, 0.54, 0.81, 0.9}
