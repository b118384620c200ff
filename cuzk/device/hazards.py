"""Order between copies and launches, checked where everything happens at once and no wrong order would show.

On a GPU a copy that ``stage`` began ends at some time before ``wait``, and overwrites memory that launches made since
its `after` may still read.  The emulator copies at once, so results are right in every order; this keeps account of the
byte ranges instead, and a launch or copy that a GPU could run too early raises.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from cuzk.device.copies import Ticket
from cuzk.errors import InternalError

__all__ = ["Hazards"]

#: Launches whose arguments are remembered; a copy is compared with those.
_REMEMBERED = 1024


@dataclass(frozen=True, slots=True)
class _Range:
    """Bytes ``[start, end)`` that a launch was given, or that a copy fills."""

    start: int
    end: int
    position: int
    what: str

    def meets(self, start: int, end: int) -> bool:
        return start < self.end and self.start < end


class Hazards:
    """Copies that nobody waited for yet, and what recent launches were given.

    Args:
        name: The device, for messages.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._copies: dict[Ticket, _Range] = {}
        self._launched: deque[_Range] = deque(maxlen=_REMEMBERED)

    def staged(self, start: int, nbytes: int, ticket: Ticket, after: Ticket | None, label: str) -> None:
        """Note a copy.

        Raises:
            InternalError: Launches made since `after` were given these bytes.
        """
        end = start + nbytes
        if after is not None:  # of a copy, its position is that of what it waited for itself
            for used in reversed(self._launched):
                if used.position <= after.position:
                    break
                if used.meets(start, end):
                    raise InternalError(
                        f"{self._name}: a copy of {nbytes} bytes for {label} would overwrite what {used.what} may "
                        "still use",
                        limit=f"launch {after.position}; it is launch {used.position}",
                    )
        self._copies[ticket] = _Range(start, end, ticket.position, label)

    def waited(self, ticket: Ticket) -> None:
        """Note that launches from now on come after a copy, and after all copies begun before it."""
        if ticket in self._copies:
            for earlier in list(self._copies):
                del self._copies[earlier]
                if earlier is ticket:
                    break

    def settled(self) -> None:
        """Note that the host waited for everything."""
        self._copies.clear()
        self._launched.clear()

    def used(self, start: int, nbytes: int, what: str) -> None:
        """A launch or a copy in launch order touches bytes.

        Raises:
            InternalError: A copy into them was not waited for.
        """
        for copy in list(self._copies.values()):
            if copy.meets(start, start + nbytes):
                raise InternalError(
                    f"{self._name}: {what} uses an array of {nbytes} bytes while a copy into it for {copy.what} may "
                    "still run",
                    remedy="wait for the copy's ticket first",
                )

    def launched(self, start: int, nbytes: int, position: int, kernel: str) -> None:
        """Note what a launch was given."""
        self._launched.append(_Range(start, start + nbytes, position, kernel))
