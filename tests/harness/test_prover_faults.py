"""Faults in the prover's Python, by hand and by operators, and the checks that have to see them.

Would catch: a fault that no longer fits its module, an altered module that does not take effect, checks that fail on
the prover as it is. All faults: `python -m tests.harness.prover_faults`.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
from cuzk_fuzz.mutation.equivalents import load_equivalents
from cuzk_fuzz.mutation.python_code import source_of
from cuzk_fuzz.mutation.python_command import MODULES, REVIEWED, all_mutants, is_entry, main, summary
from cuzk_fuzz.mutation.python_operators import mutants_of_python
from cuzk_fuzz.mutation.python_tests import SUITES

from tests.harness.prover_faults import faults

ROOT = Path(__file__).resolve().parents[2]

_SNIPPET = """\
def f(a, b, *, flag=True):
    if a < 0:
        raise ValueError(f"{a} is below 0")
    total = (a + 1) % b
    if a is not None and not flag:
        g(total)
    return -total
"""


def test_there_are_forty_and_all_fit() -> None:
    every = faults()
    assert len(every) >= 40
    assert len({fault.id for fault in every}) == len(every)
    for fault in every:
        ast.parse(fault.source())


#: In a process of its own: a device that was used before a fork refuses to work after it, as this one's may have been.
_JUDGED = """
import json, mmap
from cuzk_fuzz.mutation import python_code
from cuzk_fuzz.mutation.python_code import draw_checks, outcome, source_of
from tests.harness.prover_faults import faults, judge

python_code.CHECKS = (("groth16", 12, 4, "cpu"), ("ntt", 12, 12, "cpu"))
checks = draw_checks()
wanted = {"c-without-rs", "h-first", "no-size"}
seen = {fault.id: how for fault, how in judge([one for one in faults() if one.id in wanted], checks)}
module = "cuzk.groth16.assemble"
with mmap.mmap(-1, 8 << 30, flags=mmap.MAP_PRIVATE | 0x4000):  # a large parent; 0x4000: MAP_NORESERVE
    sound = outcome(module, source_of(module)[1], checks)
print(json.dumps({"seen": seen, "sound": sound, "exit": outcome(module, "raise SystemExit", checks)}))
"""


def test_some_are_caught_and_the_prover_as_it_is_passes() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _JUDGED], cwd=ROOT, capture_output=True, text=True, check=False, timeout=250
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert len(told["seen"]) == 3
    assert all(told["seen"].values()), told
    assert told["sound"] == ""
    assert told["exit"] != ""


def test_operators_change_behaviour_and_nothing_else() -> None:
    found = {(m.operator, m.mutated.strip()) for m in mutants_of_python("m", _SNIPPET)}
    assert {
        ("arithmetic", "total = (a - 1) % b"), ("arithmetic", "total = (a + 1) // b"),
        ("constant", "total = (a + (2)) % b"), ("logic", "if a is not None or not flag:"),
        ("relation", "if a is None and not flag:"), ("negation", "if a is not None and flag:"),
        ("deletion", "pass"), ("negation", "return total"),
    } <= found  # fmt: skip
    assert not any("below" in text or text.startswith(("def", "if a <")) for _, text in found)


def test_every_module_has_mutants_and_reviewed_ones_are_alive() -> None:
    mutants = {module: [m for _, m in all_mutants([module])] for module in MODULES}
    assert all(mutants.values())
    for entry in load_equivalents(REVIEWED):
        assert any(is_entry(entry, mutant) for mutant in mutants[entry.header]), entry
    for module in ("cuzk.ops.ntt", "cuzk.groth16.assemble"):
        text = source_of(module)[1]
        for mutant in mutants[module]:
            ast.parse(mutant.apply(text))


def test_a_survivor_fails_the_command_and_the_record_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judged: list[str] = []

    def verdict(module: str, mutant: object, checks: object, tests: object) -> tuple[str, str]:
        judged.append(module)
        return ("killed", "ntt") if len(judged) > 1 else ("survived", "")

    monkeypatch.setattr("cuzk_fuzz.mutation.python_command.judge", verdict)
    monkeypatch.setattr("cuzk_fuzz.mutation.python_command.draw_checks", lambda seed: [])
    monkeypatch.setattr("cuzk_fuzz.mutation.python_command.load_tests", lambda modules: None)
    arguments = ["--sample", "4", "--record", str(tmp_path / "record.json")]
    assert main(arguments) == 1
    assert "all operators: 3 of 4 killed: 75.0%" in capsys.readouterr().out
    assert main(arguments) == 1
    assert len(judged) == 4


_TESTED = """
import json
from cuzk_fuzz.mutation.python_code import outcome, source_of
from cuzk_fuzz.mutation.python_command import refuse_unsound
from cuzk_fuzz.mutation.python_tests import SUITES, first_failing, load_tests

module = "cuzk.ops.lagrange"
SUITES[module] = ("tests/kernels/test_footprints.py",)
load_tests([module])
refuse_unsound(module, first_failing)
source, scan = source_of(module)[1], source_of("cuzk.ops.scan")[1]
print(json.dumps([
    outcome(module, source, [], first_failing),
    outcome(module, source + "\\nraise SystemExit", [], first_failing),
    outcome("cuzk.ops.scan", scan.replace("1024", "1025"), [], lambda _: first_failing(module)),
]))
"""


def test_the_projects_own_tests_see_what_targets_do_not() -> None:
    """A file of tests runs against the altered module, in a child; the module as it is passes."""
    done = subprocess.run(
        [sys.executable, "-c", _TESTED], cwd=ROOT, capture_output=True, text=True, check=False, timeout=250
    )
    assert done.returncode == 0, done.stderr
    sound, broken, altered = json.loads(done.stdout.splitlines()[-1])
    assert sound == ""
    assert broken
    assert altered.startswith("tests/kernels/test_footprints.py::test_as_stored")


def test_every_module_has_tests_of_its_own() -> None:
    assert set(SUITES) == set(MODULES)
    files = {name.partition("::")[0] for names in SUITES.values() for name in names}
    assert all((ROOT / name).is_file() for name in files)


def test_the_summary_tells_held_out_operators_apart() -> None:
    verdicts = {
        "m:1:0:logic:or": ["killed", "tests/x.py::test_y"],
        "m:2:0:relation:<": ["survived", ""],
        "m:3:0:relation:>": ["equivalent", "why"],
    }
    text = summary(verdicts, 9)
    assert "all operators: 1 of 2 killed: 50.0%" in text
    assert "held-out operators: 1 of 1 killed" in text
    assert "1 of the killed by tests alone" in text
