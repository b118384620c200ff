"""Each phase alone, against the oracle of its layer."""

from __future__ import annotations

import random
import weakref
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cuzk_oracles import groth16 as oracle_groth16
from cuzk_oracles import ntt as oracle_ntt
from cuzk_oracles import qap
from cuzk_oracles.curve import mul

from cuzk.curves import GroupSpec
from cuzk.groth16 import Prover
from cuzk.groth16.assemble import assemble
from cuzk.groth16.commit import Commitments, commit_h, commit_witness
from cuzk.groth16.evaluate import evaluate, first_unsatisfied_row, upload_witness
from cuzk.groth16.quotient import quotient
from cuzk.groth16.resident import ResidentKey
from cuzk.groth16.row_forms import CsrRows
from cuzk.limbs import fr_from_ints, fr_to_ints, points_from_ints
from cuzk.telemetry import Recorder
from cuzk.variants import resolve
from tests.prover.support import PARAMS, blinding, device, ints, key, oracle_waste, workload

CASES = [("toy", 200, 2), ("bls12_381", 25, 1), ("bn254", 25, 0)]
DEVICES = ["cpu", "emu"]


@pytest.mark.parametrize("spec", DEVICES)
@pytest.mark.parametrize(("curve", "size", "public"), CASES)
def test_evaluate(curve: str, size: int, public: int, spec: str) -> None:
    """A w, B w, C w and the binding rows, zero beyond; without C it is a o b."""
    load = workload("random", curve, size, public)
    expected = qap.evaluate(load.oracle_r1cs, load.values, load.curve.r)
    resident = ResidentKey.upload(device(spec), key(load))
    w = upload_witness(resident, load.witness.values, Recorder())
    assert fr_to_ints(load.curve, device(spec).download(w)) == load.values
    abc = evaluate(resident, w, Recorder())
    got = device(spec).download(abc)
    assert tuple(fr_to_ints(load.curve, part) for part in got) == expected
    assert first_unsatisfied_row(resident, abc) is None
    assert isinstance(resident.rows, CsrRows)
    without_c = replace(resident.rows, matrices=resident.rows.matrices[:2])
    object.__setattr__(resident, "rows", without_c)
    product = device(spec).download(evaluate(resident, w, Recorder())[2])
    assert np.array_equal(product, got[2])


@pytest.mark.parametrize("spec", DEVICES)
def test_first_unsatisfied_row(spec: str) -> None:
    """The least broken row is named, not any."""
    load = workload("random", "toy", 200, 2)
    resident = ResidentKey.upload(device(spec), key(load))
    values = list(load.values)
    broken = len(values) // 2
    values[broken] = (values[broken] + 1) % load.curve.r
    expected = qap.first_unsatisfied(load.oracle_r1cs, values, load.curve.r)
    assert expected is not None
    w = device(spec).upload(fr_from_ints(load.curve, values))
    assert first_unsatisfied_row(resident, evaluate(resident, w, Recorder())) == expected


@pytest.mark.parametrize("spec", DEVICES)
@pytest.mark.parametrize("roots", ["snarkjs", "bellman"])
@pytest.mark.parametrize("form", ["odd_lagrange", "monomial"])
@pytest.mark.parametrize(("curve", "size", "public"), CASES)
def test_quotient(curve: str, size: int, public: int, form: str, roots: str, spec: str) -> None:
    """Against interpolation and long division, and by the identity at a random point."""
    load = workload("random", curve, size, public)
    made = key(load, form, roots)
    resident = ResidentKey.upload(device(spec), made)
    a, b, c = qap.evaluate(load.oracle_r1cs, load.values, load.curve.r)
    stacked = np.stack([fr_from_ints(load.curve, part) for part in (a, b, c)])
    h = fr_to_ints(load.curve, device(spec).download(quotient(resident, device(spec).upload(stacked))))
    params = PARAMS[curve]
    assert h == oracle_groth16.h_scalars(
        params, oracle_groth16.KeyForm(roots, form), made.log_domain, a, b, c
    )
    if form == "monomial":
        omega = load.curve.root_of_unity(made.log_domain, roots)  # type: ignore[arg-type]
        z = random.Random(size).randrange(load.curve.r)
        assert qap.quotient_identity_holds(a, b, c, h, omega, z, load.curve.r)


@pytest.mark.parametrize("form", ["odd_lagrange", "monomial"])
def test_rows_that_lie_apart_leave_their_list(form: str) -> None:
    """The same quotient, and nobody but the result holds memory when it is there."""
    load = workload("random", "toy", 25, 2)
    where, resident = device("cpu"), ResidentKey.upload(device("cpu"), key(load, form, "snarkjs"))
    stacked = np.stack(
        [fr_from_ints(load.curve, side) for side in qap.evaluate(load.oracle_r1cs, load.values, load.curve.r)]
    )
    rows = [where.upload(side.copy()) for side in stacked]  # the cpu works in place
    h = where.download(quotient(resident, rows))
    assert rows == []
    assert np.array_equal(h, where.download(quotient(resident, where.upload(stacked))))


def test_a_quotient_is_let_go_before_the_next_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    load = workload("random", "toy", 25, 2)
    made: list[weakref.ref[Any]] = []

    def noting(*args: Any) -> Any:
        assert not any(one() is not None for one in made)
        h = quotient(*args)
        made.append(weakref.ref(h))
        return h

    monkeypatch.setattr("cuzk.groth16.prover.quotient", noting)
    Prover(key(load), device("cpu"), variants={"C1": "3"}).prove_batch([load.witness] * 3)
    assert len(made) == 3


@pytest.mark.parametrize("spec", DEVICES)
@pytest.mark.parametrize("variants", [{}, {"M2": "none"}, {"D4": "3"}, {"M2": "none", "D4": "8"}])
@pytest.mark.parametrize(("kind", "curve", "size"), [("random", "toy", 200), ("bits", "bn254", 60)])
def test_commitments(kind: str, curve: str, size: int, variants: dict[str, str], spec: str) -> None:
    """Every sum against its exponent: bases have known logarithms."""
    load = workload(kind, curve, size)
    made = key(load)
    params, r = PARAMS[curve], load.curve.r
    logs = oracle_groth16.setup_exponents(params, load.oracle_r1cs, oracle_waste(load.curve))
    resident = ResidentKey.upload(device(spec), made)
    recorder = Recorder()
    w = device(spec).upload(fr_from_ints(load.curve, load.values))
    got = commit_witness(resident, w, resolve(variants), recorder)
    private = load.values[made.num_public + 1 :]

    def total(exponents: list[int], scalars: list[int]) -> int:
        return sum(e * s for e, s in zip(exponents, scalars, strict=True)) % r

    expected: dict[str, tuple[GroupSpec, Any, int]] = {
        "a": (load.curve.g1, params.g1, total(logs.a, load.values)),
        "b_g1": (load.curve.g1, params.g1, total(logs.b, load.values)),
        "b_g2": (load.curve.g2, params.g2, total(logs.b, load.values)),
        "l": (load.curve.g1, params.g1, total(logs.l, private)),
    }
    for name, (group, oracle_group, exponent) in expected.items():
        assert ints(group, got[name]) == [mul(oracle_group, exponent, oracle_group.generator)], name
    rng = random.Random(1)
    scalars = [rng.randrange(r) for _ in range(len(made.h_query))]
    h = commit_h(
        resident, device(spec).upload(fr_from_ints(load.curve, scalars)), resolve(variants), recorder
    )
    assert ints(load.curve.g1, h) == [mul(params.g1, total(logs.h, scalars), params.g1.generator)]
    tags = {event.phase: event.tags for event in recorder.events}
    assert tags["tail_msm"]["M2"] == resolve(variants)["M2"]
    assert tags["msm_h"]["D4"] == resolve(variants)["D4"]


@pytest.mark.parametrize("spec", DEVICES)
@pytest.mark.parametrize("curve", ["toy", "bls12_381"])
@pytest.mark.parametrize(("r_blind", "s_blind"), [(0, 0), (1, 0), (0, 1), (-1, -1), (5, 7)])
def test_assemble(curve: str, r_blind: int, s_blind: int, spec: str) -> None:
    """The three equations of the module, term by term in the exponent."""
    load = workload("random", curve, 20, 3)
    made, params, r = key(load), PARAMS[curve], load.curve.r
    secrets = oracle_waste(load.curve)
    rng = random.Random(r_blind * 10 + s_blind)
    logs = {name: rng.randrange(r) for name in ("a", "b", "l", "h")}

    def g1(exponent: int) -> Any:
        return points_from_ints(load.curve.g1, [mul(params.g1, exponent % r, params.g1.generator)])[0]

    sums = Commitments(
        {
            "a": g1(logs["a"]),
            "b_g1": g1(logs["b"]),
            "b_g2": points_from_ints(load.curve.g2, [mul(params.g2, logs["b"], params.g2.generator)])[0],
            "l": g1(logs["l"]),
        }
    )
    proof = assemble(device(spec), made, sums, g1(logs["h"]), blinding(load.curve, r_blind, s_blind))
    a = secrets.alpha + logs["a"] + r_blind * secrets.delta
    b = secrets.beta + logs["b"] + s_blind * secrets.delta
    c = logs["l"] + logs["h"] + s_blind * a + r_blind * b - r_blind * s_blind * secrets.delta
    assert np.array_equal(proof.a, g1(a))
    assert ints(load.curve.g2, proof.b) == [mul(params.g2, b % r, params.g2.generator)]
    assert np.array_equal(proof.c, g1(c))


def test_random_point_check_of_the_quotient_bites() -> None:
    """One wrong coefficient of h breaks the identity: the check above is not vacuous."""
    load = workload("random", "toy", 200, 2)
    r = load.curve.r
    a, b, c = qap.evaluate(load.oracle_r1cs, load.values, r)
    omega = load.curve.root_of_unity(load.r1cs.domain_log2, "bellman")
    h = qap.h_by_coset(a, b, c, omega, load.curve.coset_shift("bellman"), r)
    z = 12345
    assert qap.quotient_identity_holds(a, b, c, h, omega, z, r)
    h[3] = (h[3] + 1) % r
    assert not qap.quotient_identity_holds(a, b, c, h, omega, z, r)
    assert oracle_ntt.horner(h, z, r) != 0
