"""The campaign against an implementation that is not ours: cases, comparison, the smallest case that differs."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cuzk.curves import FIELDS
from cuzk_fuzz.choices import Guided
from cuzk_fuzz.foreign.adapters import Implementation
from cuzk_fuzz.foreign.batches import KINDS, ForeignBatch, Limits
from cuzk_fuzz.subjects import CURVES, GROUPS

__all__ = ["Limits", "Verdict", "check"]

_SUBJECTS = {"msm": GROUPS, "ntt": CURVES, "field": tuple(n for n, s in FIELDS.items() if s.word_bits == 64)}


@dataclass
class Verdict:
    """What a campaign came to.

    Attributes:
        kind, subject, seed: What ran.
        cases, seconds: How much, how long.
        hits: Hits per edge class.
        case: The smallest case that differs, or None.
        wanted, given: Both answers of it; `given` is the error where there was one.
        number: Of the case from which it was cut down.
    """

    kind: str
    subject: str
    seed: int
    cases: int = 0
    seconds: float = 0.0
    hits: Counter[str] = field(default_factory=Counter)
    case: ForeignBatch | None = None
    wanted: Any = None
    given: Any = None
    number: int | None = None

    @property
    def agrees(self) -> bool:
        """Whether nothing was found, in at least one comparison."""
        return self.case is None and self.cases > 0

    def describe(self) -> str:
        """For people: what ran, and the smallest case that differs with both answers."""
        head = f"{self.kind} over {self.subject}: {self.cases} cases, {len(self.hits)} edge classes, seed {self.seed}"
        if self.case is None:
            return f"{head}: {'all agree' if self.cases else 'nothing was compared'}"
        case = json.dumps(self.case.to_json()["inputs"], indent=1)
        return (
            f"{head}\ncase {self.number} differs; cut down to\n{case}\n{self.case.op}: "
            f"the oracle says    {_text(self.wanted)}\nthe implementation {_text(self.given)}\n"
            f"again: check({self.kind!r}, {self.subject!r}, ..., seed={self.seed}, cases={self.number})"
        )

    def save(self, folder: Path) -> Path | None:
        """Write the case as JSON; return its path, or None where there is none."""
        if self.case is None:
            return None
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"foreign-{self.kind}-{self.subject}-{self.seed}-{self.number}.json"
        data = {"case": self.case.to_json(), "wanted": _text(self.wanted), "given": _text(self.given)}
        path.write_text(json.dumps(data, indent=1) + "\n")
        return path


def _text(value: Any) -> str:
    if isinstance(value, int):
        return hex(value)
    if isinstance(value, (tuple, list)):
        return "(" + ", ".join(map(_text, value)) + ")"
    return str(value)


def _plain(value: Any) -> Any:
    """Answers as tuples of ints, however they come."""
    if isinstance(value, (tuple, list)):
        return tuple(map(_plain, value))
    return None if value is None else int(value)


def _differs(batch: ForeignBatch, implementation: Implementation) -> tuple[Any, Any] | None:
    """(wanted, given) where an implementation is wrong; any error of it is an answer too."""
    wanted = _plain(batch.wanted())
    try:
        given = _plain(batch.given(implementation))
    except Exception as error:  # noqa: BLE001 - whatever foreign code raises is what it answers
        return wanted, f"raised {type(error).__name__}: {error}"
    return None if given == wanted else (wanted, given)


def check(
    kind: str,
    subject: str,
    implementation: Implementation,
    *,
    seconds: float = 10.0,
    cases: int | None = None,
    seed: int = 0,
    limits: Limits | None = None,
    shrink_seconds: float = 20.0,
) -> Verdict:
    """Run an implementation against the oracle until it differs or the budget is over.

    Args:
        kind: "msm", "ntt" or "field".
        subject: Group ("bn254_g1"), curve ("bls12_381") or field ("bn254_fr").
        implementation: From `msm_of_ints` and its kin.
        seconds: When to stop.
        cases: After how many cases to stop, whatever time it takes; by time alone where None.
        seed: The same seed gives the same cases.
        limits: What the implementation promises to take.
        shrink_seconds: For cutting down the case that differs.

    Raises:
        ValueError: No such kind or subject, or an implementation of another kind.
    """
    if kind not in KINDS or subject not in _SUBJECTS[kind]:
        known = {name: list(subjects) for name, subjects in _SUBJECTS.items()}
        raise ValueError(f"no {kind!r} over {subject!r}; possible: {known}")
    if implementation.kind != kind:
        raise ValueError(f"an implementation of {implementation.kind!r} cannot be checked as {kind!r}")
    verdict = Verdict(kind, subject, seed)
    started = time.monotonic()
    while (verdict.cases < cases) if cases is not None else (time.monotonic() - started < seconds):
        source = Guided(f"{seed}/{kind}/{subject}/{verdict.cases}", verdict.hits)
        batch = KINDS[kind].draw(source, subject, limits or Limits())
        verdict.hits += batch.classes()
        verdict.cases += 1
        if _differs(batch, implementation):
            verdict.number = verdict.cases
            _cut_down(verdict, batch, implementation, shrink_seconds)
            break
    verdict.seconds = time.monotonic() - started
    return verdict


def _cut_down(verdict: Verdict, batch: ForeignBatch, implementation: Implementation, seconds: float) -> None:
    """Keep the smallest case that differs."""
    deadline = time.monotonic() + seconds
    best, improved = batch, True
    while improved and time.monotonic() < deadline:
        improved = False
        for other in best.smaller():
            if time.monotonic() >= deadline:
                break
            if other.size < best.size and _differs(other, implementation):
                best, improved = other, True
                break
    found = _differs(best, implementation) or ("(differs now and then only)", "(differs now and then only)")
    verdict.case, (verdict.wanted, verdict.given) = best, found
