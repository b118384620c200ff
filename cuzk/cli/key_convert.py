"""``cuzk key convert``: any proving key to a cuzk key, in the form that is asked for."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

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

__all__ = ["EXAMPLES", "key_convert"]

EXAMPLES = epilog(
    "cuzk key convert circuit.zkey --out converted.cuzk\n--circuit circuit.r1cs",
    "cuzk key convert circuit.cuzk --out monomial.cuzk\n--h-form monomial --roots bellman",
    "cuzk key convert porep.cuzk --out whole.cuzk\n--circuit porep:2KiB",
    note="The result proves the same: with fixed blinding every form of a key gives the same proof.",
)


def key_convert(
    key: KeyArgument,
    out: Annotated[Path, typer.Option("--out", metavar="K.cuzk", help="The cuzk key to write.")],
    h_form: Annotated[
        str | None,
        typer.Option("--h-form", metavar="FORM", help="odd_lagrange (snarkjs) or monomial (bellperson)."),
    ] = None,
    roots: Annotated[
        str | None,
        typer.Option("--roots", metavar="ROOTS", help="Whose roots number the rows: snarkjs or bellman."),
    ] = None,
    circuit: CircuitOption = None,
    file_roots: FileRootsOption = "bellman",
    device: DeviceOption = "auto",
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write a proving key as a cuzk key, with its H bases and roots of unity changed on request.

    Changing the H form takes about (n/2) log n scalar multiplications, once.
    """
    from cuzk.curves import ROOT_CONVENTIONS

    check_device_name(device)
    check_word(h_form, ("odd_lagrange", "monomial"), "--h-form")
    check_word(roots, ROOT_CONVENTIONS, "--roots")
    check_word(file_roots, ROOT_CONVENTIONS, "--file-roots")
    rows = None if circuit is None else KeyCircuit(circuit)
    inputs = {"KEY": key, "--circuit": None if rows is None else rows.path}
    check_inputs(inputs)
    check_outputs({"--out": out}, inputs, overwrite=force)
    start = time.perf_counter()
    where = open_device(device)
    from cuzk.formats import save_cuzk_key
    from cuzk.groth16.convert import convert

    with LateProgress(f"conversion of {key.name}", REWRITE_STEPS, quiet=as_json) as progress:
        loaded = read_checked(key, rows, file_roots, where, progress)
        note_conversion(loaded, h_form, progress)
        progress.expect({"convert": 1.0})
        with progress.step("convert") as advance:
            made = convert(loaded, where, h_form=h_form, root_convention=roots, on_share=advance)  # type: ignore[arg-type]
        with progress.step("write"):
            save_cuzk_key(out, made, overwrite=force)
    report: dict[str, Any] = {
        "key": str(out),
        "curve": made.curve.name,
        "constraints": made.num_constraints,
        "h_form": f"{made.h_form} (was {loaded.h_form})" if made.h_form != loaded.h_form else made.h_form,
        "root_convention": made.root_convention,
        "renumbered": made.is_renumbered,
        **({"matrix_c": made.c is not None} if made.compiled is None else {"matrices": "none"}),
        "circuit_digest": made.circuit_digest,
        "device": where.name,
        "seconds": round(time.perf_counter() - start, 3),
    }
    if as_json:
        print_json(report | {"h_form": made.h_form})
    else:
        print_facts(report)
