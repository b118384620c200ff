"""What ``cuzk perf`` measures of this tree, tier by tier, and what it is of: commit, day, place in history."""

from __future__ import annotations

import dataclasses
import datetime
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cuzk.cli.output import note
from cuzk.perf.verdicts import Absent

if TYPE_CHECKING:
    from cuzk.perf import Baseline

__all__ = [
    "ARCHS",
    "DEFAULT_TIERS",
    "MEASURED_HERE",
    "NIGHTLY_ARCHS",
    "Origin",
    "gather",
    "origin",
    "wanted_tiers",
]

#: Architectures whose static figures are kept and checked where none is named.
ARCHS = ("90", "120")
#: Those that a night's gate checks: one of each generation of GPUs that kernels are made for.
NIGHTLY_ARCHS = ("80", "86", "89", "90", "100", "120")
#: What is measured where nobody names a tier: exact on every machine.
DEFAULT_TIERS = ("T0", "T1")
#: What a machine without a GPU can measure.
MEASURED_HERE = ("T0", "T1", "T1h")
#: Counts of instructions that a stored figure is the median of.
_KEPT_COUNTS = 3


class Origin(NamedTuple):
    """What figures are of."""

    commit: str
    date: str
    sequence: int


def origin(folder: Path) -> Origin:
    """The commit of the checkout around a folder, with a plus if files have changed since; zeros outside of one."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""

    try:
        commit = git("rev-parse", "--short=12", "HEAD")
        changed = "+" if commit and git("status", "--porcelain", "--untracked-files=no") else ""
        sequence = git("rev-list", "--count", "HEAD")
    except OSError:
        commit = changed = sequence = ""
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    return Origin((commit or "0" * 12) + changed, day, int(sequence or 0))


def wanted_tiers(tiers: list[str] | None) -> list[str]:
    """The tiers to measure.

    Raises:
        InputError: One that is not measured by running a command here.
    """
    from cuzk.errors import InputError

    wanted = tiers or list(DEFAULT_TIERS)
    if unknown := sorted(set(wanted) - set(MEASURED_HERE)):
        raise InputError(
            f"unknown tier {', '.join(unknown)}", where="--tier", limit=f"possible: {', '.join(MEASURED_HERE)}",
            remedy="name one of these; times of a GPU come from result files: --from FILE",
        )  # fmt: skip
    return wanted


def _require_fresh(device: str) -> None:
    """Refuse to count what kernels of other sources do."""
    from cuzk.device import get_device
    from cuzk.device.instruments import require_fresh

    require_fresh(get_device(device))


def _static(arch: str, folder: Path, reason: str, came_from: Origin, compile_all: bool) -> Baseline:
    """T0 of an architecture.

    Figures follow from a module's text, the compiler and its options.  A module keeps the ledger's figures where all
    three are the same, so that only changed ones are compiled.
    """
    from cuzk.device.module_sources import module_digest
    from cuzk.device.static import STATIC_MODULES, compiler_environment, module_of, static_figures
    from cuzk.perf import Baseline, read_baseline

    environment = compiler_environment()
    now = Baseline("T0", f"sm_{arch}", environment, {}, reason or "checked", load={"arch": f"sm_{arch}"})
    path = folder / now.file_name
    stored = read_baseline(path) if path.exists() else now
    sources = {f"{curve}_{family}": module_digest(curve, family) for curve, family in STATIC_MODULES}
    is_known = not compile_all and stored.environment == environment
    known = {name for name in sources if is_known and stored.sources.get(name) == sources[name]}
    changed = [pair for pair in STATIC_MODULES if "_".join(pair) not in known]
    note(f"sm_{arch}: {len(known)} modules are the ledger's, {len(changed)} to compile")
    figures = {kernel: metrics for kernel, metrics in stored.figures.items() if module_of(kernel) in known}
    made = static_figures(
        arch, changed, progress=lambda name, done, of: note(f"sm_{arch}: compiled {name} ({done}/{of})")
    )
    return dataclasses.replace(
        now, figures=figures | made, sources=sources, commit=came_from.commit, date=came_from.date,
        sequence=came_from.sequence,
    )  # fmt: skip


def gather(
    tiers: list[str],
    reason: str,
    folder: Path,
    archs: tuple[str, ...] = ARCHS,
    *,
    compile_all: bool = False,
) -> tuple[list[Baseline], list[Absent]]:
    """Measure the figures of some tiers.

    Args:
        tiers: Of MEASURED_HERE.
        reason: Stored with them; empty where they are for a check alone.
        folder: That of the baselines, by which the commit is found.
        archs: Architectures of T0.
        compile_all: Compile the modules too whose sources the ledger knows.

    Returns:
        Figures by workload, and what could not be measured here.
    """
    from cuzk.perf import Baseline

    came_from = origin(folder)
    found: list[Baseline] = []
    absent: list[Absent] = []

    def add(
        tier: str,
        workload: str,
        environment: dict[str, str],
        figures: dict[str, dict[str, int]],
        load: dict[str, str | int],
    ) -> None:
        found.append(
            Baseline(
                tier, workload, environment, figures, reason, commit=came_from.commit, date=came_from.date,
                sequence=came_from.sequence, load=load,
            )
        )  # fmt: skip

    if "T0" in tiers:
        for arch in archs:
            found.append(_static(arch, folder, reason, came_from, compile_all))
    if "T1" in tiers:
        _require_fresh("emu")
        from cuzk.cli.perf_workloads import SYNTHESIS, count_proof, count_synthesis, workload_names

        for name, curve, rows in workload_names():
            counts = count_proof(curve, rows)
            add(
                "T1", name, {"device": "emu", "schedule": "ascending"}, counts, {"rows": rows, "curve": curve}
            )
        for circuit in SYNTHESIS:
            workload = f"synthesis-{circuit.replace(':', '-')}"
            counted = count_synthesis(circuit)
            add("T1", workload, {"device": "emu", "schedule": "ascending"}, counted, {"circuit": circuit})
    if "T1h" in tiers:
        from cuzk.cli.perf_instructions import HOST_WORKLOADS, host_environment, median_counts, why_not

        if reason_not := why_not():
            absent.append(Absent("T1h", "*", reason_not))
        else:
            _require_fresh("cpu")
            for name, (curve, rows) in HOST_WORKLOADS.items():
                counts = median_counts(curve, rows, _KEPT_COUNTS if reason else 1)
                add("T1h", name, host_environment(), counts, {"rows": rows, "curve": curve})
    return found, absent
