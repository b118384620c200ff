"""Check a vanilla PoSt proof that another program wrote: every path, the commitment, the challenges, the circuit.

    python -m tests.interop.vproof FILE [--public FILE]

FILE is one sector's proof in bincode or JSON, as Filecoin's own programs write them. The public file is the JSON of
Go's WindowPoStVerifyInfo: the randomness, and each sector's number and sealed CID. Without it the challenged leaves
and the commitment on chain are not known, and only the proof itself is checked. A proof that holds is then made the
witness of one sector's circuit: every row has to hold, and the public inputs have to be the commitment and the leaves.

Exit status: 0 it holds; 1 it does not; 2 a file does not parse.
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cuzk.circuits.catalogue import find_circuit
from cuzk.circuits.vanilla.domain import from_bytes
from cuzk.circuits.vanilla.post import PostProof, faults_of_post, post_challenges, post_public_inputs
from cuzk.circuits.vanilla.post_files import read_post
from cuzk.circuits.vanilla.shapes import (
    SECTOR_SHAPES,
    WINDOW_CHALLENGES,
    WINNING_CHALLENGES,
    SectorShape,
    sector_shape,
)
from cuzk.errors import FormatError, InputError
from tests.circuits.witnesses import compiled_witness

#: CID version 1, codec fil-commitment-sealed, multihash poseidon-bls12_381-a2-fc1 of 32 bytes.
SEALED_PREFIX = bytes.fromhex("0182e20381e80220")
#: Sizes in the order of Go's RegisteredSealProof, which repeats them for each version.
_SIZES = ("2KiB", "8MiB", "512MiB", "32GiB", "64GiB")


def comm_r_of_cid(cid: str) -> int:
    """The commitment in a sealed CID.

    Raises:
        FormatError: Another kind of CID.
    """
    text = cid[1:].upper()
    try:
        data = base64.b32decode(text + "=" * (-len(text) % 8))
    except ValueError as error:
        raise FormatError(f"{cid!r} is no base32: {error}") from error
    if cid[:1] != "b" or data[: len(SEALED_PREFIX)] != SEALED_PREFIX:
        raise FormatError(f"{cid!r} is no CID of a sealed sector", limit="base32, version 1, Poseidon")
    return from_bytes(data[len(SEALED_PREFIX) :], "the commitment in the CID")


def public_faults(proof: PostProof, info: dict[str, Any]) -> list[str]:
    """What in a proof contradicts the public data.

    Raises:
        FormatError: The public data is not what Go writes.
    """
    try:
        sectors = {each["SectorNumber"]: each for each in info["ChallengedSectors"]}
        if proof.sector_number not in sectors:
            return [f"sector {proof.sector_number} is not challenged"]
        sector = sectors[proof.sector_number]
        randomness = base64.b64decode(info["Randomness"], validate=True)
        shape = _shape(sector["SealProof"])
        comm_r = comm_r_of_cid(sector["SealedCID"]["/"])
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"the public data lacks or garbles a field: {error!r}") from error
    faults = [] if comm_r == proof.comm_r else ["comm_r is not that of the sealed CID"]
    count = WINDOW_CHALLENGES
    leaves = post_challenges(randomness, proof.sector_number, shape.num_nodes, count)
    paths = [inclusion for each in proof.sectors for inclusion in each.inclusion_proofs]
    if any(inclusion.num_leaves != shape.num_nodes for inclusion in paths):
        faults.append(f"the paths are not those of a {shape.name} sector")
    return faults + faults_of_post(proof, leaves)


def circuit_faults(proof: PostProof, data: bytes) -> list[str]:
    """What in the circuit's witness of a proof that holds contradicts it.

    Args:
        proof: Of one sector of a known size.
        data: Its file.
    """
    first = proof.sectors[0].inclusion_proofs
    fitting = [
        shape
        for shape in SECTOR_SHAPES.values()
        if shape.tree.arities(shape.num_nodes) == tuple(len(each.siblings) + 1 for each in first[0].path)
    ]
    if not fitting or len(proof.sectors) != 1:
        return ["no circuit is for such sectors"]
    is_winning = len(first) == WINNING_CHALLENGES
    name = f"winning-post:{fitting[0].name}" if is_winning else f"window-post:{fitting[0].name}:1"
    circuit = find_circuit(name)
    inputs, row, witness = compiled_witness(name, circuit.hints(data, None, 0))
    per_sector = 1 if is_winning else WINDOW_CHALLENGES
    leaves = [opening.index for opening in first]
    groups = [leaves[i : i + per_sector] for i in range(0, len(leaves), per_sector)]
    faults = []
    if inputs != post_public_inputs((proof.comm_r, group) for group in groups):
        faults.append("the circuit's public inputs are not the commitment and the leaves")
    if row is not None:
        faults.append(f"row {row} of {name} does not hold")
    print(f"witness of {name}: {len(witness)} values, {len(inputs)} public inputs")
    return faults


def _shape(seal_proof: int) -> SectorShape:
    return sector_shape(_SIZES[seal_proof % len(_SIZES)])


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the files that the arguments name."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.interop.vproof", description=__doc__.split("\n")[0]
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--public", type=Path)
    options = parser.parse_args(arguments)
    try:
        proof = read_post(options.file.read_bytes(), options.file)
        faults = faults_of_post(proof)
        if options.public:
            faults = public_faults(proof, json.loads(options.public.read_bytes()))
        if not faults:
            faults = circuit_faults(proof, options.file.read_bytes())
    except (InputError, OSError, json.JSONDecodeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for number, sector in enumerate(proof.sectors):
        for inclusion in sector.inclusion_proofs:
            parts = " + ".join(
                str(len(part)) for part in (inclusion.base, inclusion.sub, inclusion.top) if part
            )
            print(f"sector {number}: leaf {inclusion.index} of {inclusion.num_leaves}, {parts} levels")
    print(f"sector number {proof.sector_number}, comm_r {proof.comm_r:#066x}")
    print("\n".join(f"does not hold: {fault}" for fault in faults) or "holds")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
