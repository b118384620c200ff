"""Sub-circuits that are recorded once and inserted wherever they occur again.

A template is a function of booleans, or of variables. The rows it writes depend on the form of its operands alone:
which are constants, which are negated, which are the same variable. So for each form it is run once, on variables of
its own; every further use copies these rows with the variables exchanged. The rows are the same as without templates.

Where the system keeps values, functions run as they are, since a copy computes none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cuzk.circuits.boolean import Bit
from cuzk.synthesis import ConstraintSystem, RowBlock, Variable

__all__ = ["Body", "VariableBody", "call_template", "call_variable_template"]

#: A function of booleans. It must be the same object at each use, and use nothing but its arguments.
Body: TypeAlias = Callable[[ConstraintSystem, Sequence[Bit]], list[Bit]]

#: The same of variables; its results are auxiliary ones.
VariableBody: TypeAlias = Callable[[ConstraintSystem, Sequence[Variable]], list[Variable]]

_FIRST_VARIABLE = 2


@dataclass(frozen=True)
class _Recorded:
    """What a body did for one form: its rows, and its results in terms of its own variables."""

    rows: RowBlock
    results: list[int]


def call_template(cs: ConstraintSystem, body: Body, operands: Sequence[Bit]) -> list[Bit]:
    """The same as body(cs, operands), from recorded rows where they are at hand.

    Args:
        cs: The system; it remembers what was recorded.
        body: What to run or insert.
        operands: Booleans.

    Returns:
        The body's results.

    Cost: of a repetition, some nanoseconds per term.
    """
    if cs.templates is None:
        return body(cs, operands)
    form, variables = _form(operands)
    own_results, shift = _insert(cs, cs.templates, body, form, variables)
    num_bound = len(variables)
    results = []
    for bit in own_results:
        own = (bit >> 1) - 1
        outer = variables[own] if 0 <= own < num_bound else own + shift
        results.append(bit if bit < _FIRST_VARIABLE else (outer + 1) << 1 | (bit & 1))
    return results


def call_variable_template(
    cs: ConstraintSystem, body: VariableBody, operands: Sequence[Variable]
) -> list[Variable]:
    """The same as body(cs, operands), from recorded rows where they are at hand and no operand is an input.

    Arguments, results and cost as of call_template, with variables for booleans.
    """
    if cs.templates is None or min(operands, default=0) < 0:
        return body(cs, operands)
    number: dict[Variable, int] = {}
    form = tuple(number.setdefault(variable, len(number)) for variable in operands)
    variables = list(number)
    results, shift = _insert(cs, cs.templates, body, form, variables)
    return [variables[own] if own < len(variables) else own + shift for own in results]


def _insert(
    cs: ConstraintSystem,
    templates: dict[object, object],
    body: Body | VariableBody,
    form: tuple[int, ...],
    variables: list[Variable],
) -> tuple[list[int], int]:
    """Insert a body's rows, recorded now if they are not yet; its results in its own terms, and the shift."""
    recorded = templates.get((body, form))
    if not isinstance(recorded, _Recorded):
        recorded = templates[body, form] = _record(cs, body, form, len(variables))
    return recorded.results, cs.insert(recorded.rows, variables)


def _form(operands: Sequence[Bit]) -> tuple[tuple[Bit, ...], list[Variable]]:
    """The operands with their variables numbered in the order in which they first occur, and these variables."""
    number: dict[int, int] = {}
    form = tuple(
        bit if bit < _FIRST_VARIABLE else (number.setdefault(bit >> 1, len(number)) + 1) << 1 | (bit & 1)
        for bit in operands
    )
    return form, [half - 1 for half in number]


def _record(
    cs: ConstraintSystem, body: Body | VariableBody, form: tuple[int, ...], num_variables: int
) -> _Recorded:
    """Run a body on the first variables of an empty system, which shares what is recorded."""
    own = ConstraintSystem(cs.curve, templates=cs.templates)
    for _ in range(num_variables):
        own.alloc()
    results = body(own, form)
    return _Recorded(own.block(), results)
