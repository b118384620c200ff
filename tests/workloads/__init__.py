"""Circuits with witnesses, made in memory: what tests and benchmarks prove when no file is at hand.

    mimc_merkle    a Merkle path: full-width values, long runs of squarings
    bit_circuit    random gates: every value is 0 or 1
    random_r1cs    random rows with the odd shapes that files in the wild have (see Feature)

Each gives a Workload: plain rows for the oracles, R1CS and Witness for the prover, file bytes for readers. Large
circuits come as R1CS and Witness alone: mixed_circuit here (any size), and porep_shape (a power of two).
"""

from __future__ import annotations

import sys
from pathlib import Path

# The examples are not installed, and commands such as `python -m tests.workloads.scaling` run without pytest's paths.
_EXAMPLES = str(Path(__file__).parents[2] / "examples")
if _EXAMPLES not in sys.path:
    sys.path.append(_EXAMPLES)

from tests.workloads.bits import bit_circuit  # noqa: E402
from tests.workloads.mixed import mixed_circuit  # noqa: E402
from tests.workloads.random_rows import ALL_FEATURES, Feature, random_r1cs  # noqa: E402
from tests.workloads.workload import Workload, mimc_merkle  # noqa: E402

__all__ = [
    "ALL_FEATURES",
    "Feature",
    "Workload",
    "bit_circuit",
    "mimc_merkle",
    "mixed_circuit",
    "random_r1cs",
]
