"""Compile kernel modules to cubins with NVRTC, with or without a GPU, and keep them under a content key.

NVRTC is called through ctypes, so a machine without a driver can build (and read register counts and SASS).
A module is one (curve, family) pair; its key covers every kernel source, the options and the NVRTC version,
so a stale kernel can't be loaded.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import importlib.util
import os
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from cuzk.errors import CompileError

KERNEL_DIR = Path(__file__).resolve().parent.parent / "kernels"
CURVES = ("bls12_381", "bn254", "toy")
#: Every module of a full build, largest first, so that a parallel build ends early.
MODULES = (
    *((curve, family) for family in ("g2", "g1", "fr") for curve in CURVES),
    ("any", "fields"),
)
OPTIONS = ("--std=c++17", "--ptxas-options=-v", "--device-as-default-execution-space", "-lineinfo")


@dataclass(frozen=True)
class BuiltModule:
    """One compiled module.

    Attributes:
        curve: Curve name, or "any".
        family: "fr", "g1", "g2" or "fields".
        arch: Compute capability, such as "90".
        key: Content key.
        path: The cubin.
        log: What NVRTC and ptxas printed (registers, spills, shared memory per kernel).
    """

    curve: str
    family: str
    arch: str
    key: str
    path: Path
    log: str


@functools.cache
def source_digest() -> str:
    """Digest of every file that a GPU build reads."""
    digest = hashlib.sha256()
    files = [p for pattern in ("*.cuh", "*.cu", "generated/*.cuh") for p in KERNEL_DIR.glob(pattern)]
    for path in sorted(files):
        digest.update(path.relative_to(KERNEL_DIR).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def module_key(curve: str, family: str, arch: str) -> str:
    """Content key of one module: sources, options, names, architecture, compiler version."""
    version = ".".join(map(str, nvrtc_version()))
    text = "\n".join((source_digest(), curve, family, arch, version, *OPTIONS))
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def cache_dir() -> Path:
    """Return the directory of compiled kernels: $XDG_CACHE_HOME/cuzk/kernels."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "cuzk" / "kernels"


@functools.cache
def _nvrtc() -> ctypes.CDLL:
    spec = importlib.util.find_spec("nvidia")
    roots = [Path(root) for root in spec.submodule_search_locations or []] if spec else []
    found = [
        str(hit)
        for root in roots
        for pattern in ("cu1*/lib/libnvrtc.so.*", "cuda_nvrtc/lib/libnvrtc.so.*")
        for hit in sorted(root.glob(pattern), reverse=True)
        if "builtins" not in hit.name and ".alt." not in hit.name
    ]
    for candidate in [*found, "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"]:
        try:
            return ctypes.CDLL(candidate)
        except OSError:
            continue
    raise CompileError(
        "NVRTC, the CUDA run-time compiler, is not installed",
        remedy="pip install 'cuzk[cuda13]' (or cuda12 for CUDA 12 drivers)",
    )


@functools.cache
def nvrtc_version() -> tuple[int, int]:
    """Version of NVRTC, such as (13, 0)."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _nvrtc().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return major.value, minor.value


def compile_module(curve: str, family: str, arch: str) -> tuple[bytes, str]:
    """Compile one module.

    Args:
        curve: Curve name, or "any" for the family "fields".
        family: "fr", "g1", "g2" or "fields".
        arch: Compute capability without the dot, such as "90".

    Returns:
        The cubin and the compiler's log.

    Raises:
        CompileError: NVRTC is missing or refuses the source; the message holds the end of its log.
    """
    lib = _nvrtc()
    source = (KERNEL_DIR / "entry.cu").read_bytes()
    options = [
        *OPTIONS,
        f"--gpu-architecture=sm_{arch}",
        f"-I{KERNEL_DIR}",
        f"-DCUZK_CURVE={curve}",
        f"-DCUZK_FAMILY={family}",
    ]
    program = ctypes.c_void_p()
    lib.nvrtcCreateProgram(ctypes.byref(program), source, b"entry.cu", 0, None, None)
    try:
        array = (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
        status = lib.nvrtcCompileProgram(program, len(options), array)
        log = (
            _read(lib.nvrtcGetProgramLogSize, lib.nvrtcGetProgramLog, program)
            .decode(errors="replace")
            .strip("\0")
        )
        if status != 0:
            raise CompileError(f"module {curve}_{family} does not compile for sm_{arch}:\n{log[-4000:]}")
        return _read(lib.nvrtcGetCUBINSize, lib.nvrtcGetCUBIN, program), log
    finally:
        lib.nvrtcDestroyProgram(ctypes.byref(program))


def _read(size_of: Callable[..., int], get: Callable[..., int], program: ctypes.c_void_p) -> bytes:
    size = ctypes.c_size_t()
    size_of(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    get(program, buffer)
    return buffer.raw


def build(curve: str, family: str, arch: str, directory: Path | None = None) -> BuiltModule:
    """Return a module from the cache, compiling it first if it is not there."""
    directory = directory or cache_dir()
    key = module_key(curve, family, arch)
    path = directory / f"{curve}_{family}-sm{arch}-{key}.cubin"
    log_path = path.with_suffix(".log")
    if not (path.exists() and log_path.exists()):
        cubin, log = compile_module(curve, family, arch)
        directory.mkdir(parents=True, exist_ok=True)
        _write(log_path, log.encode())
        _write(path, cubin)
    return BuiltModule(curve, family, arch, key, path, log_path.read_text())


def _write(path: Path, data: bytes) -> None:
    """Write beside, then rename: a reader never sees half a file."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    Path(name).replace(path)


def build_all(
    arch: str,
    modules: Iterable[tuple[str, str]] = MODULES,
    *,
    workers: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> list[BuiltModule]:
    """Build modules in parallel, each in a process of its own.

    Args:
        arch: Compute capability, such as "90".
        modules: (curve, family) pairs.
        workers: Processes; all cores by default.
        progress: Called with (module name, modules done, modules in all) as each one is ready.
    """
    wanted = list(modules)
    missing = [m for m in wanted if not _cached(m, arch)]
    done = len(wanted) - len(missing)
    if missing:
        workers = min(workers or len(os.sched_getaffinity(0)), len(missing))
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            futures = {
                pool.submit(build, curve, family, arch): f"{curve}_{family}" for curve, family in missing
            }
            for future, name in futures.items():
                future.result()
                done += 1
                if progress:
                    progress(name, done, len(wanted))
    return [build(curve, family, arch) for curve, family in wanted]


def _cached(module: tuple[str, str], arch: str) -> bool:
    curve, family = module
    return (cache_dir() / f"{curve}_{family}-sm{arch}-{module_key(curve, family, arch)}.cubin").exists()
