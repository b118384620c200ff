"""The built-in circuits by name.

>>> is_circuit_name("sha256:512"), is_circuit_name("./sha256:512"), is_circuit_name("circuit.r1cs")
(True, False, False)
>>> build_circuit("sha256:compression").num_constraints
26352
>>> find_circuit("por:poseidon:8-8-0:4096:public").summary
'a leaf in a Merkle tree of 4096 leaves'
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from cuzk.circuits import plain_files, porep, post
from cuzk.circuits.create_label import create_label_circuit
from cuzk.circuits.fallback_post import FALLBACK_PATTERN, FallbackPostCircuit
from cuzk.circuits.hashes import compression_circuit, hash_circuit
from cuzk.circuits.por import POR_PATTERN, PorCircuit
from cuzk.circuits.poseidon import CIRCUIT_ARITIES, poseidon_circuit
from cuzk.circuits.sprout import joinsplit
from cuzk.circuits.sprout_files import joinsplit_file_hints, joinsplit_synthetic
from cuzk.circuits.stacked import STACKED_PATTERN, StackedCircuit
from cuzk.circuits.vanilla.merkle_files import PathName
from cuzk.curves import get_curve
from cuzk.errors import InputError
from cuzk.pieces import CompiledCircuit
from cuzk.relation import R1CS
from cuzk.synthesis import ConstraintSystem

__all__ = [
    "CIRCUITS",
    "FAMILIES",
    "Circuit",
    "Family",
    "HintReader",
    "build_circuit",
    "compiled_circuit",
    "find_circuit",
    "is_circuit_name",
]

#: A file of values, its name for errors, and which partition -> a circuit's hints; raises InputError.
HintReader = Callable[[bytes, PathName, int], Iterator[int]]


@dataclass(frozen=True)
class Circuit:
    """A built-in circuit.

    Args:
        name: As the command line takes it.
        summary: What it states, in a few words.
        record: Writes its rows into an empty constraint system without values.
        hints: What makes its hints from a file: of vanilla proofs, or of plain values (see plain_files).
        synthetic: What makes such a file from any bytes, which vary it; of vanilla proofs without a sealed sector.
        curve: Name of the curve whose scalars it is over.
    """

    name: str
    summary: str
    record: Callable[[ConstraintSystem], object]
    hints: HintReader
    synthetic: Callable[[bytes], bytes]
    curve: str = "bls12_381"


@dataclass(frozen=True)
class Family:
    """Circuits whose names carry parameters.

    Args:
        pattern: How the names are made; what is before its first colon tells the family.
        summary: What the circuits state.
        find: Name -> circuit; raises InputError.
        curve: As of Circuit.
    """

    pattern: str
    summary: str
    find: Callable[[str], Circuit]
    curve: str = "bls12_381"


def _por(name: str) -> Circuit:
    circuit = PorCircuit.parse(name)
    return Circuit(
        circuit.name,
        f"a leaf in a Merkle tree of {circuit.num_leaves} leaves",
        circuit.record,
        hints=partial(plain_files.path_file_hints, circuit),
        synthetic=partial(plain_files.path_synthetic, circuit),
    )


def _stacked(find: Callable[[str], StackedCircuit], name: str) -> Circuit:
    circuit = find(name)
    summary = f"{circuit.challenges} challenges of a stacked PoRep of {circuit.num_nodes} nodes"
    return Circuit(
        name,
        summary,
        circuit.record,
        hints=partial(porep.file_hints, circuit),
        synthetic=partial(porep.synthetic_file, circuit),
    )


def _fallback_post(find: Callable[[str], FallbackPostCircuit], name: str) -> Circuit:
    circuit = find(name)
    summary = f"{circuit.challenges} leaves of each of {circuit.sectors} sectors of {circuit.num_nodes} nodes"
    return Circuit(
        name,
        summary,
        circuit.record,
        hints=partial(post.file_hints, circuit),
        synthetic=partial(post.synthetic_file, circuit),
    )


def _sha256(name: str, summary: str, record: Callable[[ConstraintSystem], object]) -> Circuit:
    return Circuit(
        name, summary, record, hints=plain_files.message_file_hints, synthetic=plain_files.message_synthetic
    )


def _poseidon(arity: int) -> Circuit:
    return Circuit(
        f"poseidon:{arity}",
        f"Poseidon of {arity} elements",
        partial(poseidon_circuit, arity=arity),
        hints=partial(plain_files.element_hints, arity),
        synthetic=partial(plain_files.elements_synthetic, arity),
    )


_ALL = (
    _sha256("sha256:compression", "the SHA-256 compression function of 512 bits", compression_circuit),
    _sha256("sha256:512", "SHA-256 of 512 bits, padding included", hash_circuit),
    *map(_poseidon, CIRCUIT_ARITIES),
    Circuit(
        "create-label",
        "a label of Filecoin's stacked graph, of 37 parents",
        create_label_circuit,
        hints=plain_files.label_hints,
        synthetic=plain_files.label_synthetic,
    ),
    Circuit(
        "sprout",
        "the JoinSplit of Zcash Sprout",
        joinsplit,
        hints=joinsplit_file_hints,
        synthetic=joinsplit_synthetic,
    ),
)

#: Name -> circuit, in the order to list them.
CIRCUITS = {circuit.name: circuit for circuit in _ALL}

_FAMILIES = (
    Family(POR_PATTERN, "a leaf in a Merkle tree", _por),
    Family(STACKED_PATTERN, "one partition of a stacked PoRep", partial(_stacked, StackedCircuit.parse)),
    Family(
        porep.POREP_PATTERN,
        "the same for a sector size, 2KiB to 64GiB",
        partial(_stacked, porep.find_porep),
    ),
    Family(
        FALLBACK_PATTERN,
        "leaves of sealed sectors",
        partial(_fallback_post, FallbackPostCircuit.parse),
    ),
    Family(
        post.WINNING_PATTERN,
        "the same for a WinningPoSt",
        partial(_fallback_post, post.find_winning_post),
    ),
    Family(
        post.WINDOW_PATTERN,
        "the same for a partition of a WindowPoSt",
        partial(_fallback_post, post.find_window_post),
    ),
)

#: Pattern -> circuits with parameters in their names.
FAMILIES = {family.pattern: family for family in _FAMILIES}


def is_circuit_name(text: str) -> bool:
    """Whether a text names a built-in circuit and no file, by its form alone.

    A name is one of ours, or has a colon and no slash and no dot; ``./NAME`` is always a file.
    """
    return text in CIRCUITS or (":" in text and not set(text) & set("./\\"))


def find_circuit(name: str) -> Circuit:
    """The circuit of a name.

    Raises:
        InputError: There is none.
    """
    if name in CIRCUITS:
        return CIRCUITS[name]
    first = name.partition(":")[0]
    families = {family.pattern.partition(":")[0]: family for family in FAMILIES.values()}
    if first in families:
        return families[first].find(name)
    close = difflib.get_close_matches(name, CIRCUITS, 1)
    close = close or [families[one].pattern for one in difflib.get_close_matches(first, families, 1)]
    raise InputError(
        f"there is no built-in circuit {name!r:.60}",
        limit="possible: " + ", ".join((*CIRCUITS, *FAMILIES)),
        remedy=(f"did you mean {close[0]}? " if close else "")
        + "for a file of this name, write ./ before it",
    )


def _recorded(name: str) -> ConstraintSystem:
    circuit = find_circuit(name)
    cs = ConstraintSystem(get_curve(circuit.curve))
    circuit.record(cs)
    return cs


def compiled_circuit(name: str) -> CompiledCircuit:
    """Record a built-in circuit as pieces and witness programs.

    Raises:
        InputError: There is none of this name.

    Cost: 2 to 4 microseconds per row that no other row is a copy of: 3 s for porep:32GiB.
    """
    return _recorded(name).compile()


def build_circuit(name: str) -> R1CS:
    """A built-in circuit as matrices, whose size is that of all its rows.

    Raises:
        InputError: There is none of this name.

    Cost: as compiled_circuit; 0.5 microseconds and about 200 bytes per row more.
    """
    return _recorded(name).r1cs()
