"""Batches that take their process with them: each is run in a process of its own and halved until one case is left.

``python -m cuzk_fuzz.isolate CASE.json`` is that process: exit code 0 if device and oracle agree, DIFFERS if not, and
any other where it could not tell.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuzk_fuzz.batch import Batch, Scope
from cuzk_fuzz.choices import Choices
from cuzk_fuzz.devices import DeviceChoice
from cuzk_fuzz.findings import Finding, Outcome, run_case
from cuzk_fuzz.registry import get_target
from cuzk_fuzz.worker import LOST, Settings, read_status

#: Seconds after which a single batch counts as one that never ends.
_PATIENCE = 120.0

#: Exit code of a process that ran a batch whose answers are wrong: none that an uncaught exception has.
DIFFERS = 18


def environment() -> dict[str, str]:
    """For processes that find what this one finds."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def ending(code: int, words: str = "") -> str:
    """How a process ended, as the error of a finding; starts with one word, which goes into bucket names.

    Args:
        code: Its exit code.
        words: What it wrote to standard error; the last line of it, the exception in a traceback, is kept.
    """
    if code < 0:
        try:
            return f"{signal.Signals(-code).name}: the process was ended by this signal"
        except ValueError:
            return f"Signal{-code}: the process was ended by this signal"
    if code == LOST:
        return "LaunchError: the device does not work any more in the process that ran this"
    last = words.strip().rpartition("\n")[2][-500:]
    return f"Exit{code}: the process ended with this code" + (f"; {last}" if last else "")


@dataclass(frozen=True)
class Probe:
    """Runs batches in fresh processes.

    Attributes:
        where: The device.
        opener: "module:function" that opens it, or None.
        seconds: After which a process is ended.
    """

    where: DeviceChoice
    opener: str | None = None
    seconds: float = _PATIENCE

    def __call__(self, batch: Batch) -> str | None:
        """What went wrong with a batch, in words; None if it ran, whether its answers are right or not."""
        with tempfile.TemporaryDirectory(prefix="cuzk_fuzz_") as folder:
            path = Path(folder, "case.json")
            path.write_text(
                json.dumps({"case": batch.to_json(), "device": self.where.to_json(), "opener": self.opener})
            )
            command = [sys.executable, "-m", "cuzk_fuzz.isolate", str(path)]
            try:
                done = subprocess.run(
                    command, env=environment(), capture_output=True, timeout=self.seconds, check=False
                )
            except subprocess.TimeoutExpired:
                return f"Timeout: the process did not end within {self.seconds:.0f} s"
        if done.returncode in (0, DIFFERS):
            return None
        return ending(done.returncode, done.stderr.decode(errors="replace"))


def bisect(batch: Batch, fails: Callable[[Batch], str | None]) -> tuple[Batch, str] | None:
    """The smallest part of a batch that still fails, halving as long as one half does.

    Args:
        batch: What failed once.
        fails: What went wrong with a batch, or None.

    Returns:
        The part and its failure; None where not even the whole batch fails again.
    """
    failure = fails(batch)
    if failure is None:
        return None
    while (n := batch.num_cases) > 1:
        for part in (range(n // 2), range(n // 2, n)):
            half = batch.keep(part)
            if half.num_cases < n and (found := fails(half)) is not None:
                batch, failure = half, found
                break
        else:
            break  # only together
    return batch, failure


def recover(settings: Settings, code: int, words: str = "") -> tuple[Finding, int] | None:
    """The finding that a worker left when its process died, and the number of its batch.

    Args:
        settings: Of the worker.
        code: Its exit code.
        words: What it wrote to standard error.

    A batch that does not fail again is kept as a finding of its own kind: whatever it was, it was not nothing.
    Returns None where the worker died without a batch.
    """
    try:
        note: Mapping[str, Any] = json.loads(settings.pending.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    status = read_status(settings.status)
    if status is None:
        return None
    where = DeviceChoice(**note["device"])
    scope = Scope(**{**status["scope"], "kernels": frozenset(status["scope"]["kernels"])})
    batch = get_target(settings.target).decode(Choices(bytes.fromhex(note["bytes"])), scope)
    found = bisect(batch, Probe(where, settings.opener))
    culprit, failure = found or (batch, ending(code, words).replace(":", "Once:", 1))
    origin = {"engine": settings.engine, "seed": settings.seed, "batch": note["batch"]}
    outcome = Outcome(None, culprit.expected(), failure)
    return Finding(culprit, where, status["build_key"], outcome, origin), note["batch"]


def main(arguments: Sequence[str]) -> int:
    """Run the batch of a file; 0 if its answers are right."""
    data = json.loads(Path(arguments[0]).read_text())
    settings = Settings("", "", "", 0, "", None, None, "", "", opener=data["opener"])
    device = settings.open_with()(DeviceChoice(**data["device"]))
    batch = get_target(data["case"]["target"]).batch.from_json(data["case"])
    outcome = run_case(batch, device)
    if outcome.error is not None and outcome.error.startswith("LaunchError"):
        os._exit(LOST)
    return 0 if outcome.agrees else DIFFERS


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
