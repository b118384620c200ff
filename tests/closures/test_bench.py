"""``cuzk bench synth``: which settings it runs, in which order, what it prints, and counts under callgrind.

Would catch: a setting that is left out or run under another's name, samples that are not paired, an interval that is
too narrow, and a report that hides what the machine could not count.
"""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import pytest

from cuzk.circuits.catalogue import build_circuit
from cuzk.cli.bench_synth import ACTING, settings_around
from cuzk.cli.bench_synth_callgrind import read_events
from cuzk.cli.bench_synth_runs import interval, measure, prepare
from cuzk.closures import Setting
from cuzk.formats import save_r1cs
from tests.cli import support
from tests.workloads import random_r1cs

FIRST = Setting()
EACH = [
    FIRST,
    *(Setting(indexer) for indexer in ("small1", "small2", "small4")),
    Setting(presized=True),
    Setting(in_place=True),
    Setting(prefetch=True),
]


def test_settings_differ_from_the_first_in_one_value() -> None:
    assert settings_around({}) == EACH
    assert settings_around({"A3": "on", "A1": "small2"}) == [
        Setting("small2", in_place=True),
        Setting("small2", presized=True, in_place=True),
        Setting("small2", in_place=True, prefetch=True),
    ]
    fixed = {"A1": "vec", "A2": "on", "A3": "off", "A5": "on"}
    assert settings_around(fixed) == [Setting("vec", True, False, True)]


@pytest.mark.parametrize("n", [6, 7, 10, 31, 200])
def test_the_interval_has_its_error_rate_and_no_narrower_one_has(n: int) -> None:
    low, high = interval([float(i) for i in range(n)])
    assert low == n - 1 - high

    def error(skipped: int) -> float:
        return sum(math.comb(n, i) for i in range(skipped + 1)) * 2.0 ** (1 - n)

    assert error(int(low)) <= 0.05 < error(int(low) + 1)


def test_samples_are_paired_and_counts_are_those_of_the_setting() -> None:
    told: list[str] = []
    case = prepare(random_r1cs("bn254", 300, num_public=2, seed=1).r1cs)
    report = measure(case, EACH[:5], 2, told.append)
    assert told == ["round 1 of 2", "round 2 of 2"]
    assert report["samples"] == 4
    assert report["runs_a_sample"] >= 2  # one run is far shorter than a tick of some clocks
    first, *others = report["results"]
    assert (first["ratio"], first["ratio_low"], first["ratio_high"]) == (1, 1, 1)
    assert [row["variants"] for row in report["results"][:-1]] == [
        setting.variants() | {"P5": "closures"} for setting in EACH[:5]
    ]
    assert others[-1]["variants"] == {"P5": "pce"}
    assert others[-1]["counts"] == {}
    for row in others:
        pairs = [one / other for one, other in zip(row["samples_ms"], first["samples_ms"], strict=True)]
        assert min(pairs) * 0.99 <= row["ratio_low"] <= row["ratio"] <= row["ratio_high"] <= max(pairs) * 1.01
    assert first["counts"]["spills"] == 0 < others[0]["counts"]["spills"]
    assert others[3]["counts"]["vector_reallocations"] == 0 < first["counts"]["vector_reallocations"]


def test_a_built_in_circuit_as_json() -> None:
    done = support.cuzk("bench", "synth", "poseidon:2", "--variant", "A3=on", "--repeats", "1", "--json")
    assert done.code == 0, done.err
    r1cs = build_circuit("poseidon:2")
    assert (done.report["circuit"], done.report["rows"]) == ("poseidon:2", r1cs.num_constraints)
    assert done.report["terms"] >= done.report["nonzero"] == sum(m.nnz for m in r1cs.matrices.values())
    rows = done.report["results"]
    assert len(rows) == 1 + 3 + 1 + 1 + 1
    assert all(row["variants"]["A3"] == "on" for row in rows[:-1])
    assert all(row["counts"]["relocations"] == 0 for row in rows[:-1])


def test_a_file_as_tables(tmp_path: Path) -> None:
    path = tmp_path / "c.r1cs"
    save_r1cs(path, random_r1cs("bn254", 100, num_public=2, seed=1).r1cs)
    done = support.cuzk("bench", "synth", str(path), "--repeats", "1")
    assert done.code == 0, done.err
    for text in ("c.r1cs, 1", "the first", "A1=small4", "A2=on", "A3=on", "A5=on", "P5=pce", "spills"):
        assert text in done.out
    assert "round 1 of 1" in done.err


@pytest.mark.parametrize(
    ("words", "fragment"),
    [
        (("synth", "sha256:nothing"), "no built-in circuit"),
        (("synth", "no.r1cs"), "no.r1cs"),
        (("synth", "sha256:512", "--rows", "64"), "both the circuit"),
        (("synth", "--rows", "64", "--rows", "65"), "2 numbers of rows"),
        (("synth", "--rows", "0"), "--size or --rows: size '0'"),
        (("synth", "--variant", "D4=4"), "does not act"),
        (("synth", "--variant", "A1=small3"), "small4"),
        (("ntt", "sha256:512", "--device", "cpu"), "bench synth"),
        (("ntt", "--callgrind", "--device", "cpu"), "bench synth"),
    ],
)
def test_what_makes_no_sense_is_refused(words: tuple[str, ...], fragment: str) -> None:
    done = support.cuzk("bench", *words)
    assert done.code == 2
    assert fragment in done.err


def test_callgrind_counts_or_says_that_it_is_missing() -> None:
    """Exact counts for one setting of a small circuit; without valgrind, the error and its code."""
    fixed = [
        word for one in sorted(ACTING - {"A3"}) for word in ("--variant", f"{one}={FIRST.variants()[one]}")
    ]
    done = support.cuzk("bench", "synth", "--rows", "64", *fixed, "--callgrind", "--json")
    if shutil.which("valgrind") is None:
        assert done.code == 3
        assert "valgrind is not installed" in done.err
        return
    assert done.code == 0, done.err
    by_value, in_place = (row["events"] for row in done.report["results"])
    assert done.report["results"][1]["variants"]["A3"] == "on"
    assert 64 * 100 < in_place["instructions"] < by_value["instructions"] < 64 * 10_000
    assert 0 < in_place["branches"] < by_value["branches"] < by_value["instructions"]


def test_output_of_callgrind_that_counts_nothing_is_no_result() -> None:
    label = "desc: Trigger: Client Request: setting 0\n"
    assert not read_events(
        ["", "events: Ir\n", f"{label}events: Ir Bc\ntotals: 0 0\n", "events: Ir\ntotals: 5\n"]
    )
    assert read_events([f"{label}events: Ir\ntotals: 5\n"])[0]["instructions"] == 5
