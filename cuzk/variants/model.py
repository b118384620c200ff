"""One row of the registry, and what a value needs of a device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cuzk.errors import InputError

__all__ = ["ALL_DEVICES", "Variant"]

#: Kinds of device.
ALL_DEVICES = ("cpu", "emu", "cuda")


@dataclass(frozen=True, slots=True)
class Variant:
    """One row of the registry.

    Args:
        id: Short identifier, as on the command line.
        name: What varies.
        phase: Phases in which it acts.
        values: Every value it takes, as written on the command line.
        default: The value in force when none is chosen.
        promise: What stays true for every value, and what differs.
        forecast: Expected gain, written before a measurement.
        trace: Tag that the events of these phases carry, equal to the value in force.
        devices: Kinds of device on which it can be chosen.
        default_on: Kind of device -> the default there, where it is another.
        not_on: Kind of device -> value -> why the value is impossible there.
        only_with: Another variant and the value of it without which this one does not act, nor leave its trace.
    """

    id: str
    name: str
    phase: tuple[str, ...]
    values: tuple[str, ...]
    default: str
    promise: str
    forecast: str
    trace: str
    devices: tuple[str, ...] = ALL_DEVICES
    default_on: Mapping[str, str] = field(default_factory=dict)
    not_on: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    only_with: tuple[str, str] | None = None

    def default_for(self, kind: str | None) -> str:
        """The value in force on a kind of device when none is chosen."""
        return self.default_on.get(kind or "", self.default)

    def why_not(self, value: str, kind: str) -> str | None:
        """Why a value can't be chosen on a kind of device; None where it can."""
        if kind not in self.devices:
            return f"the variant acts on {', '.join(self.devices)} only"
        return self.not_on.get(kind, {}).get(value)

    def possible(self, kind: str | None) -> tuple[str, ...]:
        """The values that can be chosen on a kind of device; all of them for None."""
        return tuple(value for value in self.values if kind is None or self.why_not(value, kind) is None)

    def check(self, value: str, kind: str | None = None) -> str:
        """Return `value` if it is one of this variant's and possible.

        Args:
            value: As written on the command line.
            kind: Kind of device; None where that is not known yet.

        Returns:
            The same value.

        Raises:
            InputError: It is not; the message lists what is possible.
        """
        possible = ", ".join(self.possible(kind))
        if value not in self.values:
            raise InputError(
                f"variant {self.id} ({self.name}) has no value {value!r}",
                limit=f"possible: {possible}",
                remedy=f"for example {self.id}={self.default_for(kind)}, the default",
            )
        reason = None if kind is None else self.why_not(value, kind)
        if reason is not None:
            raise InputError(
                f"variant {self.id}={value} ({self.name}) is impossible on {kind}: {reason}",
                limit=f"possible on {kind}: {possible or 'nothing'}",
                remedy="leave it out, or choose another device",
            )
        return value
