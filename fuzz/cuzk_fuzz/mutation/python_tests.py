"""Which of the project's own tests look at a module of the prover, and their run against an altered one.

The fuzz targets see what changes a proof's values on the whole; a module's own tests see the rest: refusals, single
functions, shapes that no circuit of the targets has. They run from the root of a checkout.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

import pytest


def _files(folder: str, *names: str) -> tuple[str, ...]:
    return tuple(f"tests/{folder}/test_{name}.py" for name in names)


_FOOTPRINTS = _files("kernels", "footprints")
_PHASES = (*_FOOTPRINTS, *_files("prover", "phase_values", "phases"))

#: Test files by module, the quickest first. Slow tests (marker `long`) are left out.
SUITES: dict[str, tuple[str, ...]] = {
    "cuzk.groth16.assemble": _PHASES,
    "cuzk.groth16.commit": (*_PHASES, *_files("prover", "compiled")),
    "cuzk.groth16.evaluate": (*_PHASES, *_files("prover", "compiled"), *_files("closures", "prover")),
    "cuzk.groth16.fold": _files("prover", "phase_values", "fold"),
    "cuzk.groth16.quotient": (*_PHASES, *_files("prover", "fold")),
    "cuzk.groth16.setup": (*_FOOTPRINTS, *_files("prover", "phase_values", "setup", "compiled_setup")),
    "cuzk.ops.batch_add": (*_FOOTPRINTS, *_files("kernels", "batch_add")),
    "cuzk.ops.classify": (*_FOOTPRINTS, *_files("kernels", "classify")),
    "cuzk.ops.domain": (*_FOOTPRINTS, *_files("kernels", "ntt_domain", "ntt_factors")),
    "cuzk.ops.fixed_base": (*_FOOTPRINTS, *_files("kernels", "fixed_base")),
    "cuzk.ops.fr_vec": (*_FOOTPRINTS, *_files("kernels", "fr_vec", "fr_powers")),
    "cuzk.ops.lagrange": (*_FOOTPRINTS, *_files("kernels", "ntt_domain")),
    "cuzk.ops.msm": (
        *_FOOTPRINTS,
        *(f"tests/kernels/test_msm.py::test_{name}" for name in (
            "bad_shapes_and_parameters", "bad_scalars_and_indices", "memory_limit_makes_passes",
            "windows_are_combined_on_the_host_device", "index_lists",
        )),
        *_files("kernels", "msm_context"),
    ),
    "cuzk.ops.ntt": (
        *_FOOTPRINTS,
        *_files("kernels", "ntt_domain"),
        *(f"tests/kernels/test_ntt.py::test_{name}" for name in (
            "bad_input_is_refused", "empty_batch", "delta_and_shift", "batches",
        )),
    ),
    "cuzk.ops.points": (*_FOOTPRINTS, *_files("kernels", "points")),
    "cuzk.ops.power_tables": (*_FOOTPRINTS, *_files("kernels", "fr_powers", "ntt_domain")),
    "cuzk.ops.scan": (*_FOOTPRINTS, *_files("kernels", "classify", "msm_sort")),
    "cuzk.ops.spmv": (*_FOOTPRINTS, *_files("kernels", "spmv")),
    "cuzk.ops.sums": (*_FOOTPRINTS, *_files("kernels", "sums")),
}  # fmt: skip

_OPTIONS = (
    "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--timeout=0",
    "--hypothesis-profile=quick", "-m", "not long and not device and not interop",
    # The harness is loaded before pytest, which cannot rewrite its assertions any more.
    "-W", "ignore::pytest.PytestAssertRewriteWarning",
)  # fmt: skip


class _First:
    """Remembers what failed first."""

    def __init__(self) -> None:
        self.name = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Called by pytest after each part of a test."""
        if report.failed and not self.name:
            self.name = report.nodeid


def load_tests(modules: Sequence[str]) -> None:
    """Import the test files of some modules, so that children that are forked later have them at once.

    Raises:
        FileNotFoundError: A file is not there, as outside a checkout.
        RuntimeError: A file cannot be imported, or holds no test.
    """
    files = sorted({file for module in modules for file in SUITES.get(module, ())})
    if missing := [file for file in files if not Path(file.partition("::")[0]).exists()]:
        raise FileNotFoundError(f"{missing[0]} is not below {Path.cwd()}: start from the root of a checkout")
    if files and (code := _run([*files, "--collect-only"], _First())) != 0:
        raise RuntimeError(f"pytest cannot collect {', '.join(files)}: it ends with {code}")


def first_failing(module: str) -> str:
    """The first test of a module's files that fails; empty where none does."""
    files = SUITES.get(module, ())
    if not files:
        return ""
    first = _First()
    code = _run(files, first)
    return "" if code == 0 else first.name or f"pytest ends with {code}"


def _run(arguments: Sequence[str], plugin: object) -> int:
    with (
        Path(os.devnull).open("w") as quiet,
        contextlib.redirect_stdout(quiet),
        contextlib.redirect_stderr(quiet),
    ):
        return int(pytest.main([*_OPTIONS, *arguments], plugins=[plugin]))
