"""Campaigns of many processes: what one loses, no campaign does.

Would catch: a crash that ends the campaign, or is not told; a batch that is blamed as a whole although one case did it;
a state that is not taken up again; a merge that keeps duplicates or drops what only one source had.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cuzk_fuzz import cli, commands, corpus, fleet, native_coverage, ray_fleet
from cuzk_fuzz.devices import DeviceChoice
from cuzk_fuzz.engine import BlindHarnessError, Campaign, Result, demand_comparisons
from cuzk_fuzz.findings import load
from cuzk_fuzz.isolate import Probe, bisect, ending
from cuzk_fuzz.registry import TARGETS
from cuzk_fuzz.report_command import as_html
from cuzk_fuzz.subjects import Term
from cuzk_fuzz.targets.batch_add import BatchAddBatch, Selection
from cuzk_fuzz.targets.spmv import SpmvBatch
from cuzk_fuzz.worker import Settings, read_status

from tests.harness.crashing import FATAL


def _settings(folder: Path, target: str = "batch_add", **changes: Any) -> Settings:
    base = Settings(
        f"{target}-emu-0",
        target,
        "emu",
        4,
        "generator",
        None,
        400,
        str(folder / "state"),
        str(folder / "found"),
    )
    return replace(base, **changes)


def test_a_lost_device_is_blamed_on_one_case_and_the_campaign_goes_on(tmp_path: Path) -> None:
    settings = _settings(
        tmp_path, opener="tests.harness.crashing:open_losing", most_findings=2, seed=1, cases=24
    )
    (result,) = fleet.Fleet([settings], 1, tmp_path / "status.json").run()
    (finding,) = result.findings
    assert finding.bucket.endswith("-LaunchError")
    assert isinstance(finding.batch, BatchAddBatch)
    assert len(finding.batch.selections) == 1
    assert result.cases >= 24
    state = json.loads((tmp_path / "status.json").read_text())
    assert state["state"] == "done"
    assert [worker["restarts"] for worker in state["workers"]] == [1]
    (path,) = (tmp_path / "found").glob("batch_add-*.json")
    assert load(path).outcome.error == finding.outcome.error


def test_a_case_that_kills_its_process_is_told_by_its_signal() -> None:
    fatal = BatchAddBatch("toy_g1", (Selection((Term(1),) * FATAL, None, None, None, 0),))
    harmless = BatchAddBatch("toy_g1", (Selection((Term(1),) * 2, None, None, None, 0),))
    probe = Probe(DeviceChoice("emu"), "tests.harness.crashing:open_dying")
    assert (probe(fatal) or "").startswith("SIGSEGV:")
    assert probe(harmless) is None


def test_an_exception_of_our_own_is_blamed_on_its_case_and_told_in_its_words(tmp_path: Path) -> None:
    fatal = BatchAddBatch("toy_g1", (Selection((Term(1),) * FATAL, None, None, None, 0),))
    probe = Probe(DeviceChoice("emu"), "tests.harness.crashing:open_raising")
    assert (probe(fatal) or "").startswith(
        "Exit1: the process ended with this code; KeyError: 'no such buffer'"
    )
    settings = _settings(tmp_path, opener="tests.harness.crashing:open_raising", seed=1, cases=24)
    (result,) = fleet.Fleet([settings], 1).run()
    (finding,) = result.findings
    assert finding.bucket.endswith("-Exit1")
    assert "no such buffer" in (finding.outcome.error or "")
    assert finding.batch.num_cases == 1


def _many_rows() -> SpmvBatch:
    return SpmvBatch("toy", tuple(((0, i + 1),) for i in range(16)), (1, 2))


def test_halving_ends_at_the_case_and_at_what_fails_only_together() -> None:
    batch = _many_rows()
    one = bisect(batch, lambda b: "boom" if any(row[0][1] == 11 for row in b.rows) else None)  # type: ignore[attr-defined]
    assert one is not None
    assert [row[0][1] for row in one[0].rows] == [11]  # type: ignore[attr-defined]
    both = bisect(batch, lambda b: "boom" if {5, 12} <= {row[0][1] for row in b.rows} else None)  # type: ignore[attr-defined]
    assert both is not None
    assert both[0].num_cases == 16
    assert bisect(batch, lambda b: None) is None
    assert ending(-11).startswith("SIGSEGV:")
    assert ending(5).startswith("Exit5:")


def test_a_worker_that_dies_without_a_batch_says_its_last_words(tmp_path: Path) -> None:
    settings = _settings(tmp_path, opener="tests.harness.crashing:nobody")
    with pytest.raises(fleet.WorkerError, match="nobody"):
        fleet.Fleet([settings], 1).run()


def test_a_campaign_goes_on_where_it_stopped(tmp_path: Path) -> None:
    run = ["run", "spmv", "--resume", str(tmp_path / "state"), "--engine", "generator",
           "--json", str(tmp_path / "r.json"), "--corpus", str(tmp_path / "corpus"),
           "--out", str(tmp_path / "out")]  # fmt: skip
    assert cli.main([*run, "--cases", "500"]) == commands.DONE
    first = json.loads((tmp_path / "r.json").read_text())
    assert cli.main([*run, "--cases", "3000"]) == commands.DONE
    later = json.loads((tmp_path / "r.json").read_text())
    assert later["cases"] >= 3000
    assert later["batches"] > first["batches"]
    assert later["corpus_new"] > 0
    # The batches are those of one run that never stopped, so it has seen each of them once.
    alone = Campaign(TARGETS["spmv"], "cpu", seed=0)
    while alone.result.batches < first["batches"]:
        alone.guided()
    assert alone.result.cases == first["cases"]


def test_workers_have_seeds_names_and_shares_of_their_own(tmp_path: Path) -> None:
    base = _settings(tmp_path, corpus=str(tmp_path / "corpus"))
    plan = fleet.plan(["msm", "readers"], base, 3)
    assert len({one.name for one in plan}) == len({(one.target, one.seed) for one in plan}) == 6
    assert [one.cases for one in plan] == [134] * 6
    assert {one.device for one in plan if one.target == "readers"} == {"cpu"}
    assert {Path(one.corpus or "").name for one in plan} == {"msm-emu", "readers-cpu"}


def test_results_add_up_and_each_bucket_keeps_its_simplest_finding() -> None:
    one, two = (
        Result("msm", "cpu", 1, batches=2, cases=8, compared=8),
        Result("msm", "cpu", 2, cases=1, compared=1),
    )
    one.hits, two.hits = Counter({"K.0": 3}), Counter({"K.0": 1, "K.1": 5})
    (total,) = fleet.merged([one, two])
    assert (total.cases, total.compared, total.hits["K.0"], total.hits["K.1"]) == (9, 9, 4, 5)


def test_merge_keeps_what_shows_something_and_no_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sources = []
    for seed in ("1", "2"):
        folder = tmp_path / seed
        run = ["run", "spmv", "--engine", "generator", "--cases", "3000", "--seed", seed, "--json",
               str(folder / "r.json"), "--corpus", str(folder / "spmv-cpu")]  # fmt: skip
        assert cli.main(run) == commands.DONE
        sources.append(folder)
    out = tmp_path / "out"
    assert cli.main(["merge", *map(str, sources), "--out", str(out)]) == commands.DONE
    campaign = Campaign(TARGETS["spmv"], "cpu")

    def shown(folder: Path) -> set[tuple[str, str, str]]:
        batches = [campaign.decode(path.read_bytes()) for path in corpus.files_of(folder)]
        return set().union(*map(corpus.features, batches))

    kept = out / "corpus" / "spmv-cpu"
    assert shown(kept) == shown(sources[0] / "spmv-cpu") | shown(sources[1] / "spmv-cpu")
    assert len(corpus.files_of(kept)) < sum(len(corpus.files_of(source / "spmv-cpu")) for source in sources)
    (total,) = json.loads((out / "results.json").read_text())["results"]
    assert total["cases"] == sum(json.loads((source / "r.json").read_text())["cases"] for source in sources)
    capsys.readouterr()
    page = tmp_path / "page.html"
    assert cli.main(["report", str(out), "--html", str(page)]) == commands.DONE
    text = page.read_text()
    assert "M.cancelling" in text
    assert "<p>None.</p>" in text
    assert cli.main(["report", str(tmp_path / "1" / "spmv-cpu")]) == commands.USAGE


def test_a_page_escapes_what_it_shows() -> None:
    result = Result("spmv", "cpu<script>", 1)
    assert "<script>" not in as_html([result])


def test_a_campaign_that_compares_nothing_fails() -> None:
    with pytest.raises(BlindHarnessError, match="nothing was compared"):
        demand_comparisons([Result("msm", "emu", 1, batches=7, cases=30)])
    demand_comparisons([Result("msm", "emu", 1, batches=7, cases=30, compared=30)])


class FakeRay:
    """What ray_fleet uses of Ray, in this process: values go through JSON and pickle as they would over a network."""

    def __init__(self) -> None:
        self.options: dict[str, Any] = {}
        self.sent: list[tuple[dict[str, Any], list[bytes]]] = []

    def init(self, **options: Any) -> None:
        self.options = options

    def remote(self, **needs: Any) -> Any:
        import pickle

        def decorate(function: Any) -> Any:
            def call(*values: Any) -> Any:
                self.sent.append(pickle.loads(pickle.dumps(values)))
                return function(*self.sent[-1])

            return SimpleNamespace(remote=call, needs=needs)

        return decorate

    @staticmethod
    def get(values: Any) -> Any:
        return values


def test_rounds_on_ray_share_their_corpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = FakeRay()
    monkeypatch.setitem(sys.modules, "ray", fake)
    monkeypatch.setattr(ray_fleet, "ROUND_SECONDS", 1.5)
    run = ["run", "spmv", "--ray", "local", "--workers", "1", "--seconds", "3", "--engine", "generator",
           "--corpus", str(tmp_path / "corpus"), "--json", str(tmp_path / "r.json")]  # fmt: skip
    assert cli.main(run) == commands.DONE
    assert fake.options["address"] is None
    (one, nothing), (two, batches) = fake.sent
    assert one["seed"] != two["seed"]
    assert nothing == []
    assert len(batches) > 0
    assert json.loads((tmp_path / "r.json").read_text())["cases"] > 0
    assert corpus.files_of(tmp_path / "corpus" / "spmv-cpu")


def test_without_ray_the_error_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert cli.main(["run", "spmv", "--ray", "auto"]) == commands.USAGE
    assert "pip install 'cuzk[ray]'" in capsys.readouterr().out


def test_status_is_nothing_before_it_is_written(tmp_path: Path) -> None:
    assert read_status(tmp_path / "absent.json") is None
    (tmp_path / "half.json").write_text('{"state": "run')
    assert read_status(tmp_path / "half.json") is None


def test_coverage_inside_kernels_is_compiled_by_clang_for_a_targets_kernels(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(native_coverage, "clang", lambda: "clang++")
    line = native_coverage.command(tmp_path / "a.cpp", tmp_path / "a.so")
    assert {"-fsanitize=fuzzer-no-link", "-DCUZK_TARGET_EMU=1", "-shared"} <= set(line)
    assert "spmv.cuh" in native_coverage.plan_of("spmv").source()
    with pytest.raises(ValueError, match="no kernels to compile for 'readers'"):
        native_coverage.plan_of("readers")
    assert (
        "asan_with_fuzzer.so" in native_coverage.preload("cuzk_fuzz.native_coverage:open_spmv")["LD_PRELOAD"]
    )
    assert native_coverage.preload("tests.harness.crashing:open_dying") == native_coverage.preload(None) == {}
    monkeypatch.undo()
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    run = [
        "run",
        "spmv",
        "--device",
        "emu",
        "--engine",
        "atheris",
        "--native-coverage",
        "--out",
        str(tmp_path),
    ]
    assert cli.main(run) == commands.BROKEN
    assert "needs clang" in capsys.readouterr().out
    assert cli.main(["run", "spmv", "--native-coverage"]) == commands.USAGE
