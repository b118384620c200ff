"""``cuzk key export``: a proving key as a file of another program."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cuzk.cli.help_text import epilog
from cuzk.cli.key_circuit import KeyCircuit
from cuzk.cli.key_files import (
    REWRITE_STEPS,
    CircuitOption,
    FileRootsOption,
    ForceOption,
    KeyArgument,
    check_word,
    note_conversion,
    read_checked,
)
from cuzk.cli.late import LateProgress
from cuzk.cli.options import DeviceOption, JsonOption, check_device_name, open_device
from cuzk.cli.output import print_facts, print_json
from cuzk.cli.paths import check_inputs, check_outputs

if TYPE_CHECKING:
    from cuzk.device import Device
    from cuzk.keys import ProvingKey

__all__ = ["EXAMPLES", "FORMATS", "key_export"]

FORMATS = ("zkey", "params", "vk", "vkey")

EXAMPLES = epilog(
    "cuzk key export circuit.cuzk --format zkey --out exported.zkey",
    "cuzk key export circuit.cuzk --format vk --out circuit.vk",
    "cuzk key export circuit.zkey --format vkey --out exported.json",
)


def key_export(
    key: KeyArgument,
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="zkey (snarkjs), params or vk (bellperson), vkey (snarkjs's verification key).",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="File to write.")],
    circuit: CircuitOption = None,
    any_roots: Annotated[
        bool,
        typer.Option(
            "--any-roots",
            help="Write a .params that bellperson cannot use, of a key whose rows are numbered by other roots.",
        ),
    ] = False,
    file_roots: FileRootsOption = "bellman",
    device: DeviceOption = "auto",
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write a proving key, or its verifying key, for another program.

    H bases and roots of unity are converted to what the format has.
    """
    from cuzk.curves import ROOT_CONVENTIONS

    check_device_name(device)
    check_word(format_, FORMATS, "--format")
    check_word(file_roots, ROOT_CONVENTIONS, "--file-roots")
    rows = None if circuit is None else KeyCircuit(circuit)
    inputs = {"KEY": key, "--circuit": None if rows is None else rows.path}
    check_inputs(inputs)
    check_outputs({"--out": out}, inputs, overwrite=force)
    start = time.perf_counter()
    where = open_device(device)
    with LateProgress(f"export of {key.name}", REWRITE_STEPS, quiet=as_json) as progress:
        loaded = read_checked(key, rows, file_roots, where, progress)
        target = _Target(key, out, any_roots, force)
        _write(loaded, target, format_, where, progress)
    report: dict[str, Any] = {
        "file": str(out),
        "format": format_,
        "curve": loaded.curve.name,
        "bytes": out.stat().st_size,
        "device": where.name,
        "seconds": round(time.perf_counter() - start, 3),
    }
    if as_json:
        print_json(report)
    else:
        print_facts(report)


@dataclass(frozen=True)
class _Target:
    """Where a key goes.

    Args:
        source: The file it was read from.
        out: The file to write.
        any_roots: As the option.
        force: Whether a file may be replaced.
    """

    source: Path
    out: Path
    any_roots: bool
    force: bool


def _write(key: ProvingKey, target: _Target, format_: str, device: Device, progress: LateProgress) -> None:
    from cuzk import formats
    from cuzk.groth16.alpha_beta import alpha_beta_of
    from cuzk.groth16.convert import convert

    out = target.out
    if format_ == "vk":
        formats.save_vk(out, key, overwrite=target.force)
        return
    if format_ == "vkey":
        formats.save_vkey(out, key.verifying_key(), alpha_beta_of(key.curve))
        return
    if format_ == "params":
        note_conversion(key, "monomial", progress)
        progress.expect({"convert": 1.0})
        with progress.step("convert") as advance:
            made = convert(key, device, h_form="monomial", on_share=advance)
        with progress.step("write"):
            formats.save_params(out, made, any_roots=target.any_roots, overwrite=target.force)
        if made.root_convention != "bellman" or made.is_renumbered:
            progress.remark(f"{out}: for cuzk alone; read it with --file-roots snarkjs")
        return
    note_conversion(key, "odd_lagrange", progress)
    progress.expect({"convert": 1.0})
    with progress.step("convert") as advance:
        made = convert(key, device, h_form="odd_lagrange", root_convention="snarkjs", on_share=advance)
    ceremony = None
    if formats.detect(target.source) == "zkey" and made.h_query is key.h_query:
        ceremony = formats.read_ceremony(target.source)
    else:
        progress.remark(
            f"{out}: lists no contributions; keep {target.source} if others must check how the key was made"
        )
    with progress.step("write"):
        formats.save_zkey(out, made, ceremony=ceremony, overwrite=target.force)
