"""Check a vanilla PoSt proof that another program wrote: every path, the commitment, the challenges.

    python -m tests.interop.vproof FILE [--public FILE]

FILE is one sector's proof in bincode or JSON, as Filecoin's own programs write them. The public file is the JSON of
Go's WindowPoStVerifyInfo: the randomness, and each sector's number and sealed CID. Without it the challenged leaves
and the commitment on chain are not known, and only the proof itself is checked.

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

from cuzk.circuits.vanilla.domain import from_bytes
from cuzk.circuits.vanilla.post import PostProof, faults_of_post, post_challenges
from cuzk.circuits.vanilla.post_files import read_post
from cuzk.circuits.vanilla.shapes import WINDOW_CHALLENGES, SectorShape, sector_shape
from cuzk.errors import FormatError, InputError

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
