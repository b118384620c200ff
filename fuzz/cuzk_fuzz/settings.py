"""Settings of the optimisation variants, enumerated from their registry: each value is an edge class of its own.

Only values whose cost grows beyond a test are named here, as `V.ID=VALUE` patterns with what they cost.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from cuzk.variants import VARIANTS
from cuzk_fuzz.choices import Choices

#: Values that only campaigns with --heavy and devices with room draw, and why.
HEAVY: Mapping[str, str] = {
    "V.D4=19": "2^18 buckets a window: drawn by heavy campaigns (nightly) and on a GPU",
    "V.D4=2[0-4]": "2^19 buckets a window and more: drawn by heavy campaigns (nightly) and on a GPU",
    "V.D4=largest": "as D4=24: drawn by heavy campaigns (nightly) and on a GPU",
    "V.D4=autotuned": "measures windows for seconds: drawn by heavy campaigns (nightly) and on a GPU",
    "V.C1=[5-9]": "calls of more circuits than a batch of the target has: drawn by heavy campaigns (nightly)",
    "V.C1=[1-3][0-9]": "calls of more circuits than a batch of the target has: drawn by heavy campaigns (nightly)",
}

#: Values that the emulator, hundreds of times slower than the cpu, leaves to the other devices.
_SLOW_ON_EMU = "V.D4=1[3-9]"

Settings = tuple[tuple[str, str], ...]


def setting_id(variant: str, value: str) -> str:
    """The id under which a value is counted."""
    return f"V.{variant}={value}"


def setting_ids() -> tuple[str, ...]:
    """Every value of every variant."""
    return tuple(setting_id(row.id, value) for row in VARIANTS.values() for value in row.values)


def is_heavy(edge_id: str) -> bool:
    """Whether a value costs more than a gate has time for."""
    return any(fnmatchcase(edge_id, pattern) for pattern in HEAVY)


def device_only() -> frozenset[str]:
    """Values that neither of the host's devices can take."""
    return impossible_on(("cpu", "emu"))


def impossible_on(kinds: Iterable[str]) -> frozenset[str]:
    """Values that none of these kinds of devices can take."""
    kinds = tuple(kinds)
    return frozenset(
        setting_id(row.id, value)
        for row in VARIANTS.values()
        for value in row.values
        if not any(value in row.possible(kind) for kind in kinds)
    )


def values_on(device: str, *, heavy: bool) -> dict[str, list[str]]:
    """Values by variant that can be chosen on a kind of device; the default there comes first."""

    def affordable(edge_id: str) -> bool:
        if device == "emu" and fnmatchcase(edge_id, _SLOW_ON_EMU):
            return False
        return heavy or not is_heavy(edge_id)

    found = {}
    for row in VARIANTS.values():
        default = row.default_for(device)
        others = [v for v in row.possible(device) if v != default and affordable(setting_id(row.id, v))]
        found[row.id] = [default, *others]
    return found


def draw_settings(choices: Choices, device: str, *, heavy: bool = False) -> Settings:
    """One value of every variant that acts beside the others; those that were hit least come up most."""
    values = values_on(device, heavy=heavy)
    drawn: dict[str, str] = {}
    for row in sorted(VARIANTS.values(), key=lambda row: row.only_with is not None):
        if row.only_with is None or drawn.get(row.only_with[0]) == row.only_with[1]:
            ids = {setting_id(row.id, value): [value] for value in values[row.id]}
            drawn[row.id] = choices.pick_class(ids)
    return tuple(drawn.items())


def chosen(settings: Settings, device: str) -> Settings:
    """Settings that are not the defaults of a kind of device."""
    return tuple((name, value) for name, value in settings if value != VARIANTS[name].default_for(device))


def covering_array(values: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Few settings in which each two values of different variants meet.

    Greedy: a row starts with the first pair that is missing, and takes for each further variant the value that covers
    most of what is missing.
    """
    names = list(values)
    if len(names) == 1:
        return [{names[0]: value} for value in values[names[0]]]
    missing = {
        frozenset(((a, x), (b, y)))
        for a, b in itertools.combinations(names, 2)
        for x in values[a]
        for y in values[b]
    }
    order = sorted(missing, key=sorted)
    rows: list[dict[str, str]] = []
    for pair in order:
        if pair not in missing:
            continue
        row = dict(sorted(pair))
        for name in names:
            if name not in row:
                row[name] = max(values[name], key=lambda v, n=name: _gain(missing, row, n, v))  # type: ignore[misc]
        missing -= {frozenset(two) for two in itertools.combinations(row.items(), 2)}
        rows.append({name: row[name] for name in names})
    return rows


def _gain(missing: set[frozenset[tuple[str, str]]], row: Mapping[str, str], name: str, value: str) -> int:
    return sum(frozenset(((name, value), other)) in missing for other in row.items())
