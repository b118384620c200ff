"""``cuzk key``: what a proving key is, and the full check of one that was made elsewhere."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cuzk.cli.checked_keys import Checked, content_digest, recall, remember
from cuzk.cli.help_text import epilog
from cuzk.cli.info import file_facts
from cuzk.cli.key_circuit import KeyCircuit
from cuzk.cli.key_files import KeyArgument
from cuzk.cli.options import DeviceOption, JsonOption, check_device_name, open_device
from cuzk.cli.output import json_names, note, print_facts, print_json
from cuzk.cli.paths import check_inputs
from cuzk.errors import NotInSubgroupError

if TYPE_CHECKING:
    from cuzk.device import Device
    from cuzk.keys import ProvingKey

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


def key_info(key: KeyArgument, as_json: JsonOption = False) -> None:
    """Say what a proving key holds."""
    _require_key(key)
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
    from cuzk.cli.loading import load_proving_key
    from cuzk.formats import detect
    from cuzk.formats.container import naming_file

    r1cs = rows.matrices if rows is not None and detect(key) == "params" else None
    before = None if force else recall(key)
    digest = content_digest(key) if before is None else before.digest
    loaded = load_proving_key(key, where, circuit=r1cs, strict=True, quiet=True, check_curve=False)
    always = _ALWAYS if loaded.compiled is None else [check for check in _ALWAYS if check != _OF_MATRICES]
    checks = [*always, "points on the curve", "points in the subgroup"]
    if rows is not None:
        with naming_file(rows.path or key):
            rows.check(loaded)
        checks.append("made for this circuit")
    num_points = sum(points.nbytes // group.affine_bytes for _, group, points in loaded.points())
    if before is None:
        with naming_file(key):
            _check_every_point(loaded, where)
        problem = remember(key, digest, num_points)
        if problem:
            note(f"this check cannot be remembered: {problem}")
    _print(key, where.name, checks, num_points, time.perf_counter() - start, before, digest, as_json)


def _check_every_point(key: ProvingKey, device: Device) -> None:
    """Of a cuzk key too: a checksum says what was written, not that it was right."""
    from cuzk.cli.loading import curve_checker, subgroup_checker

    key.check_points(curve_checker(device))
    key.check_points(subgroup_checker(device), NotInSubgroupError)


def _require_key(path: Path) -> None:
    check_inputs({"KEY": path})
    from cuzk.formats.detect import PROVING_KEYS, require_kind

    require_kind(path, PROVING_KEYS, "a proving key")


def _print(
    key: Path,
    device: str,
    checks: list[str],
    num_points: int,
    seconds: float,
    before: Checked | None,
    digest: str,
    as_json: bool,
) -> None:
    if as_json:
        print_json(
            {
                "key": str(key), "valid": True, "points": num_points, "device": device,
                "seconds": round(seconds, 3), "checks": checks, "blake2b": digest,
                "points_checked": "now" if before is None else before.when,
            }
        )  # fmt: skip
        return
    for check in checks:
        remembered = before is not None and check.startswith("points ")
        print(f"ok  {check}{', as checked before' if remembered else ''}")
    if before is None:
        print(f"{key}: passed, {num_points} points on {device} in {seconds:.2f} s")
    else:
        print(
            f"{key}: passed in {seconds:.2f} s; this content had its {before.points} points checked on "
            f"{before.when[:10]} by {before.by} (--force checks them again)"
        )
