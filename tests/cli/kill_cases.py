"""The commands that write files, as the kill campaign runs them: toy-sized, and the same bytes on every run."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cuzk.curves import get_curve
from cuzk.formats import save_r1cs
from cuzk.telemetry import read_events
from tests.cli.support import DATA
from tests.formats.ptau_builder import Secrets, ptau_bytes
from tests.workloads import mixed_circuit

__all__ = ["CASES", "Case", "make_inputs"]

_ROOT = Path(__file__).resolve().parents[2]
_FILES = DATA / "bn128" / "product"
_CIRCUIT, _WITNESS, _ZKEY = (_FILES / f"product.{suffix}" for suffix in ("r1cs", "wtns", "zkey"))

#: Runs inside the process under test; what the command line has no command for.
_CONVERT = (
    "import sys; from cuzk.formats import load_r1cs, load_witness, save_r1cs, save_witness; "
    "save_r1cs(sys.argv[2], load_r1cs(sys.argv[1])); save_witness(sys.argv[4], load_witness(sys.argv[3]))"
)
#: A record of the ledger, as `perf record` and `perf accept` write it; the commands' own hold a date and a commit.
_RECORD = (
    "import sys; from pathlib import Path; from cuzk.perf.baseline import read_baseline, write_baseline; "
    "write_baseline(Path(), read_baseline(Path(sys.argv[1])))"
)
_LEDGER_FILE = "T1-mixed-60-bn254.json"


@dataclass(frozen=True)
class Case:
    """One command.

    Args:
        name: For reports.
        words: The command line, from the folder it writes into; inputs lie in ``../inputs``.
        outputs: Files that appear complete or not at all, and with the same bytes on every run.
        logs: Files that grow line by line while the command runs, with a check of a file's whole text.
        force: What lets the command replace files; None where it always does.
        code: Python code to run instead of the command line.
    """

    name: str
    words: tuple[str, ...]
    outputs: tuple[str, ...]
    logs: tuple[tuple[str, Callable[[Path], object]], ...] = ()
    force: str | None = "--force"
    code: str | None = None


def _check_csv(path: Path) -> None:
    """Every line that is complete holds two numbers, and two that are empty where nobody can say."""
    for line in path.read_text().split("\n")[1:-1]:
        elapsed, resident, *rest = line.split(",")
        assert elapsed.isdigit(), line
        assert resident.isdigit(), line
        assert len(rest) == 2, line
        assert all(word.isdigit() or not word for word in rest), line


_SETUP = (
    "setup",
    str(_CIRCUIT),
    "--key",
    "k.cuzk",
    "--vkey",
    "v.json",
    "--device",
    "cpu",
    "--insecure-seed",
    "1",
)
_PROVE = (
    "prove", "--key", str(_ZKEY), "--witness", str(_WITNESS), "--proof", "p.json", "--public", "q.json",
    "--proof-bytes", "p.bin", "--events", "e.jsonl", "--memory", "m.csv", "--insecure-blinding", "7,11",
    "--device", "cpu",
)  # fmt: skip


_BELLMAN = (
    "setup", "mixed.r1cs", "--key", "b.cuzk", "--vkey", "b.json",
    "--device", "cpu", "--insecure-seed", "1", "--roots", "bellman",
)  # fmt: skip


def _export(format_: str, key: str, out: str) -> Case:
    words = ("key", "export", f"../inputs/{key}", "--format", format_, "--out", out, "--device", "cpu")
    return Case(f"key export {format_}", words, (out,))


CASES = (
    Case("setup", _SETUP, ("k.cuzk", "v.json")),
    Case("setup --ptau", (*_SETUP, "--ptau", "../inputs/f.ptau"), ("k.cuzk", "v.json")),
    Case("prove", _PROVE, ("p.json", "q.json", "p.bin"), (("e.jsonl", read_events), ("m.csv", _check_csv)), None),
    Case(
        "key convert",
        ("key", "convert", str(_ZKEY), "--circuit", str(_CIRCUIT), "--out", "c.cuzk", "--device", "cpu"),
        ("c.cuzk",),
    ),
    _export("zkey", "k.cuzk", "k.zkey"),
    _export("params", "b.cuzk", "k.params"),
    _export("vk", "b.cuzk", "k.vk"),
    _export("vkey", "k.cuzk", "k.json"),
    Case("circuit vanilla", ("circuit", "vanilla", "fallback-post:8-0-0:64n:1s:1c", "--out", "v.vproof"),
         ("v.vproof",), force=None),
    Case("perf record", (str(_ROOT / "perf_baselines" / _LEDGER_FILE),), (_LEDGER_FILE,),
         force=None, code=_RECORD),
    Case("circuit and witness", (str(_CIRCUIT), "c.r1cs", str(_WITNESS), "w.wtns"), ("c.r1cs", "w.wtns"),
         force=None, code=_CONVERT),
)  # fmt: skip


def make_inputs(folder: Path, run: Callable[[Path, tuple[str, ...]], None]) -> None:
    """Make what the commands read and the repository does not hold.

    Args:
        folder: Where to; the campaign's ``inputs``.
        run: Runs a command line in a folder.
    """
    run(folder, _SETUP)
    save_r1cs(folder / "mixed.r1cs", mixed_circuit("bls12_381", 70)[0])
    run(folder, _BELLMAN)
    secrets = Secrets(12345, 67, 89)
    (folder / "f.ptau").write_bytes(ptau_bytes(get_curve("bn254"), 6, secrets, prepared=True))
    assert json.loads((folder / "v.json").read_text())["nPublic"] == 5
