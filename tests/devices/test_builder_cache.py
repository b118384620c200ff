"""The cache of compiled kernels, with a compiler that only pretends.

Would catch: a damaged or stale module that is loaded, a module that is compiled twice, processes that get in each
other's way, a directory that can't be written and stops everything, an error of the compiler that gets lost.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from cuzk.device import builder, module_cache
from cuzk.errors import CompileError

PAIRS = [("toy", "fr"), ("toy", "g1")]


class Compiler:
    """Stands in for compile_elsewhere; counts."""

    def __init__(self) -> None:
        self.compiled: list[tuple[str, str]] = []
        self.error: Exception | None = None

    def __call__(self, curve: str, family: str, arch: str) -> tuple[bytes, str]:
        self.compiled.append((curve, family))
        if self.error:
            raise self.error
        return f"cubin {curve} {family} {arch}".encode(), f"log of {curve}"


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Compiler:
    """A fresh cache, and a compiler that needs no NVRTC."""
    fake = Compiler()
    monkeypatch.setattr(builder, "compile_elsewhere", fake)
    monkeypatch.setattr(builder, "nvrtc_version", lambda: (13, 0))
    monkeypatch.setattr(builder, "check_architecture", lambda arch: None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return fake


def files(tmp_path: Path) -> list[Path]:
    """The cached modules."""
    return sorted((tmp_path / "cuzk" / "kernels").glob("*.cubin"))


def test_a_second_start_compiles_nothing(compiler: Compiler, tmp_path: Path) -> None:
    steps: list[tuple[str, int, int]] = []
    first = builder.build_all("90", PAIRS, progress=lambda *step: steps.append(step))
    assert sorted(compiler.compiled) == PAIRS
    assert [(done, total) for _, done, total in steps] == [(1, 2), (2, 2)]
    assert {name for name, _, _ in steps} == {"toy_fr", "toy_g1"}
    assert len(files(tmp_path)) == 2
    again = builder.build_all("90", PAIRS, progress=lambda *step: steps.append(step))
    assert again == first
    assert [(module.cubin, module.log) for module in again] == [
        (b"cubin toy fr 90", "log of toy"),
        (b"cubin toy g1 90", "log of toy"),
    ]
    assert len(compiler.compiled) == len(steps) == 2
    assert builder.build("toy", "fr", "90") == again[0]


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "foreign", "longer"])
def test_damaged_files_are_compiled_again(compiler: Compiler, tmp_path: Path, damage: str) -> None:
    want = builder.build_all("90", PAIRS)
    path = want[0].path
    data = path.read_bytes()
    changed = bytearray(data)
    changed[3] ^= 1
    path.write_bytes(
        {
            "empty": b"",
            "cut": data[:-1],
            "flipped": bytes(changed),
            "foreign": b"\x7fELF" * 50,
            "longer": b"x" + data,
        }[damage]
    )
    assert builder.build_all("90", PAIRS) == want
    assert compiler.compiled[2:] == [("toy", "fr")]
    assert path.read_bytes() == data


def test_every_cut_of_a_file_is_seen() -> None:
    data = module_cache.pack(b"cubin", "log")
    assert module_cache.unpack(data) == (b"cubin", "log")
    for length in range(len(data)):
        assert module_cache.unpack(data[:length]) is None
    for i in range(len(data)):
        assert module_cache.unpack(data[:i] + bytes([data[i] ^ 0x10]) + data[i + 1 :]) is None


def test_the_key_covers_what_the_module_is_made_from(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = {builder.module_key("toy", "fr", "90"), builder.module_key("toy", "g1", "90")}
    keys |= {builder.module_key("toy", "fr", "80"), builder.module_key("bn254", "fr", "90")}
    monkeypatch.setattr(builder, "nvrtc_version", lambda: (13, 1))
    keys.add(builder.module_key("toy", "fr", "90"))
    monkeypatch.setattr(builder, "OPTIONS", ("-G",))
    keys.add(builder.module_key("toy", "fr", "90"))
    monkeypatch.setattr(builder, "source_digest", lambda: "other sources")
    keys.add(builder.module_key("toy", "fr", "90"))
    assert len(keys) == 7


def test_a_directory_that_can_not_be_written(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As a file in the way: it stops root, too."""
    (tmp_path / "cuzk").write_text("in the way")
    with pytest.warns(RuntimeWarning, match="can't be kept in .*every start compiles them again"):
        built = builder.build_all("90", PAIRS)
    assert [module.cubin for module in built] == [b"cubin toy fr 90", b"cubin toy g1 90"]
    with pytest.warns(RuntimeWarning, match="XDG_CACHE_HOME"):
        builder.build_all("90", PAIRS)
    assert len(compiler.compiled) == 4


def test_a_full_disk(compiler: Compiler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing half-written stays behind, and the modules work all the same."""

    def full(handle: int, mode: str) -> Any:
        os.close(handle)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fdopen", full)
    with pytest.warns(RuntimeWarning, match="No space left on device"):
        built = builder.build_all("90", PAIRS)
    assert [module.unsaved is not None for module in built] == [True, True]
    assert files(tmp_path) == []
    assert not [path for path in (tmp_path / "cuzk" / "kernels").iterdir() if path.suffix != ".lock"]


def test_a_refused_module_is_compiled_again(compiler: Compiler) -> None:
    built = builder.build("toy", "fr", "90")
    assert builder.rebuild(built) == built
    assert len(compiler.compiled) == 2


def test_an_error_stops_the_build(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    """One more may have begun before the first was seen to fail; here it lasts until the build was stopped."""
    stopped = threading.Event()

    class Pool(ThreadPoolExecutor):
        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            super().shutdown(wait=False, cancel_futures=cancel_futures)
            stopped.set()
            super().shutdown(wait)

    def compile_elsewhere(curve: str, family: str, arch: str) -> tuple[bytes, str]:
        if compiler.compiled:
            stopped.wait()
        return compiler(curve, family, arch)

    monkeypatch.setattr(builder, "ThreadPoolExecutor", Pool)
    monkeypatch.setattr(builder, "compile_elsewhere", compile_elsewhere)
    compiler.error = CompileError("module toy_fr does not compile")
    with pytest.raises(CompileError, match="toy_fr does not compile"):
        builder.build_all("90", [*PAIRS, ("toy", "g2"), ("bn254", "fr")], workers=1)
    assert len(compiler.compiled) <= 2
    compiler.error = None
    assert len(builder.build_all("90", PAIRS)) == 2


_PROCESS = """
import sys, time
from pathlib import Path
from cuzk.device import builder
def compile_elsewhere(curve, family, arch):
    with open(sys.argv[1], "a") as file:
        file.write(family + "\\n")
    time.sleep(0.5)
    return family.encode() * 100000, "log"
builder.compile_elsewhere = compile_elsewhere
builder.nvrtc_version = lambda: (13, 0)
builder.check_architecture = lambda arch: None
Path(sys.argv[2]).touch()
while not Path(sys.argv[3]).exists():
    time.sleep(0.01)
built = builder.build_all("90", [("toy", "fr"), ("toy", "g1")])
assert [m.cubin for m in built] == [b"fr" * 100000, b"g1" * 100000]
assert all(m.unsaved is None for m in built)
"""


def test_processes_that_start_at_once_compile_once(tmp_path: Path) -> None:
    count, go = tmp_path / "count", tmp_path / "go"
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    ready = [tmp_path / f"ready{i}" for i in range(3)]
    running = [
        subprocess.Popen([sys.executable, "-c", _PROCESS, str(count), str(path), str(go)], env=environment)
        for path in ready
    ]
    while not all(path.exists() for path in ready):
        assert all(process.poll() is None for process in running)
        time.sleep(0.01)
    go.touch()
    assert [process.wait(timeout=1000) for process in running] == [0, 0, 0]
    assert sorted(count.read_text().split()) == ["fr", "g1"]


class TestCompilerProcess:
    """compile_elsewhere itself, with other programs in the compiler's place."""

    @staticmethod
    def put(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
        original = subprocess.run

        def run(command: list[str], **options: Any) -> Any:
            assert command[1:3] == ["-m", "cuzk.device.builder"]
            return original([sys.executable, "-c", code, *command[3:]], **options)

        monkeypatch.setattr(subprocess, "run", run)

    def test_result(self, monkeypatch: pytest.MonkeyPatch) -> None:
        code = "import sys; from cuzk.device import module_cache as m; "
        self.put(monkeypatch, code + "sys.stdout.buffer.write(m.pack(b'cubin', ' '.join(sys.argv[1:])))")
        assert builder.compile_elsewhere("toy", "fr", "90") == (b"cubin", "toy fr 90")

    def test_named_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        code = """import sys
from cuzk.device import builder
from cuzk.errors import CompileError
def fail(*names): raise CompileError("too old", limit="9.0", remedy="a new one")
builder.compile_module = fail
raise SystemExit(builder._main(sys.argv[1:]))"""
        self.put(monkeypatch, code)
        with pytest.raises(CompileError) as caught:
            builder.compile_elsewhere("toy", "fr", "90")
        assert str(caught.value) == "too old (limit: 9.0). To fix: a new one"

    @pytest.mark.parametrize(
        ("code", "text"),
        [
            ("import os; os.kill(os.getpid(), 9)", r"toy_fr ended with status -9"),
            ("import sys; sys.exit('out of luck')", r"status 1:\nout of luck"),
            ("print('no module')", r"status 0"),
            ("import sys; sys.stderr.write('{'); sys.exit(3)", r"status 3:\n\{"),
        ],
    )
    def test_death(self, monkeypatch: pytest.MonkeyPatch, code: str, text: str) -> None:
        self.put(monkeypatch, code)
        with pytest.raises(CompileError, match=text):
            builder.compile_elsewhere("toy", "fr", "90")


def test_architectures_that_nvrtc_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    class Library:
        """An NVRTC of which only this is asked."""

        @staticmethod
        def nvrtcGetNumSupportedArchs(count: Any) -> None:
            count._obj.value = 2

        @staticmethod
        def nvrtcGetSupportedArchs(known: Any) -> None:
            known[0], known[1] = 80, 90

    monkeypatch.setattr(builder, "_nvrtc", Library)
    monkeypatch.setattr(builder, "nvrtc_version", lambda: (12, 4))
    builder.check_architecture("90")
    expected = r"NVRTC 12\.4 does not know GPUs of compute capability 12\.0 \(limit: it knows 8\.0, 9\.0\)"
    for check in (
        lambda: builder.check_architecture("120"),
        lambda: builder.compile_module("toy", "fr", "120"),
    ):
        with pytest.raises(CompileError, match=expected):
            check()
