"""Instructions of the host, phase by phase: a proof on the cpu device under callgrind.

Instructions, unlike times, are hardly moved by other programs: the same build differs by up to 0.3% in a phase.  They
cover what operation counts do not: Python, planning, copies, and what the compiler makes of the kernels.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from cuzk.cli.perf_counted import END, START

__all__ = ["HOST_WORKLOADS", "count_instructions", "host_environment", "read_counts", "why_not"]

#: Workload -> (curve, rows).
HOST_WORKLOADS = {"host-120-bn254": ("bn254", 120), "host-60-bls12_381": ("bls12_381", 60)}
_LIMIT_S = 900
_LABEL = re.compile(r"^desc: Trigger: Client Request: (start|end) (\w+)$", re.MULTILINE)
_TOTAL = re.compile(r"^totals: (\d+)", re.MULTILINE)
_COMPILER = re.compile(rb"(GCC: \([^)]{1,60}\) [\d.]+|clang version [\d.]+)")


def why_not() -> str:
    """Why instructions cannot be counted here; empty where they can."""
    if platform.machine() != "x86_64":
        return "requests to callgrind are written for x86-64"
    if shutil.which("valgrind") is None:
        return "valgrind is not installed"
    return ""


def host_environment() -> dict[str, str]:
    """What the counts depend on besides the sources."""
    import numpy as np

    from cuzk.device.host import CpuDevice

    device = CpuDevice(threads=1)
    found = _COMPILER.search(Path(device._module.__file__).read_bytes())
    said = subprocess.run(
        ["valgrind", "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()
    return {
        "cpu": f"{platform.machine()} {said}", "compiler": found[1].decode() if found else "unknown",
        "build": device.name.partition(", ")[2].rstrip(")"), "python": platform.python_version(),
        "numpy": np.__version__, "libc": "-".join(platform.libc_ver()),
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
        CuzkError: It failed, or took too long.
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
        environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": paths}
        try:
            done = subprocess.run(
                words, env=environment, capture_output=True, text=True, timeout=_LIMIT_S, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise CuzkError("callgrind took too long", limit=f"{_LIMIT_S} s") from error
        if done.returncode:
            raise CuzkError(f"callgrind failed with {done.returncode}: {done.stderr.strip()[-400:]}")
        return read_counts(Path(folder))


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
