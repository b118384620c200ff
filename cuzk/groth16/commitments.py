"""What the phase ``commit`` hands to the phase ``assemble``: apart, so that neither imports the other."""

from __future__ import annotations

from dataclasses import dataclass, field

from cuzk.limbs import U64Array

__all__ = ["Commitments"]


@dataclass
class Commitments:
    """One point per query, on the host.

    Args:
        points: Query name -> point. Shape affine_shape uint64. Form: affine, Montgomery.
    """

    points: dict[str, U64Array] = field(default_factory=dict)

    def __getitem__(self, name: str) -> U64Array:
        return self.points[name]
