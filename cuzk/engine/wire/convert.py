"""Between the wire's messages and the engine's jobs: which circuit a proof kind and a sector size mean, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cuzk.circuits.vanilla.shapes import SECTOR_SHAPES, SectorShape
from cuzk.engine.jobs import Job, JobRequest, JobState, PayloadForm, Priority
from cuzk.engine.wire.porep import porep_partitions
from cuzk.engine.wire.schema import enum_value, message
from cuzk.errors import InputError

__all__ = [
    "UnsupportedError",
    "await_response",
    "job_request",
    "kind_of_circuit",
    "priority_of",
    "witness_request",
]

_SUPPORTED = ("POREP_SEAL_COMMIT", "WINDOW_POST_PARTITION", "WINNING_POST")


def priority_of(number: int) -> Priority:
    """A priority from the wire; unspecified is NORMAL.

    Raises:
        InputError: A number without a meaning.
    """
    if number == 0:
        return Priority.NORMAL
    try:
        return Priority(number)
    except ValueError:
        raise InputError(
            f"priority {number}", limit="0 to 4", remedy="LOW, NORMAL, HIGH or CRITICAL"
        ) from None


class UnsupportedError(InputError):
    """A kind of proof that the wire knows and nobody proves here."""


def _shape(sector_size: int) -> SectorShape:
    """What a sector size fixes."""
    for shape in SECTOR_SHAPES.values():
        if shape.size_bytes == sector_size:
            return shape
    known = ", ".join(str(shape.size_bytes) for shape in SECTOR_SHAPES.values())
    raise InputError(
        f"sector_size is {sector_size}", limit=f"one of {known}", remedy="send the size in bytes"
    )


def _joined(proofs: Sequence[bytes]) -> bytes:
    """Vanilla proofs of several sectors as one file: an array of JSON, or bincode one after the other."""
    if proofs[0].lstrip()[:1] == b"{":
        return b"[" + b",".join(proofs) + b"]"
    return b"".join(proofs)


def job_request(request: Any) -> JobRequest:
    """The job that a SubmitProofRequest asks for.

    Raises:
        InputError: A kind, size or partition that there is none of; no vanilla proof, or two kinds of it; partitions
            that are not those of the registered proof. UnsupportedError: An update of a sector.
    """
    kinds = {
        enum_value("cuzk.v1.ProofKind", "POREP_SEAL_COMMIT"): "porep",
        enum_value("cuzk.v1.ProofKind", "WINDOW_POST_PARTITION"): "window-post",
        enum_value("cuzk.v1.ProofKind", "WINNING_POST"): "winning-post",
    }
    family = kinds.get(request.proof_kind)
    if request.proof_kind == enum_value("cuzk.v1.ProofKind", "SNAP_DEALS_UPDATE"):
        raise UnsupportedError(
            "SNAP_DEALS_UPDATE, the update of a sector, is not proven here",
            where="proof_kind",
            limit=f"proven: {', '.join(_SUPPORTED)}",
            remedy="keep another prover for updates of sectors",
        )
    if family is None:
        raise InputError(
            f"proof_kind {request.proof_kind} is not proven here",
            limit=", ".join(_SUPPORTED),
            remedy="send one of these, or submit a witness",
        )
    if bool(request.vanilla_proof) == bool(request.vanilla_proofs):
        raise InputError(
            "a request has either vanilla_proof or vanilla_proofs",
            remedy="PoRep: vanilla_proof; PoSt: vanilla_proofs, one per sector",
        )
    shape = _shape(request.sector_size)
    if family == "porep" and len(request.vanilla_proofs) > 1:
        raise InputError(
            f"{len(request.vanilla_proofs)} vanilla_proofs for a PoRep",
            limit="one: the output of the first commit phase, with all partitions",
            remedy="send it as vanilla_proof",
        )
    payload = request.vanilla_proof or _joined(request.vanilla_proofs)
    partitions = porep_partitions(request.registered_proof, shape, payload) if family == "porep" else 1
    tags = {"sector": request.sector_number, "miner": request.miner_id, "partition": request.partition_index}
    return JobRequest(
        f"{family}:{shape.name}",
        partitions,
        payload,
        PayloadForm.VANILLA,
        priority_of(request.priority),
        request.request_id,
        tags=tuple((name, str(value)) for name, value in tags.items() if value),
    )


def witness_request(request: Any) -> JobRequest:
    """The job that a SubmitWitnessRequest asks for; errors as of job_request."""
    if not request.circuit or not request.witness:
        raise InputError("a request has a circuit and a witness", remedy="send the bytes of a .wtns file")
    return JobRequest(
        request.circuit,
        1,
        request.witness,
        PayloadForm.WITNESS,
        priority_of(request.priority),
        request.request_id,
    )


def kind_of_circuit(circuit: str) -> str:
    """What the wire calls a circuit's proofs."""
    names = {
        "porep": "POREP_SEAL_COMMIT",
        "window-post": "WINDOW_POST_PARTITION",
        "winning-post": "WINNING_POST",
    }
    return names.get(circuit.partition(":")[0], circuit)


def await_response(job: Job | None, job_id: str, total_ms: float) -> Any:
    """The answer to whoever waits for a job: ended, still going on (a timeout), or unknown."""
    status = "UNKNOWN"
    error = f"there is no job {job_id!r:.60}" if job is None else job.error
    if job is not None:
        ends = {JobState.DONE: "COMPLETED", JobState.FAILED: "FAILED", JobState.CANCELLED: "CANCELLED"}
        status = ends.get(job.state, "TIMEOUT")
    times = {} if job is None else job.times_ms
    return message("cuzk.v1.AwaitProofResponse")(
        job_id=job_id,
        status=enum_value("cuzk.v1.AwaitProofResponse.Status", status),
        proof=job.proof if job is not None and job.state is JobState.DONE else b"",
        error_message=error,
        queue_wait_ms=round(times.get("queue_wait", 0)),
        srs_load_ms=round(times.get("key_load", 0)),
        synthesis_ms=round(times.get("synthesis", 0)),
        gpu_compute_ms=round(times.get("gpu", 0)),
        total_ms=round(total_ms),
    )
