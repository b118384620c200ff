"""Settings as people write them: ID=VALUE texts, and the value in force of every variant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cuzk.errors import InputError
from cuzk.variants.rows import VARIANTS

__all__ = ["chosen", "defaults", "parse_setting", "resolve"]


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
        known = ", ".join(f"{row.id} ({row.name})" for row in VARIANTS.values())
        raise InputError(
            f"there is no variant {identifier!r}", limit=f"possible: {known}", remedy="see `cuzk variants`"
        )
    return variant.id, variant.check(value)


def defaults(kind: str | None = None) -> dict[str, str]:
    """Return the default value of every variant, by id.

    Args:
        kind: Kind of device, "cpu", "emu" or "cuda"; some defaults depend on it.
    """
    return {row.id: row.default_for(kind) for row in VARIANTS.values()}


def chosen(settings: Iterable[str] | Mapping[str, str] = (), kind: str | None = None) -> dict[str, str]:
    """Return the values that are set, and nothing else.

    Args:
        settings: As for resolve().
        kind: As for resolve().

    Raises:
        InputError: As in resolve().

    Example:
        >>> chosen(["d4=12"])
        {'D4': '12'}
    """
    if isinstance(settings, Mapping):
        settings = [f"{key}={value}" for key, value in settings.items()]
    found: dict[str, str] = {}
    for text in settings:
        identifier, value = parse_setting(text)
        if found.setdefault(identifier, value) != value:
            raise InputError(
                f"variant {identifier} is set to both {found[identifier]!r} and {value!r}",
                remedy="give each variant once",
            )
        # A default is in force everywhere, also where the variant can't be chosen.
        if value != VARIANTS[identifier].default_for(kind):
            VARIANTS[identifier].check(value, kind)
    return found


def resolve(settings: Iterable[str] | Mapping[str, str] = (), kind: str | None = None) -> dict[str, str]:
    """Return the value in force of every variant.

    Args:
        settings: `ID=VALUE` texts, or a mapping of id to value; what is left out keeps its default.
        kind: Kind of device, "cpu", "emu" or "cuda"; None where that is not known yet, so that values are
            not checked against it and defaults are those of most devices.

    Returns:
        Value by id, one entry per variant of the registry.

    Raises:
        InputError: As in `parse_setting`, one variant is set twice to different values, or a value is impossible
            on this kind of device.

    Example:
        >>> resolve(["D4=12"])["D4"]
        '12'
    """
    return defaults(kind) | chosen(settings, kind)
