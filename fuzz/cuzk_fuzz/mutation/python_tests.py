"""The project's own tests beside the fuzz targets, held ready in one session of pytest.

The targets see what changes a proof's values on the whole; tests see the rest: refusals, single functions, shapes that
no circuit of the targets has. They are collected once, from the root of a checkout; children that are forked then run
one test after the other (python_reach.py says which of them enter which lines).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest


def _files(folder: str, *names: str) -> tuple[str, ...]:
    return tuple(f"tests/{folder}/test_{name}.py" for name in names)


def _some(file: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{file}::test_{name}" for name in names)


#: Tests by area, whole files or by name; what a test enters decides which mutants it is put to, so each serves many
#: modules. Of the long files of sums and transforms, which repeat what the targets draw, only the rest is taken.
SUITES: dict[str, tuple[str, ...]] = {
    "footprints": _files("kernels", "footprints"),
    "scalars": _files("kernels", "classify", "fr_powers", "fr_vec", "ntt_domain", "ntt_factors", "spmv"),
    "transforms": _some(
        "tests/kernels/test_ntt.py", "bad_input_is_refused", "empty_batch", "delta_and_shift", "batches"
    ),
    "sums": (
        *_files("kernels", "batch_add", "fixed_base", "msm_context", "msm_sort", "points", "sums"),
        *_some(
            "tests/kernels/test_msm.py", "bad_shapes_and_parameters", "bad_scalars_and_indices",
            "memory_limit_makes_passes", "windows_are_combined_on_the_host_device", "index_lists",
        ),
    ),
    "halves": _files("kernels", "endomorphism"),
    "points of a key": (*_files("kernels", "point_ntt", "point_sums"), *_files("formats", "key_builder", "phase2")),
    "compiled circuits": (
        *_files("kernels", "piece_checks", "piece_columns", "piece_spmv", "witness_program"),
        *_files("prover", "compiled", "compiled_setup", "same_rows"),
    ),
    "synthesis": (
        *_files("synthesis", "adversarial", "constraint_system", "programs"),
        *_files("circuits", "gadgets", "template"),
    ),
    "proofs": (
        *_files("prover", "convert", "fold", "host_rows", "key_stream", "phase_values", "phases", "residency"),
        *_files("prover", "setup", "waiting"),
        *_some(
            "tests/prover/test_streaming.py", "infinite_bases_do_not_pass", "variants",
            "several_proofs_in_a_row", "a_batch_is_cut_by_what_fits",
            "too_little_memory_is_refused_with_the_need", "late_copies_are_waited_for", "copies_start_early",
        ),
        *_some(
            "tests/prover/test_prover.py", "blinding_values", "small_domains", "five_runs_and_a_batch",
            "blinding_is_drawn_and_wiped", "unsatisfied_witness", "damaged_key_is_the_keys_fault",
            "witness_of_another_circuit", "device_fault_is_the_devices_fault", "threads_share_a_prover",
            "random_circuits", "unreduced_witness_reaches_no_kernel", "start_and_finish_are_prove_batch",
            "what_was_started_is_finished_once_by_its_prover",
        ),
        *_files("devices", "cuda_proofs"),
        *_files("variants", "values"),
        *_files("closures", "prover"),
    ),
    "verification": (
        *_files("prover", "verify"), *_files("kernels", "pairing_bn254"), *_files("engine", "aside"),
        *_files("regressions", "VER_batches", "VER_verifier"),
    ),
    "arrays": (
        *_files("curves", "limbs"),
        *_files("formats", "json", "keys", "r1cs", "round_trips", "wtns", "zkey", "zkey_write"),
        *_files("regressions", "R1C_circuits_and_proofs", "FLD_field_arithmetic", "ENC_encodings"),
    ),
}  # fmt: skip

_OPTIONS = (
    "-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:faulthandler", "--timeout=0",
    "--hypothesis-profile=quick", "-m", "not long and not device and not interop",
    # The harness is loaded before pytest, which cannot rewrite its assertions any more.
    "-W", "ignore::pytest.PytestAssertRewriteWarning",
)  # fmt: skip


def all_files() -> tuple[str, ...]:
    """Every file, once."""
    return tuple(dict.fromkeys(file for files in SUITES.values() for file in files))


class _Held:
    """Runs something in place of the tests that were collected, and keeps what it raises."""

    def __init__(self, work: Callable[[Sequence[pytest.Item]], None]) -> None:
        self.work = work
        self.error: BaseException | None = None
        self.failed = False

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Called by pytest once everything is collected."""
        if not session.testsfailed:
            try:
                self.work(session.items)
            except BaseException as error:  # noqa: BLE001 - raised again outside of pytest
                self.error = error
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Called by pytest after each part of a test."""
        self.failed |= report.failed

    def fails(self, item: pytest.Item) -> bool:
        """Run one test with fixtures of its own; whether it fails."""
        self.failed = False
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        return self.failed


def with_tests(files: Sequence[str], work: Callable[[Sequence[pytest.Item]], None]) -> None:
    """Collect tests, and do some work with them while their session is open.

    Raises:
        FileNotFoundError: A file is not there, as outside a checkout.
        RuntimeError: A file cannot be imported, or holds no test.
    """
    if missing := [file for file in files if not Path(file.partition("::")[0]).exists()]:
        raise FileNotFoundError(f"{missing[0]} is not below {Path.cwd()}: start from the root of a checkout")
    held = _Held(work)
    with (
        Path(os.devnull).open("w") as quiet,
        contextlib.redirect_stdout(quiet),
        contextlib.redirect_stderr(quiet),
    ):
        code = int(pytest.main([*_OPTIONS, *files], plugins=[held]))
    if held.error is not None:
        raise held.error
    if code != 0:
        raise RuntimeError(f"pytest cannot collect {', '.join(files)}: it ends with {code}")


def failing(item: pytest.Item) -> bool:
    """Run one of the tests of with_tests(), with fixtures of its own; whether it fails."""
    (held,) = (one for one in item.config.pluginmanager.get_plugins() if isinstance(one, _Held))
    return held.fails(item)
