"""The streaming script without a GPU: on the cpu with a limit, and what it takes for a pass.

Would catch: a comparison that passes without streaming, with other bytes, beyond the limit, or too slow.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from cuzk.curves import get_curve
from cuzk.device import get_device
from cuzk.device.copies import CopySpan
from cuzk.limbs import fr_from_ints
from cuzk.ops.fr_vec import fr_mul
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
    ("resident", "limited", "copy", "ratio", "extra"),
    [(100.0, 150.0, 100.0, 1.5, 0.5), (100.0, 90.0, 50.0, 0.9, -0.2), (100.0, 300.0, 0.0, 3.0, None)],
)
def test_compare(resident: float, limited: float, copy: float, ratio: float, extra: float | None) -> None:
    found = streaming.compare({"median_ms": resident}, {"median_ms": limited, "copy_ms": copy})
    assert found == {"ratio": ratio, "extra_ms_per_copy_ms": extra}


@pytest.mark.parametrize(
    ("copies", "kernels", "share"),
    [
        ([(0, 10)], [(0, 10)], 1.0),
        ([(0, 10)], [(10, 20)], 0.0),
        ([(0, 10)], [], 0.0),
        ([(0, 10)], [(-5, 2), (4, 6), (9, 30)], 0.5),
        ([(0, 10), (20, 50)], [(5, 25)], 0.25),
        ([], [(0, 10)], None),
    ],
)
def test_share_beside(
    copies: list[tuple[float, float]], kernels: list[tuple[float, float]], share: float | None
) -> None:
    """Only time in which both ran counts, of every copy and every launch."""
    assert streaming.share_beside([CopySpan("", 1, *times) for times in copies], kernels) == share


def test_kernel_intervals() -> None:
    """One for each launch, in order, on the clock of the copies; afterwards launches are not noted any more."""
    device = get_device("cpu")
    bn254 = get_curve("bn254")
    ones = device.upload(fr_from_ints(bn254, [1] * 100))
    buffer = device.alloc(ones.shape)

    def run() -> None:
        fr_mul(device, bn254, ones, ones)
        device.stage(np.zeros(ones.shape, np.uint64), buffer)
        fr_mul(device, bn254, ones, ones)

    device.take_copies()
    (first, second) = streaming.kernel_intervals(device, run)
    (copy,) = device.take_copies()
    assert first[0] < first[1] <= copy.begin_ms <= copy.end_ms <= second[0] < second[1]
    assert streaming.share_beside([copy], [first, second]) == 0
    assert "_run" not in vars(device)


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
    # A copy of the cpu device is over before the next launch begins.
    assert row["limited"]["copies_beside_kernels"] == (0.0 if streams else None)
    assert row["pass"] == streams
