"""The compiled classic synthesis (cuzk/kernels/closures/module.cpp); cuzk._closures_v3 has the same contents."""

from typing import Any

import numpy as np
import numpy.typing as npt

STEP_TERM: int
STEP_BIT: int
STEP_OPEN: int
STEP_CLOSE: int
KIND_BITS: int

class Tape:
    """A checked tape; immutable, shared freely between threads."""

    def run(
        self,
        w: npt.NDArray[np.uint64],
        inline_capacity: int,
        presized: bool,
        in_place: bool,
        prefetch: bool,
    ) -> dict[str, Any]:
        """Run on the values of all variables. Shape (n, limbs). Form: Montgomery, < r. Raises ValueError."""

def make_tape(
    curve: str,
    sides: npt.NDArray[np.uint64],
    variables: npt.NDArray[np.uint32],
    codes: npt.NDArray[np.uint32],
    aux_so_far: npt.NDArray[np.uint32],
    dictionary: npt.NDArray[np.uint64],
    num_inputs: int,
    num_variables: int,
) -> Tape:
    """Check a tape and keep a copy. Raises ValueError."""
