"""What operations ask of a device is what it was when somebody last looked at it.

Would catch: a buffer or table that grew, a slice or count off by one that a longer buffer forgives, another launch
shape, a launch or copy too many, a fast path that is no longer taken. Where a change is meant, look at the lines that
differ, then `python -m tests.kernels.footprints`.
"""

from __future__ import annotations

import json
from itertools import zip_longest

import pytest

from tests.kernels.footprints import CASES, LIMITS, STORED, Tracer, footprint, shortened

NAMES = [
    f"{case} {size} {limits}" for case, (_, sizes) in CASES.items() for size in sizes for limits in LIMITS
]


@pytest.fixture(scope="module")
def stored() -> dict[str, list[str]]:
    return {name: lines.split() for name, lines in json.loads(STORED.read_text()).items()}


@pytest.mark.parametrize("name", NAMES)
def test_as_stored(name: str, stored: dict[str, list[str]]) -> None:
    case, size, limits = name.split()
    trace = footprint(case, int(size), limits)
    for i, (line, old) in enumerate(zip_longest(trace, stored[name])):
        assert line is not None, f"{name}: step {i} was {old} and is gone"
        assert shortened(line) == old, f"{name}: step {i} is now {line}"


def test_nothing_is_stored_in_vain(stored: dict[str, list[str]]) -> None:
    assert list(stored) == NAMES
    assert sum(map(len, stored.values())) > 2000


def test_every_kind_of_request_is_seen() -> None:
    device = Tracer(LIMITS["small-gpu"])
    data = device.alloc((3, 4))
    device.fill_zero(device.upload(data))
    device.download(data)
    device.launch("scan_add_toy_fr", grid=2, block=32, dst=data, sums=data, n=5, tile=7)
    assert [line.split()[0] for line in device.trace] == [
        "alloc",
        "upload",
        "zero",
        "download",
        "scan_add_toy_fr",
    ]
    assert device.trace[-1].endswith("grid=2 block=32 shared=0 dst=(3, 4) sums=(3, 4) n=5 tile=7")
