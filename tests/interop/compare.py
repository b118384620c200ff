"""Compare whole commands: `cuzk prove` with `snarkjs groth16 prove`, and with groth16py inside its process.

    python -m tests.interop.compare FIXTURES [--snarkjs PATH] [--groth16py-python PYTHON] [--repeats N] [--json OUT]

Run it in the repository's root. FIXTURES holds CURVE/NAME folders as tests/interop/cases.py describes them. The
programs take turns, so that a busy machine slows all of them, and each proof is checked by both verifiers at the
end. On BLS12-381 everybody proves with a .zkey that cuzk made and exported. The exit status is 1 if cuzk misses a
limit or a verifier rejects a proof.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.interop.measure import CommandFailedError, Sample, Spread, describe_machine, run_once, spreads

CIRCUITS = ("sha256_512", "merkle_mimc20")
#: How many times faster than snarkjs a whole `cuzk prove` has to be.
LIMITS = {"bn128": 3.5, "bls12381": 3.0}
PROGRAMS = ("cuzk", "snarkjs", "groth16py")
#: groth16py knows BN254 alone.
GROTH16PY_CURVE = "bn128"

_CHILD = Path(__file__).with_name("groth16py_child.py")


@dataclass(frozen=True)
class Contest:
    """One circuit that every program proves.

    Attributes:
        curve: Folder of the curve, snarkjs's name for it.
        circuit: Folder of the circuit.
        key, witness, vkey: The files.
        work: Scratch folder of this contest.
    """

    curve: str
    circuit: str
    key: Path
    witness: Path
    vkey: Path
    work: Path

    def outputs(self, program: str) -> tuple[Path, Path]:
        """Where a program puts its proof and the public inputs."""
        return self.work / f"{program}_proof.json", self.work / f"{program}_public.json"


@dataclass(frozen=True)
class Programs:
    """How to start everybody; groth16py is None where it is missing.

    Attributes:
        cuzk: Words that start cuzk.
        environment: Its environment.
        snarkjs: Path of snarkjs.
        groth16py: An interpreter that has groth16py, or None.
    """

    cuzk: list[str]
    environment: dict[str, str]
    snarkjs: str
    groth16py: str | None

    def commands(self, contest: Contest) -> dict[str, list[str]]:
        """Program -> command that proves."""
        key, witness = str(contest.key), str(contest.witness)
        proof, public = map(str, contest.outputs("cuzk"))
        files = ("--key", key, "--witness", witness, "--proof", proof, "--public", public)
        result = {
            "cuzk": [*self.cuzk, "prove", *files, "--device", "cpu"],
            "snarkjs": [
                self.snarkjs,
                "groth16",
                "prove",
                key,
                witness,
                *map(str, contest.outputs("snarkjs")),
            ],
        }
        if self.groth16py is not None and contest.curve == GROTH16PY_CURVE:
            result["groth16py"] = [self.groth16py, str(_CHILD), key, witness]
        return result


@dataclass(frozen=True)
class Outcome:
    """What all runs of one contest came to.

    Attributes:
        contest: Which.
        samples: Program -> its runs, in the order of the rounds.
        inside: What groth16py says about each of its runs.
        rejected: Verdicts that should have been "yes", in words.
    """

    contest: Contest
    samples: dict[str, list[Sample]]
    inside: list[dict[str, float]]
    rejected: list[str]

    def ratio(self, what: str) -> float:
        """How many times snarkjs's median is ours."""
        ours, theirs = (spreads(self.samples[name])[what].median for name in ("cuzk", "snarkjs"))
        return theirs / ours

    def failures(self) -> list[str]:
        """Each limit that was missed, in words."""
        ours, theirs = (spreads(self.samples[name]) for name in ("cuzk", "snarkjs"))
        limit, ratio = LIMITS[self.contest.curve], self.ratio("wall_s")
        found = list(self.rejected)
        if ratio < limit:
            found.append(f"{ratio:.2f} times faster than snarkjs, less than {limit}")
        if ours["peak_mib"].most >= theirs["peak_mib"].least:
            found.append(
                f"{ours['peak_mib'].most:.0f} MiB, not below snarkjs's {theirs['peak_mib'].least:.0f}"
            )
        return found

    def as_dict(self) -> dict[str, Any]:
        """Everything, for a file."""
        result = {
            "curve": self.contest.curve, "circuit": self.contest.circuit, "limit": LIMITS[self.contest.curve],
            "wall_ratio": self.ratio("wall_s"), "cpu_ratio": self.ratio("cpu_s"), "failures": self.failures(),
            "samples": {name: [asdict(sample) for sample in runs] for name, runs in self.samples.items()},
        }  # fmt: skip
        return result | ({"groth16py_inside": self.inside} if self.inside else {})


def prepare(fixtures: Path, curve: str, circuit: str, work: Path, cuzk: Callable[..., None]) -> Contest:
    """Find or make the files of a contest: on BLS12-381 the key is one of ours, exported."""
    folder = fixtures / curve / circuit
    work.mkdir()
    key, vkey = folder / f"{circuit}.zkey", folder / "vkey.json"
    if curve == "bls12381":
        own, vkey, key = work / "own.cuzk", work / "vkey.json", work / "exported.zkey"
        r1cs = folder / f"{circuit}.r1cs"
        cuzk("setup", r1cs, "--key", own, "--vkey", vkey, "--insecure-seed", "1", "--device", "cpu")
        cuzk("key", "export", own, "--format", "zkey", "--out", key, "--device", "cpu")
        own.unlink()
    return Contest(curve, circuit, key, folder / f"{circuit}.wtns", vkey, work)


def hold(contests: list[Contest], programs: Programs, repeats: int) -> list[Outcome]:
    """Let everybody prove everything once to warm up, and then `repeats` times by turns."""
    outcomes = [Outcome(contest, {}, [], []) for contest in contests]
    for i_round in range(-1, repeats):
        for outcome in outcomes:
            contest = outcome.contest
            turns = list(programs.commands(contest).items())
            # Whoever comes first in one round is last in the next.
            for name, command in turns if i_round % 2 else turns[::-1]:
                log = contest.work / f"{name}.log"
                environment = programs.environment if name == "cuzk" else None
                sample = run_once(command, log, environment)
                if i_round < 0:
                    continue
                outcome.samples.setdefault(name, []).append(sample)
                if name == "groth16py":
                    outcome.inside.append(json.loads(log.read_text()))
                print(
                    f"round {i_round + 1} {contest.curve}/{contest.circuit} {name}: {sample.wall_s:.2f} s wall, "
                    f"{sample.cpu_s:.2f} s cpu, {sample.peak_mib:.0f} MiB; others took {sample.others_s:.2f} s",
                    file=sys.stderr, flush=True,
                )  # fmt: skip
    return outcomes


def verify_all(outcome: Outcome, programs: Programs) -> None:
    """Both verifiers judge both programs' last proofs; a rejection is noted in the outcome."""
    contest = outcome.contest
    for prover in ("cuzk", "snarkjs"):
        proof, public = contest.outputs(prover)
        judges = {
            "cuzk": [*programs.cuzk, "verify", "--vkey", contest.vkey, "--public", public, "--proof", proof],
            "snarkjs": [programs.snarkjs, "groth16", "verify", contest.vkey, public, proof],
        }
        for judge, command in judges.items():
            environment = programs.environment if judge == "cuzk" else None
            done = subprocess.run(
                list(map(str, command)), env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode != 0:
                outcome.rejected.append(f"{judge} rejects the proof of {prover}")


def table(outcomes: list[Outcome]) -> str:
    """A Markdown table of everything."""
    lines = [
        "| circuit | program | wall, s | cpu, s | peak, MiB | snarkjs's wall over ours | cpu over ours | verdict |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for outcome in outcomes:
        title = f"{outcome.contest.curve} {outcome.contest.circuit}"
        for name in sorted(outcome.samples, key=PROGRAMS.index):
            found = spreads(outcome.samples[name])
            cells = [title, name, *(found[what].text() for what in ("wall_s", "cpu_s"))]
            cells.append(f"{found['peak_mib'].most:.0f}")
            if name == "cuzk":
                failed = "; ".join(outcome.failures())
                cells += [f"{outcome.ratio(what):.2f}" for what in ("wall_s", "cpu_s")] + [failed or "pass"]
            elif name == "groth16py":
                prove = Spread.of(one["prove_s"] for one in outcome.inside)
                both = Spread.of(one["load_s"] + one["prove_s"] for one in outcome.inside)
                cells += ["", "", f"inside: prove {prove.text()}; key and prove {both.text()}"]
            else:
                cells += ["", "", ""]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def find_groth16py(python: str) -> str | None:
    """The interpreter if it has groth16py; else None, and the reason is printed."""
    command = [python, "-c", "import groth16py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return python
    print(f"groth16py is left out: {python} cannot import it ({done.stderr.strip()[-200:]})", file=sys.stderr)
    return None


def versions(programs: Programs) -> dict[str, str]:
    """What was compared."""
    commands = {
        "cuzk": [*programs.cuzk, "--version"],
        "commit": ["git", "describe", "--always", "--dirty", "--abbrev=12"],
        "node": ["node", "--version"],
        "snarkjs": [programs.snarkjs, "--version"],
    }
    if programs.groth16py is not None:
        code = "import importlib.metadata as m; print(m.version('groth16py'))"
        commands["groth16py"] = [programs.groth16py, "-c", code]
    found = {}
    for name, command in commands.items():
        done = subprocess.run(command, env=programs.environment, capture_output=True, text=True, check=False)
        found[name] = (done.stdout.strip().splitlines() or [""])[0]
    return found


def find_programs(options: argparse.Namespace, scratch: Path) -> Programs:
    """Everybody's command line. cuzk gets a folder for its bytecode, as an installed package has it."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(scratch / "bytecode")
    return Programs(
        cuzk=[sys.executable, "-P", "-m", "cuzk"],
        environment=environment,
        snarkjs=str(options.snarkjs),
        groth16py=find_groth16py(options.groth16py_python),
    )


def parse_arguments() -> argparse.Namespace:
    """The command line; ends with a message where snarkjs is missing."""
    parser = argparse.ArgumentParser(description="Compare whole proving commands.")
    parser.add_argument("fixtures", type=Path, metavar="FIXTURES", help="folder with CURVE/NAME folders")
    parser.add_argument(
        "--snarkjs", default=shutil.which("snarkjs"), help="path of snarkjs; default: from PATH"
    )
    parser.add_argument(
        "--groth16py-python", default=sys.executable, help="an interpreter that has groth16py"
    )
    parser.add_argument("--repeats", type=int, default=5, help="runs of each program after the first")
    parser.add_argument("--curve", choices=sorted(LIMITS), help="only this curve")
    parser.add_argument("--circuit", choices=CIRCUITS, help="only this circuit")
    parser.add_argument("--json", type=Path, metavar="OUT", help="file for every sample")
    options = parser.parse_args()
    if options.snarkjs is None:
        parser.error("there is no snarkjs in PATH: npm install snarkjs, and give --snarkjs PATH")
    if options.repeats < 1:
        parser.error("--repeats must be at least 1")
    return options


def main() -> int:
    """Command line."""
    options = parse_arguments()
    machine = describe_machine()
    with tempfile.TemporaryDirectory() as scratch:
        programs = find_programs(options, Path(scratch))

        def cuzk(*arguments: str | Path) -> None:
            command = [*programs.cuzk, *map(str, arguments)]
            run_once(command, Path(scratch) / "prepare.log", programs.environment)

        try:
            contests = [
                prepare(
                    options.fixtures.resolve(), curve, circuit, Path(scratch) / f"{curve}_{circuit}", cuzk
                )
                for curve in ([options.curve] if options.curve else LIMITS)
                for circuit in ([options.circuit] if options.circuit else CIRCUITS)
            ]
            outcomes = hold(contests, programs, options.repeats)
        except CommandFailedError as error:
            print(error, file=sys.stderr)
            return 1
        for outcome in outcomes:
            verify_all(outcome, programs)
        if options.json is not None:
            report = {
                "what": "whole proving commands, by turns", "date": f"{datetime.date.today()}",
                "machine": machine, "versions": versions(programs), "repeats": options.repeats,
                "load_1_min_after": round(os.getloadavg()[0], 2),
                "contests": [outcome.as_dict() for outcome in outcomes],
            }  # fmt: skip
            options.json.write_text(json.dumps(report, indent=1) + "\n")
    print(table(outcomes))
    return int(any(outcome.failures() for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
