"""A small part of the corpus of damaged files, the same on every run; `python -m tests.corpus.damage` runs all of it.

Would catch: a reader that lets another exception out, dies, hangs, takes memory for what is not there, or accepts a
damaged file and reads something else than its bytes say.
"""

from __future__ import annotations

import contextlib
import itertools
import mmap
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.corpus import damage, worker
from tests.corpus.damage import Report, run
from tests.corpus.edits import Edit, apply, systematic
from tests.corpus.readers import READERS
from tests.corpus.samples import CURVES, samples


def test_every_reader_answers_damaged_files_with_named_errors() -> None:
    report = run(4_000, seed=1)
    text = "\n".join(report.lines())
    assert not report.failures, text
    assert report.cases == 4_000
    counts = report.by_reader()
    assert {reader for reader, _ in counts} >= set(READERS), text
    for reader, curve in itertools.product(("r1cs", "wtns", "zkey", "cuzk_key", "pce", "vkey_json"), CURVES):
        assert counts[reader, curve]["FormatError"] > 5, text
        assert counts[reader, curve]["parsed"] > 0, text
    assert counts["params", "bls12_381"]["FormatError"] > 10, text
    assert sum(sum(found.values()) for found in counts.values()) > report.cases
    assert 0 < len(report.digests) <= report.cases


def busy(*_: object) -> None:
    """Take processor time."""
    until = time.process_time() + 0.2
    while time.process_time() < until:
        pass


def test_a_failure_is_seen(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    sample = next(sample for sample in samples() if sample.reader == "wtns")
    judge = worker.Judge(tmp_path_factory.mktemp("judge"))
    for broken, expected in (
        (lambda *_: 1 / 0, "ZeroDivisionError"),
        (lambda *_: bytearray(64 << 20), "more memory"),
        (lambda *_: mmap.mmap(-1, 64 << 20), "OSError"),  # native, never touched
        (lambda *_: [bytes(1000) for _ in range(6_000)], "bytes taken"),
        (busy, " s"),
    ):
        reader = READERS["wtns"].__class__(broken, lambda *_: True)
        monkeypatch.setitem(READERS, "wtns", reader)
        # Only the busy one is too long: on a slow machine the others may take as long as they need.
        monkeypatch.setattr(worker, "TOO_LONG", 0.1 if broken is busy else 1e6)
        if expected == "bytes taken":  # what tracemalloc sees, without the hard limit
            monkeypatch.setattr(worker, "_address_space", contextlib.nullcontext)
        judge.run(worker._MEASURED, sample, (Edit(0, 1, b"x"),))
        assert expected in judge.failures[-1]["outcome"]
    liar = READERS["wtns"].__class__(lambda *_: 1, lambda *_: False)
    monkeypatch.setitem(READERS, "wtns", liar)
    judge.run(1, sample, ())
    assert "something else" in judge.failures[-1]["outcome"]


def test_a_process_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    progress = tmp_path / "progress"
    for code, name in (("while True: pass", "_BUSY"), ("import time; time.sleep(60)", "_ASLEEP")):
        progress.write_bytes(worker.PROGRESS.pack(7, time.time()))
        monkeypatch.setattr(damage, "_BUSY", 1.0 if name == "_BUSY" else 900.0)
        monkeypatch.setattr(damage, "_ASLEEP", 1.0 if name == "_ASLEEP" else 900.0)
        process = subprocess.Popen([sys.executable, "-c", code])
        assert not damage._ends(process, progress)
        assert process.returncode < 0
    # One that ends by itself may take as long as it needs to start.
    monkeypatch.setattr(damage, "_BUSY", 900.0)
    monkeypatch.setattr(damage, "_ASLEEP", 900.0)
    process = subprocess.Popen([sys.executable, "-c", ""])
    assert damage._ends(process, progress)


def test_parts_of_a_run_add_up(tmp_path: Path) -> None:
    whole, merged = run(60, seed=2, readers=("wtns", "vk")), Report()
    for i in (1, 2, 3):
        part = tmp_path / f"{i}.json"
        run(60, seed=2, readers=("wtns", "vk"), part=(i, 3)).save(part)
        merged.add(part)
    assert not (whole.failures + merged.failures)
    assert merged.cases == whole.cases == 60
    assert merged.digests == whole.digests
    assert merged.by_reader().keys() == whole.by_reader().keys()


def test_damage_covers_what_it_should() -> None:
    for sample in samples():
        if sample.step != 4 or sample.is_text or len(sample.data) > 5000:
            continue
        seen = {apply(sample.data, damage) for damage in systematic(sample)}
        assert sample.data in seen
        assert all(sample.data[:cut] in seen for cut in range(len(sample.data)))
        modulus = sample.curve.r.to_bytes(sample.curve.fr.nbytes, "little")
        assert any(case.endswith(modulus) for case in seen)
        for start, end in sample.sections:
            assert sample.data[:start] + sample.data[end:] in seen
