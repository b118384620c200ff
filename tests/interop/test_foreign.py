"""The examples of the harness for other people's code run against snarkjs's arithmetic. Runs in `tox -e interop`.

Would catch: an example that does not work, a worker process that does not end.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.interop


def test_sums_and_transforms_of_snarkjs(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    snarkjs = request.config.getoption("--snarkjs")
    assert snarkjs, "say where snarkjs is: --snarkjs PATH"
    modules = Path(snarkjs).absolute().parents[1]  # PREFIX/node_modules/.bin/snarkjs
    example = ROOT / "examples" / "foreign" / "snarkjs_example.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null"]
    command += ["--rootdir", str(example.parent), str(example), "--node-modules", str(modules)]
    command += ["--differential-seconds", "5"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "2 passed" in done.stdout, done.stdout + done.stderr
