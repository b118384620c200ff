"""One proof to be: what it is made of, and what of it the host does itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from cuzk.device.base import Array
from cuzk.errors import CurveMismatchError, InternalError, ShapeError
from cuzk.groth16.assemble import BlindingTerms
from cuzk.groth16.blinding import Blinding
from cuzk.groth16.commitments import Commitments
from cuzk.groth16.evaluate import make_witness, upload_witness
from cuzk.groth16.resident import ResidentKey
from cuzk.groth16.verify import PreparedStatement
from cuzk.limbs import U64Array, fr_to_ints
from cuzk.ops.fr_vec import from_mont
from cuzk.proof import Proof
from cuzk.telemetry import Recorder
from cuzk.witness import Hints, Witness

if TYPE_CHECKING:
    from cuzk.groth16.prover import Prover

__all__ = ["Assignment", "Committed", "Job", "Started", "check_assignment", "wipe"]

#: What a proof is made from: the values of all variables, or what a compiled circuit makes them of.
Assignment: TypeAlias = Witness | Hints


def check_assignment(resident: ResidentKey, assignment: Assignment) -> None:
    """Check that a witness or hints fit a key and its circuit.

    Raises:
        CurveMismatchError: Another curve.
        ShapeError: Other sizes, or hints without the compiled circuit.
    """
    if isinstance(assignment, Witness):
        resident.key.check_witness(assignment)
        return
    pieces, curve = resident.pieces, resident.curve
    if pieces is None:
        raise ShapeError(
            "hints make a witness only where the circuit's programs are at hand",
            remedy="give the prover the compiled circuit, or a witness instead of hints",
        )
    if assignment.curve is not curve:
        raise CurveMismatchError(
            f"the hints are over {assignment.curve.name}, the key over {curve.name}",
            remedy="use the key's curve",
        )
    if len(assignment.values) != pieces.num_hints:
        raise ShapeError(
            f"{len(assignment.values)} hints", limit=f"the circuit asks for {pieces.num_hints}",
            remedy="make the hints with this circuit's own function",
        )  # fmt: skip
    given = None if assignment.inputs is None else len(assignment.inputs)
    wanted = pieces.num_inputs - 1
    if given not in (None, wanted) or (given is None and pieces.num_given):
        raise ShapeError(
            f"{given or 'no'} public inputs beside the hints", limit=f"the circuit has {wanted}",
            remedy="give all of them, in order",
        )  # fmt: skip


@dataclass(eq=False)
class Job:
    """One proof to be, and what of it the host can do without the device.

    Args:
        prover: Who makes it.
        witness: What is proved.
        blinding: r and s.
        checked: Whether the proof will be verified.
        public: The public inputs, once they are known.
    """

    prover: Prover
    witness: Assignment
    blinding: Blinding
    checked: bool
    public: list[int] | None = None

    def witness_on_device(self, resident: ResidentKey, recorder: Recorder) -> Array:
        """Copy the witness up, or make it there. Shape (num_variables, limbs) uint64. Form: Montgomery."""
        if isinstance(self.witness, Witness):
            return upload_witness(resident, self.witness.values, recorder)
        return make_witness(resident, self.witness, recorder)

    def read_public(self, resident: ResidentKey, w: Array) -> None:
        """Learn the public inputs, from the device where they were born there; waits for the witness."""
        num_public = resident.key.num_public
        if isinstance(self.witness, Witness):
            self.public = self.witness.public(num_public)
        else:
            self.public = fr_to_ints(resident.curve, resident.device.download(w[1 : num_public + 1]))

    def values(self, resident: ResidentKey, w: Array) -> U64Array:
        """The witness on the host. Shape (num_variables, limbs) uint64. Form: standard, < r."""
        if isinstance(self.witness, Witness):
            return self.witness.values
        values: U64Array = resident.device.download(from_mont(resident.device, resident.curve, w))
        return values

    @cached_property
    def statement(self) -> PreparedStatement:
        """The public inputs as the verifier takes them; read_public() comes first."""
        return self.prover._prepared.statement(self.public or [])

    @cached_property
    def terms(self) -> BlindingTerms:
        """What the blinding adds to the proof."""
        return BlindingTerms.of(self.prover.device.host, self.prover.key, self.blinding)

    def meanwhile(self) -> None:
        """Do it now, while the device is at work; of no use on a device that is its own host."""
        if self.prover.device.host is not self.prover.device:
            _ = self.terms
            _ = self.statement if self.checked else None


@dataclass(eq=False)
class Committed:
    """One proof whose sums are there.

    Args:
        job: Which.
        sums: Over the queries that meet witness values.
        sum_h: Over the H query. Shape g1.affine_shape uint64. Form: Montgomery.
        proof: Once it is assembled.
    """

    job: Job
    sums: Commitments
    sum_h: U64Array
    proof: Proof | None = None

    @property
    def made(self) -> Proof:
        """The assembled proof."""
        if self.proof is None:
            raise InternalError("a proof was asked for before it was assembled")
        return self.proof


class Started:
    """Proofs that Prover.start began: the device is done with them.

    Args:
        prover: Who began them.
        committed: Their sums.
    """

    def __init__(self, prover: Prover, committed: Sequence[Committed]) -> None:
        self._prover = prover
        self._committed: Sequence[Committed] | None = committed
        #: Public inputs of each, ONE not included.
        self.public = [list(one.job.public or []) for one in committed]

    def take(self, prover: Prover) -> Sequence[Committed]:
        """The sums, once: their blinding is wiped when the proofs are made."""
        committed = self._committed
        if committed is None or prover is not self._prover:
            raise ShapeError(
                "these proofs were finished before, or started by another prover",
                remedy="give finish() what start() of the same prover returned, once",
            )
        self._committed = None
        return committed


def wipe(jobs: Iterable[Job]) -> None:
    """Overwrite the blinding of jobs that are over."""
    for job in jobs:
        job.blinding.wipe()
