"""Sub-circuits that are recorded once and inserted wherever they occur again.

A template is a function of booleans, or of variables. What it writes depends on the form of its operands alone:
which are constants, which are negated, which are the same variable. So for each form it is run once, on variables of
its own; every further use adds instances of the same pieces, with other variables. Rows are the same as without.

Where the system keeps values, functions run as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cuzk.circuits.boolean import Bit
from cuzk.synthesis import ONE, Block, ConstraintSystem, Variable

__all__ = ["Body", "VariableBody", "call_template", "call_variable_template"]

#: A function of booleans. It must be the same object at each use, and use nothing but its arguments.
Body: TypeAlias = Callable[[ConstraintSystem, Sequence[Bit]], list[Bit]]

#: The same of variables.
VariableBody: TypeAlias = Callable[[ConstraintSystem, Sequence[Variable]], list[Variable]]

_FIRST_VARIABLE = 2


@dataclass(frozen=True)
class _Recorded:
    """What a body did for one form: its rows and programs, and its results in terms of its own variables."""

    block: Block
    results: list[int]


def call_template(cs: ConstraintSystem, body: Body, operands: Sequence[Bit]) -> list[Bit]:
    """The same as body(cs, operands), recorded once per form.

    Args:
        cs: The system; it remembers what was recorded.
        body: What to run or insert.
        operands: Booleans.

    Returns:
        The body's results.

    Cost: of a repetition, some nanoseconds per variable that is bound or made by another template within.
    """
    if cs.templates is None:
        return body(cs, operands)
    form, variables = _form(operands)
    recorded = _recorded(cs, cs.templates, body, form, len(variables))
    outer = _inserted(cs, recorded, variables, [(bit >> 1) - 1 for bit in recorded.results])
    return [
        bit if bit < _FIRST_VARIABLE else (variable + 1) << 1 | (bit & 1)
        for bit, variable in zip(recorded.results, outer, strict=True)
    ]


def call_variable_template(
    cs: ConstraintSystem, body: VariableBody, operands: Sequence[Variable]
) -> list[Variable]:
    """The same of a function of variables, inputs or auxiliary ones; arguments, result and cost as of call_template."""
    if cs.templates is None:
        return body(cs, operands)
    number: dict[Variable, int] = {}
    form = tuple(
        ONE if variable == ONE else number.setdefault(variable, len(number)) for variable in operands
    )
    recorded = _recorded(cs, cs.templates, body, form, len(number))
    return _inserted(cs, recorded, list(number), recorded.results)


def _recorded(
    cs: ConstraintSystem,
    templates: dict[object, object],
    body: Body | VariableBody,
    form: tuple[int, ...],
    num_variables: int,
) -> _Recorded:
    """What a body does for a form of operands, recorded now if it is not yet."""
    recorded = templates.get((body, form))
    if not isinstance(recorded, _Recorded):
        child = cs.child(num_variables)
        results = body(child, form)
        recorded = templates[body, form] = _Recorded(child.block(), results)
    return recorded


def _inserted(
    cs: ConstraintSystem, recorded: _Recorded, variables: list[Variable], own: Sequence[Variable]
) -> list[Variable]:
    """Insert what was recorded; some of its own variables as they are called outside."""
    shift, input_shift = cs.insert(recorded.block, variables)
    bound = len(variables)
    return [
        variables[v] if 0 <= v < bound else v + shift if v >= 0 else v if v == ONE else v + input_shift
        for v in own
    ]


def _form(operands: Sequence[Bit]) -> tuple[tuple[Bit, ...], list[Variable]]:
    """The operands with their variables numbered in the order in which they first occur, and these variables."""
    number: dict[int, int] = {}
    form = tuple(
        bit if bit < _FIRST_VARIABLE else (number.setdefault(bit >> 1, len(number)) + 1) << 1 | (bit & 1)
        for bit in operands
    )
    return form, [half - 1 for half in number]
