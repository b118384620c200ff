"""Compile kernel modules to cubins with NVRTC, with or without a GPU, and keep them under a content key.

NVRTC is called through ctypes, so a machine without a driver can build (and read register counts and SASS).
A module is one (curve, family) pair; its key covers every kernel source, the options and the NVRTC version,
so a stale kernel can't be loaded.  Modules compile side by side, each in a process of its own
(``python -m cuzk.device.builder CURVE FAMILY ARCH`` writes one to stdout).
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from cuzk.device import module_cache
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
        path: The cached file: the cubin, and more after its end (module_cache.py).
        cubin: What the driver loads.
        unsaved: Why the file could not be written; None where it was, or was there.
        log: What NVRTC and ptxas printed (registers, spills, shared memory per kernel).
    """

    curve: str
    family: str
    arch: str
    key: str
    path: Path
    log: str
    cubin: bytes
    unsaved: str | None = None


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
        CompileError: NVRTC is missing, too old for the architecture, or refuses the source; the message holds the end
            of its log.
    """
    lib = _nvrtc()
    check_architecture(arch)
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


def check_architecture(arch: str) -> None:
    """Check that NVRTC is new enough for a GPU.

    Raises:
        CompileError: It does not know the architecture.
    """
    lib, count = _nvrtc(), ctypes.c_int()
    lib.nvrtcGetNumSupportedArchs(ctypes.byref(count))
    known = (ctypes.c_int * count.value)()
    lib.nvrtcGetSupportedArchs(known)
    if int(arch) not in known:
        version = ".".join(map(str, nvrtc_version()))
        raise CompileError(
            f"NVRTC {version} does not know GPUs of compute capability {arch[:-1]}.{arch[-1]}",
            limit=f"it knows {', '.join(f'{n // 10}.{n % 10}' for n in known)}",
            remedy="install a newer NVRTC (pip install --upgrade nvidia-cuda-nvrtc) and a driver to match",
        )


def build(curve: str, family: str, arch: str, directory: Path | None = None) -> BuiltModule:
    """Return a module from the cache, compiling it first if it is not there."""
    path = _path(curve, family, arch, directory)
    key = module_key(curve, family, arch)
    found = module_cache.read(path)
    if found is None:
        with module_cache.lock(path):
            found = module_cache.read(path)  # another process may have been faster
            if found is None:
                return _compile_and_keep(curve, family, arch, path)
    cubin, log = found
    return BuiltModule(curve, family, arch, key, path, log, cubin)


def rebuild(module: BuiltModule) -> BuiltModule:
    """Compile a module again whatever the cache holds: the driver refused what it held."""
    with module_cache.lock(module.path):
        return _compile_and_keep(module.curve, module.family, module.arch, module.path)


def _compile_and_keep(curve: str, family: str, arch: str, path: Path) -> BuiltModule:
    """Compile; a module that can't be kept is used all the same."""
    cubin, log = compile_elsewhere(curve, family, arch)
    unsaved = None
    try:
        module_cache.write(path, module_cache.pack(cubin, log))
    except OSError as error:
        unsaved = str(error)
    return BuiltModule(curve, family, arch, module_key(curve, family, arch), path, log, cubin, unsaved)


def _path(curve: str, family: str, arch: str, directory: Path | None = None) -> Path:
    key = module_key(curve, family, arch)
    return (directory or cache_dir()) / f"{curve}_{family}-sm{arch}-{key}.cubin"


def compile_elsewhere(curve: str, family: str, arch: str) -> tuple[bytes, str]:
    """compile_module in a process of its own: compilers in one process wait for each other.

    The process imports this module and nothing of the calling program, so it needs no ``__main__`` guard there.

    Raises:
        CompileError: As compile_module; or the process died, as it does when memory runs out.
    """
    command = [sys.executable, "-m", "cuzk.device.builder", curve, family, arch]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path),
        "CUDA_CACHE_DISABLE": "1",  # what comes from NVIDIA's own cache comes without the compiler's log
    }
    done = subprocess.run(command, capture_output=True, env=environment, check=False)
    found = module_cache.unpack(done.stdout) if done.returncode == 0 else None
    if found is not None:
        return found
    if done.returncode == CompileError.exit_code:
        with contextlib.suppress(ValueError):  # what stands there was not written by _main
            raise CompileError(**json.loads(done.stderr))
    text = done.stderr.decode(errors="replace").strip()[-4000:]
    raise CompileError(
        f"the compiler of module {curve}_{family} ended with status {done.returncode}"
        + (f":\n{text}" if text else ""),
        remedy="give it more memory: about 2 GiB for each module that compiles at once",
    )


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

    Raises:
        CompileError: NVRTC is missing or too old, or a module does not compile.
    """
    wanted = list(modules)
    built: dict[tuple[str, str], BuiltModule] = {}
    for curve, family in wanted:
        path = _path(curve, family, arch)
        if (found := module_cache.read(path)) is not None:
            cubin, log = found
            key = module_key(curve, family, arch)
            built[curve, family] = BuiltModule(curve, family, arch, key, path, log, cubin)
    missing = [pair for pair in wanted if pair not in built]
    if missing:
        check_architecture(arch)  # before a dozen processes say the same
        with ThreadPoolExecutor(min(workers or len(os.sched_getaffinity(0)), len(missing))) as pool:
            futures = {pool.submit(build, curve, family, arch): (curve, family) for curve, family in missing}
            try:
                for future in as_completed(futures):
                    pair = futures[future]
                    built[pair] = future.result()
                    if progress:
                        progress("_".join(pair), len(built), len(wanted))
            except BaseException:
                pool.shutdown(cancel_futures=True)  # the first error is enough: start no more
                raise
    if unsaved := next((module.unsaved for module in built.values() if module.unsaved), None):
        warnings.warn(
            f"compiled kernels can't be kept in {cache_dir()} ({unsaved}): every start compiles them again. "
            "Name a directory that can be written with XDG_CACHE_HOME",
            RuntimeWarning,
            stacklevel=2,
        )
    return [built[pair] for pair in wanted]


def _main(arguments: list[str]) -> int:
    """Compile one module to stdout; an error goes to stderr as the arguments of a CompileError."""
    try:
        cubin, log = compile_module(*arguments)
    except CompileError as error:
        sys.stderr.write(json.dumps({"what": error.what, "limit": error.limit, "remedy": error.remedy}))
        return error.exit_code
    sys.stdout.buffer.write(module_cache.pack(cubin, log))
    return 0


if __name__ == "__main__":
    raise SystemExit(_main(sys.argv[1:]))
