"""The case study's command runs from end to end on a circuit of a few rows.

Would catch: a comparison of what a device does not have, a row that is made again by the next call or kept from other
sources, bits that differ and are timed all the same.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from cuzk_fuzz.planted import plant

from cuzk.curves import get_curve
from tests.ab import study

SMALL = ("--circuit", "mixed:24:toy", "--circuits", "2")


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["study", *SMALL, *arguments])
    return study.main()


@pytest.fixture(autouse=True)
def _same_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is edited meanwhile."""
    monkeypatch.setattr(study, "tree_digest", lambda: "of these sources")


def test_tables_are_made_row_by_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "study.json"
    assert run(monkeypatch, "--parts", "pinning,batch,waterfall", "--json", str(path)) == 0
    data = json.loads(path.read_text())
    rows = {row["name"]: row for row in data["rows"]}
    assert data["complete"] is True
    assert rows["B1=resident / B1=pageable"]["times"][0]["pairs"] == 6
    assert "page-lock" in rows["B1=pageable / B1=register"]["left_out"]
    assert rows["A4=gpu / A4=par_map"]["left_out"]
    assert rows["C1=1 / C1=fit"]["same"] is True
    assert "bounds the run" in rows["batch"]["sentence"]
    made: list[str] = []

    def note(row: dict[str, str]) -> str:
        made.append(row["name"])
        return ""

    monkeypatch.setattr(study, "summary", note)
    assert run(monkeypatch, "--parts", "pinning,batch,waterfall", "--json", str(path)) == 0
    assert made == [], "what is there is not made again"
    monkeypatch.setattr(study, "tree_digest", lambda: "of other sources")
    assert run(monkeypatch, "--parts", "waterfall", "--json", str(path)) == 0
    assert made == ["batch"]
    assert run(monkeypatch, "--parts", "pinning", "--budget-s", "-1") == 1


def test_bits_that_differ_are_not_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "study.json"
    with plant("B1", "pageable", "ntt_h", curve=get_curve("toy")):
        run(monkeypatch, "--parts", "pinning", "--json", str(path))
    row = json.loads(path.read_text())["rows"][0]
    assert row["same"] is False
    assert "times" not in row


def test_the_campaign_tries_what_acts_on_a_device() -> None:
    chosen = {one.text for one in study.chosen("cpu")}
    assert {"C1=1", "D4=autotuned", "B1=pageable", "Q1=four_ntt", "A3=on"} <= chosen
    assert not any(text.startswith("D4=") and text[3:].isdigit() for text in chosen)
    assert any(one.text == "B1=pool" for one in study.chosen("cuda"))
