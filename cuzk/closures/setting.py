"""How a classic synthesis goes about it: the values of the variants A1, A2, A3 and A5."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cuzk.errors import InputError

__all__ = ["INDEXERS", "Setting"]

#: Value of A1 -> terms that a linear combination holds inside the object.
INDEXERS: Mapping[str, int] = {"vec": 0, "small1": 1, "small2": 2, "small4": 4}

_ON = {"off": False, "on": True}


@dataclass(frozen=True, slots=True)
class Setting:
    """One way to do it; none changes a result.

    Args:
        indexer: A1: where the terms of a linear combination lie: "vec" on the heap, "small1", "small2", "small4" the
            first 1, 2 or 4 inside the object.
        presized: A2: whether a, b, c, the assignment and the densities have their memory from the start.
        in_place: A3: whether terms are added where the combination is, in memory that serves row after row; else every
            addition takes a combination by value and gives one back, and bits become combinations first.
        prefetch: A5: whether values are asked for before they are needed.

    Raises:
        InputError: There is no such indexer.
    """

    indexer: str = "vec"
    presized: bool = False
    in_place: bool = False
    prefetch: bool = False

    def __post_init__(self) -> None:
        if self.indexer not in INDEXERS:
            raise InputError(
                f"there is no indexer {self.indexer!r}",
                limit=f"possible: {', '.join(INDEXERS)}",
                remedy="choose one with --variant A1=VALUE",
            )

    @classmethod
    def of(cls, variants: Mapping[str, str]) -> Setting:
        """From values by id, as cuzk.variants.resolve gives them.

        Raises:
            InputError: A1 has a value that there is no indexer for.
        """
        return cls(variants["A1"], _ON[variants["A2"]], _ON[variants["A3"]], _ON[variants["A5"]])

    def variants(self) -> dict[str, str]:
        """The values by id."""
        words = {False: "off", True: "on"}
        return {
            "A1": self.indexer,
            "A2": words[self.presized],
            "A3": words[self.in_place],
            "A5": words[self.prefetch],
        }
