"""Every variant against the defaults, and against everything switched on: the campaign's table.

*Alone*: one value changed from the defaults. *All on*: the value of each variant that did best alone. *Without*: all on
but that one variant, so a gain that others already have shows as none. *Pair effects*: what two values do together
beyond the product of what each does alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

from cuzk.ab.compare import first_difference
from cuzk.ab.forms import with_common_forms
from cuzk.ab.localise import Finding, localise
from cuzk.ab.runner import LocalRunner, Opener, Trace
from cuzk.ab.settings import Setting
from cuzk.ab.timing import PhaseRatio, measure
from cuzk.ab.workload import Workload
from cuzk.errors import CuzkError, InputError
from cuzk.variants import VARIANTS, Variant

__all__ = ["Campaign", "CampaignRow", "Candidate", "candidates", "shows"]

#: Of a variant with more values than this, so many are tried, spread over the list.
_MOST_VALUES = 4


@dataclass(frozen=True)
class Candidate:
    """One value of a variant that is not the default."""

    variant: str
    value: str

    @property
    def text(self) -> str:
        """As on the command line."""
        return f"{self.variant}={self.value}"


@dataclass
class CampaignRow:
    """What was found out about one value.

    Args:
        candidate: Which.
        forecast: What the registry expects of its variant.
        bits: "same", or the phase in which the bits differ first, or what the run ended with.
        left_trace: Whether the run's events show the value.
        alone: Ratio of the total against the defaults; None where the bits differ.
        without: Ratio of all-on with it over all-on without it; None where it is not part of all-on.
        pair: Strongest effect with another value: (other, factor beyond the product of both alone).
        finding: Where the bits differ first.
        impossible: Why the value cannot be chosen with this key and workload; None where it can.
        beside: Settings that both sides of `alone` have, because the variant acts in them only.
    """

    candidate: Candidate
    forecast: str
    bits: str = "same"
    left_trace: bool = True
    alone: PhaseRatio | None = None
    without: PhaseRatio | None = None
    pair: tuple[str, float] | None = None
    finding: Finding | None = None
    impossible: str | None = None
    beside: Mapping[str, str] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """One of: helps, hurts, no difference, differs in bits, left no trace, not possible."""
        if self.impossible is not None:
            return "not possible"
        if self.bits != "same":
            return "differs in bits"
        if not self.left_trace:
            return "left no trace"
        return self.alone.verdict if self.alone is not None else "not measured"


def candidates(kind: str, *, every: bool = False) -> tuple[list[Candidate], dict[str, str]]:
    """What can be tried on a kind of device.

    Args:
        kind: "cpu", "emu" or "cuda".
        every: All values of every variant, however many; else a few of those with many.

    Returns:
        Candidates in the registry's order; "ID" or "ID=VALUE" -> why it is left out.
    """
    found: list[Candidate] = []
    left_out: dict[str, str] = {}
    for row in VARIANTS.values():
        for value in row.values:
            reason = row.why_not(value, kind)
            if reason is not None and value != row.default_for(kind):
                left_out[f"{row.id}={value}"] = reason
        possible = [value for value in row.possible(kind) if value != row.default_for(kind)]
        chosen = possible if every else _spread(possible)
        if len(chosen) < len(possible):
            left_out[row.id] = (
                f"{len(possible) - len(chosen)} of {len(possible)} values; --every tries them too"
            )
        found += [Candidate(row.id, value) for value in chosen]
    return found, left_out


def _spread(values: Sequence[str]) -> list[str]:
    """A few values from the whole list, the first and the last among them."""
    if len(values) <= _MOST_VALUES:
        return list(values)
    step = (len(values) - 1) / (_MOST_VALUES - 1)
    return [values[round(i * step)] for i in range(_MOST_VALUES)]


@dataclass
class Campaign:
    """A campaign over one workload and device.

    Args:
        workload: What is proved.
        device: Where.
        pairs: Pairs of runs of each comparison.
        clock: "wall" or "cpu".
        opener: Opens devices.
        progress: Called with a line about what is being done.
    """

    workload: Workload
    device: str
    pairs: int
    clock: str
    opener: Opener
    progress: Callable[[str], None] = lambda line: None
    rows: list[CampaignRow] = field(default_factory=list)
    all_on: dict[str, str] = field(default_factory=dict)
    together: PhaseRatio | None = None
    _reference: Trace | None = None

    def run(self, chosen: Iterable[Candidate], *, with_pairs: bool = True) -> None:
        """Bits of every candidate, then times of those whose bits are the same."""
        base = self._runner({})
        self._reference = base.trace()
        for candidate in chosen:
            self.rows.append(self._alone(base, candidate))
        self._choose_all_on()
        if not self.all_on:
            return
        self.progress(f"all on: {','.join(f'{k}={v}' for k, v in self.all_on.items())}")
        complete = self._runner(self.all_on)
        self.together = measure(base, complete, pairs=self.pairs, clock=self.clock)[0]
        for row in self._active():
            self.progress(f"all on without {row.candidate.text}")
            rest = {name: value for name, value in self.all_on.items() if name != row.candidate.variant}
            row.without = measure(self._runner(rest), complete, pairs=self.pairs, clock=self.clock)[0]
        if with_pairs:
            self._pair_effects(base)

    def facts(self) -> dict[str, Any]:
        """Everything that was found out, for a JSON file."""
        rows = [
            {
                "variant": row.candidate.text, "forecast": row.forecast, "bits": row.bits, "verdict": row.verdict,
                "alone": row.alone and asdict(row.alone), "without": row.without and asdict(row.without),
                "pair": row.pair, "finding": row.finding and row.finding.lines(), "impossible": row.impossible,
                "beside": dict(row.beside),
            }
            for row in self.rows
        ]  # fmt: skip
        return {
            "workload": self.workload.name, "circuits": len(self.workload.witnesses), "device": self.device,
            "pairs": self.pairs, "clock": self.clock, "all_on": self.all_on,
            "together": self.together and asdict(self.together), "rows": rows,
        }  # fmt: skip

    def _runner(self, variants: Mapping[str, str]) -> LocalRunner:
        return LocalRunner(self.workload, Setting(dict(variants), self.device), self.opener)

    def _alone(self, base: LocalRunner, candidate: Candidate) -> CampaignRow:
        self.progress(f"{candidate.text} alone")
        row = CampaignRow(candidate, VARIANTS[candidate.variant].forecast, beside=_beside(candidate))
        assert self._reference is not None
        try:
            if row.beside:
                base = self._runner(row.beside)
            runner = self._runner({**row.beside, candidate.variant: candidate.value})
            trace = runner.trace()
        except InputError as error:
            row.impossible = error.what
            return row
        except CuzkError as error:
            row.bits = f"{type(error).__name__}: {error.what}"
            return row
        row.left_trace = shows(trace, VARIANTS[candidate.variant], candidate.value)
        traces = with_common_forms(self.workload, (self._reference, trace))
        if (at := first_difference(*traces)) is not None:
            row.bits = at.phase
            row.finding = localise(base, runner, traces)
        elif trace.error is not None:
            row.bits = f"{trace.failed_in}: {trace.error}"
        else:
            row.alone = measure(base, runner, pairs=self.pairs, clock=self.clock)[0]
        return row

    def _choose_all_on(self) -> None:
        """Of each variant, the value with the least ratio alone, even if that says nothing: all on is all on."""
        best: dict[str, CampaignRow] = {}
        for row in self.rows:
            if row.alone is None or not row.left_trace or row.beside:
                continue
            other = best.get(row.candidate.variant)
            if other is None or (other.alone is not None and row.alone.ratio < other.alone.ratio):
                best[row.candidate.variant] = row
        self.all_on = {name: row.candidate.value for name, row in best.items()}

    def _active(self) -> list[CampaignRow]:
        return [row for row in self.rows if self.all_on.get(row.candidate.variant) == row.candidate.value]

    def _pair_effects(self, base: LocalRunner) -> None:
        """Both together, over the product of each alone; 1 where they do not touch each other."""
        for first, second in combinations(self._active(), 2):
            assert first.alone is not None
            assert second.alone is not None
            self.progress(f"{first.candidate.text} with {second.candidate.text}")
            both = {one.candidate.variant: one.candidate.value for one in (first, second)}
            found = measure(base, self._runner(both), pairs=self.pairs, clock=self.clock)[0]
            effect = found.ratio / (first.alone.ratio * second.alone.ratio)
            for row, other in ((first, second), (second, first)):
                if row.pair is None or abs(math.log(effect)) > abs(math.log(row.pair[1])):
                    row.pair = other.candidate.text, effect


def _beside(candidate: Candidate) -> dict[str, str]:
    """What a variant needs to act at all: those of the classic synthesis act where P5 chooses it."""
    return {"P5": "closures"} if VARIANTS[candidate.variant].phase == ("closures",) else {}


def shows(trace: Trace, row: Variant, value: str) -> bool:
    """Whether a run's events show that a variant's value was in force."""
    return value in trace.traces.get(row.id, set())
