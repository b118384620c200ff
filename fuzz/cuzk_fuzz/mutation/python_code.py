"""Altered Python in a running process: the prover's own modules with a fault in them, put through the fuzz targets.

A child process swaps the code of a module's functions for that of an altered source, so that all who imported them run
it, and puts batches through the targets whose answers the parent drew beforehand.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import math
import os
import resource
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property
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
    ("pieces", 30, 4, "cpu"), ("pieces", 6, 2, "emu"),
)  # fmt: skip
#: On top of what the process has when it begins.
_MEMORY_BYTES = 6 << 30
_SECONDS = 30

#: Kind of the device, what to run there, what it must give.
Drawn = tuple[str, Batch, Rows]
Checks = list[Drawn]


def draw_checks(seed: int = 0) -> Checks:
    """Batches with what they must give, edge classes first; nothing runs on a device yet."""
    kernels = {kind: frozenset(open_device(kind, 0).kernels) for kind in ("cpu", "emu")}
    drawn: Checks = []
    for name, count, cases, kind in CHECKS:
        hits: Counter[str] = Counter()
        scope = Scope(kernels[kind], small=True, cases=cases)
        for number in range(count):
            batch = get_target(name).decode(Guided(f"checks/{seed}/{name}/{kind}/{number}", hits), scope)
            hits += batch.classes()
            drawn.append((kind, batch, batch.expected()))
    return drawn


@cache
def open_device(kind: str, process: int) -> Device:
    """The device of a kind of check in a process: one that was opened before a fork refuses to work after it."""
    del process
    return CpuDevice(1) if kind == "cpu" else EmuDevice("random_warp", 3, 2)


def first_failure(checks: Checks) -> str:
    """What fails first and how; empty where nothing does."""
    for check in checks:
        if said := failure(check):
            return f"{check[1].target} on {check[0]}: {said}"
    return ""


def failure(check: Drawn) -> str:
    """How one batch fails; empty where it does not."""
    kind, batch, expected = check
    try:
        answers = batch.answers(open_device(kind, os.getpid()))
    except Exception as error:  # noqa: BLE001 - altered code may raise anything
        return type(error).__name__
    return "wrong answers" if mismatches(answers, expected) else ""


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
    forget_results(module)
    for name, value in altered.items():
        if isinstance(value, int | str | float | tuple) and not name.startswith("__"):
            setattr(module, name, value)


def swap_all(modules: Sequence[str]) -> Callable[[], None]:
    """Make modules run what they run anyway, as swap() would with a fault; returns what empties their caches."""
    loaded = [importlib.import_module(module) for module in modules]
    for module in loaded:
        swap(module, source_of(module.__name__)[1])

    def forget() -> None:
        for module in loaded:
            forget_results(module)

    return forget


def forget_results(module: ModuleType) -> None:
    """Empty the caches of a module's functions: what they hold was made before its code changed."""
    for value in list(vars(module).values()):
        members = list(vars(value).values()) if inspect.isclass(value) else [value]
        for one in members:
            if callable(clear := getattr(one, "cache_clear", None)):
                clear()


def outcome(module: str, source: str, checks: Checks) -> str:
    """What sees an altered module, in a child process; empty where nothing does.

    Args:
        module: Its name.
        source: What it is to run.
        checks: What draw_checks() returned.
    """
    return forked(lambda _: _altered(module, source, lambda: first_failure(checks)))


def _altered(module: str, source: str, see: Callable[[], str]) -> str:
    limit_memory()
    limit_time(_SECONDS)
    try:
        swap(importlib.import_module(module), source)
    except BaseException as error:  # noqa: BLE001 - SystemExit too
        return f"{type(error).__name__} while it is imported"
    return see()


def forked(work: Callable[[Callable[[str], None]], str]) -> str:
    """What some work in a child process returns; the signal that ended it, with the last note it left, otherwise.

    Args:
        work: Gets a function that leaves notes.
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _quiet()
            said = work(lambda note: _tell(write, "@" + note))
            _tell(write, said)
        except BaseException as error:  # noqa: BLE001 - altered code may raise anything
            _tell(write, f"{type(error).__name__}: {error}"[:500])
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        notes = pipe.read().decode(errors="replace").splitlines()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    last = notes[-1] if notes else ""
    if code < 0:
        return f"signal {-code}" + (f" in {last[1:]}" if last.startswith("@") else "")
    return "the process ends" if last.startswith("@") else last


def _tell(pipe: int, text: str) -> None:
    os.write(pipe, (text.replace("\n", " ") + "\n").encode())


def limit_time(seconds: float) -> None:
    """So much more processor time; ten times as long, and half a minute, for code that waits for ever."""
    used = time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(used + seconds), resource.RLIM_INFINITY))
    signal.setitimer(signal.ITIMER_REAL, 30 + 10 * seconds)


def limit_memory() -> None:
    """So much memory, no more."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + _MEMORY_BYTES  # the parent's address space is the child's too
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _quiet() -> None:
    """What altered code prints goes nowhere."""
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
