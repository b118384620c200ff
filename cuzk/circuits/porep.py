"""The PoRep of each sector size: which stacked circuit one of its partitions is, and its hints from a C1 file.

>>> find_porep("porep:32GiB").name
'stacked:8-8-0:1073741824n:11l:18c'
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256

from cuzk.circuits.hints import stacked_hints
from cuzk.circuits.stacked import StackedCircuit
from cuzk.circuits.vanilla.domain import NODE_BYTES
from cuzk.circuits.vanilla.merkle_files import PathName
from cuzk.circuits.vanilla.porep_files import CommitPhase1, read_commit1, write_commit1
from cuzk.circuits.vanilla.seal import SectorIdentity
from cuzk.circuits.vanilla.shapes import SectorShape, sector_shape
from cuzk.circuits.vanilla.synthetic import synthetic_commit1
from cuzk.errors import RangeError

__all__ = [
    "POREP_PATTERN",
    "file_hints",
    "find_porep",
    "forget_files",
    "synthetic_file",
    "synthetic_identity",
]

POREP_PATTERN = "porep:SIZE"


def find_porep(name: str) -> StackedCircuit:
    """The circuit of ``porep:SIZE``: one partition, whether the PoRep is interactive, synthetic or non-interactive.

    Raises:
        RangeError: Not of the form, or no such size.
    """
    family, colon, size = name.partition(":")
    if family != "porep" or not colon:
        raise RangeError(f"{name!r:.60} is no PoRep", limit=POREP_PATTERN)
    return StackedCircuit.of_sector(sector_shape(size))


def file_hints(
    circuit: StackedCircuit, data: bytes, path: PathName = None, partition: int = 0
) -> Iterator[int]:
    """The hints of a circuit from an output of the first commit phase.

    Args:
        circuit: Which.
        data: The file; see cuzk.circuits.vanilla.porep_files.
        path: Its name, for errors.
        partition: Which of the sector's partitions, from 0.

    Raises:
        FormatError: It does not parse.   ShapeError: It is for another circuit.
    """
    return stacked_hints(
        circuit, _last_read(bytes(data), None if path is None else os.fspath(path)), partition
    )


def forget_files() -> None:
    """Let go of the files that were read last: the next reading takes as long as the first."""
    _last_read.cache_clear()


@lru_cache(maxsize=2)
def _last_read(data: bytes, path: str | None) -> CommitPhase1:
    """read_commit1, remembered: a prover reads one file once for each of its partitions, and parsing is most of it."""
    return read_commit1(data, path)


def synthetic_identity(salt: bytes) -> tuple[SectorIdentity, bytes]:
    """The sector of `synthetic_file`, and the seed of its challenges."""
    prover, ticket, porep, seed = (sha256(salt + bytes([i])).digest() for i in range(4))
    return SectorIdentity(prover, int.from_bytes(seed[:4], "little"), ticket, porep), seed


def synthetic_file(circuit: StackedCircuit, salt: bytes, partitions: int = 1) -> bytes:
    """An output of the first commit phase of a sector that nobody sealed, in bincode.

    Args:
        circuit: Of which size.
        salt: Sector, seed and what is invented depend on it.
        partitions: How many partitions it has.

    Cost: 0.1 s for each challenge of 32 GiB.
    """
    identity, seed = synthetic_identity(salt)
    shape = SectorShape(
        circuit.name,
        circuit.num_nodes * NODE_BYTES,
        circuit.tree,
        layers=circuit.layers,
        challenges=circuit.challenges,
    )
    return write_commit1(synthetic_commit1(shape, identity, seed, partitions=partitions, salt=salt))
