"""WinningPoSt and WindowPoSt by sector size: which fallback PoSt they are, and its hints from files of vanilla proofs.

A WinningPoSt opens 66 leaves of one sector, and takes each opening for a sector of its own. A WindowPoSt opens ten
leaves of each of thousands of sectors; a partition that is not full repeats its last one.

>>> find_winning_post("winning-post:32GiB").name, find_window_post("window-post:32GiB:1").num_inputs
('fallback-post:8-8-0:1073741824n:66s:1c', 12)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256

from cuzk.circuits.fallback_post import FallbackPostCircuit
from cuzk.circuits.hints import post_hints
from cuzk.circuits.vanilla.domain import NODE_BYTES, sha256_value, to_bytes
from cuzk.circuits.vanilla.merkle_files import PathName
from cuzk.circuits.vanilla.post import PostProof, SectorProof
from cuzk.circuits.vanilla.post_files import read_posts, write_post
from cuzk.circuits.vanilla.shapes import (
    WINDOW_CHALLENGES,
    WINNING_CHALLENGES,
    SectorShape,
    sector_shape,
)
from cuzk.circuits.vanilla.synthetic import synthetic_post
from cuzk.errors import RangeError, ShapeError

__all__ = [
    "WINDOW_PATTERN",
    "WINNING_PATTERN",
    "file_hints",
    "find_window_post",
    "find_winning_post",
    "sectors_of_partition",
    "synthetic_file",
]

WINNING_PATTERN = "winning-post:SIZE"
WINDOW_PATTERN = "window-post:SIZE[:SECTORS]"


def find_winning_post(name: str) -> FallbackPostCircuit:
    """The circuit of ``winning-post:SIZE``.

    Raises:
        RangeError: Not of the form, or no such size.
    """
    shape, rest = _named(name, "winning-post", WINNING_PATTERN)
    if rest:
        raise RangeError(f"{name!r:.60} is no WinningPoSt", limit=WINNING_PATTERN)
    return FallbackPostCircuit.of_sector(shape, WINNING_CHALLENGES, 1)


def find_window_post(name: str) -> FallbackPostCircuit:
    """The circuit of ``window-post:SIZE[:SECTORS]``; without SECTORS it is a full partition.

    Raises:
        RangeError: Not of the form, no such size, or more sectors than a partition has.
    """
    shape, rest = _named(name, "window-post", WINDOW_PATTERN)
    if not rest:
        return FallbackPostCircuit.of_sector(shape, shape.window_sectors, WINDOW_CHALLENGES)
    number = rest[0]
    if len(rest) > 1 or not (number.isascii() and number.isdigit() and len(number) <= 6):
        raise RangeError(f"{name!r:.60} is no WindowPoSt", limit=WINDOW_PATTERN)
    if not 1 <= int(number) <= shape.window_sectors:
        raise RangeError(
            f"a WindowPoSt of {int(number)} sectors of {shape.name}", limit=f"1 to {shape.window_sectors}"
        )
    return FallbackPostCircuit.of_sector(shape, int(number), WINDOW_CHALLENGES)


def _named(name: str, family: str, pattern: str) -> tuple[SectorShape, list[str]]:
    """The sector size in a name, and the parts after it."""
    first, *rest = name.split(":")
    if first != family or not rest:
        raise RangeError(f"{name!r:.60} names no sector size", limit=pattern)
    return sector_shape(rest[0]), rest[1:]


def sectors_of_partition(
    circuit: FallbackPostCircuit, proofs: Sequence[PostProof]
) -> list[tuple[int, SectorProof]]:
    """Of each sector of a circuit comm_r and what is opened.

    Openings are split into sectors of as many as the circuit's challenges, in order; the last sector is repeated until
    the partition is full.

    Args:
        circuit: Which.
        proofs: Sectors as a miner's programs prove them one by one.

    Raises:
        ShapeError: More sectors than the circuit has, none, or openings that are no multiple of its challenges.
    """
    sectors = []
    for proof in proofs:
        for sector in proof.sectors:
            openings = sector.inclusion_proofs
            if not openings or len(openings) % circuit.challenges:
                raise ShapeError(
                    f"{len(openings)} openings of sector number {proof.sector_number}",
                    limit=f"a multiple of {circuit.challenges} in {circuit.name}",
                    remedy="give the vanilla proof of this kind of proof of spacetime",
                )
            parts = (
                openings[first : first + circuit.challenges]
                for first in range(0, len(openings), circuit.challenges)
            )
            sectors += [(proof.comm_r, replace(sector, inclusion_proofs=part)) for part in parts]
    if not 1 <= len(sectors) <= circuit.sectors:
        raise ShapeError(
            f"vanilla proofs of {len(sectors)} sectors",
            limit=f"1 to {circuit.sectors} in {circuit.name}",
            remedy="give as many as the partition has",
        )
    return [*sectors, *[sectors[-1]] * (circuit.sectors - len(sectors))]


def file_hints(
    circuit: FallbackPostCircuit, data: bytes, path: PathName = None, partition: int = 0
) -> Iterator[int]:
    """The hints of a circuit from a file of vanilla proofs.

    Args:
        circuit: Which.
        data: The file; see cuzk.circuits.vanilla.post_files.
        path: Its name, for errors.
        partition: Only 0: a file has the sectors of one partition.

    Raises:
        FormatError: It does not parse.   ShapeError: It is for another circuit.
    """
    if partition:
        raise ShapeError(f"partition {partition} of a proof of spacetime", limit="0: a file is one partition")
    return post_hints(circuit, sectors_of_partition(circuit, read_posts(data, path)))


def synthetic_file(circuit: FallbackPostCircuit, salt: bytes) -> bytes:
    """A vanilla proof of a replica that does not exist, in bincode.

    It is of one sector, which a partition repeats; where each opening is a sector of its own, of one sector with all
    openings.

    Args:
        circuit: Of which size.
        salt: Randomness, sector and what is invented depend on it.
    """
    shape = SectorShape(circuit.name, circuit.num_nodes * NODE_BYTES, circuit.tree)
    randomness = to_bytes(sha256_value(salt, b"randomness"))
    number = int.from_bytes(sha256(salt).digest()[:4], "little")
    challenges = circuit.sectors if circuit.challenges == 1 else circuit.challenges
    return write_post(synthetic_post(shape, number, randomness, challenges=challenges, salt=salt))
