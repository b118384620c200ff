"""Circuits as commands take them: a .r1cs file, or the name of one that is built in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cuzk.cli.paths import check_inputs
from cuzk.errors import InputError, UnsatisfiedError

if TYPE_CHECKING:
    from cuzk.pieces import CompiledCircuit
    from cuzk.relation import R1CS
    from cuzk.witness import Hints

__all__ = [
    "blaming_vanilla",
    "check_source",
    "circuit_folder",
    "is_built_in",
    "load_circuit",
    "load_compiled",
    "read_hints",
]


def is_built_in(text: str, option: str = "CIRCUIT") -> bool:
    """Whether a text names a built-in circuit; if not, it has to be a file that is there.

    Raises:
        InputError: It is neither.
    """
    from cuzk.circuits.catalogue import find_circuit, is_circuit_name

    if is_circuit_name(text) and not Path(text).exists():
        find_circuit(text)
        return True
    try:
        check_inputs({option: Path(text)})
    except InputError as error:
        if not Path(text).suffix and not Path(text).exists():
            error.remedy = f"{error.remedy}; `cuzk circuit list` has the names of built-in circuits"
        raise
    return False


def check_source(circuit: str | None, witness: Path | None, vanilla: Path | None, partition: int) -> str:
    """Check what a proof is to be made from.

    Returns:
        The name of the circuit if it is a built-in one, else nothing.

    Raises:
        InputError: Not one of witness and vanilla proof, or a vanilla proof without its circuit.
    """
    if (witness is None) == (vanilla is None):
        raise InputError("a proof is made from either --witness or --vanilla", remedy="give one of them")
    built_in = circuit if circuit is not None and is_built_in(circuit, "--circuit") else ""
    if vanilla is not None and not built_in:
        raise InputError(
            "a vanilla proof belongs to a built-in circuit",
            where="--vanilla",
            remedy="name it, for example --circuit porep:2KiB; see cuzk circuit list",
        )
    if partition and vanilla is None:
        raise InputError("only a vanilla proof has partitions", where="--partition", remedy="leave it out")
    return built_in


def circuit_folder() -> Path:
    """Where compiled circuits are kept: $XDG_CACHE_HOME/cuzk/circuits."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "cuzk" / "circuits"


def load_compiled(name: str) -> CompiledCircuit:
    """A built-in circuit as pieces and programs, from the cache where it is there."""
    import cuzk.circuits
    import cuzk.synthesis
    from cuzk.circuits.catalogue import compiled_circuit
    from cuzk.formats.pce import cached_circuit, code_digest
    from cuzk.ops.piece_checks import check_circuit

    code = code_digest(*cuzk.circuits.__path__, *cuzk.synthesis.__path__)
    return cached_circuit(circuit_folder(), name, code, lambda: compiled_circuit(name), check_circuit)


def load_circuit(text: str) -> R1CS:
    """The matrices of a circuit, built in or in a file."""
    if is_built_in(text):
        from cuzk.circuits.catalogue import build_circuit

        return build_circuit(text)
    from cuzk.formats import load_r1cs

    return load_r1cs(Path(text))


def read_hints(name: str, path: Path, partition: int) -> Hints:
    """What a vanilla proof gives a built-in circuit.

    Raises:
        InputError: The file does not fit the circuit.
    """
    from cuzk.circuits.catalogue import find_circuit
    from cuzk.curves import get_curve
    from cuzk.formats.container import naming_file
    from cuzk.witness import Hints

    circuit = find_circuit(name)
    with naming_file(path):
        return Hints.from_ints(get_curve(circuit.curve), circuit.hints(path.read_bytes(), path, partition))


@contextmanager
def blaming_vanilla(path: Path | None) -> Iterator[None]:
    """Say of a row that does not hold that the file from which the witness was made is at fault, if it was."""
    try:
        yield
    except UnsatisfiedError as error:
        if path is not None:
            error.where = f"{path}: {error.where}" if error.where else str(path)
            error.remedy = (
                "make the file again: what it opens does not hold, or it belongs to other commitments"
            )
        raise
