"""Campaigns find faults that are planted in devices and in oracles, and nothing on healthy ones.

Would catch: a target that does not look at part of its answers, an oracle that is not asked, a finding that cannot be
run again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cuzk_fuzz.faults import Action, FaultyDevice, flip
from cuzk_fuzz.findings import Finding, check
from cuzk_fuzz.registry import TARGETS
from cuzk_oracles import fields, fp2, msm, ntt, pieces, spmv, vec

from cuzk.device import get_device
from tests.harness.support import campaign_on

#: Target, kernel that goes wrong, output that it spoils.
SPOILED = (
    ("word", "word_op_u32", "carry_out"),
    ("field", "field_op_", "dst"),
    ("fp2", "fp2_op_", "dst"),
    ("point", "point_op_", "dst"),
    ("vec", "fr_mul_sub", "out"),
    ("vec", "batch_inverse", "dst"),
    ("vec", "classify_scatter", "others"),
    ("ntt", "ntt_dif_pass", "dst"),
    ("ntt", "ntt_dit_pass", "dst"),
    ("spmv", "spmv_rows", "out"),
    ("pieces", "witness_run", "w"),
    ("pieces", "piece_rows", "out"),
    ("pieces", "piece_long_rows", "out"),
    ("digits", "msm_digits", "digits"),
    ("digits", "msm_scatter", "entries"),
    ("msm", "msm_line_list", "entries"),
    ("msm", "msm_bit_sums", "bits"),
    ("msm", "msm_combine", "result"),
    ("batch_add", "batch_add", "partials"),
    ("fixed_base", "fixed_base_mul", "dst"),
    ("identities", "ntt_dif_pass", "dst"),
    ("identities", "msm_combine", "result"),
    ("groth16", "spmv_rows", "out"),
    ("groth16", "fixed_base_mul", "dst"),
)
_CASES = {"word": 40_000, "fixed_base": 600, "identities": 30,
          "field": 200_000, "fp2": 100_000, "point": 4000, "vec": 60_000, "ntt": 600, "spmv": 20_000, "pieces": 60_000,
          "digits": 20_000, "msm": 40, "batch_add": 40, "groth16": 6}  # fmt: skip


@pytest.mark.parametrize(("target", "kernel", "field"), SPOILED)
def test_a_spoiled_output_is_found_and_replayed(target: str, kernel: str, field: str) -> None:
    device = FaultyDevice(kernel, flip(field))
    (finding,) = campaign_on(device, target, _CASES[target]).findings
    assert finding.batch.target == target
    again = Finding.from_json(finding.to_json())
    assert not check(again, device).agrees
    assert check(again, get_device("cpu")).agrees


@pytest.mark.parametrize("target", [name for name in TARGETS if name != "readers"])
def test_nothing_is_found_on_a_healthy_device(target: str) -> None:
    result = campaign_on(get_device("cpu"), target, max(1, _CASES[target] // 10))
    assert result.cases > 0
    assert not result.findings


def _rare(args: dict[str, Any]) -> None:
    """Wrong only where an operand is p - 1 for the field of BLS12-381's scalars."""
    top = np.array(
        [0xFFFFFFFF00000000, 0x53BDA402FFFE5BFE, 0x3339D80809A1D805, 0x73EDA753299D7D48], np.uint64
    )
    if args["dst"] is not args["a"]:  # else the operand is gone
        args["dst"][(args["a"] == top).all(axis=1)] ^= np.uint64(1)


def test_a_fault_at_one_edge_value_is_found() -> None:
    (finding,) = campaign_on(FaultyDevice("field_op_bls12_381_fr", _rare), "field", 600_000).findings
    assert finding.bucket.startswith("field-")
    assert "F.mont.p-1" in finding.to_json()["classes"]


def _crash(args: dict[str, Any]) -> None:
    raise RuntimeError("the driver is gone")


def test_an_error_of_the_device_is_a_finding() -> None:
    fault: Action = _crash
    (finding,) = campaign_on(FaultyDevice("batch_add", fault), "batch_add", 40).findings
    assert finding.outcome.error == "RuntimeError: the driver is gone"
    assert finding.bucket.endswith("RuntimeError")


#: Target, module and name of an oracle function, and what stands in for it.
WRONG_ORACLES = (
    ("field", fields, "add", lambda a, b, p: (a + b) % p if a != b else (a + b + 1) % p),
    ("fp2", fp2, "mul", lambda a, b, p: ((a[0] * b[0] + a[1] * b[1]) % p, (a[0] * b[1] + a[1] * b[0]) % p)),
    ("vec", vec, "vec_sub", lambda a, b, r: [(x - y) % r if y else r - 1 for x, y in zip(a, b, strict=True)]),
    ("ntt", ntt, "fft", lambda coeffs, omega, r: list(coeffs)),
    ("spmv", spmv, "spmv", lambda rows, w, r: [sum(c * w[j] for j, c in row[:1]) % r for row in rows]),
    ("pieces", pieces, "lane_value", lambda *args: 1),
    ("digits", msm, "signed_digits", lambda k, c, count: [(k >> (c * i)) % (1 << c) for i in range(count)]),
    ("msm", msm, "msm_exponent", lambda logs, scalars, r: sum(scalars) % r),
)


@pytest.mark.parametrize(("target", "module", "name", "wrong"), WRONG_ORACLES)
def test_a_wrong_oracle_is_found(
    monkeypatch: pytest.MonkeyPatch, target: str, module: Any, name: str, wrong: Any
) -> None:
    monkeypatch.setattr(module, name, wrong)
    result = campaign_on(get_device("cpu"), target, _CASES[target])
    assert len(result.findings) == 1
