"""Faults that other provers shipped, put into our kernels, are found by the campaigns that run on every merge.

Would catch: a target whose classes lost what these faults need, a patch that no longer fits its header, a campaign that
finds something on sound kernels too. All patches: `python -m tests.harness.historical`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from cuzk_fuzz.mutation.build import KERNELS, build_common

from tests.harness.historical import compile_patched, guarded
from tests.harness.patching import Patch, copy_of_kernels, load

PATCHES = {patch.id: patch for patch in load("historical")}
#: Those that compile and are found in a moment.
_QUICK = ("sppark-1", "constantine-366", "snarkvm-548", "bellman-78")


@pytest.fixture(scope="module")
def common(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The emulator, compiled once."""
    return build_common(tmp_path_factory.mktemp("common"), "emu")


def test_there_are_enough_and_all_fit(tmp_path: Path) -> None:
    assert len(PATCHES) >= 8
    tree = copy_of_kernels(tmp_path)
    for patch in PATCHES.values():
        assert patch.source
        patch.apply(tree)
        assert (tree / patch.header).read_text() != (KERNELS / patch.header).read_text()
        (tree / patch.header).write_text((KERNELS / patch.header).read_text())
    with pytest.raises(ValueError, match="0 times"):
        Patch("x", "", "spmv", "spmv.cuh", "not there", "", ()).apply(tree)


@pytest.mark.parametrize("name", _QUICK)
def test_a_fault_is_found_by_its_campaign(name: str, common: list[Path], tmp_path: Path) -> None:
    patch = PATCHES[name]
    result = guarded(patch, compile_patched(patch, tmp_path / name, common), 20.0, 1)
    assert result["found"], result


def test_sound_kernels_have_no_finding(common: list[Path], tmp_path: Path) -> None:
    bad = PATCHES["bellman-78"]
    sound = Patch(**{**vars(bad), "new": bad.old})
    result = guarded(sound, compile_patched(sound, tmp_path / "sound", common), 0.5, 1)
    assert not result["found"], result
    assert result["cases"] > 0
