"""``cuzk key``: what a proving key is, and the full check of one that was made elsewhere."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cuzk.cli.checked_keys import Checked, content_digest, recall, remember
from cuzk.cli.help_text import epilog
from cuzk.cli.info import file_facts
from cuzk.cli.key_circuit import KeyCircuit
from cuzk.cli.key_files import CHECK_STEPS, KeyArgument, expect_checks
from cuzk.cli.late import LateProgress
from cuzk.cli.options import DeviceOption, JsonOption, check_device_name, open_device
from cuzk.cli.output import json_names, note, print_facts, print_json
from cuzk.cli.paths import check_inputs

if TYPE_CHECKING:
    from cuzk.device import Device

__all__ = ["CHECK_EXAMPLES", "INFO_EXAMPLES", "key_check", "key_info"]

INFO_EXAMPLES = epilog("cuzk key info circuit.zkey", "cuzk key info circuit.cuzk --json")
CHECK_EXAMPLES = epilog(
    "cuzk key check circuit.zkey",
    "cuzk key check circuit.zkey --circuit circuit.r1cs\n--device cpu --json",
    "cuzk key check porep.cuzk --circuit porep:2KiB",
)

#: What reading a key with ``strict`` has checked.
_OF_MATRICES = "matrices and binding rows"
_ALWAYS = ("structure", "coordinates below p", _OF_MATRICES, "not degenerate", "delta is not gamma")


def key_info(
    key: Annotated[Path, typer.Argument(metavar="KEY", help="Proving key: .zkey, .params or cuzk key.")],
    as_json: JsonOption = False,
) -> None:
    """Say what a proving key holds."""
    _require_key(key)
    steps = [("read", "read and check the key")]
    with LateProgress(key.name, steps, quiet=as_json) as progress, progress.step("read"):
        facts = file_facts(key)
    if as_json:
        print_json(json_names(facts))
    else:
        print_facts(facts)


def key_check(
    key: KeyArgument,
    circuit: Annotated[
        str | None,
        typer.Option(
            "--circuit",
            metavar="C.r1cs|CIRCUIT",
            help="Check that the key is this circuit's; needed for a .params.",
        ),
    ] = None,
    device: DeviceOption = "auto",
    force: Annotated[
        bool, typer.Option("--force", help="Check the points again, although this content passed before.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check a key in full: every point on the curve and in the subgroup, nothing degenerate.

    What passed is remembered by the file's content: the next check of it, and `cuzk prove`, need not look at
    every point again. A key that nobody contributed to (delta = gamma) is refused. That a key was made
    honestly, only the transcript of its ceremony can show: `snarkjs zkey verify`.
    """
    check_device_name(device)
    _require_key(key)
    rows = None if circuit is None else KeyCircuit(circuit)
    start = time.perf_counter()
    where = open_device(device)
    with LateProgress(f"check of {key.name}", CHECK_STEPS, quiet=as_json) as progress:
        done = _checked(key, rows, where, progress, force=force)
    if done.problem:
        note(f"this check cannot be remembered: {done.problem}")
    _print(key, where.name, done, time.perf_counter() - start, as_json)


@dataclass(frozen=True)
class _Done:
    """What a check that passed has looked at.

    Args:
        checks: In words.
        num_points: Of the key.
        digest: Of the file.
        before: The check of the points that was remembered, if one was.
        problem: Why this one can't be remembered.
    """

    checks: list[str]
    num_points: int
    digest: str
    before: Checked | None
    problem: str


def _checked(
    path: Path, rows: KeyCircuit | None, device: Device, progress: LateProgress, *, force: bool
) -> _Done:
    """All checks. The points of a cuzk key, too: a checksum says what was written, not that it was right."""
    from cuzk.cli.loading import check_every_point, load_proving_key
    from cuzk.formats import detect
    from cuzk.formats.container import naming_file

    with progress.step("digest"):
        before = None if force else recall(path)
        digest = content_digest(path) if before is None else before.digest
    with progress.step("read"):
        r1cs = rows.matrices if rows is not None and detect(path) == "params" else None
        key = load_proving_key(path, device, circuit=r1cs, strict=True, quiet=True, check_curve=False)
    always = _ALWAYS if key.compiled is None else [check for check in _ALWAYS if check != _OF_MATRICES]
    checks = [*always, "points on the curve", "points in the subgroup"]
    if rows is not None:
        with progress.step("circuit"), naming_file(rows.path or path):
            rows.check(key)
        checks.append("made for this circuit")
    num_points = sum(points.nbytes // group.affine_bytes for _, group, points in key.points())
    problem = ""
    if before is None:
        expect_checks(progress, key)
        with naming_file(path):
            check_every_point(key.points, device, progress)
        with progress.step("digest_again"):
            problem = remember(path, digest, num_points)
    return _Done(checks, num_points, digest, before, problem)


def _require_key(path: Path) -> None:
    check_inputs({"KEY": path})
    from cuzk.formats.detect import PROVING_KEYS, require_kind

    require_kind(path, PROVING_KEYS, "a proving key")


def _print(key: Path, device: str, done: _Done, seconds: float, as_json: bool) -> None:
    before, num_points = done.before, done.num_points
    if as_json:
        print_json(
            {
                "key": str(key), "valid": True, "points": num_points, "device": device,
                "seconds": round(seconds, 3), "checks": done.checks, "blake2b": done.digest,
                "points_checked": "now" if before is None else before.when,
            }
        )  # fmt: skip
        return
    for check in done.checks:
        remembered = before is not None and check.startswith("points ")
        print(f"ok  {check}{', as checked before' if remembered else ''}")
    if before is None:
        print(f"{key}: passed, {num_points} points on {device} in {seconds:.2f} s")
    else:
        print(
            f"{key}: passed in {seconds:.2f} s; this content had its {before.points} points checked on "
            f"{before.when[:10]} by {before.by} (--force checks them again)"
        )
