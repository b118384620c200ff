"""A sink of a recorder that keeps how far each phase said it was."""

from __future__ import annotations

from cuzk.telemetry import Event


class Shares:
    """Hears how far phases are.

    Attributes:
        shares: What each phase said, in order.
    """

    def __init__(self) -> None:
        self.shares: dict[str, list[float]] = {}

    def started(self, phase: str) -> None:
        """A phase begins."""
        self.shares[phase] = []

    def advanced(self, phase: str, share: float) -> None:
        """It has come so far."""
        self.shares[phase].append(share)

    def receive(self, event: Event) -> None:
        """It has ended."""
