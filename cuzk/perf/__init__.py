"""The performance ledger: stored figures, and the gate that compares a build with them.

Baselines are data under ``perf_baselines/``, one file per environment and workload, with one file per record in
``history/``; ``tolerances.toml`` there is the only place with limits.  This package reads, writes, compares and shows
figures.  It measures nothing: the command line gathers figures from the compiler, from the events of a proof and from
result files, and hands them in.
"""

from cuzk.perf.baseline import Baseline, environment_id, read_baseline, write_baseline
from cuzk.perf.gate import Row, Verdict, compare, floor_rows
from cuzk.perf.ledger import Ledger, Point
from cuzk.perf.measured import Measured
from cuzk.perf.pairs import (
    Answer,
    Comparison,
    Outcome,
    PairLimits,
    Rounds,
    abba,
    compare_pairs,
    decide,
    judge,
)
from cuzk.perf.signs import rate_upper_bound
from cuzk.perf.tolerances import Tolerances, read_tolerances
from cuzk.perf.trend import Change, Creep, change_points, creep

__all__ = [
    "Answer",
    "Baseline",
    "Change",
    "Comparison",
    "Creep",
    "Ledger",
    "Measured",
    "Outcome",
    "PairLimits",
    "Point",
    "Rounds",
    "Row",
    "Tolerances",
    "Verdict",
    "abba",
    "change_points",
    "compare",
    "compare_pairs",
    "creep",
    "decide",
    "environment_id",
    "floor_rows",
    "judge",
    "rate_upper_bound",
    "read_baseline",
    "read_tolerances",
    "write_baseline",
]
