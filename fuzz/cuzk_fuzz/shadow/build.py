"""Compiling kernels with shadow memory: the compiler's hooks for ThreadSanitizer, and our own run-time behind them."""

from __future__ import annotations

from pathlib import Path

from cuzk_fuzz.mutation.build import KERNELS, compile_flags, run_compiler
from cuzk_fuzz.mutation.plans import Plan

_HERE = Path(__file__).parent
_ENTRY = _HERE.parent / "mutation" / "entry.cpp"
#: Copies of whole structures stay visible only where no pass turns loops over them into calls.
HOOKS = ("-fsanitize=thread", "-fno-tree-loop-distribute-patterns")
_SHADOW = ("-DCUZK_SHADOW=1", f"-I{_HERE}", "-fvisibility=hidden", "-O2")


def _flags(tree: Path) -> list[str]:
    """The usual ones but for checks that trap: an index out of bounds is the shadow memory's business here."""
    return [flag for flag in compile_flags("emu", tree) if "sanitize" not in flag]


def build_runtime(folder: Path) -> list[Path]:
    """Everything but the kernels.

    Raises:
        CompileError: It does not build.
    """
    emulator = ("-DCUZK_TSAN_RUNTIME=1",)
    sources = (
        (_HERE / "runtime.cpp", _SHADOW),
        (_ENTRY, ("-DCUZK_SHADOW=1", f"-I{_HERE}")),
        (_HERE / "emulator.cpp", emulator),
        (KERNELS / "native" / "fiber.cpp", emulator),
    )
    objects = []
    for source, extra in sources:
        objects.append(folder / f"shadow_{source.stem}.o")
        run_compiler([*_flags(KERNELS), *extra, "-c", str(source), "-o", str(objects[-1])])
    return objects


def build_kernels(plan: Plan, tree: Path, runtime: list[Path], target: Path) -> Path:
    """A shared object of a plan's kernels from the sources in a folder.

    Raises:
        CompileError: They do not build.
    """
    source, kernels = target.with_suffix(".cpp"), target.with_suffix(".o")
    source.write_text(plan.source())
    run_compiler([*_flags(tree), *HOOKS, "-c", str(source), "-o", str(kernels)])
    command = [*_flags(tree), "-shared", "-Wl,--no-undefined", "-o", str(target)]
    run_compiler([*command, str(kernels), *map(str, runtime)])
    return target
