"""Shadow memory: races, reads of what nobody wrote and accesses beside an array are reported; sound kernels are not.

Would catch: an emulator on which a kernel without a barrier, an atomic or a bound passes because the answer happens to
be right, and a checker that cries wolf.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from cuzk_fuzz.devices import DeviceChoice
from cuzk_fuzz.engine import Budget, Campaign, Result, run_campaign
from cuzk_fuzz.mutation.build import KERNELS
from cuzk_fuzz.registry import TARGETS
from cuzk_fuzz.shadow.build import build_kernels, build_runtime
from cuzk_fuzz.shadow.device import LENIENT, ShadowDevice, ShadowKernels

from cuzk.device import get_device
from tests.harness.patching import Patch, copy_of_kernels, load, plan_of

FAULTS = load("memory")
_CASES = 20_000


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Emulator and shadow memory, compiled once."""
    return build_runtime(tmp_path_factory.mktemp("shadow"))


def _campaign(kernels: Path, target: str, cases: int) -> Result:
    shadow = ShadowKernels(kernels)

    def opener(choice: DeviceChoice) -> ShadowDevice:
        return ShadowDevice(shadow, choice.schedule, choice.seed, choice.resident)  # type: ignore[arg-type]

    return run_campaign(Campaign(TARGETS[target], "emu", seed=1, opener=opener), Budget(cases=cases))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_a_planted_fault_is_reported(fault: Patch, runtime: list[Path], tmp_path: Path) -> None:
    tree = copy_of_kernels(tmp_path)
    fault.apply(tree)
    kernels = build_kernels(plan_of(fault), tree, runtime, tmp_path / "faulty.so")
    (finding,) = _campaign(kernels, fault.target, _CASES).findings
    assert fault.finds in finding.outcome.describe()


def test_sound_kernels_are_not_reported(runtime: list[Path], tmp_path: Path) -> None:
    kinds = ("SPMV", "FR_VEC", "BATCH_INVERSE", "CLASSIFY", "SCAN", "MSM_DIGITS", "MSM_SORT")
    sound = Patch("none", "", "spmv", "", "", "", kinds)
    kernels = build_kernels(plan_of(sound), KERNELS, runtime, tmp_path / "sound.so")
    for target in ("spmv", "vec", "digits"):
        result = _campaign(kernels, target, _CASES // 4)
        assert result.compared
        assert not result.findings, result.findings


def test_copies_of_sound_kernels_end_one_by_one(runtime: list[Path], tmp_path: Path) -> None:
    (fault,) = (fault for fault in FAULTS if fault.id == "copies-together")
    kernels = build_kernels(plan_of(fault), KERNELS, runtime, tmp_path / "sound.so")
    result = _campaign(kernels, fault.target, 400)
    assert result.compared
    assert not result.findings, result.findings


def test_leave_to_read_what_nobody_wrote_is_given_to_kernels_that_there_are() -> None:
    names = get_device("emu").kernels
    assert all(any(name.startswith(prefix) for name in names) for prefix in LENIENT)


def test_faults_of_every_kind_are_planted() -> None:
    assert {fault.finds for fault in FAULTS} >= {"race", "uninitialised", "out of bounds"}
    assert {"missing-barrier", "missing-atomic", "out-of-bounds", "uninitialised", "buffer-reused"} <= {
        fault.id for fault in FAULTS
    }
