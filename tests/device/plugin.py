"""pytest plugin: run the emulator's tests on another device, and keep results test by test.

pytest -p tests.device.plugin --on-device cuda -m "device or not device" tests/kernels
pytest -p tests.device.plugin --record RESULT.jsonl ...

--on-device NAME takes every collected test that is parametrised over devices by name ("emu", "emu:random_warp:4"),
puts NAME in the emulator's place and leaves the rest out: whatever an oracle checks on the emulator, it checks there.
(The tests keep their ids, so "emu" still stands in them.)
--record FILE appends a line per finished test, and leaves out tests that passed according to it: a run cut short goes
on where it stopped.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.device import gpu

#: Parameters that name a device, in the tests of this repository.
DEVICE_PARAMETERS = ("device_name", "spec", "name", "device", "kind")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the two options."""
    group = parser.getgroup("cuzk device runs")
    group.addoption(
        "--on-device", metavar="NAME", help="run the emulator's tests on this device, and no others"
    )
    group.addoption("--record", metavar="FILE", help="append results to FILE; leave out what passed there")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Move tests to the wanted device, then drop those that passed before."""
    chosen = list(items)
    if target := config.getoption("--on-device"):
        chosen = moved(chosen, target)
    if record := config.getoption("--record"):
        done = passed(Path(record))
        chosen = [item for item in chosen if item.nodeid not in done]
    kept = set(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = chosen


def moved(items: list[pytest.Item], target: str) -> list[pytest.Item]:
    """The emulator's tests with another device; schedules of one test become one test."""
    found: dict[str, pytest.Item] = {}
    for item in items:
        params: dict[str, object] = getattr(getattr(item, "callspec", None), "params", {})
        for name in DEVICE_PARAMETERS:
            value = params.get(name)
            if isinstance(value, str) and value.partition(":")[0] == "emu":
                params[name] = target
                found.setdefault(item.nodeid.replace(value, target), item)
    return list(found.values())


def passed(record: Path) -> set[str]:
    """Tests that passed, by a record; their last line counts."""
    last: dict[str, str] = {}
    if record.exists():
        for line in record.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            last[row["test"]] = row["outcome"]
    return {test for test, outcome in last.items() if outcome == "passed"}


class Recorder:
    """Appends a line per test; only where tests are not run by a worker for somebody else.

    Args:
        path: The file.
        device: What --on-device said, or empty.
    """

    def __init__(self, path: Path, device: str) -> None:
        self.path, self.device = path, device
        path.parent.mkdir(parents=True, exist_ok=True)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the test's own outcome, and failures and skips of its fixtures."""
        if report.when == "call" or report.outcome != "passed":
            row: dict[str, object] = {"test": report.nodeid, "outcome": report.outcome}
            row |= {"seconds": round(report.duration, 3), "device": self.device}
            if report.failed:
                row["error"] = report.longreprtext[-3000:]
            elif report.skipped and isinstance(report.longrepr, tuple):
                row["reason"] = report.longrepr[2]
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    """Register the recorder in the process that reports."""
    record, target = config.getoption("--record"), config.getoption("--on-device") or ""
    if target.startswith("cuda") and (reason := gpu.why_none()):
        pytest.exit(f"tests on {target} skipped: {reason}", returncode=0)
    if record and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(Path(record), target))
