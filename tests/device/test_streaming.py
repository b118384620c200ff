"""The streaming script without a GPU: on the cpu with a limit, and what it takes for a pass.

Would catch: a comparison that passes without streaming, with other bytes, beyond the limit, or too slow.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import pytest

from tests.device import streaming


@pytest.mark.parametrize(
    ("text", "expected"), [("4GiB", 4 << 30), ("512MiB", 512 << 20), ("1.5 KiB", 1536), ("7", 7)]
)
def test_parse_bytes(text: str, expected: int) -> None:
    assert streaming.parse_bytes(text) == expected


@pytest.mark.parametrize("text", ["", "4GB", "-1", "GiB", "4 GiB more"])
def test_what_is_no_number_of_bytes(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        streaming.parse_bytes(text)


@pytest.mark.parametrize(
    ("resident", "limited", "copy", "ratio", "hidden"),
    [(100.0, 150.0, 100.0, 1.5, 0.5), (100.0, 90.0, 50.0, 0.9, 1.0), (100.0, 300.0, 50.0, 3.0, 0.0)],
)
def test_compare(resident: float, limited: float, copy: float, ratio: float, hidden: float) -> None:
    found = streaming.compare({"median_ms": resident}, {"median_ms": limited, "copy_ms": copy})
    assert found == {"ratio": ratio, "hidden_share_of_copies": hidden}


@pytest.mark.parametrize("place", [[], ["--in-memory"]])
@pytest.mark.parametrize(("limit", "streams"), [("3300KiB", True), ("1GiB", False)])
def test_on_the_cpu(
    place: list[str], limit: str, streams: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The smallest circuit: streamed under a small limit; under a large one nothing is, and that is no pass."""
    result = tmp_path / "result.json"
    words = [
        "--device",
        "cpu",
        "--log",
        "12",
        "--limit",
        limit,
        "--repeats",
        "1",
        "--json",
        str(result),
        *place,
    ]
    monkeypatch.setattr(sys, "argv", ["streaming", *words])
    monkeypatch.setattr(streaming, "TARGET_RATIO", 1000.0)  # times of one run on a busy machine say nothing
    assert streaming.main() == int(not streams)
    (row,) = json.loads(result.read_text())["rows"]
    assert row["same_bytes"]
    assert row["within_limit"]
    assert row["mapped"] == (place == [])
    assert (row["limited"]["streamed"] != "") == streams
    assert row["resident"]["streamed"] == ""
    assert (row["limited"]["staged_bytes"] > 0) == streams
    assert row["pass"] == streams
