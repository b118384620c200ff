"""Probe 2: the emulator's thread switching, plain and under sanitizers, with and without planted faults.

    python tests/probes/probe_emulator.py

Compiles emulator_probe.cpp and prints, for each build: wrong runs per schedule, nanoseconds per switch, and whether
the sanitizer complained.  Result and decision: docs/decisions/0002-emulator-threads.md.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
NATIVE = HERE.parent.parent / "cuzk" / "kernels" / "native"
BUILDS = {
    "plain": [],
    "asan": ["-fsanitize=address"],
    "ubsan": ["-fsanitize=undefined", "-fno-sanitize-recover"],
    "tsan": ["-fsanitize=thread"],
    "plain, barrier removed": ["-DPLANT=1"],
    "tsan, barrier removed": ["-fsanitize=thread", "-DPLANT=1"],
    "tsan, atomic made plain": ["-fsanitize=thread", "-DPLANT=2"],
}


def build(compiler: str, binary: Path, flags: list[str]) -> None:
    """Compile the kernels with the flags, the scheduler as the package's CMakeLists does."""
    scheduler = [f for f in flags if f != "-fsanitize=thread"]
    if scheduler != flags:
        scheduler.append("-DCUZK_TSAN_RUNTIME=1")
    objects = []
    for source, own in (
        (HERE / "emulator_probe.cpp", flags),
        (NATIVE / "emulator.cpp", scheduler),
        (NATIVE / "fiber.cpp", scheduler),
    ):
        objects.append(f"{binary}.{source.stem}.o")
        base = [compiler, "-std=gnu++17", "-O2", "-g", "-DCUZK_TARGET_EMU=1", f"-I{NATIVE.parent}"]
        subprocess.run([*base, *own, "-c", str(source), "-o", objects[-1]], check=True)
    subprocess.run([compiler, *flags, "-o", str(binary), *objects, "-lpthread"], check=True)


def main() -> int:
    """Entry point; exit code 1 if a build without planted fault is wrong, or a planted race goes unseen by TSan."""
    compiler = os.environ.get("CXX") or shutil.which("g++") or "c++"
    bad = False
    with tempfile.TemporaryDirectory() as folder:
        for name, flags in BUILDS.items():
            binary = Path(folder) / name.replace(" ", "_").replace(",", "")
            build(compiler, binary, flags)
            run = subprocess.run([binary], capture_output=True, text=True, check=False)
            reports = run.stderr.count("WARNING: ThreadSanitizer") + run.stderr.count(
                "ERROR: AddressSanitizer"
            )
            print(f"== {name}: exit {run.returncode}, sanitizer reports {reports}")
            print(run.stdout, end="")
            planted = "-DPLANT" in " ".join(flags)
            bad |= not planted and (run.returncode != 0 or reports > 0)
            bad |= planted and "tsan" in name and reports == 0
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
