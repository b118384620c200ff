"""The comparison of whole commands measures what it says, and fails where a limit is missed.

Would catch: memory or time of a child booked wrongly, a failed command that counts as a fast one, a verdict that
looks the wrong way round. Needs neither snarkjs nor groth16py.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.interop.compare import Contest, Outcome, Programs, find_groth16py, table
from tests.interop.measure import CommandFailedError, Sample, Spread, describe_machine, run_once, spreads

_MIB = 1 << 20


def _python(code: str) -> list[str]:
    return [sys.executable, "-I", "-c", code]


def _measured(code: str, log: Path) -> Sample:
    """Measure in a process of its own: this one, which runs tests, is too big (see measure.py)."""
    script = f"""
import json, sys
from dataclasses import asdict
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).resolve().parents[2])!r})
from tests.interop.measure import run_once
print(json.dumps(asdict(run_once({_python(code)!r}, Path({str(log)!r})))))
"""
    done = subprocess.run(_python(script), capture_output=True, text=True, check=True)
    return Sample(**json.loads(done.stdout))


def test_a_run_is_measured_whole(tmp_path: Path) -> None:
    """A child that fills 200 MiB, computes for 0.2 s on the processor and sleeps for 0.3 s."""
    code = f"""
import time
filled = b"x" * {200 * _MIB}
end = time.process_time() + 0.2
while time.process_time() < end: pass
time.sleep(0.3)
print("done", len(filled))
"""
    log = tmp_path / "log"
    sample = _measured(code, log)
    assert log.read_text() == f"done {200 * _MIB}\n"
    assert sample.wall_s >= 0.5
    assert 0.2 <= sample.cpu_s < sample.wall_s
    assert 200 <= sample.peak_mib < 300
    assert sample.others_s >= 0
    assert _measured("pass", log).peak_mib < 100


def test_grandchildren_count(tmp_path: Path) -> None:
    work = "import time; e = time.process_time() + 0.2\nwhile time.process_time() < e: pass"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-I', '-c', {work!r}], check=True)"
    assert run_once(_python(code), tmp_path / "log").cpu_s >= 0.2


def test_a_failed_command_is_no_sample(tmp_path: Path) -> None:
    with pytest.raises(CommandFailedError, match=r"status 3: broken"):
        run_once(_python("import sys; print('broken', file=sys.stderr); sys.exit(3)"), tmp_path / "log")


def test_the_environment_is_the_one_given(tmp_path: Path) -> None:
    log = tmp_path / "log"
    run_once(
        _python("import os; print(sorted(k for k in os.environ if k.startswith('COMPARE')))"),
        log,
        {"COMPARE": "1"},
    )
    assert log.read_text() == "['COMPARE']\n"


def _contest(curve: str, work: Path) -> Contest:
    return Contest(curve, "product", work / "k.zkey", work / "w.wtns", work / "vkey.json", work)


def _outcome(curve: str, ours: Sample, theirs: Sample, work: Path) -> Outcome:
    slow = replace(ours, wall_s=100 * ours.wall_s)  # one run out of three: the median does not see it
    return Outcome(_contest(curve, work), {"cuzk": [ours, slow, ours], "snarkjs": [theirs] * 3}, [], [])


@pytest.mark.parametrize(
    ("curve", "wall_s", "peak_mib", "expected"),
    [
        ("bn128", 3.5, 201.0, []),
        ("bn128", 3.49, 201.0, ["3.49 times faster"]),
        ("bls12381", 3.0, 201.0, []),
        ("bls12381", 2.99, 200.0, ["2.99 times faster", "200 MiB, not below"]),
    ],
)
def test_limits(curve: str, wall_s: float, peak_mib: float, expected: list[str], tmp_path: Path) -> None:
    outcome = _outcome(curve, Sample(1.0, 1.5, 200.0, 0.0), Sample(wall_s, 9.0, peak_mib, 0.0), tmp_path)
    found = outcome.failures()
    assert len(found) == len(expected)
    for text, start in zip(found, expected, strict=True):
        assert start in text
    assert outcome.ratio("cpu_s") == 6.0
    assert outcome.as_dict()["failures"] == found
    assert ("pass" in table([outcome])) == (not expected)


def test_a_rejected_proof_fails_the_fastest(tmp_path: Path) -> None:
    outcome = _outcome("bn128", Sample(1.0, 1.0, 1.0, 0.0), Sample(99.0, 99.0, 99.0, 0.0), tmp_path)
    outcome.rejected.append("snarkjs rejects the proof of cuzk")
    assert outcome.failures() == ["snarkjs rejects the proof of cuzk"]


def test_spread() -> None:
    runs = [Sample(3.0, 1.0, 5.0, 0.0), Sample(1.0, 1.0, 7.0, 0.0), Sample(2.0, 4.0, 6.0, 0.5)]
    assert spreads(runs)["wall_s"] == Spread(2.0, 1.0, 3.0)
    assert spreads(runs)["peak_mib"].text(0) == "6 (5 to 7)"


def test_who_takes_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    programs = Programs(["cuzk"], {}, "snarkjs", "python-with-it")
    bn, bls = (programs.commands(_contest(curve, tmp_path)) for curve in ("bn128", "bls12381"))
    assert list(bn) == ["cuzk", "snarkjs", "groth16py"]
    assert list(bls) == ["cuzk", "snarkjs"]
    files = [set(map(str, _contest("bn128", tmp_path).outputs(name))) for name in ("cuzk", "snarkjs")]
    assert files[0] <= set(bn["cuzk"])
    assert files[1] <= set(bn["snarkjs"])
    assert not files[0] & files[1]
    nothing = tmp_path / "python"
    nothing.write_text("#!/bin/sh\necho no such module >&2; exit 1\n")
    nothing.chmod(0o755)
    assert find_groth16py(str(nothing)) is None
    assert "groth16py is left out" in capsys.readouterr().err


def test_the_machine_is_described() -> None:
    machine = describe_machine()
    assert isinstance(machine["cores"], int)
    assert machine["cores"] >= 1
    assert isinstance(machine["memory_mib"], int)
    assert machine["memory_mib"] > 100
