"""``cuzk check``: from an edit in a kernel's header to a verdict in seconds."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cuzk.cli.help_text import epilog
from cuzk.cli.options import JsonOption
from cuzk.cli.output import note, print_json, print_table, table

if TYPE_CHECKING:
    from cuzk.cli.check_kernel import Verdict

__all__ = ["EXAMPLES", "check"]

EXAMPLES = epilog(
    "cuzk check spmv_rows",
    "cuzk check msm_digits.cuh --watch",
    "cuzk check point.cuh --no-gpu --json",
    done="emulator and oracle agree",
    no="they differ, it crashes or does not compile",
    bad="no such kernel",
)

_POLL_S = 0.3


def check(
    kernel: Annotated[str, typer.Argument(metavar="KERNEL", help="A kernel, or a header such as spmv.cuh.")],
    watch: Annotated[
        bool, typer.Option("--watch", help="Check again whenever a header changes, until Ctrl-C.")
    ] = False,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="S", help="Processor time for the comparison.")
    ] = 5.0,
    no_gpu: Annotated[
        bool, typer.Option("--no-gpu", help="Leave out registers and instructions of the GPU's code.")
    ] = False,
    arch: Annotated[str, typer.Option("--arch", metavar="CC", help="Compute capability, as 90.")] = "90",
    reference: Annotated[
        bool, typer.Option("--set-reference", help="Compare the next checks' GPU figures with this one's.")
    ] = False,
    findings: Annotated[
        Path, typer.Option("--findings", metavar="DIR", help="Where a case that differs is written.")
    ] = Path("check-findings"),
    as_json: JsonOption = False,
) -> int:
    """Compile one header's kernels for the emulator and compare them with the oracle; then the GPU's code."""
    from cuzk.cli.check_kernel import header_of
    from cuzk.device.builder import KERNEL_DIR

    header = header_of(kernel, KERNEL_DIR)
    code = 0
    while True:
        note(f"{header}: compile its kernels, and compare them for up to {seconds:g} s of a processor")
        seen = _stamps(KERNEL_DIR)
        verdict, rows, why = _once(header, KERNEL_DIR, seconds, findings, None if no_gpu else arch, reference)
        code = 0 if verdict.state == "agrees" else 1
        if as_json:
            print_json(asdict(verdict) | {"gpu": [list(row) for row in rows], "gpu_unknown": why})
        else:
            _print(verdict, rows, why)
        if not watch:
            return code
        note(f"waiting for a change in {KERNEL_DIR.name}/ (Ctrl-C ends)")
        while _stamps(KERNEL_DIR) == seen:
            time.sleep(_POLL_S)


def _stamps(kernels: Path) -> dict[str, int]:
    """When each header was last written."""
    return {path.name: path.stat().st_mtime_ns for path in kernels.glob("*.*") if path.is_file()}


def _once(
    header: str, kernels: Path, seconds: float, findings: Path, arch: str | None, replace: bool
) -> tuple[Verdict, list[tuple[str, str, int | None, int]], str]:
    """One check: the emulator's verdict, while nvcc works beside it; GPU figures, or why there are none."""
    from cuzk.cli.check_gpu import compare_figures, gpu_figures
    from cuzk.cli.check_kernel import cache_folder, check_header, plans

    with ThreadPoolExecutor(1) as pool:
        waiting: Any = None
        if arch is not None:
            waiting = pool.submit(gpu_figures, header, plans()[header], kernels, cache_folder(), arch)
        verdict = check_header(header, kernels, seconds=seconds, findings=findings)
        figures = "" if waiting is None else waiting.result()
    if isinstance(figures, str):
        return verdict, [], figures
    return verdict, compare_figures(figures, cache_folder() / f"{header}-{arch}.json", replace=replace), ""


def _print(verdict: Verdict, rows: list[tuple[str, str, int | None, int]], why: str) -> None:
    print(
        f"{verdict.header}: {verdict.state} ({verdict.cases} cases in {verdict.batches} of {verdict.of} batches; "
        f"compiled in {verdict.compile_s:.1f} s, {verdict.total_s:.1f} s in all)"
    )
    if verdict.what:
        print(verdict.what)
    if verdict.replay:
        print(f"run it again: {verdict.replay}")
    if why:
        note(why)
    if rows:
        made = table("GPU code", "kernel", "figure", ">before", ">now", ">change")
        for kernel, figure, before, now in rows:
            change = "" if before is None else f"{now - before:+d}"
            made.add_row(kernel, figure, "" if before is None else str(before), str(now), change)
        print_table(made)
