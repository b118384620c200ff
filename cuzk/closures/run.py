"""A circuit's tape, compiled code that runs it, and what a run gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cuzk.closures.setting import INDEXERS, Setting
from cuzk.closures.steps import Steps, written_steps
from cuzk.csr import CsrMatrix
from cuzk.curves import Curve
from cuzk.errors import InternalError, ShapeError
from cuzk.limbs import U64Array
from cuzk.native import load_compiled
from cuzk.relation import R1CS

if TYPE_CHECKING:
    from cuzk import _closures

__all__ = ["Evaluation", "Tape"]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What one run of a tape gives.

    Args:
        a: Shape (rows, limbs) uint64: A w. Form: Montgomery, < r.
        b: B w, likewise.
        c: C w, likewise; all 0 where the tape was made without matrix C.
        a_aux: Bits of the auxiliary variables that A uses, least significant first. Shape (words,) uint64.
        b_inputs: Bits of the inputs that B uses, ONE first.
        b_aux: Bits of the auxiliary variables that B uses.
        counts: What it cost: terms, merges, combinations, relocations, recycled, allocations, reallocations, spills,
            vector_allocations, vector_reallocations, prefetches.
        setting: How it was done, as the code that ran says.
    """

    a: U64Array
    b: U64Array
    c: U64Array
    a_aux: U64Array
    b_inputs: U64Array
    b_aux: U64Array
    counts: Mapping[str, int]
    setting: Setting


class Tape:
    """The steps of a circuit's code, checked and ready to run; safe to use from several threads.

    Args:
        steps: What the code does.
        fast: Whether the processor has BMI2 and ADX, so that the build for it can be used. The results are the same.
    """

    def __init__(self, steps: Steps, *, fast: bool = False) -> None:
        self.curve = steps.curve
        self.num_rows = steps.num_rows
        self.num_variables = steps.num_variables
        self._native: _closures.Tape = _module(fast).make_tape(
            steps.curve.name, steps.sides, steps.variables, steps.codes, steps.aux_so_far, steps.dictionary,
            steps.num_inputs, steps.num_variables,
        )  # fmt: skip

    @classmethod
    def from_r1cs(cls, r1cs: R1CS, *, fast: bool = False) -> Tape:
        """The tape of a circuit's rows, without the rows that bind its inputs."""
        return cls.from_matrices(r1cs.curve, (r1cs.a, r1cs.b, r1cs.c), r1cs.num_public + 1, fast=fast)

    @classmethod
    def from_matrices(
        cls,
        curve: Curve,
        matrices: tuple[CsrMatrix, CsrMatrix, CsrMatrix | None],
        num_inputs: int,
        *,
        fast: bool = False,
    ) -> Tape:
        """The tape of matrices A, B and, where it is known, C.

        Args:
            curve: Whose Fr.
            matrices: Of equal shape; inputs are the first columns.
            num_inputs: Inputs, ONE counted.
            fast: As for Tape.
        """
        return cls(written_steps(curve, matrices, num_inputs), fast=fast)

    def run(self, w: U64Array, setting: Setting) -> Evaluation:
        """Build and evaluate the linear combinations of every row, in one thread.

        Args:
            w: Shape (num_variables, limbs) uint64: values of all variables. Form: Montgomery, < r.
            setting: How.

        Raises:
            ShapeError: Values of another number of variables.
            InternalError: Code of another setting ran.

        Cost: O(terms * log of the longest row) and, for groups inserted into long rows, their length.
        Checked by: tests/closures/.
        """
        if w.shape != (self.num_variables, self.curve.fr.limbs):
            raise ShapeError(
                f"values of shape {w.shape}", limit=f"({self.num_variables}, {self.curve.fr.limbs})",
                remedy="give a witness of the circuit that the tape was made from",
            )  # fmt: skip
        capacity = INDEXERS[setting.indexer]
        done: dict[str, Any] = self._native.run(
            w, capacity, setting.presized, setting.in_place, setting.prefetch
        )
        inline, presized, in_place, prefetch = done.pop("ran")
        indexer = next(name for name, size in INDEXERS.items() if size == inline)
        ran = Setting(indexer, presized, in_place, prefetch)
        if ran != setting:
            raise InternalError(f"the synthesis ran as {ran}", limit=f"asked for: {setting}")
        return Evaluation(**done, setting=ran)


def _module(fast: bool) -> Any:
    return load_compiled("_closures_v3" if fast else "_closures")
