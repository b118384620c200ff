"""The side of an interleaved comparison: which circuit it proves.  Would catch a shape that is silently another one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cuzk.cli.perf_worker import load_function

ROOT = Path(__file__).resolve().parents[2]
SHAPE = ROOT / "tests" / "workloads" / "porep_shape.py"


def test_a_circuit_of_a_file() -> None:
    """A shape that the package has not: from the project's own file, as a comparison on a GPU takes it."""
    circuit, witness = load_function(f"{SHAPE}:porep_shape")(12, curve="bn254")
    assert circuit.domain_log2 == 12
    assert circuit.first_unsatisfied(witness) is None


@pytest.mark.parametrize(("place", "said"), [("porep", "no circuit"), (f"{SHAPE}:porep", "has no porep")])
def test_what_is_no_circuit(place: str, said: str) -> None:
    with pytest.raises(SystemExit, match=said):
        load_function(place)


def test_a_worker_answers() -> None:
    """Ready with every phase, then a sample on request."""
    words = ["-m", "cuzk.cli.perf_worker", "--shape", "mixed", "--size", "20"]
    done = subprocess.run([sys.executable, *words], input="1\n", capture_output=True, text=True, check=True)
    ready, sample = map(json.loads, done.stdout.splitlines())
    assert ready["ready"].keys() == sample.keys() > {"prove", "ntt_h", "msm_h"}
