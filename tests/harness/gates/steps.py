"""The steps of each gate, as commands; nothing runs here."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from cuzk.cli.perf_gather import NIGHTLY_ARCHS
from tests.harness.gates.selection import Selection

_NOT_HERE = "not device and not interop"


@dataclass(frozen=True)
class Step:
    """One command.

    Attributes:
        name: Short.
        command: What to run; exit code 0 is a pass.
        result: File with counts that it writes (JUnit XML or JSON), or None.
        seed: Of what is drawn at random, or None.
        everywhere: Whether each part of a split gate runs it (and splits its work itself).
    """

    name: str
    command: tuple[str, ...]
    result: Path | None = None
    seed: int | None = None
    everywhere: bool = False


def _python(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", *arguments)


def _tests(out: Path, shard: str, *arguments: str) -> Step:
    xml = out / "tests.xml"
    command = _python("pytest", "-n", "2", "--dist", "worksteal", "-q", f"--junitxml={xml}", *arguments,
                      "-p", "tests.harness.gates.sharding", "--shard", shard)  # fmt: skip
    return Step("tests", command, xml, everywhere=True)


def quick(out: Path, selection: Selection) -> list[Step]:
    """What a change can have broken, in three minutes: tests that are not long, the targets of changed kernels."""
    steps = []
    python = [name for name in selection.files if name.endswith(".py") and Path(name).is_file()]
    if python:
        steps.append(Step("style", _python("ruff", "check", *python)))
    tests = sorted({*selection.tests, "tests/repo"})
    steps.append(
        _tests(out, "1/1", "--hypothesis-profile", "quick", "-m", f"not long and {_NOT_HERE}", *tests)
    )
    if selection.targets:
        chosen = [part for name in selection.targets for part in ("--target", name)]
        result = out / "smoke.json"
        command = _python(
            "cuzk_fuzz", "smoke", "--seconds", "20", "--json", str(result), "--out", str(out), *chosen
        )
        steps.append(Step("fuzz", command, result, seed=0))
    return steps


def gate(out: Path, shard: str = "1/1") -> list[Step]:
    """What a merge must pass."""
    table, mutants = out / "table.json", out / "mutants.json"
    return [
        _tests(out, shard, "tests"),
        Step("classes", _python("cuzk_fuzz", "table", "--seconds", "40", "--json", str(table), "--out", str(out)),
             table, seed=0),
        Step("mutants", _python("cuzk_fuzz", "mutants", "--sample", "40", "--seed", "1", "--json", str(mutants)),
             mutants, seed=1),
        Step("prover-faults", _python("tests.harness.prover_faults"), seed=0),
        Step("types", _python("mypy")),
        Step("style", _python("ruff", "check", ".")),
        Step("imports", (str(Path(sys.executable).with_name("lint-imports")),)),
        Step("ledger", _python("cuzk", "perf", "check", "--tier", "T0", "--tier", "T1", "--tier", "T1h",
                               "--allow-absent", "T1h", "--markdown", str(out / "ledger.md"))),
    ]  # fmt: skip


def nightly(out: Path, shard: str = "1/1", *, scale: float = 1.0, seed: int = 0) -> list[Step]:
    """The gate, and what takes hours: long campaigns, every planted fault, throughput, deep properties."""
    fuzz = out / "campaign"
    steps = [
        *gate(out, shard),
        Step("architectures", _python("cuzk", "perf", "check", "--tier", "T0",
                                      *(word for arch in NIGHTLY_ARCHS for word in ("--arch", arch)),
                                      "--markdown", str(out / "architectures.md"))),
        Step("deep", _python("pytest", "-n", "2", "-q", "--hypothesis-profile", "deep", "-m", _NOT_HERE,
                             f"--junitxml={out / 'deep.xml'}", "tests/kernels", "tests/oracles"), out / "deep.xml"),
        Step("throughput", _python("cuzk_fuzz", "throughput", "--json", str(out / "throughput.json")),
             out / "throughput.json"),
        Step("sensitivity", _python("cuzk_fuzz", "sensitivity", "--record", str(out / "sensitivity.json"),
                                    "--budget", str(3600 * scale)), out / "sensitivity.json"),
        Step("shadow", _python("cuzk_fuzz.shadow", "--seconds", str(300 * scale), "--seed", str(seed)), seed=seed),
        Step("historical", _python("tests.harness.historical", "--record", str(out / "historical.json")), seed=1),
    ]  # fmt: skip
    for device in ("cpu", "emu"):
        result = out / f"campaign-{device}.json"
        command = _python("cuzk_fuzz", "run", "all", "--device", device, "--seconds", str(1800 * scale), "--heavy",
                          "--corpus", str(fuzz / "corpus"), "--resume", str(fuzz / f"state-{seed}"), "--seed",
                          str(seed), "--status", str(fuzz / f"status-{device}.json"), "--json", str(result),
                          "--out", str(out), "--findings", "10")  # fmt: skip
        steps.append(Step(f"campaign-{device}", command, result, seed=seed))
    return steps


def part_of(steps: list[Step], part: int, parts: int) -> list[Step]:
    """The steps of one part: those that split their own work, and each part's share of the others."""
    others = [step for step in steps if not step.everywhere]
    mine = {step.name for number, step in enumerate(others) if number % parts == part - 1}
    return [step for step in steps if step.everywhere or step.name in mine]
