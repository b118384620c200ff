"""Gates choose what a change can have broken, split without loss, and say what they did.

Would catch: a header whose includes changed and whose kernels are not checked, a test that no part runs, a failed step
in a gate that passes, a summary without counts.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from tests.harness.gates import __main__ as gates
from tests.harness.gates import selection, sharding, steps
from tests.harness.gates.steps import Step

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "cuzk" / "kernels"


def test_a_header_depends_on_what_it_includes(tmp_path: Path) -> None:
    for name, text in {
        "a.cuh": '#include "b.cuh"',
        "b.cuh": '#include "c.cuh"\n',
        "c.cuh": "",
        "d.cuh": "",
    }.items():
        (tmp_path / name).write_text(text)
    assert selection.closure(tmp_path, "a.cuh") == {"a.cuh", "b.cuh", "c.cuh"}
    keys = selection.content_keys(KERNELS)
    assert selection.content_keys(KERNELS) == keys
    assert "field.cuh" in selection.closure(KERNELS, "ntt.cuh")
    assert selection.changed_headers({}, keys) == sorted(keys)
    assert selection.changed_headers({**keys, "ntt.cuh": "other"}, keys) == ["ntt.cuh"]


def test_a_changed_kernel_selects_its_targets_and_tests() -> None:
    chosen = selection.select(ROOT, ["cuzk/kernels/spmv.cuh"], [])
    assert chosen.headers == ("spmv.cuh",)
    assert set(chosen.targets) == {"spmv"}
    assert "tests/kernels/test_spmv.py" in chosen.tests
    everything = selection.select(ROOT, ["cuzk/kernels/field.cuh"], [])
    assert {"field", "fp2", "point", "ntt", "msm", "spmv"} <= set(everything.targets)


def test_a_changed_module_selects_the_tests_that_name_it() -> None:
    chosen = selection.select(ROOT, ["cuzk/ops/batch_add.py", "README.md"], [])
    assert "tests/kernels/test_batch_add.py" in chosen.tests
    assert "tests/curves/test_limbs.py" not in chosen.tests
    assert chosen.targets == ("batch_add",)
    assert selection.select(ROOT, ["README.md"], []).tests == ()


def test_an_unknown_revision_is_bad_usage(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert gates.main(["quick", "--changed-since", "no-such-revision", "--out", str(tmp_path)]) == gates.USAGE
    assert "no-such-revision" in capsys.readouterr().err
    assert gates.main(["gate", "--shard", "3/2", "--out", str(tmp_path)]) == gates.USAGE


def test_parts_lose_nothing_and_share_nothing() -> None:
    weights = {f"tests/test_{i}.py": 1 + i * i % 37 for i in range(60)}
    for parts in (1, 2, 3, 7):
        dealt = sharding.deal(weights, parts)
        assert set().union(*dealt) == set(weights)
        assert sum(map(len, dealt)) == len(weights)
        loads = [sum(weights[name] for name in part) for part in dealt]
        assert max(loads) - min(loads) <= max(weights.values())
    every = steps.gate(Path("out"))
    for parts in (1, 2, 4):
        names = [step.name for part in range(1, parts + 1) for step in steps.part_of(every, part, parts)]
        assert set(names) == {step.name for step in every}
        assert names.count("tests") == parts
        assert names.count("mutants") == 1


def test_the_plugin_runs_each_test_in_one_part(tmp_path: Path) -> None:
    for i in range(4):
        (tmp_path / f"test_{i}.py").write_text("def test_a():\n    pass\n\n\ndef test_b():\n    pass\n")
    total = 0
    for part in ("1/2", "2/2"):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir",
                   str(tmp_path), "-p", "tests.harness.gates.sharding", "--shard", part, str(tmp_path)]  # fmt: skip
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "4 passed, 4 deselected" in done.stdout
        total += 4
    assert total == 8


def _step(name: str, code: str, result: Path | None = None) -> Step:
    return Step(name, (sys.executable, "-c", code), result, seed=3)


def test_a_failed_step_fails_the_gate_and_the_others_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = tmp_path / "result.json"
    write = f'open({str(result)!r}, \'w\').write(\'{{"results": [{{"cases": 1234, "findings": []}}]}}\')'
    planned = [_step("bad", "print('a <broken> thing'); raise SystemExit(4)"), _step("good", write, result)]
    monkeypatch.setattr(steps, "gate", lambda out, shard: planned)
    assert gates.main(["gate", "--out", str(tmp_path)]) == gates.FAILED
    suite = Xml.parse(tmp_path / "gate.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    (failure,) = suite.iter("failure")
    assert "a <broken> thing" in (failure.text or "")
    summary = (tmp_path / "summary.md").read_text()
    assert "# gate: FAILED" in summary
    assert "| bad | **exit code 4** |" in summary
    assert "| good | ok | 1,234 cases, 0 findings | 3 |" in summary
    monkeypatch.setattr(steps, "gate", lambda out, shard: planned[1:])
    assert gates.main(["gate", "--out", str(tmp_path)]) == gates.DONE
    monkeypatch.setattr(steps, "gate", lambda out, shard: [])
    assert gates.main(["gate", "--out", str(tmp_path)]) == gates.FAILED, (
        "a gate without a step has checked nothing"
    )
    capsys.readouterr()


def test_every_gate_lists_its_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gates.main(["nightly", "--list", "--out", str(tmp_path)]) == gates.DONE
    text = capsys.readouterr().out
    for name in (
        "tests:",
        "classes:",
        "mutants:",
        "sensitivity:",
        "campaign-cpu:",
        "campaign-emu:",
        "--heavy",
    ):
        assert name in text
    assert gates.main(["quick", "--changed-since", "HEAD", "--list", "--out", str(tmp_path)]) == gates.DONE
    assert "tests/repo" in capsys.readouterr().out


def test_what_a_step_says_is_seen_at_once() -> None:
    """Not when it ends: one that ends without flushing has said it, too."""
    said = gates.run_step(Step("s", (sys.executable, "-c", "import os; print('said'); os._exit(3)")))
    assert (said.output, said.code) == ("said\n", 3)
