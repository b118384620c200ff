"""Probe 3: what ptxas makes of the point arithmetic on every architecture, and of the field multiplication on sm_90.

    python tests/probes/probe_ptxas.py [ARCH ...]

Needs nvcc, no GPU; cuobjdump for the instruction counts. Compiles arithmetic_kernels.cu and prints, for each
kernel and architecture: CPU seconds of the compilation, registers, stack and spilled bytes of the kernel and of
the functions it calls. With a GPU, `nvcc -O3 -arch=sm_90 -DRATES -I cuzk/kernels
tests/probes/arithmetic_kernels.cu -o rates && ./rates` prints rates. Result and decision:
docs/decisions/0003-ptxas-g2.md.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "arithmetic_kernels.cu"
KERNELS = HERE.parent.parent / "cuzk" / "kernels"
ARCHITECTURES = ("80", "86", "89", "90", "100", "120")
#: Kernel to the value of ONLY that compiles it alone.
POINT_KERNELS = {"accumulate_g1": 1, "reduce_g1": 2, "accumulate_g2": 3, "reduce_g2": 4}
FIELD_KERNELS = 5


@dataclass(frozen=True)
class Compiled:
    """What one compilation cost and reported."""

    seconds: float
    registers: int
    stack: int
    spills: int
    callee_spills: int


def compile_kernel(arch: str, curve: str, only: int, cubin: Path) -> Compiled:
    """Compile one kernel alone and read ptxas's report."""
    command = ["nvcc", "-std=c++17", f"-arch=sm_{arch}", "-cubin", "-Xptxas", "-v", f"-I{KERNELS}"]
    command += [f"-DCURVE=Curve_{curve}", f"-DONLY={only}", str(SOURCE), "-o", str(cubin)]
    before = os.times()
    report = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    after = os.times()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    stores = [
        (name, int(spill))
        for name, spill in re.findall(r"properties for (\S+)\n.*?(\d+) bytes spill stores", report)
    ]
    return Compiled(
        seconds=seconds,
        registers=max(int(n) for n in re.findall(r"Used (\d+) registers", report)),
        stack=max(int(n) for n in re.findall(r"(\d+) bytes stack frame", report)),
        spills=sum(spill for name, spill in stores if not name.startswith("_Z")),
        callee_spills=sum(spill for name, spill in stores if name.startswith("_Z")),
    )


def instruction_counts(cubin: Path) -> dict[str, Counter[str]]:
    """Instructions of each kernel's longest loop, by opcode."""
    tool = shutil.which("cuobjdump") or str(Path(sys.prefix) / "bin" / "cuobjdump")
    listing = subprocess.run([tool, "-sass", str(cubin)], capture_output=True, text=True, check=True).stdout
    counts: dict[str, Counter[str]] = {}
    for part in listing.split("Function : ")[1:]:
        rows = re.findall(r"/\*([0-9a-f]{4,5})\*/\s+(?:@!?U?P\w+\s+)?([A-Z0-9_.]+)(.*?);", part)
        code = [(int(address, 16), opcode, operands) for address, opcode, operands in rows]
        begin, end = longest_loop(code)
        loop = [opcode for address, opcode, _ in code if begin <= address <= end]
        counts[part.split()[0]] = Counter(short(opcode) for opcode in loop)
    return counts


def longest_loop(code: list[tuple[int, str, str]]) -> tuple[int, int]:
    """First and last address of the longest backward branch; the whole code where there is none."""
    loops = []
    for address, opcode, operands in code:
        target = re.search(r"0x([0-9a-f]+)", operands)
        if opcode.startswith("BRA") and target and int(target[1], 16) < address:
            loops.append((int(target[1], 16), address))
    return max(loops, key=lambda loop: loop[1] - loop[0], default=(0, code[-1][0]))


def short(opcode: str) -> str:
    """IMAD.WIDE, IMAD.HI or the first word."""
    parts = opcode.split(".")
    return (
        ".".join(parts[:2])
        if parts[0] == "IMAD" and len(parts) > 1 and parts[1] in ("WIDE", "HI")
        else parts[0]
    )


def main() -> None:
    """Print both tables."""
    architectures = sys.argv[1:] or ARCHITECTURES
    subprocess.run(["nvcc", "--version"], check=True)
    print("| curve | kernel | arch | CPU s | registers | stack B | spill B | spill B in functions |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder) / "probe.cubin"
        for curve in ("bls12_381", "bn254"):
            for kernel, only in POINT_KERNELS.items():
                for arch in architectures:
                    c = compile_kernel(arch, curve, only, cubin)
                    row = [curve, kernel, f"sm_{arch}", f"{c.seconds:.1f}", c.registers, c.stack, c.spills]
                    print("| " + " | ".join(map(str, [*row, c.callee_spills])) + " |", flush=True)
        for curve in ("bls12_381", "bn254"):
            compile_kernel("90", curve, FIELD_KERNELS, cubin)
            for kernel, count in sorted(instruction_counts(cubin).items()):
                print(curve, kernel, count.total(), dict(count.most_common(6)), flush=True)


if __name__ == "__main__":
    main()
