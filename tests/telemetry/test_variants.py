"""The variant registry: parsing, defaults, and messages that say what is possible.

Would catch: a value accepted that no code implements, a setting lost in silence, a row without a forecast.
"""

from __future__ import annotations

import pytest

from cuzk.errors import InputError
from cuzk.telemetry import PHASES
from cuzk.variants import VARIANTS, defaults, parse_setting, resolve


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=lambda variant: variant.id)
def test_every_row_is_complete(variant: object) -> None:
    from cuzk.variants import Variant

    assert isinstance(variant, Variant)
    assert variant.default in variant.values
    assert len(set(variant.values)) == len(variant.values) >= 2
    assert set(variant.phase) <= set(PHASES)
    assert set(variant.devices) <= {"cpu", "emu", "cuda"}
    for text in (variant.name, variant.promise, variant.forecast, variant.trace):
        assert text.strip()
    for value in variant.values:
        assert parse_setting(f"{variant.id}={value}") == (variant.id, value)


def test_resolve_fills_in_defaults() -> None:
    assert resolve() == defaults()
    assert resolve([" d4 = 9 "]) == defaults() | {"D4": "9"}
    assert resolve({"D4": "9"}) == resolve(["D4=9", "D4=9"])
    assert set(resolve()) == set(VARIANTS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("D4", "ID=VALUE"),
        ("=7", "ID=VALUE"),
        ("D4=", "ID=VALUE"),
        ("X9=1", r"no variant 'X9'.*possible: .*D4 \(MSM window bits\)"),
        ("D4=1", r"no value '1'.*possible: auto, 2, 3"),
        ("D4=25", "no value '25'"),
        ("D4=012", "no value '012'"),
    ],
)
def test_bad_settings_say_what_is_possible(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_setting(text)


def test_one_variant_set_twice_differently_is_refused() -> None:
    with pytest.raises(InputError, match="both '8' and '9'"):
        resolve(["D4=8", "D4=9"])
