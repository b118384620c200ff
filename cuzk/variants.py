"""The registry of optimisation variants: every choice that changes how a proof is made, never which proof.

A row exists only for code that exists.  Each names the phase it acts in, its values, what it promises, what
it gains by forecast (written before a measurement), and the event tag by which a run proves that it acted.
The promise common to all: with the same inputs and blinding, every value gives the same proof bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from cuzk.errors import InputError

__all__ = ["VARIANTS", "Variant", "defaults", "parse_setting", "resolve"]

_ALL_DEVICES = ("cpu", "emu", "cuda")


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
        trace: Tag that the phase's event carries, equal to the value in force.
        devices: Devices on which it can be chosen.
    """

    id: str
    name: str
    phase: tuple[str, ...]
    values: tuple[str, ...]
    default: str
    promise: str
    forecast: str
    trace: str
    devices: tuple[str, ...] = _ALL_DEVICES

    def check(self, value: str) -> str:
        """Return `value` if it is one of this variant's.

        Args:
            value: As written on the command line.

        Returns:
            The same value.

        Raises:
            InputError: It is not; the message lists what is possible.
        """
        if value not in self.values:
            raise InputError(
                f"variant {self.id} ({self.name}) has no value {value!r}",
                limit=f"possible: {', '.join(self.values)}",
                remedy=f"for example {self.id}={self.default}, the default",
            )
        return value


_ROWS = (
    Variant(
        id="D4",
        name="MSM window bits",
        phase=("msm_h", "tail_msm", "b_g2_msm"),
        values=("auto", *(str(bits) for bits in range(2, 25))),
        default="auto",
        promise="The same sums; time, bucket memory and the number of windows differ.",
        forecast="auto is within 10% of the best fixed width at every size from 2^10 to 2^24.",
        trace="D4",
    ),
    Variant(
        id="M2",
        name="MSM split by scalar class",
        phase=("batch_add", "tail_msm", "b_g2_msm"),
        values=("split", "none"),
        default="split",
        promise="The same sums; `split` adds up the bases of scalar one and leaves out those of scalar zero.",
        forecast="split saves 60 to 90% of tail_msm on circuits made of bits, and costs 2% on others.",
        trace="M2",
    ),
)

#: Every variant by id.
VARIANTS: Mapping[str, Variant] = MappingProxyType({row.id: row for row in _ROWS})


def parse_setting(text: str) -> tuple[str, str]:
    """Split and check one `ID=VALUE`.

    Args:
        text: As given to `--variant`.  The identifier's case does not matter.

    Returns:
        Identifier and value.

    Raises:
        InputError: Not of this form, unknown identifier, or a value the variant does not have.

    Example:
        >>> parse_setting("d4=12")
        ('D4', '12')
    """
    identifier, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not identifier or not value:
        raise InputError(
            f"variant setting {text!r} is not of the form ID=VALUE", remedy="write for example D4=12"
        )
    variant = VARIANTS.get(identifier.upper())
    if variant is None:
        known = ", ".join(f"{row.id} ({row.name})" for row in _ROWS)
        raise InputError(
            f"there is no variant {identifier!r}", limit=f"possible: {known}", remedy="see `cuzk variants`"
        )
    return variant.id, variant.check(value)


def defaults() -> dict[str, str]:
    """Return the default value of every variant, by id."""
    return {row.id: row.default for row in _ROWS}


def resolve(settings: Iterable[str] | Mapping[str, str] = ()) -> dict[str, str]:
    """Return the value in force of every variant.

    Args:
        settings: `ID=VALUE` texts, or a mapping of id to value; what is left out keeps its default.

    Returns:
        Value by id, one entry per variant of the registry.

    Raises:
        InputError: As in `parse_setting`, or one variant is set twice to different values.

    Example:
        >>> resolve(["D4=12"])["D4"]
        '12'
    """
    if isinstance(settings, Mapping):
        settings = [f"{key}={value}" for key, value in settings.items()]
    chosen: dict[str, str] = {}
    for text in settings:
        identifier, value = parse_setting(text)
        if chosen.setdefault(identifier, value) != value:
            raise InputError(
                f"variant {identifier} is set to both {chosen[identifier]!r} and {value!r}",
                remedy="give each variant once",
            )
    return defaults() | chosen
