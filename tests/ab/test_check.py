"""`cuzk check`: an edit of a header is compiled for the emulator and judged in seconds.

Would catch: an object from the cache although a header changed, a wrong kernel that passes, a crash that takes the
command with it, a finding that does not replay, and figures of another kernel's code.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from cuzk_fuzz.findings import check as run_finding
from cuzk_fuzz.findings import load

from cuzk.cli import check_gpu, check_kernel
from cuzk.cli.check_kernel import Verdict, check_header, header_of, plans
from cuzk.device.builder import KERNEL_DIR
from cuzk.errors import InputError
from tests.cli.support import cuzk

EDIT = "Fr sum = Fr::zero();"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("objects")


def check(kernels: Path, cache: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Verdict:
    monkeypatch.setattr(check_kernel, "cache_folder", lambda: cache)
    return check_header("spmv.cuh", kernels, seconds=3.0, findings=folder / "findings")


def test_kernels_and_headers_are_found_by_any_of_their_names() -> None:
    for name in ("spmv", "spmv.cuh", "spmv_rows", "spmv_long_rows_bn254_fr"):
        assert header_of(name, KERNEL_DIR) == "spmv.cuh"
    assert header_of("msm_bit_sums", KERNEL_DIR) == "msm_reduce.cuh"
    with pytest.raises(InputError, match="no kernel or header 'nothing'"):
        header_of("nothing", KERNEL_DIR)
    done = cuzk("check", "nothing", "--no-gpu")
    assert done.code == 2
    assert "headers: word.cuh" in done.err


@pytest.mark.long
def test_an_edit_is_judged(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = tmp_path / "kernels"
    shutil.copytree(KERNEL_DIR, kernels)
    header = kernels / "spmv.cuh"
    text = header.read_text()
    assert EDIT in text

    right = check(kernels, cache, tmp_path, monkeypatch)
    assert (right.state, right.what) == ("agrees", "")
    assert 0 < right.batches <= right.of
    objects = set(cache.glob("*.o"))
    header.write_text(text + "\n")
    header.write_text(text)  # written, but the same: nothing is compiled again
    check(kernels, cache, tmp_path, monkeypatch)
    assert set(cache.glob("*.o")) == objects

    header.write_text(text.replace(EDIT, "Fr sum = Fr::one();"))
    wrong = check(kernels, cache, tmp_path, monkeypatch)
    assert wrong.state == "differs"
    assert "spmv" in wrong.what
    assert len(set(cache.glob("*.o")) - objects) == 1, "the emulator came from the cache"
    path = Path(wrong.replay.split()[-1])
    assert run_finding(load(path)).agrees, "on the unchanged kernels the case passes"

    header.write_text(text.replace(EDIT, "Fr sum = Fr::zero(); *(volatile int*)8 = 1;"))
    crashed = check(kernels, cache, tmp_path, monkeypatch)
    assert crashed.state == "crashed"
    assert "SIGSEGV" in crashed.what

    header.write_text(text.replace(EDIT, "Fr sum = nonsense;"))
    broken = check(kernels, cache, tmp_path, monkeypatch)
    assert broken.state == "does not compile"
    assert "nonsense" in broken.what


def test_the_gpu_source_exports_the_headers_own_kernels_on_a_real_curve() -> None:
    source = check_gpu.gpu_source("spmv.cuh", plans()["spmv.cuh"], KERNEL_DIR)
    assert source is not None
    assert "CUZK_SPMV_KERNELS(CUZK_CHECK_bls12_381_fr, Curve_bls12_381::Fr)" in source
    assert "Curve_toy" not in source
    assert check_gpu.gpu_source("field.cuh", plans()["field.cuh"], KERNEL_DIR) is None


SASS = """
	Function : spmv_rows_bls12_381_fr
	.headerflags	@"EF_CUDA_SM90"
        /*0000*/                   LDC R1, c[0x0][0x28] ;   /* 0x00000a00ff017b82 */
        /*0010*/              @!P0 EXIT ;                   /* 0x000000000000894d */
        /*0020*/                   IMAD.WIDE.U32 R2, R3, R4, R5 ;
        /*0030*/             @UP1 UIADD3 UR4, UR4, 0x1, URZ ;
        /*0040*/                   IMAD R2, R3, R4, R5 ;
	Function : other
        /*0000*/                   NOP;
"""


def test_instructions_are_counted_by_kernel() -> None:
    found = check_gpu.parse_sass(SASS)
    assert found["spmv_rows_bls12_381_fr"] == {"LDC": 1, "EXIT": 1, "IMAD": 2, "UIADD3": 1}
    assert found["other"] == {"NOP": 1}


def test_figures_are_compared_with_a_reference_that_stays(tmp_path: Path) -> None:
    reference = tmp_path / "r.json"
    before = {
        "k": {
            "registers": 64,
            "spill_store_bytes": 0,
            "instructions": 440,
            "sass:IMAD": 300,
            "stack_bytes": 0,
        }
    }
    first = check_gpu.compare_figures(before, reference, replace=False)
    assert first == [
        ("k", "instructions", None, 440), ("k", "registers", None, 64), ("k", "spill_store_bytes", None, 0),
    ]  # fmt: skip
    now = {
        "k": {
            "registers": 66,
            "spill_store_bytes": 0,
            "instructions": 441,
            "sass:IMAD": 300,
            "sass:NOP": 1,
            "stack_bytes": 0,
        }
    }
    moved = [
        ("k", "instructions", 440, 441), ("k", "registers", 64, 66), ("k", "spill_store_bytes", 0, 0),
        ("k", "sass:NOP", 0, 1),
    ]  # fmt: skip
    assert check_gpu.compare_figures(now, reference, replace=False) == moved
    assert json.loads(reference.read_text()) == before
    check_gpu.compare_figures(now, reference, replace=True)
    assert json.loads(reference.read_text()) == now


def test_without_nvcc_the_reason_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    said = check_gpu.gpu_figures("spmv.cuh", plans()["spmv.cuh"], KERNEL_DIR, tmp_path, "90")
    assert isinstance(said, str)
    assert "nvcc is not installed" in said
