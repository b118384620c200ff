"""``cuzk info``: what a file is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cuzk.cli.help_text import epilog
from cuzk.cli.late import LateProgress
from cuzk.cli.options import JsonOption
from cuzk.cli.output import json_names, print_facts, print_json
from cuzk.cli.paths import check_inputs
from cuzk.cli.vanilla_info import vanilla_file
from cuzk.errors import FormatError

__all__ = ["EXAMPLES", "file_facts", "info"]

EXAMPLES = epilog(
    "cuzk info circuit.r1cs", "cuzk info circuit.zkey --json", "cuzk info proof.json", "cuzk info post.vproof"
)


def info(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Circuit, witness, key, proof, public inputs or vanilla proof."),
    ],
    as_json: JsonOption = False,
) -> None:
    """Say what a file is, with its sizes; all checks of its reader are made on the way."""
    steps = [("read", "read and check the file")]
    with LateProgress(file.name, steps, quiet=as_json) as progress, progress.step("read"):
        facts = file_facts(file)
    if as_json:
        print_json(json_names(facts))
    else:
        print_facts(facts)


def file_facts(file: Path) -> dict[str, Any]:
    """What a file is, in the order to show it.

    Raises:
        InputError: It cannot be read, is of no known kind, or does not pass a check.
    """
    check_inputs({"FILE": file})
    facts: dict[str, Any]
    from cuzk.formats import describe

    vanilla = vanilla_file(file)
    if vanilla is not None:
        facts = {"file": str(file), "kind": vanilla.title, "bytes": file.stat().st_size, "curve": "bls12_381"}
        return facts | vanilla.details | {"checked": _OF_VANILLA}
    try:
        found = describe(file)
    except FormatError as error:
        if error.limit is not None and error.limit.startswith("circuit .r1cs"):
            error.limit += ", vanilla proofs"
        raise
    facts = {"file": str(file), "kind": found.title, "bytes": found.num_bytes}
    if found.curve is not None:
        facts["curve"] = found.curve
    return facts | found.details | {"checked": _CHECKS[found.kind]}


_OF_VANILLA = (
    "structure, values below r; not whether paths and labels hold: proving refuses a row that does not"
)
#: What reading a file of each kind has checked, and what it has not.
_CHECKS = {
    "r1cs": "structure, wires and coefficients in bounds",
    "wtns": "structure, values below r; not against a circuit",
    "zkey": "structure, coordinates below p, not degenerate; `cuzk key check` checks the points",
    "ptau": "structure and sizes; `cuzk setup --ptau` checks the points it uses",
    "cuzk_key": "structure, all checksums, coordinates below p, not degenerate",
    "params": "structure, coordinates below p, no infinity; `cuzk key check` checks the points",
    "bellman_vk": "structure, coordinates below p, not degenerate; not whether points are on the curve",
    "vkey_json": "structure, coordinates below p, not degenerate; `cuzk verify` checks the points",
    "proof_json": "structure, coordinates below p; `cuzk verify` checks the points",
    "public_json": "structure, values below the largest r",
    "proof_bytes": "structure, coordinates below p, points on the curve",
}
