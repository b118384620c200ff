"""Set-up: every element of a key against the oracle, which computes it from the secrets."""

from __future__ import annotations

import sys
from collections import defaultdict

import pytest
from cuzk_oracles import groth16 as oracle

from cuzk.curves import get_curve
from cuzk.errors import RangeError
from cuzk.groth16 import ToxicWaste
from cuzk.groth16.setup import setup
from cuzk.telemetry import Event, Recorder
from tests.prover.support import PARAMS, device, ints, key, oracle_waste, waste, workload

CASES = [
    ("toy", "random", 40, 2),
    ("toy", "random", 700, 0),
    ("bls12_381", "random", 20, 3),
    ("bn254", "random", 20, 0),
]


@pytest.mark.parametrize("spec", ["cpu", "emu"])
@pytest.mark.parametrize("roots", ["snarkjs", "bellman"])
@pytest.mark.parametrize("form", ["odd_lagrange", "monomial"])
@pytest.mark.parametrize(("curve", "kind", "size", "public"), CASES)
def test_every_element(
    curve: str, kind: str, size: int, public: int, form: str, roots: str, spec: str
) -> None:
    """Catches a wrong power, a wrong coset, a wrong divisor (gamma or delta), and shifted queries."""
    load = workload(kind, curve, size, public)
    made = key(load, form, roots, spec)
    params = PARAMS[curve]
    expected = oracle.key_points(
        params,
        oracle.setup_exponents(
            params, load.oracle_r1cs, oracle_waste(load.curve), oracle.KeyForm(roots, form)
        ),
    )
    g1, g2 = load.curve.g1, load.curve.g2
    assert ints(g1, made.a_query) == expected.a_query
    assert ints(g1, made.b_g1_query) == expected.b_g1_query
    assert ints(g2, made.b_g2_query) == expected.b_g2_query
    assert ints(g1, made.h_query) == expected.h_query
    assert ints(g1, made.l_query) == expected.l_query
    assert ints(g1, made.ic) == expected.vk.ic
    assert ints(g1, made.alpha_g1) == [expected.vk.alpha_g1]
    assert ints(g1, made.beta_g1) == [expected.beta_g1]
    assert ints(g1, made.delta_g1) == [expected.delta_g1]
    assert ints(g2, made.beta_g2) == [expected.vk.beta_g2]
    assert ints(g2, made.gamma_g2) == [expected.vk.gamma_g2]
    assert ints(g2, made.delta_g2) == [expected.vk.delta_g2]


def test_key_remembers_the_circuit() -> None:
    """The matrices, the binding rows and the digest are those of the circuit."""
    load = workload("random", "toy", 40, 2)
    made = key(load)
    made.check_binding_rows()
    made.check_circuit(load.r1cs)
    made.check_degenerate()


def test_secrets_are_drawn_and_wiped() -> None:
    """Two setups share nothing, and the caller's secrets are gone afterwards."""
    load = workload("random", "toy", 40, 2)
    first, second = (setup(load.r1cs, device("cpu")) for _ in range(2))
    assert (first.alpha_g1 != second.alpha_g1).any() or (first.beta_g1 != second.beta_g1).any()
    secrets = waste(load.curve)
    setup(load.r1cs, device("cpu"), toxic_waste=secrets)
    assert (secrets.tau, secrets.alpha, secrets.beta, secrets.gamma, secrets.delta) == (0, 0, 0, 0, 0)
    assert "0" not in repr(waste(load.curve))


def test_phases_report_their_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every part of a set-up is a phase, and each query says how far it is; pieces of any size give one key."""
    load = workload("random", "toy", 40, 2)
    whole = key(load)
    monkeypatch.setattr(sys.modules[setup.__module__], "PIECE", 7)
    watcher = _Watcher()
    pieces = setup(load.r1cs, device("cpu"), toxic_waste=waste(load.curve), recorder=Recorder([watcher]))
    for (name, _, array), (_, _, other) in zip(whole.points(), pieces.points(), strict=True):
        assert (array == other).all(), name
    assert watcher.ended == [
        "tau_columns", "points_single", "points_a", "points_l", "points_b_g1", "points_b_g2", "points_h", "setup"
    ]  # fmt: skip
    shares = watcher.shares["points_a"]
    assert len(shares) == -(-len(whole.a_query) // 7)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


class _Watcher:
    def __init__(self) -> None:
        self.ended: list[str] = []
        self.shares: dict[str, list[float]] = defaultdict(list)

    def started(self, phase: str) -> None:
        assert phase not in self.ended

    def advanced(self, phase: str, share: float) -> None:
        self.shares[phase].append(share)

    def receive(self, event: Event) -> None:
        self.ended.append(event.phase)


def test_seeded_secrets_are_independent() -> None:
    """Another seed, name or curve gives other secrets; none is zero."""
    bn254, toy = get_curve("bn254"), get_curve("toy")
    seen = {value for seed in range(3) for value in vars(ToxicWaste.from_seed(bn254, seed)).values()}
    assert len(seen) == 15
    assert 0 not in seen
    assert vars(ToxicWaste.from_seed(toy, 1)) != vars(ToxicWaste.from_seed(bn254, 1))


def test_largest_domain_falls_back_to_monomial() -> None:
    """At 2^two_adicity rows there is no odd coset: the default form changes, asking for the other one is an error."""
    load = workload("random", "toy", (1 << 11) + 5, 1)
    assert load.r1cs.domain_log2 == load.curve.two_adicity
    assert setup(load.r1cs, device("cpu")).h_form == "monomial"
    with pytest.raises(RangeError, match="odd coset"):
        setup(load.r1cs, device("cpu"), h_form="odd_lagrange")
    too_large = workload("random", "toy", 1 << 12, 1)
    with pytest.raises(RangeError, match=r"domain of 2\^13"):
        setup(too_large.r1cs, device("cpu"))


def test_tau_in_the_domain_is_refused() -> None:
    """A tau that is a root of unity would divide by zero."""
    load = workload("random", "toy", 40, 2)
    secrets = waste(load.curve)
    secrets.tau = load.curve.root_of_unity(3, "snarkjs")
    with pytest.raises(RangeError, match="domain"):
        setup(load.r1cs, device("cpu"), toxic_waste=secrets)


def test_drawn_tau_is_outside_the_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draw that hits the domain is drawn again: one in 15 would, over the toy field's largest domain."""
    toy = get_curve("toy")
    root = toy.root_of_unity(5, "snarkjs")
    drawn = iter([root - 1, 1, 2, 3, 4, toy.r - 2, 41])
    monkeypatch.setattr("secrets.randbelow", lambda _: next(drawn))
    waste = ToxicWaste.random(toy, 6)
    assert (waste.tau, waste.alpha, waste.delta) == (42, 2, 5)
