"""The performance ledger: stored figures, and the gate that compares a build with them.

Baselines are data under ``perf_baselines/``, one file per environment and workload; ``tolerances.toml`` there is
the only place with limits.  This package reads, writes and compares figures.  It measures nothing: the command line
gathers figures from the compiler and from the events of a proof, and hands them in.
"""

from cuzk.perf.baseline import Baseline, read_baseline, write_baseline
from cuzk.perf.gate import Row, Verdict, compare
from cuzk.perf.tolerances import Tolerances, read_tolerances

__all__ = [
    "Baseline",
    "Row",
    "Tolerances",
    "Verdict",
    "compare",
    "read_baseline",
    "read_tolerances",
    "write_baseline",
]
