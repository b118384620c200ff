"""What an edit did to the GPU's code: registers, stack, spills and instructions of a header's kernels, by nvcc.

Only the kernels of one header are compiled, for BLS12-381 and one architecture.  The figures are compared with a
reference that the first check of a header leaves behind; `perf_baselines/` holds those of the whole build.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cuzk_fuzz.mutation.plans import Plan

__all__ = ["GpuFigures", "compare_figures", "gpu_figures", "gpu_source", "parse_sass"]

#: Kernel -> figure -> value; figures are those of ptxas, `instructions`, and one for each opcode (`sass:IMAD`).
GpuFigures = dict[str, dict[str, int]]

_CURVE = re.compile(r"Curve_\w+?::")
_SASS_FUNCTION = re.compile(r"Function : (\w+)")
_SASS_LINE = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\d+ )?([A-Z][A-Z0-9_]*)")


def gpu_source(header: str, plan: Plan, kernels: Path) -> str | None:
    """A CUDA source that exports the kernels of one header; None where the header has none of its own."""
    text = (kernels / header).read_text(encoding="utf-8")
    exports: dict[str, str] = {}
    for macro, argument, suffix in plan.lists:
        if f"#define {macro}(" in text:
            name = "bls12_381_" + suffix.rpartition("_")[2]
            exports[f"{macro}(CUZK_CHECK_{name}, {_CURVE.sub('Curve_bls12_381::', argument)})"] = name
    if not exports:
        return None
    lines = ['#include "exec_cuda.cuh"', *(f'#include "{include}"' for include in plan.includes)]
    lines.append("using namespace cuzk;")
    for name in sorted(set(exports.values())):
        lines += [
            f'#define CUZK_CHECK_{name}(FN, ARGS, MAX, MIN) extern "C" __global__ void __launch_bounds__(MAX, MIN) \\',
            f"    FN##_{name}(const __grid_constant__ ARGS args, FaultWord* fault_word) "
            "{ CudaExec ex{fault_word}; FN(ex, args); }",
        ]
    return "\n".join([*lines, *exports, ""])


def gpu_figures(header: str, plan: Plan, kernels: Path, folder: Path, arch: str) -> GpuFigures | str:
    """Compile a header's kernels for a GPU and read their figures.

    Args:
        header: Which.
        plan: Its plan.
        kernels: Folder of the headers.
        folder: Where to work.
        arch: Compute capability without the dot.

    Returns:
        The figures, or in words why there are none.
    """
    from cuzk.device.static import parse_log

    nvcc = shutil.which("nvcc")
    if nvcc is None:
        return "nvcc is not installed: registers and instructions are not known"
    source = gpu_source(header, plan, kernels)
    if source is None:
        return f"{header} exports no kernel of its own: its code shows in the kernels that include it"
    folder.mkdir(parents=True, exist_ok=True)
    path, cubin = folder / f"{header}.cu", folder / f"{header}-{arch}.cubin"
    path.write_text(source, encoding="utf-8")
    command = [
        nvcc, "-std=c++17", f"-arch=sm_{arch}", "-cubin", "-Xptxas", "-v", "--expt-relaxed-constexpr",
        f"-I{kernels}", "-o", str(cubin), str(path),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"nvcc does not compile it:\n{done.stderr[-1500:]}"
    figures = {name: dict(row) for name, row in parse_log(done.stderr + done.stdout).items()}
    for name, opcodes in _sass(cubin).items():
        if name in figures:
            figures[name]["instructions"] = sum(opcodes.values())
            figures[name] |= {f"sass:{opcode}": count for opcode, count in opcodes.items()}
    return figures


def _sass(cubin: Path) -> dict[str, Counter[str]]:
    """Opcodes by kernel, where CUDA's disassembler is there."""
    tool = shutil.which("cuobjdump") or _packaged("cuobjdump")
    if tool is None:
        return {}
    done = subprocess.run([tool, "-sass", str(cubin)], capture_output=True, text=True, check=False)
    return parse_sass(done.stdout) if done.returncode == 0 else {}


def _packaged(name: str) -> str | None:
    """A tool of NVIDIA's Python packages."""
    spec = importlib.util.find_spec("nvidia")
    roots = [Path(root) for root in spec.submodule_search_locations or []] if spec else []
    found = [hit for root in roots for hit in sorted(root.glob(f"cu*/bin/{name}"))]
    return str(found[-1]) if found else None


def parse_sass(text: str) -> dict[str, Counter[str]]:
    """Opcodes of every function in a disassembly, modifiers left out."""
    found: dict[str, Counter[str]] = {}
    current: Counter[str] | None = None
    for line in text.splitlines():
        if function := _SASS_FUNCTION.search(line):
            current = found.setdefault(function[1], Counter())
        elif current is not None and (instruction := _SASS_LINE.match(line)):
            current[instruction[1]] += 1
    return found


def compare_figures(
    figures: GpuFigures, reference: Path, *, replace: bool
) -> list[tuple[str, str, int | None, int]]:
    """Compare with the reference file, which is written where there is none or where it is to be replaced.

    Returns:
        (kernel, figure, before, now): registers, spills and instructions of every kernel, and every other figure that
        moved. Before is None without a reference.
    """
    before: Mapping[str, Mapping[str, int]] = {}
    if reference.exists():
        before = json.loads(reference.read_text(encoding="utf-8"))
    if not before or replace:
        reference.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    always = ("registers", "spill_store_bytes", "instructions")
    rows = []
    for kernel, now in figures.items():
        old = before.get(kernel, {})
        for name in sorted({*now, *old}, key=lambda figure: (figure.startswith("sass:"), figure)):
            earlier, value = old.get(name, 0 if old else None), now.get(name, 0)
            if name in always or (earlier is not None and earlier != value):
                rows.append((kernel, name, earlier, value))
    return rows
