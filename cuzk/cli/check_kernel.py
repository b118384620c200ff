"""From an edited header to a verdict: its kernels compiled for the emulator alone, then the fuzz targets' battery.

Only what a header's plan names is compiled, and only if a file that it includes has changed; the emulator itself comes
from a cache.  The battery runs in a child process, so a kernel that crashes is a verdict, not the end of the command.
"""

from __future__ import annotations

import contextlib
import faulthandler
import hashlib
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuzk.errors import CompileError, DeviceError, InputError

if TYPE_CHECKING:
    from cuzk_fuzz.mutation.plans import Plan

__all__ = ["Verdict", "build", "cache_folder", "check_header", "header_of", "plans"]

_PLATFORM = "emu"
_FUNCTION = re.compile(r"CUZK_FN(?:_NOINLINE)? void (\w+)\(Ex& ex")
_SUFFIX = re.compile(r"_(?:bls12_381|bn254|toy)_(?:fr|g1|g2)$")


@dataclass
class Verdict:
    """What became of a header.

    Args:
        header: Which.
        state: "agrees", "differs", "crashed" or "does not compile".
        batches: Batches that ran, of `of`.
        cases: Cases that ran.
        what: The first failure in words, or the compiler's words.
        replay: The command that shows it again.
        compile_s: Seconds to the shared object, 0 where it was at hand.
        total_s: Seconds in all.
    """

    header: str
    state: str = "agrees"
    batches: int = 0
    of: int = 0
    cases: int = 0
    what: str = ""
    replay: str = ""
    compile_s: float = 0.0
    total_s: float = 0.0


def cache_folder() -> Path:
    """Where objects are kept: $XDG_CACHE_HOME/cuzk/check."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "cuzk" / "check"


def plans() -> dict[str, Plan]:
    """Header -> how it is compiled and which targets look at it.

    Raises:
        DeviceError: The harness is not installed.
    """
    try:
        from cuzk_fuzz.mutation.plans import PLANS
    except ImportError as error:
        raise DeviceError(
            "cuzk check needs the harness, which is not installed", remedy="pip install 'cuzk[fuzz]'"
        ) from error
    return {header: plan for header, plan in PLANS.items() if _PLATFORM in plan.platforms}


def header_of(name: str, kernels: Path) -> str:
    """The header of a kernel.

    Args:
        name: A header (`msm_accumulate.cuh`, or without the end), a kernel function, or an exported kernel's name.
        kernels: Folder of the headers.

    Raises:
        InputError: None of these, or a header that no plan covers.
    """
    known = plans()
    stem = _SUFFIX.sub("", name.removesuffix(".cuh"))
    if f"{stem}.cuh" in known:
        return f"{stem}.cuh"
    for path in sorted(kernels.glob("*.cuh")):
        if stem in _FUNCTION.findall(path.read_text(encoding="utf-8")) and path.name in known:
            return path.name
    raise InputError(
        f"there is no kernel or header {name!r} with a plan",
        limit=f"headers: {', '.join(known)}; or a kernel in one of them",
        remedy="name one of these; a new header gets a plan in fuzz/cuzk_fuzz/mutation/plans.py",
    )


def _digest_of(command: Sequence[str]) -> str:
    """Digest of a compiler call and of every file it reads."""
    listed = subprocess.run([*command, "-MM"], capture_output=True, text=True, check=False)
    if listed.returncode:
        raise CompileError(listed.stderr[-2000:])
    digest = hashlib.sha256(" ".join(command).encode())
    for name in listed.stdout.replace("\\\n", " ").partition(":")[2].split():
        digest.update(Path(name).read_bytes())
    return digest.hexdigest()[:24]


def _object(command: Sequence[str], source: Path, folder: Path) -> Path:
    """A compiled source, from the cache where nothing that it reads has changed."""
    target = folder / f"{source.stem}-{_digest_of([*command, str(source)])}.o"
    if not target.exists():
        made = target.with_suffix(f".{os.getpid()}")
        done = subprocess.run(
            [*command, "-c", str(source), "-o", str(made)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise CompileError(done.stderr[-2000:])
        made.replace(target)
    return target


def build(plan: Plan, folder: Path, kernels: Path) -> Path:
    """The shared object of a plan's kernels for the emulator.

    Raises:
        CompileError: It does not compile; the message holds the compiler's words.
    """
    from cuzk_fuzz.mutation import build as tools

    folder.mkdir(parents=True, exist_ok=True)
    flags = tools.compile_flags(_PLATFORM, kernels)
    native = kernels / "native"
    source = folder / f"plan-{hashlib.sha256(plan.source().encode()).hexdigest()[:16]}.cpp"
    source.write_text(plan.source(), encoding="utf-8")
    sources = [source, tools._ENTRY, native / "emulator.cpp", native / "fiber.cpp"]
    objects = [_object(flags, one, folder) for one in sources]
    name = hashlib.sha256(" ".join(map(str, objects)).encode()).hexdigest()[:24]
    target = folder / f"kernels-{name}.so"
    if not target.exists():
        made = target.with_suffix(f".{os.getpid()}")
        tools.run_compiler([tools.compiler(), "-shared", "-o", str(made), *map(str, objects)])
        made.replace(target)
    return target


def check_header(header: str, kernels: Path, *, seconds: float, findings: Path) -> Verdict:
    """Compile a header's kernels for the emulator and run the battery of its targets.

    Args:
        header: One that has a plan.
        kernels: Folder of the headers.
        seconds: Processor time for the battery; what is not reached by then is left out.
        findings: Where a failing case is written.
    """
    started = time.perf_counter()
    verdict, plan = Verdict(header), plans()[header]
    try:
        path = build(plan, cache_folder(), kernels)
        verdict.compile_s = time.perf_counter() - started
        _in_child(verdict, plan, path, seconds, findings)
    except CompileError as error:
        verdict.state, verdict.what = "does not compile", error.what
    verdict.total_s = time.perf_counter() - started
    return verdict


def _in_child(verdict: Verdict, plan: Plan, path: Path, seconds: float, findings: Path) -> None:
    """Fill a verdict from a child process that runs the battery."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        # Whoever waits reports a crash; a traceback of this process's frames says nothing about a kernel.
        faulthandler.disable()
        code = 1
        with contextlib.suppress(BaseException):
            _run(verdict, plan, path, seconds, findings)
            os.write(write, json.dumps(asdict(verdict)).encode())
            code = 0
        os._exit(code)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    if said:
        for name, value in json.loads(said).items():
            setattr(verdict, name, value)
    else:
        verdict.state = "crashed"
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        verdict.what = (
            f"the battery ended by {signal.Signals(number).name}" if number else "the battery ended early"
        )


def _run(verdict: Verdict, plan: Plan, path: Path, seconds: float, findings: Path) -> None:
    """Run batch after batch, each on the next schedule; stop at the first that differs."""
    from cuzk_fuzz.mutation.battery import draw_battery, open_devices
    from cuzk_fuzz.mutation.native import NativeKernels

    names = frozenset(name for name, _, _ in NativeKernels(path).kernels())
    battery, devices = draw_battery(plan, names), open_devices(path, _PLATFORM)
    verdict.of = len(battery)
    spent = time.process_time()
    for i, drawn in enumerate(_mixed(battery)):
        if time.process_time() - spent > seconds:
            break
        failure = _first_failure(drawn, devices[i % len(devices)], i, findings)
        verdict.batches, verdict.cases = i + 1, verdict.cases + drawn.batch.num_cases
        if failure is not None:
            verdict.state = "differs"
            verdict.what, verdict.replay = failure
            return


def _mixed(battery: Sequence[Any]) -> list[Any]:
    """The battery with its kinds of batches by turns, so that a short run sees them all."""
    queues: dict[tuple[str, str, str], list[Any]] = {}
    for drawn in battery:
        queues.setdefault((drawn.batch.target, drawn.batch.subject, drawn.batch.op), []).append(drawn)
    found = []
    while queues:
        for kind in list(queues):
            found.append(queues[kind].pop(0))
            if not queues[kind]:
                del queues[kind]
    return found


def _first_failure(drawn: Any, device: Any, number: int, folder: Path) -> tuple[str, str] | None:
    """What is wrong with a batch's answers and how to see it again; None where nothing is."""
    from cuzk_fuzz.batch import mismatches
    from cuzk_fuzz.devices import rotation
    from cuzk_fuzz.findings import Finding, run_case

    batch = drawn.batch
    try:
        bad = mismatches(batch.answers(device), drawn.expected)
    except (RuntimeError, ValueError, LookupError, ArithmeticError):
        bad = list(range(batch.num_cases))
    if not bad:
        return None
    choices = rotation(_PLATFORM, 0)
    for one in (*(batch.one(index) for index in bad[:16]), batch):
        outcome = run_case(one, device)
        if not outcome.agrees:
            finding = Finding(
                one, choices[number % len(choices)], device.build_key, outcome, {"engine": "check"}
            )
            where = finding.save(folder)
            return f"{finding.bucket}: {outcome.describe()}", f"python -m cuzk_fuzz replay {where}"
    return "wrong once and not again: the kernel reads what it did not write", ""
