"""Instructions of the host, phase by phase: a proof on the cpu device under callgrind.

Instructions, unlike times, are hardly moved by other programs: the same build differs by up to 0.4% in a phase, and by
up to 2,600 in the smallest.  They cover what operation counts do not: Python, planning, copies, and what the compiler
makes of the kernels.  They depend on all of these too, so their fingerprint names builds, not versions alone.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import re
import resource
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from pathlib import Path

from cuzk.cli.perf_counted import END, START

__all__ = [
    "HOST_WORKLOADS",
    "count_instructions",
    "host_environment",
    "median_counts",
    "read_counts",
    "why_not",
]

#: Workload -> (curve, rows).
HOST_WORKLOADS = {"host-120-bn254": ("bn254", 120), "host-60-bls12_381": ("bls12_381", 60)}
#: Processor seconds that a count may take; it takes 8.  Never a limit by the clock: other programs may have the cores.
_LIMIT_CPU_S = 300
_limit = functools.partial(resource.setrlimit, resource.RLIMIT_CPU, (_LIMIT_CPU_S, _LIMIT_CPU_S + 10))
#: What decides how the native modules were built, beside the compiler.
_FLAGS = ("CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS")
_LABEL = re.compile(r"^desc: Trigger: Client Request: (start|end) (\w+)$", re.MULTILINE)
_TOTAL = re.compile(r"^totals: (\d+)", re.MULTILINE)
_COMPILER = re.compile(rb"(GCC: \([^)]{1,60}\) [\d.]+|clang version [\d.]+)")


def why_not() -> str:
    """Why instructions cannot be counted here; empty where they can."""
    if platform.machine() != "x86_64":
        return "requests to callgrind are written for x86-64"
    valgrind = shutil.which("valgrind")
    return "valgrind is not installed" if valgrind is None else _why_it_fails(valgrind)


@functools.cache
def _why_it_fails(valgrind: str) -> str:
    """A Python built for newer instructions than valgrind knows dies in it: no fault of what is counted."""
    words = [valgrind, "--tool=none", sys.executable, "-S", "-c", "pass"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, preexec_fn=_limit)
    return "" if done.returncode == 0 else f"valgrind does not run this Python: {done.stderr.strip()[-200:]}"


def _build(version: str, *files: Path) -> str:
    """A version, and a digest of what was built: two builds of one version run other instructions."""
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.read_bytes())
    return f"{version} ({digest.hexdigest()[:8]})"


def _interpreter() -> list[Path]:
    """The files that the interpreter's own code is in."""
    folder, name = sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("INSTSONAME")
    shared = Path(folder or "/nowhere") / str(name)
    return [Path(sys.executable).resolve(), *([shared] if shared.suffix != ".a" and shared.is_file() else [])]


def host_environment() -> dict[str, str]:
    """What the counts depend on besides the sources."""
    import numpy as np

    from cuzk.device.host import CpuDevice

    device = CpuDevice(threads=1)
    found = _COMPILER.search(Path(device._module.__file__).read_bytes())
    said = subprocess.run(
        ["valgrind", "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()
    flags = " ".join(os.environ[name] for name in _FLAGS if os.environ.get(name))
    return {
        "cpu": f"{platform.machine()} {said}", "compiler": found[1].decode() if found else "unknown",
        "build": device.name.partition(", ")[2].rstrip(")") + (f" {flags}" if flags else ""),
        "python": _build(platform.python_version(), *_interpreter()),
        "numpy": _build(np.__version__, *sorted(Path(np.__file__).parent.glob("*core/_multiarray_umath*.so"))),
        "libc": "-".join(platform.libc_ver()),
    }  # fmt: skip


def count_instructions(
    curve: str, rows: int, plants: Mapping[str, int] | None = None
) -> dict[str, dict[str, int]]:
    """Prove under callgrind.

    Args:
        curve: "bls12_381" or "bn254".
        rows: Constraints.
        plants: Phase -> extra work in it, rounds of an empty loop: for tests of the gate.

    Returns:
        Phase -> {"instructions": those in it and in no phase inside it}.

    Raises:
        InputError: Valgrind is missing.
        CuzkError: It failed, or took too much processor time.
    """
    from cuzk.errors import CuzkError, InputError

    if reason := why_not():
        raise InputError(
            f"instructions cannot be counted: {reason}",
            remedy="install it (Debian: valgrind), or leave tier T1h out in so many words: --allow-absent T1h",
        )
    with tempfile.TemporaryDirectory() as folder:
        words = [
            "valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/out",
            sys.executable, "-m", "cuzk.cli.perf_counted", curve, str(rows),
            *(word for phase, loops in (plants or {}).items() for word in ("--plant", f"{phase}={loops}")),
        ]  # fmt: skip
        # Hashes of texts decide where things lie in tables; modules must come from where ours do.
        paths = os.pathsep.join(path for path in sys.path if path)
        environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": paths, "PYTHONSAFEPATH": "1"}
        done = subprocess.run(
            words, env=environment, capture_output=True, text=True, check=False, preexec_fn=_limit
        )
        if done.returncode:
            raise CuzkError(
                f"callgrind failed with {done.returncode}: {done.stderr.strip()[-400:]}",
                limit=f"{_LIMIT_CPU_S} s of processor time",
                remedy="see whether `valgrind --version` works; leave tier T1h out where it does not",
            )
        return read_counts(Path(folder))


def median_counts(curve: str, rows: int, repeats: int) -> dict[str, dict[str, int]]:
    """The median of several counts of each figure: what a baseline is made of, so that it isn't off to one side.

    Args:
        curve: As in count_instructions().
        rows: As there.
        repeats: Odd number of counts.
    """
    counts = [count_instructions(curve, rows) for _ in range(repeats)]
    return {
        phase: {
            metric: statistics.median_low([count[phase][metric] for count in counts]) for metric in metrics
        }
        for phase, metrics in counts[0].items()
    }


def read_counts(folder: Path) -> dict[str, dict[str, int]]:
    """Add up callgrind's files.

    Raises:
        InternalError: No counts, or edges of phases that do not nest.
    """
    from cuzk.errors import InternalError

    figures: dict[str, dict[str, int]] = {}
    open_phases: list[str] = []
    for path in sorted(folder.glob("out.*"), key=lambda p: int(p.suffix[1:])):
        text = path.read_text(encoding="utf-8")
        label, total = _LABEL.search(text), _TOTAL.search(text)
        if label is None or total is None:
            continue
        if label[1] == START:
            if open_phases:
                _add(figures, open_phases[-1], int(total[1]))
            open_phases.append(label[2])
        elif open_phases and open_phases[-1] == label[2] and label[1] == END:
            _add(figures, open_phases.pop(), int(total[1]))
        else:
            raise InternalError(f"phase {label[2]} ends in {open_phases}")
    if not figures or open_phases:
        raise InternalError("callgrind wrote no counts of phases; its format must have changed")
    return figures


def _add(figures: dict[str, dict[str, int]], phase: str, count: int) -> None:
    into = figures.setdefault(phase, {"instructions": 0})
    into["instructions"] += count
