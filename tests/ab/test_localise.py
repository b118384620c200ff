"""A fault of a kernel is found, and placed where it is; test_every_variant.py goes through the variants.

Would catch: a comparison that looks at the proof alone, a phase named after the first symptom instead of the first
fault, a bucket or a window counted from the wrong end, an oracle asked about the wrong element, and a variant's own
run mistaken for the reference.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

from cuzk.ab import LocalRunner, Setting, Workload, open_workload
from cuzk.ab.localise import Finding, localise
from cuzk.ab.watch import watch_msms
from cuzk.device import get_device
from tests.ab.faulty import Action, FaultyDevice, flip, when


@functools.cache
def workload(name: str = "mixed:48:bn254", circuits: int = 1) -> Workload:
    """One workload of each kind for the whole run."""
    return open_workload(name, get_device("cpu"), circuits=circuits)


@functools.cache
def reference(circuits: int = 1) -> LocalRunner:
    """The defaults on a healthy cpu."""
    return LocalRunner(workload(circuits=circuits), Setting())


def compare(
    setting: str, kernel: str = "", action: Action | None = None, circuits: int = 1
) -> Finding | None:
    """The defaults against a setting on a device that may be faulty."""
    device = get_device("cpu") if action is None else FaultyDevice(kernel, action)
    load = workload(circuits=circuits)
    other = LocalRunner(load, Setting.parse(setting, "cpu"), lambda _: device)
    return localise(reference(circuits), other)


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    assert compare("D4=7,M2=none") is None
    assert compare("device=emu") is None


CASES = {
    "a row of the sparse product": ("M1=xyzz", "spmv_rows", flip("out", 13), "spmv", "a", 3),
    "a pass of the transform": ("N1=2^4", "ntt_dif_pass", flip("dst", 40), "ntt_h", "h_odd_lagrange", 0),
    "the sum of the ones": ("M2=split", "batch_add", flip("partials", 0), "batch_add", "ones_l", 0),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_a_faulty_kernel_is_placed(case: tuple[str, str, Action, str, str, int]) -> None:
    setting, kernel, action, phase, name, index = case
    found = compare(setting, kernel, action)
    assert found is not None
    assert (found.at.phase, found.at.name, found.at.index, found.wrong) == (phase, name, index, "B")
    assert found.is_oracle_asked
    assert found.a == found.oracle


def test_a_wrong_list_of_points_is_placed_in_its_window_and_bucket() -> None:
    """Two buckets of window 3 of the first sum get each other's point; the oracle says which is the first."""
    seen: dict[str, int] = {}

    def swap(args: dict[str, object]) -> None:
        entries, offsets = np.asarray(args["entries"]), np.asarray(args["offsets"])
        n, windows = int(str(args["n"])), int(str(args["num_windows"]))
        if windows <= 3 or seen:
            return
        per_window = (len(offsets) - 1) // windows
        # The first two buckets of window 3 that hold something.
        keys = [k for k in range(3 * per_window, 4 * per_window) if offsets[k + 1] > offsets[k]][:2]
        first, second = (int(offsets[k]) for k in keys)
        entries[[first, second]] = entries[[second, first]]
        seen.update(n=n, bucket=keys[0] - 3 * per_window + 1)

    found = compare("D4=5", "msm_scatter_bn254_fr", when("window_bits", 5, swap))
    assert found is not None
    assert found.msm is not None
    seen_once = dict(seen)
    assert (found.at.phase, found.wrong, found.msm.side) == ("msm_h", "B", "B")
    # The comparison runs the faulty side twice; the swap acts in the first run only, so the second is right.
    assert found.msm.stage == "combine"
    seen.clear()

    def swap_always(args: dict[str, object]) -> None:
        seen.clear()
        swap(args)

    found = compare("D4=5", "msm_scatter_bn254_fr", when("window_bits", 5, swap_always))
    assert found is not None
    assert found.msm is not None
    assert (found.msm.stage, found.msm.window, found.msm.bucket) == ("bucket", 3, seen_once["bucket"])
    assert found.msm.got != found.msm.expected
    assert any("window 3, bucket" in line for line in found.lines())


def test_a_wrong_sum_of_bits_and_a_wrong_combination_are_told_from_buckets() -> None:
    bits = compare("D5=per_query", "msm_bit_sums", flip("bits", 3))
    assert bits is not None
    assert bits.msm is not None
    assert (bits.msm.stage, bits.msm.window, bits.msm.bucket, bits.msm.limb) == ("bit", 0, 0, 0)
    combined = compare("D5=per_query", "msm_combine", flip("result", 3))
    assert combined is not None
    assert combined.msm is not None
    assert (combined.msm.stage, combined.at.word) == ("combine", 3)


def test_a_run_that_ends_early_is_compared_as_far_as_it_came() -> None:
    found = compare("M2=none", "spmv_rows", flip("out", 8))
    assert found is not None
    other = LocalRunner(workload(), Setting(), lambda _: FaultyDevice("spmv_rows", flip("out", 8)))
    trace = other.trace()
    assert trace.error is not None
    assert "UnsatisfiedError" in trace.error
    assert "sum_h" not in trace.values


def test_of_several_circuits_the_faulty_one_is_named() -> None:
    calls = {"n": 0}

    def second(args: dict[str, object]) -> None:
        calls["n"] += 1
        if calls["n"] % 6 == 4:  # three products for each of two circuits
            flip("out", 0)(dict(args))

    found = compare("M2=none", "spmv_rows", second, circuits=2)
    assert found is not None
    assert (found.at.circuit, found.at.name, found.at.index) == (1, "a", 0)


@pytest.mark.parametrize("setting", ["D4=4", "M2=split", "M2=none", "A4=par_map"])
def test_every_sum_of_a_run_is_seen_and_agrees_with_the_oracle(setting: str) -> None:
    from cuzk.ab.localise import _in_run
    from cuzk.ab.oracle import group_of

    runner = LocalRunner(workload(), Setting.parse(setting, "cpu"))
    with watch_msms(runner) as runs:
        runner.trace()
    assert {run.query for run in runs} == {"h", "l", "a", "b_g1", "b_g2"}
    for run in runs:
        assert run.query is not None
        assert _in_run("A", workload(), group_of(workload(), f"sum_{run.query}"), run.query, run) is None
    assert "launch" not in runner.device.__dict__
