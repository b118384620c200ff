"""Progress of commands that are mostly quick: silence at first, then steps, shares and the time that is left.

Would catch: a command that works for minutes without a word, one that chatters although it is quick, progress among
the output for programs, a display that outlives its command, a hash that does not say how far it is.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuzk.cli import late, loading, progress
from cuzk.cli.counting import count_lines
from cuzk.cli.late import LateProgress
from cuzk.cli.progress import Progress
from cuzk.curves import get_curve
from cuzk.limbs import points_from_ints
from tests.cli import support
from tests.cli.support import circuit, cuzk
from tests.prover.support import device

STEPS = (("record", "record it"), ("hash", "hash all rows"))


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command counts as a long one from its start."""
    monkeypatch.setattr(late, "_AFTER_S", 0.0)
    monkeypatch.setattr(progress, "_TICK_S", 1e6)


class _Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> int:
        return round(self.now_s * 1e9)


def _wait_for(what: Callable[[], bool]) -> None:
    until = time.monotonic() + 250
    while not what():
        assert time.monotonic() < until
        time.sleep(0.001)


def test_a_quick_command_says_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late, "_AFTER_S", 1e6)
    with LateProgress("sizes", STEPS) as progress, progress.step("hash") as advance:
        advance(0.5)
    assert capsys.readouterr().err == ""
    assert not [thread for thread in threading.enumerate() if thread.name == "cuzk-progress"]


def test_a_long_one_says_how_far_it_is_and_what_is_left(
    capsys: pytest.CaptureFixture[str], at_once: None
) -> None:
    clock = _Clock()
    with LateProgress("sizes", STEPS, clock=clock) as progress:
        _wait_for(lambda: progress._is_open)
        with progress.step("record"):
            clock.now_s += 3
        progress.expect({"hash": 1.0})
        with progress.step("hash") as advance:
            for done in range(1, 31):
                clock.now_s += 1
                advance(done / 30)
    assert capsys.readouterr().err.splitlines() == [
        "sizes",
        "  record it: 3.00 s",
        "  hash all rows: 37% (about 19 s left)",
        "  hash all rows: 73% (about 8 s left)",
        "  hash all rows: 30.00 s",
    ]


def test_a_step_that_says_nothing_itself_gets_a_line_every_ten_seconds(
    capsys: pytest.CaptureFixture[str], at_once: None
) -> None:
    clock = _Clock()
    with LateProgress("sizes", STEPS, clock=clock) as progress:
        _wait_for(lambda: progress._is_open)
        with progress.step("record"):
            for _ in range(25):
                clock.now_s += 1
                progress.tick()
    assert capsys.readouterr().err.splitlines() == [
        "sizes", "  record it: 11 s so far", "  record it: 22 s so far", "  record it: 25.00 s"
    ]  # fmt: skip


def test_a_timed_loop_counts_without_a_thread(capsys: pytest.CaptureFixture[str]) -> None:
    clock = _Clock()
    tell = count_lines("pairs", 10, clock=clock)
    for done in range(1, 11):
        clock.now_s += 4
        tell(done)
    assert capsys.readouterr().err.splitlines() == [
        "  pairs: 3 of 10 (about 30 s left)",
        "  pairs: 6 of 10 (about 16 s left)",
        "  pairs: 9 of 10 (about 4 s left)",
    ]
    assert not [thread for thread in threading.enumerate() if thread.name == "cuzk-progress"]


def test_steps_of_prove_and_setup_that_say_nothing_get_lines_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large key is read for minutes, of which no share is known."""
    monkeypatch.setattr(progress, "_TICK_S", 0.001)
    clock, said = _Clock(), []
    monkeypatch.setattr(Progress, "_line", lambda _, text: said.append(text))
    with Progress("prove", STEPS, clock=clock) as shown:
        shown.started("record")
        clock.now_s += 12
        _wait_for(lambda: len(said) > 0)
        shown.ended("record", 12.0)
    assert said[0] == "record it: 12 s so far"
    assert capsys.readouterr().err == "prove\n"


def test_the_words_of_a_bar(at_once: None) -> None:
    """A command that writes nothing does not end with writing."""
    shown = LateProgress("sizes", STEPS)
    for name, words in STEPS:
        shown.started(name)
        assert shown._words() == f"sizes: {words}"
        shown.ended(name, 1.0)
    assert shown._words() == "sizes"


def test_an_error_ends_the_display(capsys: pytest.CaptureFixture[str], at_once: None) -> None:
    def fail() -> None:
        with LateProgress("sizes", STEPS) as progress, progress.step("record"):
            _wait_for(lambda: progress._is_open)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert capsys.readouterr().err == "sizes\n"
    assert not [thread for thread in threading.enumerate() if thread.name == "cuzk-progress"]


def _commands(folder: Path) -> Iterator[tuple[list[str | Path], str]]:
    """Commands that take minutes on large files, and the steps that each must name."""
    files = circuit("bn128")
    yield ["circuit", "info", "poseidon:2", "--hash"], "record the circuit|hash all rows"
    yield ["circuit", "info", files.r1cs, "--hash"], "read and check the circuit|hash all rows"
    yield ["circuit", "vanilla", "poseidon:2", "--out", folder / "v"], "compute what it opens"
    yield ["info", files.zkey], "read and check the file"
    yield ["key", "info", files.zkey], "read and check the key"
    yield (
        ["key", "check", files.zkey, "--device", "cpu", "--force", "--circuit", files.r1cs],
        "hash of the file|read and check the key|compare the circuit|points on the curve|points in the subgroup",
    )
    yield (
        ["key", "convert", files.zkey, "--out", folder / "k", "--device", "cpu"],
        "read and check the key|convert the key|write the file",
    )
    yield (
        ["key", "export", files.zkey, "--format", "zkey", "--out", folder / "z", "--device", "cpu"],
        "read and check the key|convert the key|write the file",
    )
    yield (
        ["verify", "--vkey", files.vkey, "--public", files.public, "--proof", files.proof],
        "read the key and what is to be checked|check the pairing equations",
    )
    yield ["doctor", "--device", "cpu"], "a proof on each curve, cpu"


def test_every_command_that_can_take_long_names_its_steps(
    tmp_path: Path, at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = LateProgress.__enter__

    def enter(self: LateProgress) -> LateProgress:
        """Open before the first step: how fast a thread starts is no part of this test."""
        opened(self)
        _wait_for(lambda: self._is_open or self._quiet)
        return self

    monkeypatch.setattr(LateProgress, "__enter__", enter)
    for words, steps in _commands(tmp_path):
        done = cuzk(*words)
        assert done.code == 0, done
        for step in steps.split("|"):
            assert f"  {step}: " in done.err, (words, step, done.err)
            assert f"{step}: " not in done.out, words
        quiet = cuzk(*words, "--json", *(["--force"] if words[1] in ("convert", "export") else []))
        assert quiet.code == 0, quiet
        assert "  " not in quiet.err, (words, quiet.err)


@pytest.mark.parametrize("bad", [None, 0, 4, 5, 12])
def test_points_are_checked_by_parts(bad: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The place of a bad point is that in the whole array, and every byte is counted once."""
    monkeypatch.setattr(loading, "_POINTS_AT_A_TIME", 5)
    group = get_curve("bn254").g1
    points: Any = np.repeat(points_from_ints(group, [group.generator]), 13, axis=0)
    if bad is not None:
        points[bad, 1, 0] ^= 1
    counted: list[int] = []
    assert loading.curve_checker(device("cpu"), counted.append)(group, points) == bad
    assert sum(counted) == (points.nbytes if bad is None else bad // 5 * 5 * group.affine_bytes)


def test_reports_for_programs_stay_what_they_are(at_once: None) -> None:
    done = support.cuzk("circuit", "info", "poseidon:2", "--json", "--hash")
    assert (done.err, set(done.report) >= {"circuit", "hash"}) == ("", True)
