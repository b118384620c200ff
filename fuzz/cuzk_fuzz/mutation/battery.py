"""The fixed battery: batches of the fuzz targets, drawn once, with the oracle's answers at hand."""

from __future__ import annotations

import ctypes
import os
import resource
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cuzk.device import Device
from cuzk.device.host import CpuDevice, EmuDevice
from cuzk.errors import CuzkError
from cuzk_fuzz.batch import Batch, Rows, Scope, mismatches
from cuzk_fuzz.choices import Guided
from cuzk_fuzz.devices import rotation
from cuzk_fuzz.mutation.native import NativeKernels
from cuzk_fuzz.mutation.plans import PLANS, Plan
from cuzk_fuzz.registry import get_target
from cuzk_fuzz.shadow.device import ShadowDevice, ShadowKernels

#: How a run of the battery ends.
SURVIVED, KILLED = 0, 1

#: The emulator with shadow memory, where a platform is named.
SHADOW = "shadow"

#: Draws in a row that bring nothing new, after which a target's battery is complete.
_ENOUGH = 80
_CASES = 400
_MEMORY_BYTES = 6 << 30


@dataclass(frozen=True)
class Drawn:
    """A batch and what it must give."""

    batch: Batch
    expected: Rows


def draw_battery(plan: Plan, kernels: frozenset[str]) -> list[Drawn]:
    """So many batches of every operation on every subject, edge classes first."""
    scope = Scope(kernels, small=True, cases=_CASES)
    battery: list[Drawn] = []
    for name, each in plan.battery:
        kinds: Counter[tuple[str, str]] = Counter()
        hits: Counter[str] = Counter()
        number = idle = 0
        while idle < _ENOUGH:
            batch = get_target(name).decode(Guided(f"battery/{name}/{number}", hits), scope)
            number += 1
            kind = (batch.subject, batch.op)
            if kinds[kind] >= each:
                idle += 1
                continue
            idle = 0
            kinds[kind] += 1
            hits += batch.classes()
            battery.append(Drawn(batch, batch.expected()))
    return battery


def kernel_names(path: Path) -> frozenset[str]:
    """Names of the kernels of a shared object, which a child process loads: this one must not keep it."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, " ".join(name for name, _, _ in NativeKernels(path).kernels()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        names = pipe.read().decode().split()
    os.waitpid(child, 0)
    return frozenset(names)


def open_devices(path: Path, platform: str) -> list[Device]:
    """The devices over a shared object: one on cpu, one a schedule on emu, with or without shadow memory."""
    if platform == SHADOW:
        kernels = ShadowKernels(path)
        return [
            ShadowDevice(kernels, choice.schedule, choice.seed, choice.resident)  # type: ignore[arg-type]
            for choice in rotation("emu", 0)
        ]
    module = NativeKernels(path)
    if platform == "cpu":
        return [CpuDevice(1, module=module)]
    return [
        EmuDevice(choice.schedule, choice.seed, choice.resident, module=module)  # type: ignore[arg-type]
        for choice in rotation("emu", 0)
    ]


@dataclass(frozen=True)
class Choice:
    """One mutant of an object that holds many.

    Attributes:
        number: Which; 0 is none of them.
        order: In which order the batches are run; each meets the same device in any order.
        before: Called with the number of each batch before it runs.
    """

    number: int
    order: Sequence[int]
    before: Callable[[int], None]


def run_battery(battery: list[Drawn], path: Path, platform: str, choice: Choice | None = None) -> bool:
    """Whether some answer is wrong, or no answer comes; stops at the first."""
    try:
        devices = open_devices(path, platform)
        if choice is not None:
            ctypes.c_int.in_dll(ctypes.CDLL(str(path)), "cuzk_mutant").value = choice.number
        for i in choice.order if choice else range(len(battery)):
            if choice is not None:
                choice.before(i)
            answers = battery[i].batch.answers(devices[i % len(devices)])
            if mismatches(answers, battery[i].expected):
                return True
    except (CuzkError, ValueError, RuntimeError, MemoryError, ArithmeticError, LookupError):
        return True
    return False


def main(path: str, platform: str, header: str) -> int:
    """A battery in a process of its own, as a sanitized object needs it."""
    kernels = frozenset(name for name, _, _ in NativeKernels(Path(path)).kernels())
    battery = draw_battery(PLANS[header], kernels)
    return KILLED if run_battery(battery, Path(path), platform) else SURVIVED


def fork_battery(
    battery: list[Drawn], path: Path, platform: str, seconds: int, choice: Choice | None = None
) -> int:
    """Run the battery in a child process; return its process id. Its exit code is SURVIVED or KILLED.

    A fork has the drawn battery at once and keeps the harness alive whatever the mutant does to the child.
    """
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    code = KILLED
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        code = KILLED if run_battery(battery, path, platform, choice) else SURVIVED
    finally:
        os._exit(code)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
