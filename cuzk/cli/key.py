"""``cuzk key``: what a proving key is, and the full check of one that was made elsewhere."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from cuzk.cli.help_text import epilog
from cuzk.cli.info import file_facts
from cuzk.cli.key_files import KeyArgument
from cuzk.cli.options import DeviceOption, JsonOption, check_device_name, open_device
from cuzk.cli.output import json_names, print_facts, print_json
from cuzk.cli.paths import check_inputs
from cuzk.errors import FormatError, NotInSubgroupError

__all__ = ["CHECK_EXAMPLES", "INFO_EXAMPLES", "key_check", "key_info"]

INFO_EXAMPLES = epilog("cuzk key info circuit.zkey", "cuzk key info circuit.cuzk --json")
CHECK_EXAMPLES = epilog(
    "cuzk key check circuit.zkey", "cuzk key check circuit.zkey --circuit circuit.r1cs\n--device cpu --json"
)

#: What reading a key with ``strict`` has checked.
_ALWAYS = (
    "structure", "coordinates below p", "matrices and binding rows", "not degenerate", "delta is not gamma"
)  # fmt: skip


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
        Path | None,
        typer.Option(
            "--circuit", metavar="C.r1cs", help="Check that the key is this circuit's; needed for a .params."
        ),
    ] = None,
    device: DeviceOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Check a key in full: every point on the curve and in the subgroup, nothing degenerate.

    A key that nobody contributed to (delta = gamma) is refused. That a key was made honestly, only the
    transcript of its ceremony can show: `snarkjs zkey verify`.
    """
    check_device_name(device)
    _require_key(key)
    check_inputs({"--circuit": circuit})
    start = time.perf_counter()
    where = open_device(device)
    from cuzk.cli.loading import curve_checker, load_proving_key, subgroup_checker
    from cuzk.formats import load_r1cs

    r1cs = None if circuit is None else load_r1cs(circuit)
    loaded = load_proving_key(key, where, circuit=r1cs, strict=True, quiet=True)
    # Of a cuzk key too: a checksum says what was written, not that it was right.
    loaded.check_points(curve_checker(where))
    loaded.check_points(subgroup_checker(where), NotInSubgroupError)
    checks = [*_ALWAYS, "points on the curve", "points in the subgroup"]
    if r1cs is not None:
        loaded.check_circuit(r1cs)
        checks.append("made for this circuit")
    num_points = sum(points.nbytes // group.affine_bytes for _, group, points in loaded.points())
    _print(key, where.name, checks, num_points, time.perf_counter() - start, as_json)


def _require_key(path: Path) -> None:
    check_inputs({"KEY": path})
    from cuzk.formats import detect

    kind = detect(path)
    if kind not in ("zkey", "params", "cuzk_key"):
        raise FormatError(
            f"not a proving key but a file of kind {kind}", path=path, limit="a .zkey, a .params or a cuzk key",
            remedy="see `cuzk info FILE`",
        )  # fmt: skip


def _print(key: Path, device: str, checks: list[str], num_points: int, seconds: float, as_json: bool) -> None:
    report: dict[str, Any] = {
        "key": str(key), "valid": True, "points": num_points, "device": device, "seconds": round(seconds, 3)
    }  # fmt: skip
    if as_json:
        print_json(report | {"checks": checks})
        return
    for check in checks:
        print(f"ok  {check}")
    print(f"{key}: passed, {num_points} points on {device} in {seconds:.2f} s")
