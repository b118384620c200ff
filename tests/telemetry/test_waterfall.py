"""The waterfall: lanes, critical path, slack, what bounds the run, and the three ways to draw it.

Would catch: hidden work named as the bound, slack that would in truth make the run longer, a wait that counts as work,
a thread's phases that are taken for independent, a page that loads something, and a bar drawn at a wrong place.
"""

from __future__ import annotations

import configparser
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cuzk.errors import InputError
from cuzk.telemetry import Event, JsonlWriter
from cuzk.telemetry.waterfall import Waterfall, build_waterfall, seconds_words
from cuzk.telemetry.waterfall_picture import waterfall_html, write_png
from cuzk.telemetry.waterfall_text import waterfall_text
from tests.cli.support import cuzk
from tests.telemetry.runs import Run, S, batch_of_three, cpu_proof, gpu_proof


def path_of(fall: Waterfall) -> list[str]:
    return [bar.label for bar in fall.critical_path]


def slack_of(fall: Waterfall) -> dict[str, float]:
    return {bar.label: bar.slack_ns / S for bar in fall.bars if not bar.is_critical and not bar.is_wait}


def test_one_thread_is_all_critical_path() -> None:
    fall = build_waterfall(cpu_proof())
    assert [lane.name for lane in fall.lanes] == ["thread 1"]
    assert len(fall.critical_path) == len(fall.bars) == 11, (
        "the queries belong to their sum, containers are not drawn"
    )
    assert fall.sentence == (
        "msm_h on the host's processors bounds the run: 0.25s of 1.0s (25%) are on the critical path."
    )


def test_a_sum_beside_the_gpu_is_hidden_and_has_slack() -> None:
    fall = build_waterfall(gpu_proof())
    assert [lane.name for lane in fall.lanes] == [
        "thread 1", "thread 2", "cuda:0 kernels", "cuda:0 copies, stream 1",
    ]  # fmt: skip
    assert path_of(fall) == [
        "witness", "spmv", "prep_msm", "ntt_h", "msm_h", "batch_add", "tail_msm", "proof_assembly", "self_check",
    ]  # fmt: skip
    assert slack_of(fall) == pytest.approx({"b_g2_msm": 2.8, "transfer 1": 1.5, "transfer 2": 11.3})
    assert fall.sentence.startswith("msm_h on the GPU's kernels bounds the run: 15.3s of 28.7s (53%)")
    assert "b_g2_msm (22.8s, CPU) is hidden, with 2.8s to spare" in fall.sentence


def test_slack_is_what_the_run_can_bear() -> None:
    """Longer by its slack, the phase does not move the end; longer by more, it does and is the bound."""
    end = build_waterfall(gpu_proof()).end_ns
    at_the_limit = build_waterfall(gpu_proof(22.8 + 2.8))
    assert at_the_limit.end_ns == end
    assert "b_g2_msm" in path_of(at_the_limit)
    beyond = build_waterfall(gpu_proof(29.0))
    assert beyond.end_ns == end + round((29.0 - 25.6) * S)
    assert path_of(beyond) == ["witness", "spmv", "prep_msm", "b_g2_msm", "proof_assembly", "self_check"]
    assert slack_of(beyond)["tail_msm"] == pytest.approx(3.4), "the wait behind it is no work"
    assert beyond.sentence.startswith("b_g2_msm on the host's processors bounds the run: 29.0s")
    assert beyond.sentence.endswith("3.4s were spent waiting.")


def test_a_batch_of_three_has_a_thread_a_sum() -> None:
    fall = build_waterfall(batch_of_three())
    assert [lane.name for lane in fall.lanes] == [
        "thread 1",
        "thread 2",
        "thread 3",
        "thread 4",
        "cuda:0 kernels",
    ]
    assert slack_of(fall) == pytest.approx({"b_g2_msm 1": 0.7, "b_g2_msm 2": 0.5, "b_g2_msm 3": 0.3})
    assert [label for label in path_of(fall) if label.startswith(("ntt", "msm"))] == [
        "ntt_h 1", "msm_h 1", "ntt_h 2", "msm_h 2", "ntt_h 3", "msm_h 3",
    ]  # fmt: skip


def test_the_terminal_rows_stand_where_their_times_are() -> None:
    lines = waterfall_text(build_waterfall(gpu_proof()), 100).splitlines()
    rows = {match[1]: line for line in lines if (match := re.match(r"  [* ] (\w+(?: \d)?) +.*\[.*\]", line))}
    assert "[==================== 22.8s (CPU, hidden) ====================]" in rows["b_g2_msm"]
    assert rows["prep_msm"].endswith("[===] 1.7s (CPU)")
    assert rows["ntt_h"].index("[") == rows["b_g2_msm"].index("["), "they start at one moment"
    assert rows["tail_msm"].index("]") == max(row.rindex("]") for row in rows.values()) - 1
    assert rows["tail_msm"].startswith("  * ")
    assert rows["b_g2_msm"].startswith("    ")
    assert max(map(len, lines[: len(rows) + 5])) <= 100
    assert lines[-3].startswith("critical path (*): witness -> spmv -> prep_msm")
    assert lines[-2] == "slack: transfer 1 1.5s, b_g2_msm 2.8s, transfer 2 11.3s"


def test_rows_show_waits_and_fit_a_narrow_terminal() -> None:
    text = waterfall_text(build_waterfall(gpu_proof(29.0)), 20)
    assert re.search(r"wait_prep +.*3\.4s \(waiting\) \[\.+\]|wait_prep .*\[\.*\]", text)
    assert max(len(line) for line in text.splitlines()[:12]) <= 60


def test_the_page_is_whole_in_itself() -> None:
    fall = build_waterfall(batch_of_three())
    page = waterfall_html(fall, "<batch> & co")
    assert "http" not in page
    assert "<script" not in page
    assert "&lt;batch&gt; &amp; co" in page
    drawing = ElementTree.fromstring(page[page.index("<svg") : page.index("</svg>") + 6])
    bars = {
        (group.findtext("rect/title") or "").partition(":")[0]: group.findall("rect")[-1]
        for group in drawing.iter("g")
    }
    assert set(bars) == {bar.label for bar in fall.bars}
    left, right = (float(bars[name].attrib["x"]) for name in ("tail_msm", "proof_assembly"))
    assert right - left == pytest.approx(float(bars["tail_msm"].attrib["width"]), abs=0.2)
    assert (right - left) / 1000 == pytest.approx(1.0 / 3.4, abs=1e-3), "to scale"


def test_a_picture_is_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    target = tmp_path / "run.png"
    write_png(build_waterfall(gpu_proof()), target, "run")
    data = target.read_bytes()
    assert data.startswith(b"\x89PNG")
    assert int.from_bytes(data[16:20], "big") > 1000


def test_the_gates_have_what_pictures_need() -> None:
    """Else the test above would be left out everywhere without a word."""
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(Path(__file__).resolve().parents[2] / "tox.ini")
    for env in ("test", "quick", "gate", "nightly"):
        assert "plots" in tox[f"testenv:{env}"]["extras"].split(", "), env


def test_the_command_draws_and_reports(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    with JsonlWriter(events) as writer:
        for event in gpu_proof():
            writer.receive(event)
    page = tmp_path / "run.html"
    done = cuzk("waterfall", str(events), "--html", str(page), "--json")
    assert done.code == 0
    assert done.report["seconds"] == pytest.approx(28.7)
    assert done.report["critical_path"][0] == "witness"
    phases = {row["phase"]: row for row in done.report["phases"]}
    assert phases["b_g2_msm"] | {"slack_ms": 0} == {
        "phase": "b_g2_msm", "lane": "thread 2", "start_ms": 2900.0, "ms": 22800.0, "slack_ms": 0,
        "critical": False, "hidden": True,
    }  # fmt: skip
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert "msm_h on the GPU's kernels bounds the run" in cuzk("waterfall", str(events)).out


def test_nothing_to_draw_is_named(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    done = cuzk("waterfall", str(empty))
    assert done.code == 2
    assert "no phase to draw" in done.err
    with pytest.raises(InputError):
        build_waterfall([])


def test_a_wait_at_the_end_is_no_work_and_hides_no_path() -> None:
    run = Run("cpu")
    prove = run.add("prove", 0, 1)
    run.add("msm_h", 0, 1, prove)
    run.add("wait_check", 1, 4)
    fall = build_waterfall(run.events)
    assert path_of(fall) == ["msm_h"]
    assert fall.end_ns == 4 * S
    assert "1.0s of 4.0s (25%)" in fall.sentence
    assert fall.sentence.endswith("3.0s were spent waiting.")


def test_durations_in_words() -> None:
    words = [seconds_words(value) for value in (0, 400_000, 35_000_000, 250_000_000, 22.8 * S)]
    assert words == ["0s", "0.4ms", "35ms", "0.25s", "22.8s"]


def test_work_of_another_thread_inside_a_phase_has_its_own_lane() -> None:
    run = cpu_proof()
    beside = [event for event in run if event.phase == "query_l"]
    moved = [
        Event(**{**{name: getattr(e, name) for name in e.__slots__}, "thread": 9}) if e in beside else e
        for e in run
    ]
    assert [lane.name for lane in build_waterfall(moved).lanes] == ["thread 1", "thread 2"]
