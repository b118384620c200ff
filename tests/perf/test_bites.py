"""A spill, a register step, a multiplication per butterfly, an upload: each fails the gate, which names what moved.

Would catch: a gate that runs and lets things pass, here or in the command that a merge runs.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuzk.cli.perf_workloads import count_proof
from cuzk.device import builder
from cuzk.device.host import EmuDevice
from cuzk.device.sass import count_instructions
from cuzk.device.static import parse_log
from cuzk.errors import InternalError
from cuzk.perf import Ledger, read_baseline
from cuzk.perf.verdicts import Answers, exit_code, sentence
from tests.cli.support import cuzk
from tests.package_copy import copy_package

ROOT = Path(__file__).resolve().parents[2]
LEDGER = Ledger(ROOT / "perf_baselines")
KERNEL = "msm_accumulate_bls12_381_g1"

#: A butterfly with its field from the project's headers; EXTRA is one more multiplication, BOUNDS the launch bounds.
_PROGRAM = """
#include "exec_cuda.cuh"

#include "field.cuh"
using F = cuzk::Field<cuzk::bn254_fr>;
extern "C" __global__ void BOUNDS butterfly(F* x, const F* w) {
    F t = x[threadIdx.x + 256] * w[threadIdx.x];
    EXTRA
    F a = x[threadIdx.x];
    x[threadIdx.x] = a + t;
    x[threadIdx.x + 256] = a - t;
}
"""


def sentences(tier: str, workload: str, changes: dict[str, dict[str, int]]) -> list[str]:
    """What the gate says when figures of the stored baseline grow by so much."""
    stored = read_baseline(LEDGER.folder / f"{tier}-{workload}.json")
    figures = {name: dict(metrics) for name, metrics in stored.figures.items()}
    for name, steps in changes.items():
        for metric, step in steps.items():
            figures[name][metric] += step
    answers = Answers(LEDGER.check(dataclasses.replace(stored, figures=figures)))
    assert exit_code(answers) == (1 if changes else 0)
    return [sentence(row) for row in answers.moved]


def test_nothing_moved() -> None:
    """The edits below are what makes the difference."""
    assert sentences("T0", "sm_90", {}) == []


@pytest.mark.parametrize("metric", ["spill_store_bytes", "spill_load_bytes", "stack_bytes"])
def test_a_spill_is_named(metric: str) -> None:
    (said,) = sentences("T0", "sm_90", {KERNEL: {metric: 4}})
    assert KERNEL in said
    assert f"{metric} risen" in said


def test_a_register_step_is_named() -> None:
    (said,) = sentences("T0", "sm_120", {"ntt_dif_pass_bn254_fr": {"registers": 8}})
    assert "ntt_dif_pass_bn254_fr: registers risen" in said


def test_a_multiplication_per_butterfly_is_named() -> None:
    """A transform of 2^6 in the 60 rows: 32 butterflies in each of 6 levels."""
    (said,) = sentences("T1", "mixed-60-bn254", {"ntt_h": {"fr_mul": 32 * 6}})
    assert "ntt_h: fr_mul risen" in said


def test_an_upload_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """One more in one phase, of eight bytes, really copied."""
    before = count_proof("bn254", 60)
    original = EmuDevice.launch

    def with_upload(self: EmuDevice, kernel: str, **rest: Any) -> None:
        if kernel.startswith("spmv_rows"):
            self.upload(np.zeros(1, np.uint64))
        original(self, kernel, **rest)

    monkeypatch.setattr(EmuDevice, "launch", with_upload)
    after = count_proof("bn254", 60)
    moved = {(phase, metric) for phase in before for metric in before[phase]
             if after[phase][metric] > before[phase][metric]}  # fmt: skip
    assert {("spmv", "bytes_up"), ("spmv", "uploads")} <= moved
    assert after["spmv"]["uploads"] - before["spmv"]["uploads"] == 3, "a product with each matrix"
    stored = dataclasses.replace(read_baseline(LEDGER.folder / "T1-mixed-60-bn254.json"), figures=before)
    from cuzk.perf import compare

    rows = compare(stored, dataclasses.replace(stored, figures=after), LEDGER.tolerances)
    said = [sentence(row) for row in rows if not row.verdict.passes]
    assert any("spmv: bytes_up risen" in text for text in said)
    assert any("spmv: uploads risen" in text for text in said)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Compiles the small program with an edit; returns its figures."""

    def compile_it(extra: str = "", bounds: str = "") -> dict[str, int]:
        folder = tmp_path_factory.mktemp("kernels")
        for header in builder.KERNEL_DIR.glob("*.?[up][hp]*"):
            shutil.copy(header, folder)
        shutil.copytree(builder.KERNEL_DIR / "generated", folder / "generated")
        text = _PROGRAM.replace("EXTRA", extra).replace("BOUNDS", bounds)
        (folder / "entry.cu").write_text(text, encoding="utf-8")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(builder, "KERNEL_DIR", folder)
            cubin, log = builder.compile_module("bn254", "fr", "90")
        return parse_log(log)["butterfly"] | count_instructions(cubin, "90")["butterfly"]

    return compile_it


def test_a_patched_kernel_has_other_figures(compiled: Any) -> None:
    """Compiled for one architecture: a product more shows in the wide multiplies, tight bounds in spills."""
    plain, same = compiled(), compiled()
    assert plain == same
    assert plain["spill_store_bytes"] == 0
    slower = compiled("t = t * w[threadIdx.x + 512];")
    assert slower["sass_imad_wide"] > plain["sass_imad_wide"] * 1.5
    spilling = compiled(bounds="__launch_bounds__(1024, 2)")
    assert spilling["spill_store_bytes"] > 0
    assert spilling["sass_stl"] > plain["sass_stl"]


def test_code_that_is_no_cubin_is_refused() -> None:
    with pytest.raises(InternalError, match="no 64-bit ELF"):
        count_instructions(b"nothing", "90")


def gate_command() -> list[str]:
    """The command by which a merge runs the gate, from tox.ini, for the counts alone: those need no compiler."""
    lines = (ROOT / "tox.ini").read_text(encoding="utf-8").splitlines()
    (line,) = [line.strip() for line in lines if line.strip().startswith("cuzk perf check")]
    words = shlex.split(line.partition(" --markdown")[0])
    for tier in ("T0", "T1h"):
        at = words.index(tier)
        del words[at - 1 : at + 1]
    return words


def test_a_regressed_tree_does_not_pass(tmp_path: Path) -> None:
    """A copy of the package whose sparse product launches twice fails the merge's own command, by phase and figure."""
    assert ".tox" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    copy_package(tmp_path)
    shutil.copytree(LEDGER.folder, tmp_path / "perf_baselines")
    host = tmp_path / "cuzk" / "device" / "host.py"
    text = host.read_text(encoding="utf-8")
    marker = "        code, index = self._module.launch("
    assert marker in text
    twice = '        if spec.name.startswith("spmv_rows"):\n            self._launches_again(spec)\n'
    method = (
        "    def _launches_again(self, spec: KernelSpec) -> None:\n"
        "        self.upload(np.zeros(1, np.uint64))\n\n    def _run("
    )
    assert "np" in text
    text = text.replace(marker, twice + marker).replace("    def _run(", method)
    host.write_text(text, encoding="utf-8")
    words = [sys.executable, "-m", *gate_command()]
    done = subprocess.run(
        words,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "spmv: bytes_up risen" in done.stderr


def test_the_command_writes_what_others_read(tmp_path: Path) -> None:
    """JUnit, Markdown and JSON of the counts; a figure that moved is in all of them."""
    shutil.copytree(LEDGER.folder, tmp_path / "ledger")
    path = tmp_path / "ledger" / "T1-mixed-60-bn254.json"
    counts = count_proof("bn254", 60)
    stored = json.loads(path.read_text(encoding="utf-8"))
    stored["figures"] = counts | {"ntt_h": counts["ntt_h"] | {"fr_mul": counts["ntt_h"]["fr_mul"] - 1}}
    path.write_text(json.dumps(stored), encoding="utf-8")
    junit, page = tmp_path / "perf.xml", tmp_path / "perf.md"
    where = ["--baselines", str(tmp_path / "ledger"), "--tier", "T1"]
    done = cuzk("perf", "check", *where, "--junit", str(junit), "--markdown", str(page), "--json")
    assert done.code == 1
    said = json.loads(done.out)
    assert ("ntt_h", "fr_mul", "risen") in {(m["subject"], m["metric"], m["verdict"]) for m in said["moved"]}
    assert 'classname="T1.mixed-60-bn254" name="ntt_h"><failure' in junit.read_text(encoding="utf-8")
    assert "| ntt_h fr_mul |" in page.read_text(encoding="utf-8")
    assert cuzk("perf", "accept", *where, "--reason", "one product less").code == 0
    assert cuzk("perf", "check", *where).code == 0
    assert read_baseline(path).reason == "one product less"
