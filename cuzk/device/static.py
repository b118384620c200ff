"""What each GPU kernel compiles to: registers, stack, spills, shared memory, occupancy, instructions.

Needs NVRTC, no GPU.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from cuzk.device import builder, occupancy, sass
from cuzk.errors import InternalError

__all__ = ["STATIC_MODULES", "compiler_environment", "module_of", "parse_log", "static_figures"]

#: Modules whose figures are kept: those of the two real curves.  The toy curve's differ in limb count alone.
STATIC_MODULES = tuple(module for module in builder.MODULES if module[0] != "toy")

_ENTRY = re.compile(r"Compiling entry function '(\w+)' for '(\w+)'")
_PROPERTIES = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_STACK = re.compile(r"(\d+) bytes cumulative stack size")
_SHARED = re.compile(r"(\d+) bytes smem")


def compiler_environment() -> dict[str, str]:
    """What static figures depend on besides the sources: figures of another compiler are not comparable."""
    return {"nvrtc": ".".join(map(str, builder.nvrtc_version())), "options": " ".join(builder.OPTIONS)}


def parse_log(log: str) -> dict[str, dict[str, int]]:
    """Figures per kernel from the log of one module.

    Returns:
        Kernel -> registers (a thread), stack_bytes (a thread, calls included), spill_store_bytes and
        spill_load_bytes (in code, those of the functions it calls included), shared_bytes (static, a block).

    Raises:
        InternalError: The log holds no kernel: the compiler's output changed.
    """
    figures: dict[str, dict[str, int]] = {}
    current: dict[str, int] | None = None
    for line in log.splitlines():
        if entry := _ENTRY.search(line):
            current = figures[entry[1]] = dict.fromkeys(
                ("registers", "stack_bytes", "spill_store_bytes", "spill_load_bytes", "shared_bytes"), 0
            )
        elif current is None:
            continue
        elif properties := _PROPERTIES.search(line):
            current["spill_store_bytes"] += int(properties[2])
            current["spill_load_bytes"] += int(properties[3])
        elif used := _USED.search(line):
            current["registers"] = int(used[1])
            if stack := _STACK.search(line):
                current["stack_bytes"] = int(stack[1])
            if shared := _SHARED.search(line):
                current["shared_bytes"] = int(shared[1])
    if not figures:
        raise InternalError("the compiler's log names no kernel; its format must have changed")
    return figures


def module_of(kernel: str) -> str:
    """Name of the module that holds a kernel, such as "bn254_g1"."""
    names = (f"{curve}_{family}" for curve, family in builder.MODULES)
    found = next((name for name in names if kernel.endswith("_" + name)), "")
    return "any_fields" if not found or kernel.startswith("field_op_") else found  # of fields, not of curves


def _block_sizes() -> dict[str, int]:
    """Kernel -> threads of its largest block, from the list that every target is built from."""
    from cuzk.device.host import EmuDevice

    return {name: spec.max_threads for name, spec in EmuDevice().kernels.items()}


def static_figures(
    arch: str,
    modules: Iterable[tuple[str, str]] = STATIC_MODULES,
    *,
    progress: Callable[[str, int, int], None] | None = None,
) -> dict[str, dict[str, int]]:
    """Compile modules for an architecture (or take them from the cache) and read their figures.

    These are what parse_log() finds, the warps that one multiprocessor holds in blocks of the kernel's largest size
    (occupancy.py), and the instructions of each class (sass.py).

    Args:
        arch: Compute capability without the dot, such as "90".
        modules: (curve, family) pairs.
        progress: Called with (module name, modules done, modules in all).

    Raises:
        CompileError: NVRTC is missing, or a module does not compile.
    """
    figures: dict[str, dict[str, int]] = {}
    sm, threads = occupancy.sm_of(arch), _block_sizes()
    for module in builder.build_all(arch, modules, progress=progress):
        code = sass.count_instructions(module.cubin, arch)
        for kernel, said in parse_log(module.log).items():
            if kernel not in code:
                raise InternalError(f"the cubin of {module.curve}_{module.family} holds no code of {kernel}")
            warps = occupancy.resident_warps(sm, said["registers"], said["shared_bytes"], threads[kernel])
            figures[kernel] = said | code[kernel] | {"occupancy_warps": warps}
    return dict(sorted(figures.items()))
