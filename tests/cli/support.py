"""What the tests of the command line share: running it in this process, and real circuit files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from typer.testing import CliRunner

from cuzk.cli import make_app

DATA = Path(__file__).resolve().parents[1] / "data"
CURVES = ("bls12381", "bn128")
app = make_app()


class Run(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def report(self) -> Any:
        """What ``--json`` printed."""
        return json.loads(self.out)


class Circuit(NamedTuple):
    """The files of one circuit, made by circom and snarkjs."""

    r1cs: Path
    wtns: Path
    zkey: Path
    vkey: Path
    proof: Path
    public: Path
    proof_7_11: Path


def circuit(curve: str, name: str = "product") -> Circuit:
    """The files of a circuit under tests/data."""
    folder = DATA / curve / name
    stems = (f"{name}.r1cs", f"{name}.wtns", f"{name}.zkey", "vkey.json", "proof.json", "public.json")
    return Circuit(*(folder / stem for stem in (*stems, "proof_r7_s11.json")))


def cuzk(*arguments: str | Path) -> Run:
    """Run a command in this process."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Run(result.exit_code, result.stdout, result.stderr)


def prove(files: Circuit, folder: Path, *more: str | Path, **replaced: Path) -> Run:
    """Run ``cuzk prove`` with the files of a circuit; proof.json and public.json go to a folder."""
    options = {"key": files.zkey, "witness": files.wtns} | {
        "proof": folder / "proof.json",
        "public": folder / "public.json",
    }
    words = [word for name, path in (options | replaced).items() for word in (f"--{name}", path)]
    return cuzk("prove", *words, *more)


def verify(vkey: Path, public: Path, proof: Path, *more: str) -> Run:
    """Run ``cuzk verify``."""
    return cuzk("verify", "--vkey", vkey, "--public", public, "--proof", proof, *more)


def read_json(path: Path) -> Any:
    """Parse a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def entries(folder: Path) -> set[str]:
    """Names of everything in a folder, hidden files included."""
    return {path.name for path in folder.iterdir()}


def assert_refused(run: Run, code: int, *fragments: str) -> None:
    """Check that a command failed with a message, not a traceback, that says these things."""
    assert run.code == code, run
    assert run.err.splitlines()[-1].strip()
    assert "error: " in run.err
    assert "Traceback" not in run.err + run.out
    for fragment in fragments:
        assert fragment in run.err, (fragment, run.err)
