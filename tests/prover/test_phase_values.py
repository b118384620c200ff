"""What the phases' values do not tell: what is prepared beforehand, whom secrets come from, which circuit is whose.

Would catch: tables that are built inside a proof, secrets out of range or drawn twice alike, a seeded key that changed,
results of one circuit in another's place, a key without matrix C whose c is not a b, phases without their tags.
"""

from __future__ import annotations

import dataclasses
import random
import secrets
import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest

from cuzk.csr import csr_from_indexed
from cuzk.curves import get_curve
from cuzk.device import Device
from cuzk.errors import InputError, RangeError, SecurityWarning
from cuzk.groth16 import ToxicWaste
from cuzk.groth16.commit import commit_h, commit_hs, commit_witness, commit_witnesses
from cuzk.groth16.evaluate import evaluate, first_unsatisfied_row, upload_witness
from cuzk.groth16.fold import folded_l_query, quotient_form
from cuzk.groth16.quotient import prepare_quotient, quotient
from cuzk.groth16.resident import ResidentKey
from cuzk.groth16.setup import default_h_form, setup
from cuzk.limbs import fr_from_ints, fr_to_ints
from cuzk.telemetry import Recorder
from cuzk.variants import resolve
from tests.prover.support import device, key, waste, workload

TOY = get_curve("toy")


def _requests(monkeypatch: pytest.MonkeyPatch, one: Device) -> Counter[str]:
    """What a device is asked for from now on."""
    seen: Counter[str] = Counter()
    for name in ("alloc", "upload", "download"):
        inner = getattr(one, name)

        def counted(array: Any, *rest: Any, name: str = name, inner: Any = inner, **more: Any) -> Any:
            # Of uploads, tables: a factor of its own is one element.
            seen[name] += name != "upload" or len(array) > 1
            return inner(array, *rest, **more)

        monkeypatch.setattr(one, name, counted)
    return seen


@pytest.mark.parametrize("radix", ["auto", "2^3"])
@pytest.mark.parametrize("form", ["odd_lagrange", "monomial"])
def test_a_prepared_quotient_builds_no_table(monkeypatch: pytest.MonkeyPatch, form: Any, radix: str) -> None:
    load = workload("random", "toy", 200, 2)
    resident = ResidentKey.upload(device("cpu"), key(load, form))
    prepare_quotient(resident, radix)
    abc = device("cpu").upload(np.zeros((3, resident.domain.size, TOY.fr.limbs), np.uint64))
    seen = _requests(monkeypatch, device("cpu"))
    quotient(resident, abc, radix)
    assert seen["upload"] == 0
    seen.clear()
    quotient(resident, abc, "2^2" if radix == "2^3" else "2^3")
    other = ResidentKey.upload(device("cpu"), key(load, form))
    quotient(other, abc, radix)
    assert seen["upload"] > 0, "an unprepared one does: the count is no constant"


@pytest.mark.parametrize("spec", ["cpu", "emu"])
@pytest.mark.parametrize("variants", [None, {}])
def test_without_c_it_is_the_product_and_no_row_is_wrong(spec: str, variants: Any) -> None:
    load = workload("random", "toy", 60, 1)
    made = dataclasses.replace(key(load), c=None)
    resident = ResidentKey.upload(device(spec), made)
    recorder = Recorder()
    w = upload_witness(resident, load.witness.values, recorder)
    abc = evaluate(resident, w, recorder, None if variants is None else resolve(variants))
    a, b, c = (fr_to_ints(TOY, device(spec).download(part)) for part in abc)
    assert any(c)
    assert c == [x * y % TOY.r for x, y in zip(a, b, strict=True)]
    assert first_unsatisfied_row(resident, abc) is None
    assert [e.phase for e in recorder.events] == ["witness", "spmv"]


def test_what_is_multiplied_for_c_stays_as_it_is() -> None:
    load = workload("random", "toy", 60, 1)
    resident = ResidentKey.upload(device("cpu"), key(load))
    values = load.witness.values.copy()
    upload_witness(resident, values, Recorder())
    assert np.array_equal(values, load.witness.values), "the caller's array is not converted in place"


@pytest.mark.parametrize("spec", ["cpu", "emu"])
@pytest.mark.parametrize("variants", [{}, {"M2": "none"}])
def test_every_circuit_gets_its_own_sums(spec: str, variants: dict[str, str]) -> None:
    load = workload("random", "toy", 60, 1)
    resident, chosen = ResidentKey.upload(device(spec), key(load)), resolve(variants)
    ws = [
        device(spec).upload(fr_from_ints(TOY, [1, *((v + k) % 5 % TOY.r for v in load.values[1:])]))
        for k in range(3)
    ]
    together = commit_witnesses(resident, ws, chosen, recorder := Recorder())
    assert len({together[i]["a"].tobytes() for i in range(3)}) == 3
    for w, sums in zip(ws, together, strict=True):
        alone = commit_witness(resident, w, chosen, Recorder())
        assert all(np.array_equal(alone[name], sums[name]) for name in ("a", "b_g1", "b_g2", "l"))
    phases = Counter(event.phase for event in recorder.events)
    assert {"prep_msm": 1, "batch_add": 1, "tail_msm": 1, "b_g2_msm": 1}.items() <= phases.items()
    for name in ("a", "b_g1", "l"):
        # Ones and the rest, each a phase of its own where the device is its own host.
        assert phases[f"query_{name}"] == 2
    n, rng = len(key(load).h_query), random.Random(7)
    hs = [device(spec).upload(fr_from_ints(TOY, [rng.randrange(TOY.r) for _ in range(n)])) for _ in range(3)]
    points = commit_hs(resident, hs, chosen, Recorder())
    assert len({point.tobytes() for point in points}) == 3
    for h, point in zip(hs, points, strict=True):
        assert np.array_equal(commit_h(resident, h, chosen, Recorder()), point)


def test_secrets_come_from_the_system_in_their_whole_range(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    # tau of order 4 (refused twice over a domain of 2), then one of order 8, which is sound there.
    roots = [
        TOY.root_of_unity(2, "snarkjs"),
        TOY.root_of_unity(1, "snarkjs"),
        TOY.root_of_unity(3, "snarkjs"),
    ]
    answers = iter([roots[0] - 1, 0, TOY.r - 2, 3, 4, roots[1] - 1, roots[2] - 1])

    def below(limit: int) -> int:
        asked.append(limit)
        return next(answers)

    monkeypatch.setattr(secrets, "randbelow", below)
    made = ToxicWaste.random(TOY, 1)
    assert vars(made) == {"tau": roots[2], "alpha": 1, "beta": TOY.r - 1, "gamma": 4, "delta": 5}
    assert asked == [TOY.r - 1] * 7
    made.wipe()
    assert set(vars(made).values()) == {0}


def test_seeded_secrets_are_the_same_in_every_version() -> None:
    """Keys of examples and of stored proofs are made from them."""
    assert vars(ToxicWaste.from_seed(TOY, 1)) == SEEDED


SEEDED = {"tau": 61195, "alpha": 46522, "beta": 16852, "gamma": 11201, "delta": 24482}


@pytest.mark.parametrize(("spec", "piece"), [("cpu", 3), ("emu", 8)])
def test_points_are_made_in_pieces_of_the_device_s_size(
    spec: str, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules[setup.__module__]
    monkeypatch.setattr(module, "PIECE", 3)
    monkeypatch.setattr(module, "PIECE_GPU", 8)
    load, shares = workload("random", "toy", 20, 1), Counter[str]()

    class Watcher:
        def started(self, phase: str) -> None: ...

        def advanced(self, phase: str, share: float) -> None:
            del share
            shares[phase] += 1

        def receive(self, event: object) -> None: ...

    made = setup(load.r1cs, device(spec), toxic_waste=waste(TOY), recorder=Recorder([Watcher()]))
    assert shares["points_h"] == -(-len(made.h_query) // piece)
    assert shares["points_a"] == -(-len(made.a_query) // piece)


def test_a_circuit_without_constraints_is_warned_of_where_it_is_used() -> None:
    r1cs = workload("random", "toy", 20, 1).r1cs
    none = np.zeros(0, np.int64)
    without = csr_from_indexed(TOY, (0, r1cs.num_variables), none, none, none, r1cs.a.dictionary)
    empty = dataclasses.replace(r1cs, a=without, b=without, c=without)
    with pytest.warns(SecurityWarning, match="no constraints") as caught:
        setup(empty, device("cpu"), toxic_waste=waste(TOY))
    assert caught[0].filename == __file__


def test_elsewhere_the_device_times_the_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the host is another device nothing waits, and each query has milliseconds; else each is a phase."""
    load = workload("random", "toy", 60, 1)
    for spec, apart in (("cpu", False), ("emu", True)):
        one = device(spec)
        if apart:
            monkeypatch.setattr(type(one), "host", property(lambda _: device("cpu")))
        resident, recorder = ResidentKey.upload(one, key(load)), Recorder()
        commit_witness(resident, upload_witness(resident, load.witness.values, recorder), resolve(), recorder)
        events = {event.phase: event for event in recorder.events if not event.phase.startswith("query_")}
        for phase in ("batch_add", "tail_msm"):
            tagged = {name for name in events[phase].tags if name.startswith("query_")}
            assert tagged >= {"query_a_ms", "query_b_g1_ms", "query_l_ms"} if apart else not tagged


@pytest.mark.parametrize("folded", [False, True])
def test_a_viewer_is_shown_every_value(folded: bool) -> None:
    """Each sum over ones and each whole sum, under another name where the bases are folded."""
    load, shown = workload("bits", "toy", 60, 1), list[str]()
    made, one = key(load), device("cpu")
    resident = ResidentKey.upload(one, made, folded_l=folded_l_query(one, made) if folded else None)
    viewed = Recorder().scoped(viewer=lambda name, _: shown.append(name))
    w = upload_witness(resident, load.witness.values, viewed)
    evaluate(resident, w, viewed)
    commit_witness(resident, w, resolve(), viewed)
    mark = "_folded" if folded else ""
    sums = [f"{kind}_{name}" for kind in ("ones", "sum") for name in (f"l{mark}", "a", "b_g1", "b_g2")]
    assert sorted(shown) == sorted(["a", "b", "c", *sums])


def test_the_form_of_h_follows_the_roots_that_there_are() -> None:
    most = TOY.two_adicity
    assert [default_h_form(TOY, n) for n in (0, most - 1, most)] == [
        "odd_lagrange",
        "odd_lagrange",
        "monomial",
    ]


def test_a_set_up_refuses_before_it_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be made costs nothing: no launch, and the secrets stay the caller's."""
    load = workload("random", "toy", (1 << 11) + 5, 1)
    one, mine = device("cpu"), waste(TOY)
    before = one.counters()["launches"]
    with pytest.raises(RangeError, match="odd coset"):
        setup(load.r1cs, one, h_form="odd_lagrange", toxic_waste=mine)
    assert one.counters()["launches"] == before
    assert mine.tau


@pytest.mark.parametrize("form", ["odd_lagrange", "monomial"])
@pytest.mark.parametrize("with_c", [True, False])
def test_forms_of_the_quotient(form: Any, with_c: bool) -> None:
    """Every setting of every kind of key: what it becomes, or what is said to be possible."""
    made = key(workload("random", "toy", 60, 1), form)
    made = made if with_c else dataclasses.replace(made, c=None)
    own = "six_ntt" if form == "odd_lagrange" else "seven_ntt"
    allowed = {"auto": own, own: own} | ({"four_ntt": "four_ntt"} if with_c and own == "six_ntt" else {})
    for setting in ("auto", "six_ntt", "seven_ntt", "four_ntt"):
        if setting in allowed:
            assert quotient_form(made, setting) == allowed[setting]
            continue
        with pytest.raises(InputError) as caught:
            quotient_form(made, setting)
        said = str(caught.value)
        assert ("no matrix C" in said) is not with_c
        possible = said.split("limit: possible with this key: ")[1].split(")")[0].split(", ")
        without_c = setting == "four_ntt" or own == "seven_ntt"
        assert possible == (["auto", own] if without_c else ["auto", "six_ntt", "four_ntt"])
