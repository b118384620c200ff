"""Comparison of two ways to make a proof: first whether every intermediate has the same bits, then the times.

A *setting* is a choice of variants, a device, or a commit; a *workload* is a circuit with its key and witnesses.
`cuzk ab` is the command; where something differs, `localise` finds the first place and the oracle's value there.
"""

from cuzk.ab.compare import Difference, first_difference
from cuzk.ab.runner import LocalRunner, Runner, Trace
from cuzk.ab.settings import Setting
from cuzk.ab.timing import PhaseRatio, measure
from cuzk.ab.workload import Workload, open_workload

__all__ = [
    "Difference",
    "LocalRunner",
    "PhaseRatio",
    "Runner",
    "Setting",
    "Trace",
    "Workload",
    "first_difference",
    "measure",
    "open_workload",
]
