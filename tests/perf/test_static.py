"""Static figures without needless compilation: what a module is made from, and how much of it one multiprocessor holds.

Would catch: an edit of a header that the digest misses, so that old figures pass for new ones; figures of a module that
stays with moved figures; a step of occupancy off by a rounding rule.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from cuzk.device import builder, static
from cuzk.device.host import EmuDevice
from cuzk.device.module_sources import module_digest
from cuzk.device.occupancy import resident_warps, sm_of
from cuzk.device.static import STATIC_MODULES, module_of
from cuzk.errors import InputError
from cuzk.perf import read_baseline
from tests.cli.support import cuzk

ROOT = Path(__file__).resolve().parents[2]


def digests() -> dict[str, str]:
    return {f"{curve}_{family}": module_digest(curve, family) for curve, family in STATIC_MODULES}


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the kernels that may be edited."""
    shutil.copytree(builder.KERNEL_DIR, tmp_path / "kernels")
    monkeypatch.setattr(builder, "KERNEL_DIR", tmp_path / "kernels")
    return tmp_path / "kernels"


GROUPS = {f"{curve}_{group}" for curve in ("bls12_381", "bn254") for group in ("g1", "g2")}
SCALARS = {"bls12_381_fr", "bn254_fr"}


@pytest.mark.parametrize(
    ("header", "changed"),
    [
        ("ntt.cuh", SCALARS),
        ("msm_accumulate.cuh", GROUPS),
        ("field.cuh", {*SCALARS, *GROUPS, "any_fields"}),
        ("generated/constants.cuh", {*SCALARS, *GROUPS, "any_fields"}),
        ("entry.cu", {*SCALARS, *GROUPS, "any_fields"}),
        ("exec_host.hpp", set()),
    ],
)
def test_an_edit_changes_the_modules_that_include_it(kernels: Path, header: str, changed: set[str]) -> None:
    before = digests()
    with (kernels / header).open("a", encoding="utf-8") as file:
        file.write("\nconstexpr int ONE_MORE = 1;\n")
    after = digests()
    assert {name for name in before if before[name] != after[name]} == changed


def test_comments_and_layout_are_no_change(kernels: Path) -> None:
    before = digests()
    path = kernels / "field.cuh"
    path.write_text(
        "// a word\n\n/* more\nwords */ " + path.read_text(encoding="utf-8") + "\n\n", encoding="utf-8"
    )
    assert digests() == before


def test_the_files_are_those_that_the_compiler_reads(kernels: Path) -> None:
    """Every header that a GPU build can read, but for tests of other targets, changes some module."""
    before, unread = digests(), set()
    for path in sorted(kernels.glob("*.cuh")):
        text = path.read_text(encoding="utf-8")
        path.write_text(text + "\nconstexpr int ONE_MORE = 1;\n", encoding="utf-8")
        if digests() == before:
            unread.add(path.name)
        path.write_text(text, encoding="utf-8")
    assert unread <= {"exec_host.cuh", "testing.cuh"}


def test_kernels_belong_to_their_modules() -> None:
    """Those of fields have names like those of curves; every module has some, and none is of a module that isn't."""
    stored = read_baseline(ROOT / "perf_baselines" / "T0-sm_90.json").figures
    assert {module_of(kernel) for kernel in stored} == {"_".join(module) for module in STATIC_MODULES}
    fields = {kernel for kernel in stored if module_of(kernel) == "any_fields"}
    assert fields == {kernel for kernel in stored if kernel.startswith(("field_op_", "fp2_op_", "word_op_"))}
    assert module_of("ntt_dif_pass_bls12_381_fr") == "bls12_381_fr"
    names = {"_".join(module) for module in builder.MODULES}
    assert {module_of(kernel) for kernel in EmuDevice().kernels} <= names


@pytest.mark.parametrize(
    ("arch", "registers", "shared", "threads", "warps"),
    [
        ("90", 32, 0, 1024, 64),
        ("90", 33, 0, 1024, 32),  # 40 registers a thread: 12 warps a quarter, one block of 32
        ("90", 128, 0, 256, 16),
        ("90", 129, 0, 256, 8),  # the next step of registers leaves room for 12 warps: one block
        ("90", 255, 0, 128, 8),
        ("90", 32, 100 << 10, 256, 16),  # two blocks of 101 KiB in 228
        ("120", 32, 0, 256, 48),
        ("120", 32, 99 << 10, 256, 8),
        ("120", 16, 0, 32, 24),  # blocks are the limit
        ("90", 255, 0, 1024, 0),
    ],
)
def test_occupancy(arch: str, registers: int, shared: int, threads: int, warps: int) -> None:
    """Worked out by hand from the rules."""
    assert resident_warps(sm_of(arch), registers, shared, threads) == warps


def test_an_architecture_without_limits_is_refused() -> None:
    with pytest.raises(InputError, match="occupancy of sm_75"):
        sm_of("75")


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Stands for NVRTC: one kernel a module, whose registers a test sets; it notes what it was asked to compile."""
    state: dict[str, Any] = {"registers": 64, "compiled": []}

    def static_figures(arch: str, modules: Any, *, progress: Any) -> dict[str, dict[str, int]]:
        names = ["_".join(module) for module in modules]
        state["compiled"] += names
        for i, name in enumerate(names):
            progress(name, i + 1, len(names))
        return {
            "field_op_bn254_fr" if name == "any_fields" else f"work_{name}": {"registers": state["registers"]}
            for name in names
        }

    monkeypatch.setattr(static, "static_figures", static_figures)
    monkeypatch.setattr(static, "compiler_environment", lambda: {"nvrtc": "13.5", "options": ""})
    return state


def test_only_changed_modules_are_compiled(kernels: Path, compiler: dict[str, Any], tmp_path: Path) -> None:
    """Recorded, checked without a compilation, edited, checked again; what moved is never taken for new."""
    shutil.copy(ROOT / "perf_baselines" / "tolerances.toml", tmp_path)
    where = ["--tier", "T0", "--arch", "90", "--baselines", str(tmp_path)]
    path = tmp_path / "T0-sm_90.json"

    def compiled() -> set[str]:
        done = set(compiler["compiled"])
        compiler["compiled"] = []
        return done

    first = cuzk("perf", "record", *where, "--reason", "first", "--json")
    assert first.code == 0
    assert first.report == {"written": [{"file": str(path), "figures": len(digests())}], "moved": 0}
    assert "sm_90: compiled bn254_g1" in first.err
    assert compiled() == set(digests())
    assert cuzk("perf", "check", *where).code == 0
    assert compiled() == set()
    with (kernels / "ntt.cuh").open("a", encoding="utf-8") as file:
        file.write("\nconstexpr int ONE_MORE = 1;\n")
    assert cuzk("perf", "check", *where).code == 0
    assert compiled() == SCALARS
    compiler["registers"] = 72
    moved = cuzk("perf", "check", *where)
    assert moved.code == 1
    assert "work_bn254_fr: registers risen: 64 -> 72" in moved.err
    compiled()
    before = read_baseline(path)
    again = cuzk("perf", "record", *where, "--reason", "no", "--json")
    assert (again.code, again.report) == (1, {"written": [], "moved": 2})
    assert read_baseline(path).sources == before.sources
    accepted = cuzk("perf", "accept", *where, "--reason", "yes", "--json")
    assert (accepted.code, [entry["file"] for entry in accepted.report["written"]]) == (0, [str(path)])
    compiled()
    assert cuzk("perf", "check", *where).code == 0
    assert compiled() == set()
    assert cuzk("perf", "check", *where, "--compile-all").code == 1, "the other modules have 72 now, too"
    assert compiled() == set(digests())
