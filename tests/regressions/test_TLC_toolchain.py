"""Compilers, drivers and the cache of compiled kernels.

Would catch: what docs/regressions.md says of the TLC rows.
"""

from __future__ import annotations

import ctypes
import itertools
import re
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cuzk.cli import perf_gather
from cuzk.curves import FIELDS
from cuzk.device import builder, get_device
from cuzk.errors import CompileError, DeviceError
from cuzk.limbs import field_from_ints
from tests.device import gpu
from tests.device.cases import field_cases
from tests.regressions.gpu_support import ON_GPU, ROOT, open_device, python

_MODULE = ("any", "fields")


class FakeCompiler:
    """Stands in for the compiler's process; counts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[tuple[str, str]] = []
        monkeypatch.setattr(builder, "compile_elsewhere", self)
        monkeypatch.setattr(builder, "check_architecture", lambda arch: None)

    def __call__(self, curve: str, family: str, arch: str) -> tuple[bytes, str]:
        self.calls.append((curve, family))
        return f"\x7fELF {curve} {family} {arch}".encode() * 1000, "ptxas info : a log"


def test_tlc_02_the_compiler_is_asked_for_machine_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cubin of exactly the GPU's architecture: no PTX that a driver would have to understand."""
    (tmp_path / "entry.cu").write_text('extern "C" __global__ void k(int* p) { *p = 7; }\n')
    monkeypatch.setattr(builder, "KERNEL_DIR", tmp_path)
    cubin, log = builder.compile_module(*_MODULE, "90")
    assert cubin[:4] == b"\x7fELF"
    assert int.from_bytes(cubin[18:20], "little") == 190, "not for NVIDIA's machines"
    assert b".text.k\0" in cubin, "no machine code in it"
    assert "for 'sm_90'" in log


def test_tlc_02_an_older_driver_is_named_with_what_it_lacks() -> None:
    from cuzk.device.cuda_health import check_driver

    def cupy_with(driver: int, runtime: int) -> Any:
        calls = SimpleNamespace(
            driverGetVersion=lambda: driver, runtimeGetVersion=lambda: runtime, getDeviceCount=lambda: 1
        )
        return SimpleNamespace(cuda=SimpleNamespace(runtime=calls))

    needed = builder.nvrtc_version()[0]
    with pytest.raises(DeviceError, match=rf"supports CUDA 11\.8.*need CUDA {needed}"):
        check_driver(cupy_with(11080, 1000 * needed))
    check_driver(cupy_with(1000 * needed, 1000 * needed))


def test_tlc_04_a_second_start_compiles_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    compiler = FakeCompiler(monkeypatch)
    first = builder.build_all("90")
    assert sorted(compiler.calls) == sorted(builder.MODULES)
    again = builder.build_all("90")
    assert len(compiler.calls) == len(builder.MODULES)
    assert [module.cubin for module in again] == [module.cubin for module in first]
    builder.build_all("80", [_MODULE])
    assert compiler.calls[len(builder.MODULES) :] == [_MODULE], "another GPU needs code of its own"


_FILL = """
    import sys, time
    from pathlib import Path
    from cuzk.device import builder
    folder = Path(sys.argv[1])
    def slow(curve, family, arch):
        (folder / "calls").open("a").write("x")
        time.sleep(0.4)
        return b"\\x7fELF" * 100_000, "log"
    builder.compile_elsewhere = slow
    module = builder.build("any", "fields", "90", folder / "cache")
    assert len(module.cubin) == 400_000 and module.log == "log"
"""


def test_tlc_06_eight_processes_fill_an_empty_cache(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(python, _FILL, str(tmp_path)) for _ in range(8)]:
            done.result()
    assert (tmp_path / "calls").read_text() == "x", "more than one of them compiled"
    files = [path for path in (tmp_path / "cache").iterdir() if path.suffix != ".lock"]
    assert len(files) == 1
    python(_FILL, str(tmp_path))
    assert (tmp_path / "calls").read_text() == "x"


def test_tlc_07_damaged_files_in_the_cache_are_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = FakeCompiler(monkeypatch)
    whole = builder.build(*_MODULE, "90", tmp_path)
    data = whole.path.read_bytes()
    flipped = bytearray(data)
    flipped[len(data) // 2] ^= 1
    damaged = [
        b"",
        data[:1],
        data[: len(data) // 2],
        data[:-1],
        bytes(flipped),
        data + b"x",
        b"\0" * len(data),
    ]
    for i, content in enumerate(damaged):
        whole.path.write_bytes(content)
        assert builder.build(*_MODULE, "90", tmp_path).cubin == whole.cubin, i
        assert len(compiler.calls) == i + 2, i
        assert whole.path.read_bytes() == data, i


def test_tlc_08_a_cache_that_can_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file stands where the directory should be: kernels are used without being kept, and a warning says so."""
    (tmp_path / "cuzk").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    compiler = FakeCompiler(monkeypatch)
    for i in (1, 2):
        with pytest.warns(RuntimeWarning, match="can't be kept"):
            (module,) = builder.build_all("90", [_MODULE])
        assert module.cubin.startswith(b"\x7fELF")
        assert len(compiler.calls) == i
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        builder.build_all("90", [_MODULE])


#: Opcodes of field_op that are predicates, and what they say of (a, b): see cuzk/kernels/field_ops.cuh.
def _predicate_inputs(name: str) -> tuple[Any, list[int], list[int]]:
    field = FIELDS[name]
    m = field.modulus
    values = [0, 1, field.mont_r % m, m - 1]
    pairs = list(itertools.product(values, values)) * 4  # 64 lanes
    return field, [a for a, _ in pairs], [b for _, b in pairs]


@pytest.mark.parametrize("name", [name for name in FIELDS if not name.startswith("tiny_")])
def test_tlc_10_predicates_on_64_lanes(name: str) -> None:
    """Every build of this machine gives the same answers on 0, 1, R and p - 1 as plain integers do."""
    field, a, b = _predicate_inputs(name)
    for device in (get_device("cpu"), get_device("cpu", portable=True), get_device("emu")):
        assert _answers(device, field, a, b) == _expected(field, a, b), device.name


def _answers(device: Any, field: Any, a: list[int], b: list[int]) -> list[tuple[int, int]]:
    """(is a zero, is a equal to b) by lane, from a - b and a: zero is a bit pattern that only zero has."""
    n = len(a)
    x, y = (device.upload(field_from_ints(field, values)) for values in (a, b))
    block = 1 if device.limits.warp == 1 else 64
    results = []
    for op in (_OPS["sub"], _OPS["add"]):
        dst = device.alloc((n, field.limbs))
        device.launch(
            f"field_op_{field.name}",
            grid=-(-n // block),
            block=block,
            a=x,
            b=y,
            c=x,
            d=y,
            dst=dst,
            op=op,
            n=n,
        )
        results.append(device.download(dst))
    return [tuple(int(not row.any()) for row in rows) for rows in zip(*results, strict=True)]  # type: ignore[misc]


def _expected(field: Any, a: list[int], b: list[int]) -> list[tuple[int, int]]:
    m = field.modulus
    return [(int((x - y) % m == 0), int((x + y) % m == 0)) for x, y in zip(a, b, strict=True)]


_OPS = {"add": 0, "sub": 1}

_WITH_OPTIONS = """
    import sys
    from cuzk.curves import FIELDS
    from cuzk.device import builder, get_device
    builder.OPTIONS = (*builder.OPTIONS, *sys.argv[1:])
    builder.compile_elsewhere = builder.compile_module  # the process of its own would not know these options
    from tests.device.cases import field_cases, word_cases
    from tests.device.smoke import compare
    gpu, cpu = get_device("cuda"), get_device("cpu")
    for name, field in FIELDS.items():
        if not name.startswith("tiny_"):
            case = lambda device, n: field_cases(device, field, n)
            assert not compare(case, gpu, cpu, 257), name
    if "--device-debug" not in sys.argv:  # it differs there, likely by its calls of lambdas
        assert not compare(word_cases, gpu, cpu, 257)
    print("same")
"""


@ON_GPU
def test_tlc_10_every_optimisation_level_gives_the_same_bytes(tmp_path: Path) -> None:
    """All opcodes of all fields (is zero, equal, reduced, inverse among them) and all primitives, in four builds.

    A debugger's build is held to the fields alone: their chains of carries stay within a function.
    """
    gpu.gpu()
    builds = [
        ("--ptxas-options=-O0",),
        ("--ptxas-options=-O1",),
        ("--ptxas-options=-O2",),
        ("--device-debug",),
    ]
    with ThreadPoolExecutor(4) as pool:
        environment = {"XDG_CACHE_HOME": str(tmp_path)}
        running = [
            pool.submit(python, _WITH_OPTIONS, *options, environment=environment) for options in builds
        ]
        assert [done.result().strip() for done in running] == ["same"] * 4


@pytest.mark.parametrize("name", [name for name in FIELDS if not name.startswith("tiny_")])
@pytest.mark.parametrize("devices", ["hosts", pytest.param("cuda", marks=ON_GPU)])
def test_tlc_12_every_path_gives_the_same_bytes(name: str, devices: str) -> None:
    """Limbs of 64 bits with and without BMI2 and ADX, limbs of 32 bits, and the GPU's carries."""
    others = (
        [get_device("cpu", portable=True), get_device("emu")] if devices == "hosts" else [open_device("cuda")]
    )
    reference = {key: value.tobytes() for key, value in field_cases(get_device("cpu"), FIELDS[name], 97)}
    assert len(reference) >= 13
    for device in others:
        assert {k: v.tobytes() for k, v in field_cases(device, FIELDS[name], 97)} == reference, device.name


def test_tlc_13_one_architecture_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The options that reach the compiler, each once, whatever was added."""
    seen: list[list[str]] = []

    def compile_program(program: Any, count: int, options: Any) -> int:
        seen.append([options[i].decode() for i in range(count)])
        return 1

    def log_size(program: Any, size: Any) -> int:
        ctypes.cast(size, ctypes.POINTER(ctypes.c_size_t))[0] = 1
        return 0

    fine = lambda *arguments: 0  # noqa: E731
    library = SimpleNamespace(
        nvrtcCompileProgram=compile_program, nvrtcGetProgramLogSize=log_size, nvrtcGetProgramLog=fine,
        nvrtcCreateProgram=fine, nvrtcDestroyProgram=fine,
    )  # fmt: skip
    monkeypatch.setattr(builder, "_nvrtc", lambda: library)
    monkeypatch.setattr(builder, "check_architecture", lambda arch: None)
    with pytest.raises(CompileError):
        builder.compile_module(*_MODULE, "90")
    (options,) = seen
    assert [o for o in options if "arch" in o] == ["--gpu-architecture=sm_90"]
    names = [o.split("=")[0] for o in options if not o.startswith(("-I", "-D"))]
    assert len(names) == len(set(names))


def test_tlc_15_what_is_said_of_architectures_is_what_is_done() -> None:
    """The oldest GPU in the documents, in the device and here; the ledger's architectures and its files."""
    from cuzk.device import cuda_health

    oldest = gpu.MIN_CAPABILITY
    assert oldest == (cuda_health._OLDEST_MAJOR, 0)
    for page in ("README.md", "docs/architecture.md"):
        for major, minor in re.findall(
            r"compute capability (\d+)\.(\d)", (ROOT / page).read_text(encoding="utf-8")
        ):
            assert (int(major), int(minor)) == oldest, page
    ledgers = {path.stem.partition("sm_")[2] for path in (ROOT / "perf_baselines").glob("T0-sm_*.json")}
    assert ledgers == set(perf_gather.NIGHTLY_ARCHS) > set(perf_gather.ARCHS)
    text = (ROOT / "perf_baselines" / "README.md").read_text(encoding="utf-8")
    assert ledgers == set(re.findall(r"T0-sm_(\d+)\.json", text))


def test_tlc_16_a_kernel_that_is_missing_is_named_when_its_module_loads() -> None:
    from cuzk.device.cuda_modules import Modules, gpu_kernels

    class Refused(Exception):
        """The driver's answer to an unknown name."""

    class Module:
        def load(self, cubin: bytes) -> None:
            pass

        def get_function(self, name: str) -> Any:
            if name == "field_op_bn254_fr":
                raise Refused("named symbol not found")
            return SimpleNamespace(ptr=1)

    driver = SimpleNamespace(
        CUDADriverError=Refused, funcGetAttribute=lambda *_: 1024, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK=0
    )
    cuda = SimpleNamespace(driver=driver, function=SimpleNamespace(Module=Module))
    built = builder.BuiltModule(*_MODULE, "90", "key", Path("x"), "", b"")
    modules = Modules(cuda, "90", gpu_kernels(get_device("cpu").kernels), None)
    with pytest.raises(CompileError, match="field_op_bn254_fr"):
        modules._look_up(Module(), built)


@ON_GPU
def test_tlc_16_every_kernel_is_found_in_its_module() -> None:
    device = open_device("cuda")
    names = list(device.kernels)
    assert len({np.uint64(device._function(name).ptr) for name in names}) == len(names)
