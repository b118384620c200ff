"""One side in another form: with Q1 = four_ntt the quotient and the sums over H and L are others by design.

What such a side should have is recomputed by the oracle from the values before it, so that each form is compared with
one of its own kind: h word by word, and the sum over H and L together, which is the same point in every form.  Only if
that point differs are the two sums recomputed one by one, since the oracle is slow.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cuzk.ab import oracle
from cuzk.ab.runner import Trace
from cuzk.ab.workload import Workload
from cuzk.limbs import U64Array, fr_from_ints, points_from_ints, points_to_ints

__all__ = ["TOTAL_OF_H_AND_L", "with_common_forms"]

#: Name of the point that is the same in every form.
TOTAL_OF_H_AND_L = "sum_h_and_l"
#: Points of which each form has its own, in the order in which they arise.
_POINTS = ("sum_h", "ones_l", "sum_l")


def with_common_forms(workload: Workload, traces: tuple[Trace, Trace]) -> tuple[Trace, Trace]:
    """Traces that both have the values of either form; the same two where they have one form already.

    Args:
        workload: What was proved.
        traces: Of both sides; they are not changed.

    Returns:
        The traces, in their order. What the oracle cannot recompute at this size stays with one side only.
    """
    forms = [_form(trace) for trace in traces]
    if None in forms or forms[0] == forms[1]:
        return traces
    found = tuple(replace(trace, values=dict(trace.values)) for trace in traces)
    for trace, form in zip(found, reversed(forms), strict=True):
        _recompute_h(workload, trace, str(form))
        _total(workload, trace)
    if not _totals_agree(found):
        for trace, other in zip(found, reversed(forms), strict=True):
            _recompute_points(workload, trace, traces[forms.index(other)], oracle.suffix(str(other)))
    return found[0], found[1]


def _form(trace: Trace) -> str | None:
    """The name of h in a trace; None where the run did not come so far."""
    return next((name for name in trace.values if name.startswith("h_")), None)


def _recompute_h(workload: Workload, trace: Trace, name: str) -> None:
    """Give a trace h in another form, from its own a, b and c."""
    curve = workload.key.curve
    rows = [oracle.h_values(workload, name, i, trace) for i in range(len(workload.witnesses))]
    if all(row is not None for row in rows):
        trace.values[name] = [fr_from_ints(curve, row or []) for row in rows]


def _total(workload: Workload, trace: Trace) -> None:
    """Give a trace the sum over H and L together."""
    suffix = oracle.suffix(str(_form(trace)))
    parts = [trace.values.get(f"{name}{suffix}") for name in ("sum_h", "sum_l")]
    if parts[0] is not None and parts[1] is not None:
        pairs = zip(parts[0], parts[1], strict=True)
        trace.values[TOTAL_OF_H_AND_L] = [_added(workload, *pair) for pair in pairs]


def _added(workload: Workload, first: U64Array, second: U64Array) -> U64Array:
    group = workload.key.curve.g1
    points = points_to_ints(group, np.stack([first, second]).reshape(2, *group.affine_shape))
    added: U64Array = points_from_ints(group, [oracle.total(workload, group, points)])[0]
    return added


def _totals_agree(traces: tuple[Any, ...]) -> bool:
    both = [trace.values.get(TOTAL_OF_H_AND_L) for trace in traces]
    return None in both or all(map(np.array_equal, *both))


def _recompute_points(workload: Workload, trace: Trace, other: Trace, suffix: str) -> None:
    """Give a trace the other form's sums, from its own a, b, c and the witnesses."""
    group = workload.key.curve.g1
    for name in (f"{stem}{suffix}" for stem in _POINTS):
        if name not in other.values:
            continue
        answers = [oracle.point(workload, name, i, trace) for i in range(len(workload.witnesses))]
        if all(asked for asked, _ in answers):
            trace.values[name] = [points_from_ints(group, [value])[0] for _, value in answers]
