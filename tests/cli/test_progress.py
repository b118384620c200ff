"""Progress of long commands: what is shown, when, and the time that is left.

Would catch: progress among the output for programs, a step that is never reached, a time left that contradicts the
clock, a display that names a step before it starts, lines without end from a command that reports often.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cuzk.cli.progress import PROVE_STEPS, PTAU_STEPS, SETUP_STEPS, Progress, left_words
from cuzk.curves import get_curve
from cuzk.formats import load_ptau
from cuzk.groth16 import Prover, ToxicWaste, setup
from cuzk.groth16.phase2 import setup_from_powers
from cuzk.groth16.work import powers_work, prove_work, setup_work
from cuzk.telemetry import PHASES, Recorder
from tests.cli.support import circuit, cuzk, prove
from tests.formats.ptau_builder import Secrets, ptau_bytes
from tests.prover.support import device
from tests.telemetry.shares import Shares
from tests.workloads import mixed_circuit


class Clock:
    """Nanoseconds, moved by hand."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> int:
        return round(self.now_s * 1e9)


STEPS = (("ntt_h", "transforms"), ("msm_h", "a sum"), ("self_check", "check"))


def test_lines_say_what_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Progress("prove", STEPS, clock=clock) as progress:
        recorder = Recorder([progress], clock=clock)
        with recorder.phase("ntt_h"):  # before anybody knows how much there is
            clock.now_s += 7
        progress.expect({"ntt_h": 0.0, "msm_h": 30.0, "tail_msm": 15.0})
        with recorder.phase("msm_h"):
            for done in range(1, 31):
                clock.now_s += 1
                recorder.advance(done / 30)
        with recorder.phase("tail_msm"):  # no step of this list
            clock.now_s += 15
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "prove",
        "  transforms: 7.00 s",
        "  a sum: 37% (about 35 s left)",
        "  a sum: 73% (about 25 s left)",
        "  a sum: 30.00 s (about 15 s left)",
    ]


def test_a_step_shows_while_it_runs() -> None:
    progress = Progress("prove", STEPS, clock=Clock())
    shown: list[str] = []
    progress._update = lambda: shown.append(f"{progress._words()} {progress._step_words()}")  # type: ignore[method-assign]
    recorder = Recorder([progress])
    with recorder.phase("ntt_h"):
        pass
    with recorder.phase("self_check"):  # msm_h is left out
        pass
    assert shown == [
        "prove: transforms 0/3", "prove: a sum 1/3", "prove: check 2/3", "prove: write 3/3"
    ]  # fmt: skip


def test_failed_phases_are_no_progress(capsys: pytest.CaptureFixture[str]) -> None:
    with (
        Progress("prove", STEPS) as progress,
        pytest.raises(ZeroDivisionError),
        Recorder([progress]).phase("ntt_h"),
    ):
        raise ZeroDivisionError
    assert capsys.readouterr().err == "prove\n"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.3, "1 s"),
        (12.4, "12 s"),
        (22, "20 s"),
        (98, "100 s"),
        (119, "2 min"),
        (1300, "20 min"),
        (9000, "2.5 h"),
    ],
)
def test_words_for_a_time(seconds: float, words: str) -> None:
    assert left_words(seconds) == f"about {words} left"


@pytest.mark.parametrize("option", ["--json", "--quiet", "-q"])
def test_no_progress_for_programs_and_on_request(tmp_path: Path, option: str) -> None:
    files = circuit("bn128")
    done = prove(files, tmp_path, option, "--device", "cpu")
    made = cuzk(
        "setup", files.r1cs, "--key", tmp_path / "k", "--vkey", tmp_path / "v", option, "--device", "cpu"
    )
    for run in (done, made):
        assert run.code == 0
        for _, words in (*PROVE_STEPS, *SETUP_STEPS):
            assert f"  {words}: " not in run.err
    assert made.err.count("\n") == 1, "the note on what a single-party set-up means, and nothing else"


def test_every_step_of_the_commands_is_reached(tmp_path: Path) -> None:
    files = circuit("bn128")
    done = prove(files, tmp_path, "--device", "cpu")
    made = cuzk("setup", files.r1cs, "--key", tmp_path / "k", "--vkey", tmp_path / "v", "--device", "cpu")
    (tmp_path / "ptau").write_bytes(ptau_bytes(get_curve("bn254"), 6, Secrets(12345, 67, 89), prepared=False))
    words: list[str | Path] = [
        "--key",
        tmp_path / "k2",
        "--vkey",
        tmp_path / "v2",
        "--ptau",
        tmp_path / "ptau",
    ]
    from_powers = cuzk("setup", files.r1cs, *words, "--device", "cpu")
    for run, steps in ((done, PROVE_STEPS), (made, SETUP_STEPS), (from_powers, PTAU_STEPS)):
        shown = re.findall(r"^  ([^:(]+): \d+\.\d\d s", run.err, re.MULTILINE)
        assert shown == [words for phase, words in steps if phase != "kernel_build"]  # that is for GPUs


def test_the_model_names_the_phases_that_run() -> None:
    """Each phase of the model takes place, under that name, and so does each step that is displayed."""
    r1cs, witness = mixed_circuit("bn254", 60)
    recorder = Recorder()
    key = setup(
        r1cs, device("cpu"), toxic_waste=ToxicWaste.from_seed(get_curve("bn254"), 1), recorder=recorder
    )
    Prover(key, device("cpu"), recorder=recorder).prove(witness)
    ran = {event.phase for event in recorder.events}
    written = {"key_write"}  # by the command
    assert set(setup_work(r1cs)) - written <= ran
    assert set(prove_work(key, witness)) <= ran
    assert {phase for phase, _ in SETUP_STEPS} == {"circuit_load", "kernel_build", *setup_work(r1cs)}
    assert {phase for phase, _ in PROVE_STEPS} == {
        "witness_load", "kernel_build", "key_load", *prove_work(key, witness)
    }  # fmt: skip
    assert {phase for phase, _ in (*SETUP_STEPS, *PROVE_STEPS)} <= set(PHASES)
    assert all(units > 0 for work in (setup_work(r1cs), prove_work(key, witness)) for units in work.values())
    assert prove_work(key, witness, self_check=False)["self_check"] == 0


@pytest.mark.parametrize("prepared", [False, True])
def test_a_set_up_from_powers_of_tau_says_how_far_it_is(tmp_path: Path, prepared: bool) -> None:
    """Every phase of the model runs, each of many points says its share, and all shares rise to 1."""
    r1cs, _ = mixed_circuit("bls12_381", 60)
    file = tmp_path / "ptau"
    file.write_bytes(ptau_bytes(r1cs.curve, r1cs.domain_log2, Secrets(12345, 67, 89), prepared=prepared))
    powers = load_ptau(file, r1cs.domain_log2)
    work = powers_work(r1cs, powers)
    by_command = {"powers_check", "key_write"}
    assert {phase for phase, _ in PTAU_STEPS} == {"circuit_load", "kernel_build", "powers_load", *work}
    assert [phase for phase, units in work.items() if not units] == (["powers_lagrange"] if prepared else [])
    told = Shares()
    recorder = Recorder([told])
    setup_from_powers(r1cs, powers, device("cpu"), delta=7, recorder=recorder)
    ran = {event.phase for event in recorder.events}
    assert {phase for phase, units in work.items() if units} - by_command == ran
    for phase in ran - {"points_single"}:
        shares = told.shares[phase]
        assert shares == sorted(shares), phase
        assert shares[-1] == pytest.approx(1.0), phase
    assert len(told.shares["points_l"]) >= 5


def test_the_time_left_of_a_set_up_from_powers_is_about_right(tmp_path: Path) -> None:
    """By processor time, of which the share of each large phase should be the model's within a factor.

    The least time of each phase in several set-ups, until it fits: a garbage collection, another thread of this process
    or a processor that is taken away may fall into a phase.
    """
    r1cs, _ = mixed_circuit("bls12_381", 250)
    file = tmp_path / "ptau"
    file.write_bytes(ptau_bytes(r1cs.curve, r1cs.domain_log2, Secrets(12345, 67, 89), prepared=False))
    powers = load_ptau(file, r1cs.domain_log2)
    least: dict[str, float] = {}
    off: dict[str, float] = {}
    for _ in range(8):
        recorder = Recorder()
        setup_from_powers(r1cs, powers, device("cpu"), delta=7, recorder=recorder)
        spent = {event.phase: event.cpu_ns for event in recorder.events}
        least = {phase: min(ns, least.get(phase, ns)) for phase, ns in spent.items()}
        model = {phase: units for phase, units in powers_work(r1cs, powers).items() if phase in spent}
        large = {phase: units for phase, units in model.items() if units > 0.05 * sum(model.values())}
        assert set(large) == {"powers_lagrange", "points_l", "points_a", "points_h"}
        off = {
            phase: least[phase] / sum(least.values()) / (units / sum(model.values()))
            for phase, units in large.items()
        }
        if all(0.4 < ratio < 2.5 for ratio in off.values()):
            return
    pytest.fail(f"shares of the time over those of the model: {off}")
