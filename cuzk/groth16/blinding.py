"""The two random scalars that make a proof zero-knowledge."""

from __future__ import annotations

import secrets
import warnings
from dataclasses import dataclass

from cuzk.curves import Curve
from cuzk.errors import RangeError, SecurityWarning

__all__ = ["Blinding"]


@dataclass(repr=False)
class Blinding:
    """r and s of one proof.

    Args:
        r_blind: 0 <= r_blind < r.
        s_blind: 0 <= s_blind < r.
    """

    r_blind: int
    s_blind: int

    @classmethod
    def random(cls, curve: Curve) -> Blinding:
        """Draw both from the operating system's generator, neither of them 0."""
        return cls(1 + secrets.randbelow(curve.r - 1), 1 + secrets.randbelow(curve.r - 1))

    @classmethod
    def insecure(cls, curve: Curve, r_blind: int, s_blind: int) -> Blinding:
        """Take given values, for tests and comparisons; warns, since the proof is not zero-knowledge.

        Raises:
            RangeError: A value is negative or >= r.
        """
        for name, value in (("r", r_blind), ("s", s_blind)):
            if not 0 <= value < curve.r:
                raise RangeError(
                    f"blinding {name} = {value}", limit=f"0 <= {name} < r = {curve.r}", remedy="give it mod r"
                )
        warnings.warn(
            "blinding was given instead of drawn: this proof is not zero-knowledge",
            SecurityWarning,
            stacklevel=3,
        )
        return cls(r_blind, s_blind)

    def wipe(self) -> None:
        """Forget both values: Python may hold copies of an int, but what we keep is gone."""
        self.r_blind = self.s_blind = 0

    def __repr__(self) -> str:
        return "Blinding(<secret>)"
