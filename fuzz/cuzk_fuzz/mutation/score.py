"""What becomes of mutants, and what that comes to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from cuzk.perf.signs import rate_upper_bound
from cuzk_fuzz.mutation.operators import Mutant

#: What can become of a mutant.  Of the last three, those that were compiled alone are distinct.
VERDICTS = ("not compiling", "same as the original", "duplicate", "killed", "survived", "equivalent")


def interval(killed: int, meant: int) -> tuple[float, float]:
    """Clopper and Pearson's interval of 95 % for a score."""
    return 1 - rate_upper_bound(meant - killed, meant, 0.975), rate_upper_bound(killed, meant, 0.975)


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant, and how.

    Attributes:
        mutant: Which.
        verdict: One of VERDICTS.
        how: By which platform's battery, and whether by wrong answers, a crash or no end; or of what a duplicate.
        content: Platform and digest of the first object that is not the original's.
    """

    mutant: Mutant
    verdict: str
    how: str = ""
    content: tuple[str, str] | None = None


@dataclass
class Score:
    """All verdicts of a run.

    Attributes:
        generated: Mutants that the operators make of the headers.
        verdicts: Of those that were looked at, in order.
        seconds: How long it took.
        processor_seconds: What judging took of processors, without setting up, over verdicts that no record gave.
    """

    generated: int
    verdicts: list[Verdict] = field(default_factory=list)
    seconds: float = 0.0
    processor_seconds: float = 0.0

    @property
    def counts(self) -> Counter[str]:
        """How many of each verdict."""
        return Counter(v.verdict for v in self.verdicts)

    @property
    def survivors(self) -> list[Verdict]:
        """Those that nothing saw and nobody reviewed."""
        return [v for v in self.verdicts if v.verdict == "survived"]

    @property
    def distinct(self) -> int:
        """Mutants that compile to something of their own."""
        return sum(self.counts[name] for name in ("killed", "survived", "equivalent"))

    @property
    def score(self) -> float:
        """Killed among the distinct ones that are not equivalent, 1 where there are none."""
        meant = self.distinct - self.counts["equivalent"]
        return self.counts["killed"] / meant if meant else 1.0

    @property
    def bounds(self) -> tuple[float, float]:
        """Clopper and Pearson's interval of 95 % for the score."""
        meant = self.distinct - self.counts["equivalent"]
        if not meant:
            return 0.0, 1.0
        return interval(self.counts["killed"], meant)

    def to_json(self) -> dict[str, Any]:
        """As --json writes it."""
        return {
            "generated": self.generated, "examined": len(self.verdicts), "distinct": self.distinct,
            **{name.replace(" ", "_"): self.counts[name] for name in VERDICTS},
            "score": round(self.score, 4), "bounds_95": [round(bound, 4) for bound in self.bounds],
            "seconds": round(self.seconds, 1), "processor_seconds": round(self.processor_seconds, 1),
            "verdicts": [
                {"name": v.mutant.name, "verdict": v.verdict, "how": v.how,
                 "line": v.mutant.original.strip(), "mutant": v.mutant.mutated.strip()}
                for v in self.verdicts
            ],
        }  # fmt: skip
