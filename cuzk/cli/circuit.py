"""``cuzk circuit info``: the sizes of a circuit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cuzk.cli.help_text import epilog
from cuzk.cli.info import file_facts
from cuzk.cli.options import JsonOption
from cuzk.cli.output import json_names, print_facts, print_json
from cuzk.cli.paths import check_inputs

__all__ = ["EXAMPLES", "circuit_info"]

EXAMPLES = epilog("cuzk circuit info circuit.r1cs", "cuzk circuit info circuit.r1cs --json")


def circuit_info(
    circuit: Annotated[Path, typer.Argument(metavar="C.r1cs", help="The circuit.")],
    as_json: JsonOption = False,
) -> None:
    """Read a circuit with all checks and print its sizes."""
    check_inputs({"C.r1cs": circuit})
    from cuzk.formats.detect import require_kind

    require_kind(circuit, ("r1cs",), "a circuit")
    facts = file_facts(circuit)
    if as_json:
        print_json(json_names(facts))
    else:
        print_facts(facts)
