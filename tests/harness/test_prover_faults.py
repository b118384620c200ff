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
from cuzk_fuzz.mutation.operators import Mutant
from cuzk_fuzz.mutation.python_code import source_of
from cuzk_fuzz.mutation.python_command import REVIEWED, Run, all_mutants, is_entry, main, summary
from cuzk_fuzz.mutation.python_modules import LEFT_OUT, MODULES, ONLY, PACKAGES
from cuzk_fuzz.mutation.python_operators import mutants_of_python
from cuzk_fuzz.mutation.python_reach import Check, Chooser, statement_lines
from cuzk_fuzz.mutation.python_tests import all_files

from tests.harness.prover_faults import faults

ROOT = Path(__file__).resolve().parents[2]

_SNIPPET = """\
def f(a, b, *, flag=True):
    if a < 0:
        raise ValueError(f"{a} is below 0")
    total = (a + 1) % b
    if a is not None and not flag:
        g(total)
    for c, d in zip(a.reshape(-1), b, strict=True):
        h(c, d)
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
        [sys.executable, "-c", _JUDGED], cwd=ROOT, capture_output=True, text=True, check=False, timeout=1000
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
    assert not any("below" in text or text.startswith(("def", "if a <", "for ")) for _, text in found)


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

    def judge_all(self: Run, fresh: list[tuple[str, Mutant]], *_: object) -> None:
        for module, mutant in fresh[:3]:  # then it is interrupted
            judged.append(module)
            verdict = "killed" if len(judged) > 1 else "survived"
            self.stored[mutant.name] = [verdict, "ntt", mutant.original, 0]
        self.record.write_text(json.dumps(self.stored))

    monkeypatch.setattr(Run, "judge_all", judge_all)
    arguments = ["--targets-only", "--sample", "4", "--record", str(tmp_path / "record.json")]
    assert main(arguments) == 1
    assert "all operators: 2 of 3 killed: 66.7%" in capsys.readouterr().out
    assert main(arguments) == 1
    assert "all operators: 3 of 4 killed: 75.0%" in capsys.readouterr().out
    assert len(judged) == 4


_TESTED = """
import json, sys
from pathlib import Path
from cuzk_fuzz.mutation.python_code import source_of
from cuzk_fuzz.mutation.python_command import _look, _said, _version
from cuzk_fuzz.mutation.python_code import forked
from cuzk_fuzz.mutation.python_reach import Check, Chooser, recorded
from cuzk_fuzz.mutation.python_tests import with_tests

told = {}


def work(items):
    checks = [Check(item.nodeid, "1", lambda item=item: _said(item)) for item in items if "lists 5000" in item.name]
    checks += [Check(f"blind {i}", "1", lambda: "") for i in range(200)] + [Check("broken", "1", lambda: "fails")]
    found = recorded(checks, ["cuzk.ops.scan", "cuzk.ops.lagrange"], Path(sys.argv[1]))
    told["names"] = sorted(check.name for check in found)
    source = source_of("cuzk.ops.scan")[1]
    at = next(i for i, line in enumerate(source.split("\\n"), 1) if "device.launch" in line)
    entering = Chooser(found).checks_of("cuzk.ops.scan", at)
    told["entering"] = [check.name for check in entering]
    told["sound"] = forked(lambda note: _look("cuzk.ops.scan", source, entering, note))
    told["altered"] = forked(lambda note: _look("cuzk.ops.scan", source.replace("1024", "1025"), entering, note))
    told["import"] = forked(lambda note: _look("cuzk.ops.scan", "raise SystemExit", entering, note))
    told["elsewhere"] = [check.name for check in Chooser(found).checks_of("cuzk.ops.lagrange", 30)]


with_tests(["tests/kernels/test_footprints.py"], work)
print(json.dumps(told))
"""


def test_the_projects_own_tests_see_what_targets_do_not(tmp_path: Path) -> None:
    """Tests that enter a line are asked about it, run in a child; one that fails without a fault is left out."""
    done = subprocess.run(
        [sys.executable, "-c", _TESTED, str(tmp_path / "reach")],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=1000,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert "broken" not in told["names"]
    assert len(told["names"]) == 203
    assert len(told["entering"]) == 3
    assert all("test_as_stored[lists 5000" in name for name in told["entering"])
    assert told["elsewhere"] == []
    assert told["sound"] == ""
    assert told["altered"].startswith("tests/kernels/test_footprints.py::test_as_stored[lists 5000")
    assert told["import"] == "SystemExit while it is imported"


def test_cheap_checks_that_enter_the_line_come_first() -> None:
    module = "cuzk.ops.scan"
    source = source_of(module)[1]
    at = next(i for i, line in enumerate(source.split("\n"), 1) if "device.launch" in line)
    statement, function = statement_lines(source, at)
    assert at in statement
    assert statement.start > function.start
    checks = [
        Check("slow", "1", str, 3.0, {module: frozenset([at])}),
        Check("quick", "1", str, 1.0, {module: frozenset([at, 1])}),
        Check("beside", "1", str, 0.1, {module: frozenset([function.start])}),
        Check("quick[long]", "1", str, 90.0, {module: frozenset([at])}),
    ]
    chooser = Chooser(checks)
    assert [check.name for check in chooser.checks_of(module, at)] == ["quick", "slow"]
    assert chooser.learn(module, "slow: fails", lambda _: "")
    assert [check.name for check in chooser.checks_of(module, at)] == ["slow", "quick"]
    # What fails alone, without a mutant, kills none.
    assert not chooser.learn(module, "signal 24 in quick", lambda check: f"{check.name}: MemoryError")
    assert [check.name for check in chooser.checks_of(module, at)] == ["slow", "quick[long]"]


def test_the_head_of_a_statement_and_its_function() -> None:
    source = "def f():\n    if (a and\n            b):\n        g(1,\n          2)\n    return 3\n"
    assert statement_lines(source, 3) == (range(2, 4), range(1, 7))
    assert statement_lines(source, 5) == (range(4, 6), range(1, 7))


def test_every_module_is_mutated_or_left_out_for_a_reason() -> None:
    there = {
        f"{package}.{file.stem}"
        for package in PACKAGES
        for file in (ROOT / package.replace(".", "/")).glob("*.py")
        if file.stem != "__init__"
    }
    mutated = set(MODULES)
    assert len(mutated) == len(MODULES)
    assert not mutated & set(LEFT_OUT)
    assert there == {name for name in mutated if name.startswith(PACKAGES)} | set(LEFT_OUT)
    assert all(len(reason.split()) >= 4 for reason in LEFT_OUT.values())
    for module, functions in ONLY.items():
        found = {n.name for n in ast.parse(source_of(module)[1]).body if isinstance(n, ast.FunctionDef)}
        assert set(functions) < found


def test_every_file_of_tests_is_there() -> None:
    for name in all_files():
        file, _, test = name.partition("::")
        assert f"def {test}" in (ROOT / file).read_text(), name


def test_the_summary_tells_held_out_operators_apart() -> None:
    verdicts = {
        "m:1:0:logic:or": ["killed", "tests/x.py::test_y: fails"],
        "m:2:0:relation:<": ["survived", ""],
        "m:3:0:relation:>": ["equivalent", "why"],
    }
    text = summary(verdicts, 9)
    assert "all operators: 1 of 2 killed: 50.0%" in text
    assert "held-out operators: 1 of 1 killed" in text
    assert "1 of the killed by a test" in text
