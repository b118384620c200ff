"""Run a program as its user would and measure the whole of it: wall time, processor time, peak memory.

Standard library only: a child starts with the memory of its parent, so the parent has to stay small.
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


class CommandFailedError(Exception):
    """A program that was to be measured ended with another status than 0."""


@dataclass(frozen=True)
class Sample:
    """One run of a program.

    Attributes:
        wall_s: From start to end.
        cpu_s: User and system time of all its threads and of the children that it waited for.
        peak_mib: The most memory it had resident at once.
        others_s: Processor time that the rest of the machine took meanwhile, or kept from it.
    """

    wall_s: float
    cpu_s: float
    peak_mib: float
    others_s: float


@dataclass(frozen=True)
class Spread:
    """Median, least and most of one figure over the repeats."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """The spread of at least one value."""
        ordered = sorted(values)
        return cls(statistics.median(ordered), ordered[0], ordered[-1])

    def text(self, digits: int = 2) -> str:
        """Such as ``0.66 (0.64 to 0.71)``."""
        return f"{self.median:.{digits}f} ({self.least:.{digits}f} to {self.most:.{digits}f})"


def run_once(command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None) -> Sample:
    """Run a command to its end.

    Args:
        command: Program and arguments; the program is looked up in PATH.
        log: File that gets what it prints.
        environment: Its environment; this process's where None.

    Raises:
        CommandFailedError: It ended with another status than 0.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(log), flags, 0o644),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    busy, start = _busy_s(), time.perf_counter()
    child = os.posix_spawnp(command[0], list(command), dict(environment or os.environ), file_actions=actions)
    _, status, usage = os.wait4(child, 0)
    wall, busy = time.perf_counter() - start, _busy_s() - busy
    if status != 0:
        code = os.waitstatus_to_exitcode(status)
        raise CommandFailedError(f"{' '.join(command)}: status {code}: {log.read_text()[-500:].strip()}")
    cpu = usage.ru_utime + usage.ru_stime
    return Sample(wall, cpu, usage.ru_maxrss / 1024, max(0.0, busy - cpu))


def _busy_s() -> float:
    """Time that all processors together were not idle since the machine started."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    idle, iowait = fields[3:5]
    return (sum(fields) - idle - iowait) / float(os.sysconf("SC_CLK_TCK"))


def describe_machine() -> dict[str, str | int | float]:
    """What figures depend on: processor, cores, memory, kernel, load."""
    model = "unknown"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return {
        "processor": model,
        "cores": len(os.sched_getaffinity(0)),
        "memory_mib": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20,
        "system": platform.platform(),
        "python": platform.python_version(),
        "load_1_min": round(os.getloadavg()[0], 2),
    }


def spreads(samples: Sequence[Sample]) -> dict[str, Spread]:
    """The spread of every figure of some samples."""
    rows = [asdict(sample) for sample in samples]
    return {name: Spread.of(row[name] for row in rows) for name in rows[0]}
