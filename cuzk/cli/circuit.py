"""``cuzk circuit``: the built-in circuits, and the sizes of one of them or of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cuzk.cli.help_text import epilog
from cuzk.cli.info import file_facts
from cuzk.cli.late import LateProgress
from cuzk.cli.options import JsonOption
from cuzk.cli.output import json_names, print_facts, print_json
from cuzk.cli.paths import check_inputs, check_outputs, write_together

if TYPE_CHECKING:
    from cuzk.pieces import CompiledCircuit
    from cuzk.relation import R1CS

__all__ = ["EXAMPLES", "LIST_EXAMPLES", "VANILLA_EXAMPLES", "circuit_info", "circuit_list", "circuit_vanilla"]

EXAMPLES = epilog(
    "cuzk circuit info circuit.r1cs",
    "cuzk circuit info circuit.r1cs --json",
    "cuzk circuit info sha256:512 --hash",
    "cuzk circuit info porep:2KiB --json",
)
LIST_EXAMPLES = epilog("cuzk circuit list", "cuzk circuit list --json")
VANILLA_EXAMPLES = epilog("cuzk circuit vanilla winning-post:2KiB --out post.vproof")


def circuit_info(
    circuit: Annotated[
        str, typer.Argument(metavar="C.r1cs|CIRCUIT", help="A file, or the name of a built-in circuit.")
    ],
    as_json: JsonOption = False,
    with_hash: Annotated[
        bool,
        typer.Option(
            "--hash", help="Also the hash of all rows, as bellman's and bellperson's tests compute it."
        ),
    ] = False,
) -> None:
    """Print the sizes of a circuit: a file's after all checks of its reader, a built-in one's by recording it."""
    from cuzk.circuits.catalogue import is_circuit_name

    is_name = is_circuit_name(circuit)
    steps = _NAME_STEPS if is_name else _FILE_STEPS
    shown = circuit if is_name else Path(circuit).name
    with LateProgress(
        f"sizes of {shown}", [*steps, _HASH] if with_hash else steps, quiet=as_json
    ) as progress:
        facts = (
            _built_in_facts(circuit, progress, with_hash)
            if is_name
            else _file_facts(circuit, progress, with_hash)
        )
    if as_json:
        print_json(json_names(facts))
    else:
        print_facts(facts)


_NAME_STEPS = (("record", "record the circuit"), ("sizes", "count what is in it"))
_FILE_STEPS = (("read", "read and check the circuit"),)
_HASH = ("hash", "hash all rows")


def _built_in_facts(name: str, progress: LateProgress, with_hash: bool) -> dict[str, Any]:
    from cuzk.circuits.catalogue import compiled_circuit
    from cuzk.synthesis import circuit_sizes

    with progress.step("record"):
        circuit = compiled_circuit(name)
    with progress.step("sizes"):
        facts: dict[str, Any] = {"circuit": name, "curve": circuit.curve.name, **circuit_sizes(circuit)}
    return facts | {"hash": _hash(circuit, progress)} if with_hash else facts


def _hash(circuit: R1CS | CompiledCircuit, progress: LateProgress) -> str:
    from cuzk.synthesis import circuit_hash

    progress.expect({"hash": 1.0})
    with progress.step("hash") as advance:
        return circuit_hash(circuit, advance)


def _file_facts(name: str, progress: LateProgress, with_hash: bool) -> dict[str, Any]:
    path = Path(name)
    check_inputs({"C.r1cs": path})
    from cuzk.formats import load_r1cs
    from cuzk.formats.detect import require_kind

    require_kind(path, ("r1cs",), "a circuit")
    with progress.step("read"):
        facts = file_facts(path)
        circuit = load_r1cs(path) if with_hash else None
    if circuit is not None:
        facts["hash"] = _hash(circuit, progress)
    return facts


def circuit_list(as_json: JsonOption = False) -> None:
    """List the built-in circuits."""
    from cuzk.circuits.catalogue import CIRCUITS, FAMILIES

    if as_json:
        print_json(
            [{"name": one.name, "curve": one.curve, "summary": one.summary} for one in CIRCUITS.values()]
            + [{"name": one.pattern, "curve": one.curve, "summary": one.summary} for one in FAMILIES.values()]
        )
    else:
        named = {one.name: f"{one.summary} ({one.curve})" for one in CIRCUITS.values()}
        print_facts(named | {one.pattern: f"{one.summary} ({one.curve})" for one in FAMILIES.values()})


def circuit_vanilla(
    circuit: Annotated[str, typer.Argument(metavar="CIRCUIT", help="The name of a built-in circuit.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="File to write.")],
    salt: Annotated[
        str, typer.Option("--salt", metavar="TEXT", help="Any text: another one makes another proof.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Write a file of values from which a circuit can be proven: of PoReps and PoSts a vanilla proof.

    It is of a sector that nobody sealed: what is opened is computed, everything else is invented. No chain accepts it.
    """
    from cuzk.circuits.catalogue import find_circuit

    found = find_circuit(circuit)
    check_outputs({"--out": out}, {})
    with LateProgress(
        f"vanilla proof for {circuit}", [("make", "compute what it opens")], quiet=as_json
    ) as progress:
        with progress.step("make"):
            data = found.synthetic(salt.encode())
        write_together({out: data})
    facts = {"circuit": circuit, "summary": found.summary, "file": str(out), "bytes": len(data)}
    if as_json:
        print_json(json_names(facts))
    else:
        print_facts(facts)
