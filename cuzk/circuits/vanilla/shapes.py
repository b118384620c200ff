"""Sector sizes with the trees, layers and challenges that belong to them.

>>> shape = sector_shape("32GiB")
>>> str(shape.tree), shape.num_nodes == 2**30, shape.layers, shape.challenges, shape.partitions
('8-8-0', True, 11, 18, 10)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cuzk.circuits.vanilla.domain import NODE_BYTES
from cuzk.circuits.vanilla.merkle import TreeShape
from cuzk.errors import RangeError

__all__ = ["SECTOR_SHAPES", "WINDOW_CHALLENGES", "WINNING_CHALLENGES", "SectorShape", "sector_shape"]

#: Openings of a sector in a WinningPoSt (one sector) and in a WindowPoSt (many).
WINNING_CHALLENGES = 66
WINDOW_CHALLENGES = 10

_MIN_CHALLENGES_LARGE = 176
_PARTITIONS_LARGE = 10
#: Challenges of a non-interactive PoRep per challenge of one with a seed, in tenths.
_NON_INTERACTIVE_TENTHS = 128


@dataclass(frozen=True)
class SectorShape:
    """What a sector size fixes.

    Attributes:
        name: As in the names of circuits.
        size_bytes: Size of the data, and of the replica.
        tree: Shape of the trees over columns and replica.
        layers: Layers of labels.
        challenges: Challenges in one partition of a PoRep.
        partitions: Partitions of a PoRep.
        window_sectors: Sectors in one partition of a WindowPoSt.
    """

    name: str
    size_bytes: int
    tree: TreeShape
    layers: int = 2
    challenges: int = 2
    partitions: int = 1
    window_sectors: int = 2

    @property
    def num_nodes(self) -> int:
        """Nodes of 32 bytes."""
        return self.size_bytes // NODE_BYTES

    @property
    def non_interactive_partitions(self) -> int:
        """Partitions of a non-interactive PoRep, each with as many challenges."""
        minimum = _MIN_CHALLENGES_LARGE if self.partitions > 1 else self.challenges
        return -(-_NON_INTERACTIVE_TENTHS * minimum // (10 * self.challenges))


def _large(name: str, size_bytes: int, tree: TreeShape, window_sectors: int) -> SectorShape:
    challenges = -(-_MIN_CHALLENGES_LARGE // _PARTITIONS_LARGE)
    return SectorShape(name, size_bytes, tree, 11, challenges, _PARTITIONS_LARGE, window_sectors)


SECTOR_SHAPES: Mapping[str, SectorShape] = {
    shape.name: shape
    for shape in (
        SectorShape("2KiB", 2 << 10, TreeShape(8)),
        SectorShape("4KiB", 4 << 10, TreeShape(8, 2)),
        SectorShape("16KiB", 16 << 10, TreeShape(8, 8)),
        SectorShape("32KiB", 32 << 10, TreeShape(8, 8, 2)),
        SectorShape("8MiB", 8 << 20, TreeShape(8)),
        SectorShape("16MiB", 16 << 20, TreeShape(8, 2)),
        SectorShape("512MiB", 512 << 20, TreeShape(8)),
        SectorShape("1GiB", 1 << 30, TreeShape(8, 2)),
        _large("32GiB", 32 << 30, TreeShape(8, 8), 2349),
        _large("64GiB", 64 << 30, TreeShape(8, 8, 2), 2300),
    )
}


def sector_shape(name: str) -> SectorShape:
    """The shape of a sector size.

    Raises:
        RangeError: No such size.
    """
    try:
        return SECTOR_SHAPES[name]
    except KeyError:
        raise RangeError(
            f"unknown sector size {name!r}", limit=f"one of {', '.join(SECTOR_SHAPES)}"
        ) from None
