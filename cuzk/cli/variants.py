"""``cuzk variants``: the registry of choices that change how a proof is made, never which."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cuzk.cli.help_text import epilog
from cuzk.cli.options import JsonOption
from cuzk.cli.output import print_facts, print_json, print_table, table
from cuzk.errors import InputError

if TYPE_CHECKING:
    from cuzk.variants import Variant

__all__ = ["EXAMPLES", "variants"]

EXAMPLES = epilog("cuzk variants", "cuzk variants A4", "cuzk variants --json")

#: More values than this are shown as a range.
_MANY = 6


def variants(
    identifier: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="One variant, with all that is known of it.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List every optimisation variant with its values, its default and where it acts; or one with its promise."""
    from cuzk.variants import ENGINE_VARIANTS, VARIANTS

    every = {**VARIANTS, **ENGINE_VARIANTS}
    if identifier is not None:
        row = every.get(identifier.upper())
        if row is None:
            raise InputError(
                f"there is no variant {identifier!r}",
                limit=f"possible: {', '.join(every)}",
                remedy="see `cuzk variants`",
            )
        if as_json:
            print_json(asdict(row))
        else:
            print_facts(_facts(row))
        return
    if as_json:
        print_json([asdict(row) for row in every.values()])
        return
    columns = ("id", "what varies", "values", "default", "acts in")
    made = table("Variants: the same inputs and blinding give the same proof with every value", *columns)
    for row in every.values():
        made.add_row(row.id, row.name, _short(row.values), _default(row), ", ".join(row.phase))
    print_table(made)


def _facts(row: Variant) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "variant": row.id,
        "what_varies": row.name,
        "values": _short(row.values),
        "default": _default(row),
        "devices": ", ".join(row.devices),
        "acts_in": ", ".join(row.phase),
        "promise": row.promise,
        "forecast": row.forecast,
        "trace": f"tag {row.trace} of these phases' events",
    }
    if row.only_with is not None:
        facts["only_with"] = "=".join(row.only_with)
    for kind, reasons in row.not_on.items():
        facts[f"not_on_{kind}"] = "; ".join(
            f"{', '.join(value for value, why in reasons.items() if why == reason)}: {reason}"
            for reason in dict.fromkeys(reasons.values())
        )
    return facts


def _default(row: Variant) -> str:
    """The default, and where it is another."""
    others: dict[str, list[str]] = {}
    for kind, value in row.default_on.items():
        others.setdefault(value, []).append(kind)
    return ", ".join([row.default, *(f"{value} on {' and '.join(kinds)}" for value, kinds in others.items())])


def _short(values: tuple[str, ...]) -> str:
    """All values, or a run of numbers as first..last."""
    words = [value for value in values if not value.isdigit()]
    numbers = sorted(int(value) for value in values if value.isdigit())
    if len(numbers) <= _MANY or numbers != list(range(numbers[0], numbers[-1] + 1)):
        return ", ".join(values)
    return ", ".join([*words, f"{numbers[0]}..{numbers[-1]}"])
