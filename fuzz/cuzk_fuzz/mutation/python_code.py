"""Altered Python in a running process: the prover's own modules with a fault in them, put through the fuzz targets.

A child process swaps the code of a module's functions for that of an altered source, so that all who imported them run
it, and puts batches through the targets whose answers the parent drew beforehand.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import resource
import signal
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from cuzk.device import Device
from cuzk.device.host import CpuDevice, EmuDevice
from cuzk_fuzz.batch import Batch, Rows, Scope, mismatches
from cuzk_fuzz.choices import Guided
from cuzk_fuzz.registry import get_target

#: Target, batches, cases a batch, device. The whole prover first: it sees most, and soonest.
CHECKS = (
    ("groth16", 40, 4, "cpu"), ("msm", 24, 8, "cpu"), ("ntt", 60, 24, "cpu"), ("vec", 60, 60, "cpu"),
    ("spmv", 30, 40, "cpu"), ("batch_add", 16, 8, "cpu"), ("fixed_base", 10, 20, "cpu"),
    ("digits", 16, 60, "cpu"), ("identities", 10, 4, "cpu"), ("ntt", 24, 12, "emu"), ("msm", 8, 4, "emu"),
    ("batch_add", 6, 4, "emu"), ("vec", 20, 20, "emu"), ("spmv", 8, 10, "emu"),
)  # fmt: skip
#: On top of what the process has when it begins.
_MEMORY_BYTES = 6 << 30
_SECONDS = 30
#: With the tests that may follow.
_TEST_SECONDS = 150

Checks = list[tuple[str, Batch, Rows]]


def draw_checks(seed: int = 0) -> Checks:
    """Batches with what they must give, edge classes first; nothing runs on a device yet."""
    devices = {kind: _open(kind) for kind in ("cpu", "emu")}
    drawn: Checks = []
    for name, count, cases, kind in CHECKS:
        hits: Counter[str] = Counter()
        scope = Scope(frozenset(devices[kind].kernels), small=True, cases=cases)
        for number in range(count):
            batch = get_target(name).decode(Guided(f"checks/{seed}/{name}/{kind}/{number}", hits), scope)
            hits += batch.classes()
            drawn.append((kind, batch, batch.expected()))
    return drawn


def _open(kind: str) -> Device:
    return CpuDevice(1) if kind == "cpu" else EmuDevice("random_warp", 3, 2)


def first_failure(checks: Checks) -> str:
    """What fails first and how; empty where nothing does."""
    devices = {kind: _open(kind) for kind in ("cpu", "emu")}
    for kind, batch, expected in checks:
        try:
            answers = batch.answers(devices[kind])
        except Exception as error:  # noqa: BLE001 - altered code may raise anything
            return f"{batch.target} on {kind}: {type(error).__name__}"
        if mismatches(answers, expected):
            return f"{batch.target} on {kind}: wrong answers"
    return ""


def _functions(namespace: Iterable[tuple[str, Any]], module: str) -> dict[str, FunctionType]:
    """Functions and methods by qualified name, whatever they are wrapped in."""
    found: dict[str, FunctionType] = {}
    for _, value in namespace:
        if inspect.isclass(value) and value.__module__ == module:
            found |= _functions(list(vars(value).items()), module)
            continue
        for one in _unwrapped(value):
            if isinstance(one, FunctionType) and one.__module__ == module:
                found[one.__qualname__] = one
    return found


def _unwrapped(value: Any) -> list[Any]:
    if isinstance(value, property):
        return [value.fget, value.fset]
    if isinstance(value, cached_property):
        return [value.func]
    if isinstance(value, staticmethod | classmethod):
        value = value.__func__
    return [inspect.unwrap(value)] if callable(value) else []


def swap(module: ModuleType, source: str) -> None:
    """Make a module's functions run what another source says; constants of the module follow."""
    altered: dict[str, Any] = {**module.__dict__}
    exec(compile(source, module.__file__ or "", "exec"), altered)
    old = _functions(list(vars(module).items()), module.__name__)
    for name, function in _functions(list(altered.items()), module.__name__).items():
        mine = old.get(name)
        if mine is None or len(mine.__code__.co_freevars) != len(function.__code__.co_freevars):
            continue
        mine.__code__ = function.__code__
        mine.__defaults__, mine.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    for name, value in altered.items():
        if isinstance(value, int | str | float | tuple) and not name.startswith("__"):
            setattr(module, name, value)


def outcome(module: str, source: str, checks: Checks, tests: Callable[[str], str] | None = None) -> str:
    """What sees an altered module, in a child process; empty where nothing does.

    Args:
        module: Its name.
        source: What it is to run.
        checks: What draw_checks() returned.
        tests: Asked where the checks see nothing (python_tests.py).
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _limit()
            swap(importlib.import_module(module), source)
            said = first_failure(checks)
            if tests is not None and not said:
                _limit_time(_TEST_SECONDS)
                said = tests(module)
            os.write(write, said.encode())
        except BaseException as error:  # noqa: BLE001 - the same, at import
            os.write(write, f"{type(error).__name__} while it is imported".encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read().decode()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return said or (f"signal {-code}" if code < 0 else "")


def _limit_time(seconds: int) -> None:
    """So much processor time from the start of the process; ten times as long for code that waits for ever."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, _TEST_SECONDS))
    signal.setitimer(signal.ITIMER_REAL, 10 * seconds)


def _limit() -> None:
    """So much processor time and memory, no more; what the altered code prints goes nowhere."""
    _limit_time(_SECONDS)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + _MEMORY_BYTES  # the parent's address space is the child's too
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)


def source_of(module: str) -> tuple[Path, str]:
    """The file of a module and its text."""
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    path = Path(spec.origin)
    return path, path.read_text()
