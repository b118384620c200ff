"""One process of a campaign: ``python -m cuzk_fuzz.worker SETTINGS.json``.

Whoever starts it reads its status file while it runs and its exit code when it ends: 0 done, LOST if the device does
not work any more in this process, anything else if a batch took the process with it. That batch is then in the pending
file.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Self, cast

from cuzk_fuzz import corpus
from cuzk_fuzz.devices import Opener, open_choice
from cuzk_fuzz.engine import Budget, Campaign, DeviceLostError, Result
from cuzk_fuzz.registry import get_target

#: Exit code of a process whose device is gone.
LOST = 17

#: Seconds between two writings of the status.
_INTERVAL = 1.0


@dataclass(frozen=True)
class Settings:
    """What a worker does; all paths are absolute.

    Attributes:
        name: Such as "msm-emu-0": the stem of its files.
        target, device, seed, engine: As for a campaign.
        seconds, cases: Its budget, what it did in earlier runs included; None for no limit.
        folder: Where its status and its pending batch are.
        corpus: Folder of batches to start from and to add to, or None.
        findings: Folder for findings.
        most_findings: Buckets after which to stop.
        log_large, heavy: As for a campaign.
        opener: "module:function" that opens devices, for tests; None for the usual one.
    """

    name: str
    target: str
    device: str
    seed: int
    engine: str
    seconds: float | None
    cases: int | None
    folder: str
    findings: str
    corpus: str | None = None
    most_findings: int = 1
    log_large: int | None = None
    heavy: bool = False
    opener: str | None = None

    @property
    def status(self) -> Path:
        """What it came to so far."""
        return Path(self.folder, f"{self.name}.json")

    @property
    def pending(self) -> Path:
        """The batch that is running."""
        return Path(self.folder, f"{self.name}.pending.json")

    @property
    def config(self) -> Path:
        """These settings."""
        return Path(self.folder, f"{self.name}.settings.json")

    def save(self) -> None:
        """Write them where the worker finds them."""
        Path(self.folder).mkdir(parents=True, exist_ok=True)
        self.config.write_text(json.dumps(asdict(self), indent=1))

    @classmethod
    def load(cls, path: Path) -> Self:
        """The inverse of save."""
        return cls(**json.loads(path.read_text()))

    def open_with(self) -> Opener:
        """The opener of devices."""
        if self.opener is None:
            return open_choice
        module, _, function = self.opener.partition(":")
        return cast("Callable[..., Any]", getattr(importlib.import_module(module), function))


def read_status(path: Path) -> dict[str, Any] | None:
    """A worker's last status, or None before it wrote one."""
    try:
        data = json.loads(path.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    return data if isinstance(data, dict) else None


class Session:
    """A campaign that tells how far it is, keeps its corpus, and goes on where it stopped.

    Args:
        settings: What to do.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.campaign = Campaign(
            get_target(settings.target), settings.device, seed=settings.seed, opener=settings.open_with(),
            most_findings=settings.most_findings, pending=settings.pending, log_large=settings.log_large,
            heavy=settings.heavy,
        )  # fmt: skip
        status = read_status(settings.status)
        if status is not None:
            self.campaign.resume(Result.from_json(status["result"]))
        self.campaign.result.engine = settings.engine
        self._seconds = self.campaign.result.seconds
        self._budget, self._started = Budget(settings.seconds, settings.cases), time.monotonic()
        self._written, self._saved, self._stopped = 0.0, 0, False
        self.write("running")

    @property
    def corpus(self) -> Path | None:
        """The folder of batches."""
        return None if self.settings.corpus is None else Path(self.settings.corpus)

    @property
    def is_over(self) -> bool:
        """Whether to stop."""
        cases = self.campaign.result.cases
        started = self._started - self._seconds
        return self._stopped or self.campaign.is_over or self._budget.is_spent(started, cases)

    def stop(self, number: int = 0, frame: FrameType | None = None) -> None:
        """End after the batch that is running; a handler of signals."""
        del number, frame
        self._stopped = True

    def after(self, data: bytes, *, is_new: bool) -> None:
        """Keep what a batch showed."""
        result = self.campaign.result
        if is_new and self.corpus is not None:
            result.corpus_new += corpus.save(self.corpus, data)
        for finding in result.findings[self._saved :]:
            finding.save(Path(self.settings.findings))
        self._saved = len(result.findings)
        if time.monotonic() - self._written >= _INTERVAL:
            self.write("running")

    def write(self, state: str) -> None:
        """Write the status; a reader sees the old or the new one."""
        self._written = time.monotonic()
        data = {
            "state": state, "pid": os.getpid(), "build_key": self.campaign.build_key,
            "scope": self.campaign.scope.to_json(), "result": self.campaign.result.to_json(),
        }  # fmt: skip
        beside = self.settings.status.with_suffix(".part")
        beside.write_text(json.dumps(data))
        beside.replace(self.settings.status)

    def finish(self) -> None:
        """The last status; nothing is pending."""
        self.write("done")
        self.settings.pending.unlink(missing_ok=True)


def generate(session: Session) -> None:
    """The seeded generator, the corpus first."""
    campaign = session.campaign
    if session.corpus is not None and campaign.result.batches == 0:
        for path in corpus.files_of(session.corpus):
            if session.is_over:
                break
            data = path.read_bytes()
            campaign.run_bytes(data)
            session.after(data, is_new=False)
    while not session.is_over:
        data, is_new = campaign.guided()
        session.after(data, is_new=is_new)
    session.finish()


def main(path: str) -> int:
    """Run a worker; return its exit code."""
    session = Session(Settings.load(Path(path)))
    signal.signal(signal.SIGTERM, session.stop)
    signal.signal(signal.SIGINT, session.stop)
    try:
        generate(session)
    except DeviceLostError as error:
        session.write("lost")
        sys.stderr.write(f"{error}\n")
        sys.stderr.flush()
        os._exit(LOST)  # a device that is gone may hang in its own clean-up
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
