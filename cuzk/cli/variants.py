"""``cuzk variants``: the registry of choices that change how a proof is made, never which."""

from __future__ import annotations

from dataclasses import asdict

from cuzk.cli.help_text import epilog
from cuzk.cli.options import JsonOption
from cuzk.cli.output import print_json, print_table, table

__all__ = ["EXAMPLES", "variants"]

EXAMPLES = epilog("cuzk variants", "cuzk variants --json")

#: More values than this are shown as a range.
_MANY = 6


def variants(as_json: JsonOption = False) -> None:
    """List every optimisation variant with its values, its default and what it promises."""
    from cuzk.variants import VARIANTS

    if as_json:
        print_json([asdict(row) for row in VARIANTS.values()])
        return
    columns = ("id", "what varies", "values", "default", "acts in", "promise", "forecast")
    made = table("Variants: the same inputs and blinding give the same proof with every value", *columns)
    for row in VARIANTS.values():
        made.add_row(
            row.id, row.name, _short(row.values), row.default, ", ".join(row.phase), row.promise, row.forecast
        )
    print_table(made)


def _short(values: tuple[str, ...]) -> str:
    """All values, or a run of numbers as first..last."""
    words = [value for value in values if not value.isdigit()]
    numbers = sorted(int(value) for value in values if value.isdigit())
    if len(numbers) <= _MANY or numbers != list(range(numbers[0], numbers[-1] + 1)):
        return ", ".join(values)
    return ", ".join([*words, f"{numbers[0]}..{numbers[-1]}"])
