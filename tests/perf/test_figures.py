"""Where the figures come from: the compiler's log and the events of a proof; and that the gate bites."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cuzk.cli.perf_workloads import SYNTHESIS, WORKLOADS, count_proof, count_synthesis, mixed_circuit
from cuzk.curves import get_curve
from cuzk.device.host import EmuDevice
from cuzk.device.static import parse_log
from cuzk.errors import InternalError
from cuzk.perf import Baseline, Verdict, compare, read_tolerances

ROOT = Path(__file__).resolve().parent.parent.parent
TOLERANCES = read_tolerances(ROOT / "perf_baselines" / "tolerances.toml")

LOG = """\
ptxas info    : 628 bytes gmem
ptxas info    : Compiling entry function 'first_bn254_g1' for 'sm_90'
ptxas info    : Function properties for first_bn254_g1
ptxas         .     608 bytes stack frame, 184 bytes spill stores, 256 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 608 bytes cumulative stack size, 128 bytes smem
ptxas info    : Compile time = 1241.713 ms
ptxas info    : Function properties for _ZN4cuzk6helperEv
ptxas         .     0 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
ptxas info    : Compiling entry function 'second_bn254_fr' for 'sm_90'
ptxas info    : Function properties for second_bn254_fr
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 30 registers, used 0 barriers
"""


def test_log_is_read() -> None:
    """Registers, stack, shared memory and the spills of called functions, kernel by kernel."""
    assert parse_log(LOG) == {
        "first_bn254_g1": {
            "registers": 255, "stack_bytes": 608, "shared_bytes": 128,
            "spill_store_bytes": 188, "spill_load_bytes": 264,
        },
        "second_bn254_fr": {
            "registers": 30, "stack_bytes": 0, "spill_store_bytes": 0, "spill_load_bytes": 0, "shared_bytes": 0,
        },
    }  # fmt: skip
    with pytest.raises(InternalError, match="names no kernel"):
        parse_log("nothing of the kind")


@pytest.mark.parametrize(("curve", "rows"), WORKLOADS)
def test_workloads_are_satisfied(curve: str, rows: int) -> None:
    """What is counted is a real proof."""
    circuit, witness = mixed_circuit(get_curve(curve), rows)
    assert circuit.num_constraints == rows
    assert circuit.first_unsatisfied(witness) is None


def as_baseline(figures: dict[str, dict[str, int]]) -> Baseline:
    return Baseline("T1", "mixed", {}, figures, "test")


def test_counts_repeat_exactly() -> None:
    """Two runs, the same numbers, for every phase of a proof."""
    first, second = count_proof("bn254", 60), count_proof("bn254", 60)
    assert first == second
    assert {"spmv", "ntt_h", "msm_h", "prep_msm", "query_l", "b_g2_msm", "proof_assembly"} <= set(first)
    assert first["ntt_h"]["fr_mul"] > 0
    assert first["msm_h"]["ec_madd"] > 0


def test_counts_of_compiled_circuits() -> None:
    """Exact too; a circuit of bits takes no product, one launch a level and three or two a matrix."""
    first, second = ({name: count_synthesis(name) for name in SYNTHESIS} for _ in range(2))
    assert first == second
    compression, poseidon = first["sha256:compression"], first["poseidon:8"]
    assert "fr_mul" not in compression["witness"]
    assert "fr_mul" not in compression["spmv"]
    assert compression["witness"]["launches"] == 3, "ONE, hints, the compression"
    assert poseidon["witness"]["fr_mul"] > poseidon["spmv"]["fr_mul"] > 0


def test_one_more_operation_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """One extra launch, or one extra multiplication per element, of one phase: that phase and figure are named."""
    stored = as_baseline(count_proof("bn254", 60))
    original = EmuDevice.launch

    def launch_twice(self: EmuDevice, kernel: str, **rest: Any) -> None:
        original(self, kernel, **rest)
        if kernel.startswith("spmv_rows"):
            original(self, kernel, **rest)

    monkeypatch.setattr(EmuDevice, "launch", launch_twice)
    rows = compare(stored, as_baseline(count_proof("bn254", 60)), TOLERANCES)
    moved = {(row.subject, row.metric) for row in rows if row.verdict is Verdict.RISEN}
    assert ("spmv", "launches") in moved
    assert ("spmv", "fr_add") in moved
    assert {subject for subject, _ in moved} == {"tau_columns", "spmv"}  # the set-up multiplies matrices too
