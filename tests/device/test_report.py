"""The report says what the results say.

Would catch: a missed target that the table calls met, a row that is lost because it was skipped or failed, proofs that
land in another table.
"""

from __future__ import annotations

from typing import Any

from tests.device import proofs, timings
from tests.device.report import sections


def timing(**values: Any) -> dict[str, Any]:
    base = {"family": "msm_g1", "log_n": 24, "variant": "point", "median_ms": 120.0, "min_ms": 119.5, "max_ms": 121.0,
            "repeats": 7, "floor_ms": 60.0, "floor_of": "13 windows", "peer_ms": 154.1, "target_ms": 105.0,
            "pass": False, "device_bytes": 5 << 30, "work_bytes": 3 << 20}  # fmt: skip
    return base | values


def proof(**values: Any) -> dict[str, Any]:
    base = {"log_domain": 22, "curve": "bls12_381", "dense": False, "median_ms": 79.0, "min_ms": 78.0, "max_ms": 81.0,
            "repeats": 7, "six_in_a_row_ms_each": 74.0, "device_bytes": 5 << 30, "host_peak_bytes": 3 << 30,
            "phases": {"ntt_h": {"median_ms": 6.0}}}  # fmt: skip
    row = base | values
    proofs.judge(row)
    return row


def text_of(data: dict[str, Any]) -> str:
    return "\n".join(sections(data))


def test_timings() -> None:
    met = timing(log_n=20, median_ms=11.0, target_ms=12.0) | {"pass": True}
    text = text_of(
        {"rows": [timing(), met, {"family": "ntt", "log_n": 27, "variant": "graph", "error": "no room"}]}
    )
    assert "| 24 | point | 120 (119.5 to 121) | 60 (x 2.00) | 154.1 (x 0.78) | 105 | **missed** | 3 |" in text
    assert "| 12 | met |" in text
    assert "no room" in text
    assert "Floors: 2^24, 2^20 13 windows." in text


def test_every_family_has_a_title() -> None:
    for family in timings.LOGS:
        assert f"### {family}" not in text_of({"rows": [timing(family=family)]})


def test_proofs() -> None:
    text = text_of(
        {"rows": [proof(), proof(six_in_a_row_ms_each=76.0), proof(dense=True), proof(curve="bn254")]}
    )
    assert (
        "| 22 | bls12_381 | PoRep | 79 (78 to 81) | 74 | 80; six 75 | met | 220; pipelined 155 | 5.00 | 3.00 |"
        in text
    )
    assert text.count("**missed**") == 1
    assert "| 22 | bls12_381 | dense | 79 (78 to 81) | 74 | -; six - | - | -; pipelined - |" in text
    assert "| ntt_h | 6 | 6 | 6 | 6 |" in text


def test_a_collected_run() -> None:
    ready = {
        "imports": 0.5,
        "device": 1.0,
        "kernels": 1.2,
        "first_proof": 4.0,
        "log_domain": 20,
        "limit_s": 3.0,
    }
    parts = {
        "checks": {
            "outcome": "failed",
            "seconds": 9,
            "results": {"counts": {"passed": 3, "failed": 1}, "not_passed": []},
        },
        "timings": {"outcome": "passed", "seconds": 5, "results": {"rows": [timing()]}},
        "proofs": {"outcome": "passed", "seconds": 5, "results": {"rows": [proof()]}},
        "startup": {
            "outcome": "failed",
            "seconds": 5,
            "results": {"rows": [ready | {"ready": s} for s in (2.0, 3.5, 3.4)]},
        },
        "sanitizer": {
            "outcome": "passed",
            "seconds": 5,
            "results": {"rows": [{"tool": "memcheck", "outcome": "clean"}]},
        },
        "kernels": {"outcome": "not run", "results": None},
    }
    text = text_of({"tree": "abc", "gpu": "some GPU", "parts": parts})
    assert "| checks | failed | 9 |" in text
    assert '"failed": 1' in text
    assert "ready 3.40 s" in text
    assert "limit for ready 3 s: **missed**" in text
    assert "memcheck clean" in text
    assert text.count("### Whole proofs") == text.count("### G1 sums, uniform") == 1
    assert "| kernels | not run | - |" in text


def test_other_files() -> None:
    assert "10 modules for sm_90 in 80.0 s" in text_of(
        {"arch": "90", "cores": 16, "limit_s": 90.0, "seconds": 80.0, "compiled": 10, "rows": []}
    )
    assert "Skipped: no tool." in text_of({"skipped": "no tool", "rows": []})
    assert "1 cases differ" in text_of({"kernels": 9, "rows": [{"bad": ["x"]}, {"bad": []}]})


def test_device_layer_and_streaming() -> None:
    assert "2 checks, failed: b." in text_of(
        {"rows": [{"check": "a", "ok": True}, {"check": "b", "ok": False}]}
    )
    one = {"median_ms": 200.0, "min_ms": 199.0, "max_ms": 201.0}
    row = {
        "log_domain": 24,
        "key_bytes": 5 << 30,
        "limit": 4 << 30,
        "resident": one,
        "limited": one,
        "ratio": 1.0,
    }
    text = text_of({"rows": [row | {"same_bytes": False, "pass": False}]})
    assert "5.00 GiB in 4.00 GiB, domain 2^24" in text
    assert "bytes **differ**, **missed**" in text


def test_circuits() -> None:
    took = {"median_ms": 14.0, "min_ms": 13.9, "max_ms": 14.2, "repeats": 5}
    steps = ("witness", "a", "b", "c", "all", "all_in_a_graph")
    row = {"circuit": "porep:2KiB", "rows": 7, "device_bytes": 1 << 30, "target_ms": 10.0, "pass": False}
    text = text_of({"rows": [row | dict.fromkeys(steps, took)]})
    assert "| porep:2KiB | 7 | " + "14 (13.9 to 14.2) | " * 6 + "1.00 | 10 | **missed** |" in text
    row = {
        "circuit": "sprout", "constraints": 9, "setup_s": 0.733, "key_bytes": 2 << 30, "key_load_s": 0.369,
        "read": took, "all": took | {"median_ms": 51.0}, "phases": {"witness": took, "prove": took},
        "setup_device_bytes": 1 << 30, "device_bytes": 3 << 30, "host_bytes": 5 << 29, "verified": False,
    }  # fmt: skip
    text = text_of(
        {"parts": {"ladder": {"outcome": "passed", "results": {"rows": [row]}}}, "gpu": "g", "tree": "t"}
    )
    assert "| sprout | 9 | 0.73 | 2.00 | 0.37 | 14 (13.9 to 14.2) |" in text
    assert "| 51 (13.9 to 14.2) | 1.00 | 3.00 | 2.50 | **no** |" in text
    rows = [{"row": 0, "faults": []}, {"row": 1, "faults": ["other bytes"]}]
    assert "Variants: 2 rows of the covering array; 1 without" in text_of({"rows": rows})
