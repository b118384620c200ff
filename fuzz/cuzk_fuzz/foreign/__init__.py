"""The harness for other people's code: an implementation that is not ours, in a few lines, against the oracles.

    from cuzk_fuzz.foreign import check, msm_of_ints

    verdict = check("msm", "bn254_g1", msm_of_ints(my_msm), seconds=10)
    assert verdict.agrees, verdict.describe()

With pytest the fixture `differential` does the same and fails the test with the smallest case that was found. Nothing
here needs a device or a compiled kernel.
"""

from cuzk_fuzz.foreign.adapters import (
    Implementation,
    as_array,
    c_library,
    field_of_ints,
    msm_of_arrays,
    msm_of_ints,
    ntt_of_arrays,
    ntt_of_ints,
)
from cuzk_fuzz.foreign.check import Limits, Verdict, check

__all__ = [
    "Implementation",
    "Limits",
    "Verdict",
    "as_array",
    "c_library",
    "check",
    "field_of_ints",
    "msm_of_arrays",
    "msm_of_ints",
    "ntt_of_arrays",
    "ntt_of_ints",
]
