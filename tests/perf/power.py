"""Power and false alarms of the interleaved comparison on simulated machines.

python -m tests.perf.power [--trials 200]

Noise is heavy-tailed (Student's t with three degrees of freedom) and has one-sided stragglers.  Its widths: an H200's
own time of kernels (0.2 to 0.3% from 5 ms on, 0.4 to 1.3% at 0.5 ms), and what the host's clock around whole phases
spread by on an H200 whose host was busy with another suite (medians of 44 trials of 30 November 2026).
"""

from __future__ import annotations

import argparse
import math
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from cuzk.perf import Outcome, PairLimits, Rounds, decide, rate_upper_bound, read_tolerances
from cuzk.perf.pairs import order_of_three

ROOT = Path(__file__).resolve().parents[2]
LIMITS = PairLimits.of(read_tolerances(ROOT / "perf_baselines" / "tolerances.toml"))
#: Phase -> spread of a sample by the clock of a busy host.
HOST_CLOCK = {
    "msm_h": 0.0095,
    "ntt_h": 0.012,
    "batch_add": 0.018,
    "tail_msm": 0.041,
    "prep_msm": 0.062,
    "b_g2_msm": 0.070,
}
#: (spread, slow-down): the device's own time, then the host's clock.
CASES = (
    *((cv, slower) for cv in (0.002, 0.003, 0.005) for slower in (0.0, 0.005, 0.015)),
    *((cv, slower) for cv in (0.005, 0.01, 0.013) for slower in (0.03, 0.04, 0.05)),
    *((cv, slower) for cv in HOST_CLOCK.values() for slower in (0.0, 0.04)),
)


class Machine:
    """Times of two builds by turns, the first of them twice.

    Args:
        seed: Of the noise.
        cv: Spread of one sample, as quartiles tell it.
        slower: Share by which build B is slower.
        straggle: How often a sample takes 30% more.
        clock: Multiplies the time of the i-th sample of all: drift, steps.
        biased: Share by which the second process of A is slower.
    """

    def __init__(
        self,
        seed: int,
        cv: float,
        slower: float = 0.0,
        straggle: float = 0.03,
        clock: Callable[[int], float] = lambda i: 1.0,
        biased: float = 0.0,
    ) -> None:
        self.rng, self.cv, self.straggle, self.clock = random.Random(seed), cv, straggle, clock
        self.factor = {"A": 1.0, "B": 1 + slower, "C": 1 + biased}
        self.taken = self.rounds = 0

    def _noise(self) -> float:
        # The quartiles of t with three degrees lie at 0.765, those of a normal variable at 0.674.
        wide = math.sqrt(sum(self.rng.gauss(0, 1) ** 2 for _ in range(3)) / 3)
        return math.exp(self.cv * 0.6745 / 0.7649 * self.rng.gauss(0, 1) / wide)

    def one(self, side: str) -> float:
        """One sample."""
        self.taken += 1
        late = 1.3 if self.rng.random() < self.straggle else 1.0
        return 6.7 * self._noise() * self.clock(self.taken) * late * self.factor[side]

    def __call__(self, rounds: int) -> Rounds:
        """Rounds in the comparison's order."""
        sides: dict[str, list[float]] = {"A": [], "B": [], "C": []}
        for _ in range(rounds):
            for side in order_of_three(self.rounds):
                sides[side].append(self.one(side))
            self.rounds += 1
        return Rounds(sides["A"], sides["B"], sides["C"])


def outcomes(trials: int, cv: float, slower: float = 0.0, **rest: object) -> list[Outcome]:
    """What so many trials come to."""
    return [decide(Machine(seed, cv, slower, **rest), LIMITS).outcome for seed in range(trials)]  # type: ignore[arg-type]


def table(trials: int) -> list[str]:
    """A line for each case: outcomes, the 95% bound of alarms, rounds taken."""
    lines = []
    for cv, slower in CASES:
        machines = [Machine(seed, cv, slower) for seed in range(trials)]
        found = Counter(decide(machine, LIMITS).outcome for machine in machines)
        rounds = sum(machine.rounds for machine in machines) / trials
        said = "  ".join(f"{outcome.value} {found[outcome] / trials:6.1%}" for outcome in Outcome)
        bound = rate_upper_bound(found[Outcome.SLOWER] + found[Outcome.FASTER], trials)
        tail = f"  alarms at most {bound:.2%}" if slower < LIMITS.slower else ""
        lines.append(f"spread {cv:6.2%}  slower {slower:5.1%}:  {said}  rounds {rounds:4.1f}{tail}")
    return lines


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=200)
    print("\n".join(table(parser.parse_args().trials)))


if __name__ == "__main__":
    main()
