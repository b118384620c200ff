"""From "the bits differ" to a place: phase, index, window, bucket and limb, with both values and the oracle's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cuzk.ab import oracle
from cuzk.ab.compare import Difference, first_difference
from cuzk.ab.forms import TOTAL_OF_H_AND_L, with_common_forms
from cuzk.ab.runner import LocalRunner, Trace
from cuzk.ab.watch import MsmRun, watch_msms
from cuzk.ab.workload import Workload
from cuzk.curves import GroupSpec
from cuzk.limbs import fr_to_ints, points_to_ints

__all__ = ["Finding", "MsmPlace", "localise"]


@dataclass(frozen=True)
class MsmPlace:
    """Where inside a multi-scalar multiplication one side first differs from the oracle.

    Args:
        side: "A" or "B": who is wrong.
        stage: "bucket", "bit" (the sums of a window's bits, made of right buckets) or "combine" (all of them right).
        window: Window, from the lowest; None for "combine".
        bucket: Bucket within the window, or the bit for the stage "bit".
        index: First base of the query whose scalar falls into the bucket; None elsewhere.
        limb: First 64-bit word, x before y, in which the two points differ.
        got: The point there, affine, standard form; None is infinity.
        expected: The oracle's.
    """

    side: str
    stage: str
    window: int | None = None
    bucket: int | None = None
    index: int | None = None
    limb: int | None = None
    got: Any = None
    expected: Any = None


@dataclass(frozen=True)
class Finding:
    """The first divergence of two settings.

    Args:
        at: Its first word.
        a: The element there of side A: a number, or a point as ints. Standard form.
        b: That of side B.
        oracle: What the oracle says; None where it was not asked.
        is_oracle_asked: Whether `oracle` means anything.
        msm: Where inside a multi-scalar multiplication, where that is known.
    """

    at: Difference
    a: Any
    b: Any
    oracle: Any = None
    is_oracle_asked: bool = False
    msm: MsmPlace | None = None

    @property
    def wrong(self) -> str:
        """Which side the oracle contradicts: "A", "B", "both" or "unknown"."""
        if not self.is_oracle_asked:
            return "unknown"
        wrong = [side for side, value in (("A", self.a), ("B", self.b)) if value != self.oracle]
        return "both" if len(wrong) == 2 else (wrong[0] if wrong else "unknown")

    def lines(self) -> list[str]:
        """The finding in words."""
        at = self.at
        found = [
            f"first difference: phase {at.phase}, {at.name}[{at.index}] of circuit {at.circuit}, limb {at.word}",
            f"  A      {_shown(self.a)}",
            f"  B      {_shown(self.b)}",
            f"  oracle {_shown(self.oracle) if self.is_oracle_asked else 'not asked: too large for it'}",
        ]
        if self.msm is not None:
            place = self.msm
            where = {
                "bucket": f"window {place.window}, bucket {place.bucket}, first filled by base {place.index}, "
                f"limb {place.limb}",
                "bit": f"the sum of bit {place.bucket} of window {place.window}, limb {place.limb}; "
                "its buckets are right",
                "combine": "behind the windows: all buckets and sums of bits are right",
            }[place.stage]
            found.append(f"  in side {place.side}: {where}")
            if place.stage != "combine":
                found += [f"    got      {_shown(place.got)}", f"    expected {_shown(place.expected)}"]
        return found


def _shown(value: Any) -> str:
    if value is None:
        return "infinity"
    if isinstance(value, tuple):
        return "(" + ", ".join(_shown(part) for part in value) + ")"
    return f"{value:#x}"


def localise(a: LocalRunner, b: LocalRunner, traces: tuple[Trace, Trace] | None = None) -> Finding | None:
    """Find the first divergence of two settings, and the oracle's value there.

    Args:
        a: The one.
        b: The other.
        traces: What both computed, where that is at hand.

    Returns:
        The finding, or None where all bits agree.
    """
    trace_a, trace_b = with_common_forms(b.workload, traces or (a.trace(), b.trace()))
    at = first_difference(trace_a, trace_b)
    if at is None:
        return None
    workload = b.workload
    value_a, value_b = (_element(workload, at, trace) for trace in (trace_a, trace_b))
    asked, truth = oracle.ask(workload, at, trace_a)
    finding = Finding(at, value_a, value_b, truth, asked)
    name = at.name.removeprefix("sum_")
    if not at.name.startswith("sum_") or at.name == TOTAL_OF_H_AND_L or not oracle.can_sum(workload, name):
        return finding
    for side, runner, value in (("A", a, value_a), ("B", b, value_b)):
        if value != truth:
            place = _in_msm(side, runner, name, at.circuit)
            return Finding(at, value_a, value_b, truth, asked, place)
    return finding


def _element(workload: Workload, at: Difference, trace: Trace) -> Any:
    """The differing element of one side in standard form."""
    arrays = trace.values[at.name]
    if at.circuit >= len(arrays):
        return 0
    array, curve = arrays[at.circuit], workload.key.curve
    if at.name.startswith(("sum_", "ones_", "proof_")):
        group = oracle.group_of(workload, at.name)
        return points_to_ints(group, array.reshape(1, *group.affine_shape))[0]
    return fr_to_ints(curve, array[at.index : at.index + 1])[0] if at.index < len(array) else 0


def _in_msm(side: str, runner: LocalRunner, query: str, circuit: int) -> MsmPlace:
    """Run one side again and compare its buckets with the oracle's, window by window."""
    with watch_msms(runner) as runs:
        runner.trace()
    own = [run for run in runs if run.query == oracle.plain(query)]
    each = max(len(own) // max(len(runner.workload.witnesses), 1), 1)
    group = oracle.group_of(runner.workload, f"sum_{query}")
    for run in own[circuit * each : (circuit + 1) * each]:
        place = _in_run(side, runner.workload, group, query, run)
        if place is not None:
            return place
    return MsmPlace(side, "combine")


def _in_run(side: str, workload: Workload, group: GroupSpec, query: str, run: MsmRun) -> MsmPlace | None:
    """The first bucket, or sum of a bit, that is not the oracle's."""
    count = len(run.scalars)
    places = list(range(count)) if run.places is None else [int(i) for i in run.places]
    bases = oracle.bases_of(workload, query)
    scalars = fr_to_ints(workload.key.curve, run.scalars[:count])
    terms = [(places[i], bases[places[i]], scalars[i]) for i in range(count)]
    num_windows = sum(windows for _, windows, _ in run.buckets)
    expected = oracle.windows(workload, group, terms, run.window_bits, num_windows)
    per_window = 1 << (run.window_bits - 1)
    bits = None if run.bits is None else run.bits.reshape(num_windows, run.window_bits, -1)
    for first, windows, sums in run.buckets:
        for w in range(windows):
            right, first_of = next(expected)
            rows = sums[w * per_window : (w + 1) * per_window]
            for bucket in range(1, per_window + 1):
                got, want = oracle.affine(group, rows[bucket - 1]), right.get(bucket)
                if got != want:
                    limb = _first_limb(group, got, want)
                    return MsmPlace(side, "bucket", first + w, bucket, first_of.get(bucket), limb, got, want)
            if bits is None:
                continue
            for bit in range(run.window_bits):
                got = oracle.affine(group, bits[first + w, bit])
                want = oracle.bit_sum(workload, group, right, bit)
                if got != want:
                    return MsmPlace(
                        side, "bit", first + w, bit, None, _first_limb(group, got, want), got, want
                    )
    return None


def _first_limb(group: GroupSpec, got: Any, want: Any) -> int:
    """The first 64-bit word in which two affine points differ, as they lie in memory but in standard form."""
    limbs = group.curve.fp.limbs
    words = [_words(point, limbs, 2 * group.degree) for point in (got, want)]
    return int(np.flatnonzero([x != y for x, y in zip(*words, strict=True)])[0])


def _words(point: Any, limbs: int, coordinates: int) -> Sequence[int]:
    flat = [0] * coordinates if point is None else _flat(point)
    return [(value >> (64 * i)) & (2**64 - 1) for value in flat for i in range(limbs)]


def _flat(point: Any) -> list[int]:
    return [value for part in point for value in (part if isinstance(part, tuple) else (part,))]
