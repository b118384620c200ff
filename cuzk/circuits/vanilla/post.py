"""Vanilla proofs of spacetime (WinningPoSt and WindowPoSt, both the "fallback" PoSt): leaves of sealed replicas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from cuzk.circuits.vanilla.domain import from_bytes, to_bytes
from cuzk.circuits.vanilla.merkle import POSEIDON, InclusionProof, Tree
from cuzk.circuits.vanilla.poseidon import poseidon
from cuzk.errors import ShapeError

__all__ = [
    "PostProof",
    "SectorProof",
    "faults_of_post",
    "pad_sectors",
    "post_challenges",
    "post_public_inputs",
    "prove_sector",
]


@dataclass(frozen=True)
class SectorProof:
    """Openings of one replica.

    Attributes:
        inclusion_proofs: One for each challenge, under comm_r_last.
        comm_c: With comm_r_last it hashes to comm_r.
        comm_r_last: The root of the replica's tree.
    """

    inclusion_proofs: tuple[InclusionProof, ...]
    comm_c: int
    comm_r_last: int


@dataclass(frozen=True)
class PostProof:
    """What a prover gives out for one sector.

    Attributes:
        sector_number: Whose.
        comm_r: Its commitment on chain.
        sectors: Its openings; one item where the file is of a single sector.
    """

    sector_number: int
    comm_r: int
    sectors: tuple[SectorProof, ...]


def post_challenges(
    randomness: bytes, sector_number: int, num_nodes: int, count: int, first: int = 0
) -> list[int]:
    """The challenged leaves of a sector.

    Args:
        randomness: 32 bytes from the chain that are a field element.
        sector_number: The sector's number on chain.
        num_nodes: Leaves of its tree, a power of two.
        count: How many.
        first: Number of the first challenge: 0 from version 1.2 on; before, challenges were counted through all
            sectors of a partition.
    Raises:
        ShapeError, RangeError: The randomness is not 32 bytes, or not below r.
    """
    start = to_bytes(from_bytes(randomness, "the randomness")) + sector_number.to_bytes(8, "little")
    digests = (sha256(start + n.to_bytes(8, "little")).digest() for n in range(first, first + count))
    return [int.from_bytes(digest[:8], "little") % num_nodes for digest in digests]


def post_public_inputs(sectors: Iterable[tuple[int, Sequence[int]]]) -> list[int]:
    """What a verifier knows, in the order of the circuit, without ONE.

    Args:
        sectors: Of each sector of the partition comm_r and the challenged leaves. In a WinningPoSt each challenge is
            a sector of its own.
    """
    return [value for comm_r, leaves in sectors for value in (comm_r, *leaves)]


def prove_sector(tree_r_last: Tree, comm_c: int, challenges: Sequence[int]) -> SectorProof:
    """Open the leaves of one replica; the tree may be sparse if it knows them."""
    return SectorProof(tuple(tree_r_last.prove(leaf) for leaf in challenges), comm_c, tree_r_last.root)


def pad_sectors(sectors: Sequence[SectorProof], count: int) -> tuple[SectorProof, ...]:
    """Fill a partition by repeating its last sector.

    Raises:
        ShapeError: No sector, or more than fit.
    """
    if not 1 <= len(sectors) <= count:
        raise ShapeError(f"{len(sectors)} sectors for one partition", limit=f"1 to {count}")
    return (*sectors, *[sectors[-1]] * (count - len(sectors)))


def faults_of_post(proof: PostProof, challenges: Sequence[int] | None = None) -> list[str]:
    """What is wrong with a proof; nothing where it holds.

    Args:
        proof: Whose every path is recomputed.
        challenges: The leaves that had to be opened, or None where they are not known.
    """
    faults = [] if proof.sectors else ["there is no sector in it"]
    for number, sector in enumerate(proof.sectors):
        if poseidon((sector.comm_c, sector.comm_r_last)) != proof.comm_r:
            faults.append(f"sector {number}: comm_r is not the hash of comm_c and comm_r_last")
        if len({inclusion.num_leaves for inclusion in sector.inclusion_proofs}) > 1:
            faults.append(f"sector {number}: its paths are of trees of different sizes")
        opened = [inclusion.index for inclusion in sector.inclusion_proofs]
        if challenges is not None and opened != list(challenges):
            faults.append(f"sector {number}: opens leaves {opened}, not {list(challenges)}")
        for i, inclusion in enumerate(sector.inclusion_proofs):
            if inclusion.root != sector.comm_r_last or not inclusion.holds(POSEIDON):
                faults.append(f"sector {number}: path {i}: the leaf is not under comm_r_last")
    return faults
