"""Coverage inside the kernels: those of one target, compiled by clang with ``fuzzer-no-link``, on the emulator.

libFuzzer then counts the kernels' own edges beside those of the decoders, and keeps batches that reach new ones. Needs
clang and atheris; the sanitizer run-time that atheris brings has to be loaded before the interpreter.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from cuzk.device import Device
from cuzk.device.host import EmuDevice
from cuzk.errors import CompileError
from cuzk_fuzz.devices import DeviceChoice
from cuzk_fuzz.mutation.build import KERNELS
from cuzk_fuzz.mutation.native import NativeKernels
from cuzk_fuzz.mutation.plans import PLANS, Plan

_FLAGS = (
    "-std=gnu++17",
    "-O1",
    "-g1",
    "-fPIC",
    "-w",
    "-shared",
    "-fsanitize=fuzzer-no-link",
    "-DCUZK_TARGET_EMU=1",
)
#: gcc's name for a builtin that clang calls otherwise.
_BUILTINS = ("-D__builtin_ia32_sbb_u64=__builtin_ia32_subborrow_u64",)
_PREFIX = "cuzk_fuzz.native_coverage:open_"


def clang() -> str:
    """The compiler.

    Raises:
        CompileError: There is none.
    """
    for name in ("clang++", *(f"clang++-{version}" for version in range(21, 13, -1))):
        if found := shutil.which(name):
            return found
    raise CompileError(
        "coverage inside kernels needs clang, which is not on the path", remedy="install clang 14 or newer"
    )


def plan_of(target: str) -> Plan:
    """The plan that compiles a target's kernels.

    Raises:
        ValueError: None does.
    """
    for plan in PLANS.values():
        if target in dict(plan.battery) and "emu" in plan.platforms:
            return plan
    known = sorted({name for plan in PLANS.values() for name, _ in plan.battery})
    raise ValueError(f"no kernels to compile for {target!r}; possible: {', '.join(known)}")


def command(source: Path, library: Path) -> list[str]:
    """How a source that registers kernels is compiled."""
    entry = Path(__file__).with_name("mutation") / "entry.cpp"
    emulator = [KERNELS / "native" / "emulator.cpp", KERNELS / "native" / "fiber.cpp"]
    files = map(str, (source, entry, *emulator))
    return [clang(), *_FLAGS, *_BUILTINS, f"-I{KERNELS}", *files, "-o", str(library)]


def _key(target: str) -> str:
    digest = hashlib.sha256(plan_of(target).source().encode())
    for path in sorted(KERNELS.rglob("*")):
        if path.suffix in (".cuh", ".hpp", ".cpp"):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def build(target: str) -> Path:
    """The compiled kernels of a target, made once for each content of their sources.

    Raises:
        CompileError: No clang, or it fails.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cuzk" / "fuzz-coverage"
    library = cache / f"{target}-{_key(target)}.so"
    if not library.exists():
        cache.mkdir(parents=True, exist_ok=True)
        source, part = library.with_suffix(".cpp"), library.with_suffix(".part")
        source.write_text(plan_of(target).source())
        done = subprocess.run(command(source, part), capture_output=True, text=True, check=False)
        if done.returncode:
            raise CompileError(f"clang fails on the kernels of {target}:\n{done.stderr[-2000:]}")
        part.replace(library)
    return library


def opener_of(target: str) -> str:
    """The name by which a worker finds the opener; it compiles the kernels if they are not there."""
    build(target)
    return _PREFIX + target


def preload(opener: str | None) -> dict[str, str]:
    """What the environment of a worker with such kernels needs besides."""
    if opener is None or not opener.startswith(_PREFIX):
        return {}
    spec = importlib.util.find_spec("atheris")
    if spec is None or spec.origin is None:
        raise CompileError("coverage inside kernels needs atheris", remedy="pip install 'cuzk[fuzz]'")
    runtime = Path(spec.origin).parents[1] / "asan_with_fuzzer.so"
    # CUDA, if anything loads it, needs the addresses that AddressSanitizer would protect.
    return {"LD_PRELOAD": str(runtime), "ASAN_OPTIONS": "detect_leaks=0:protect_shadow_gap=0"}


@functools.cache
def _open(target: str, choice: DeviceChoice) -> Device:
    module = NativeKernels(build(target))
    return EmuDevice(schedule=choice.schedule, seed=choice.seed, resident=choice.resident, module=module)  # type: ignore[arg-type]


def __getattr__(name: str) -> Callable[[DeviceChoice], Device]:
    """`open_TARGET`: the opener of a target's devices."""
    if not name.startswith("open_"):
        raise AttributeError(name)
    return functools.partial(_open, name.removeprefix("open_"))
