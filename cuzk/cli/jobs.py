"""``cuzk submit``, ``await``, ``status``, ``cancel``, ``preload`` and ``evict``: a client of the daemon."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cuzk.cli.daemon import require_engine_libraries
from cuzk.cli.help_text import epilog
from cuzk.cli.late import LateProgress
from cuzk.cli.options import JsonOption
from cuzk.cli.output import note, print_facts, print_json, print_table, table
from cuzk.cli.paths import check_inputs, check_outputs, write_together
from cuzk.errors import InputError

if TYPE_CHECKING:
    from cuzk.engine.client import EngineClient

__all__ = [
    "AWAIT_EXAMPLES", "CANCEL_EXAMPLES", "EVICT_EXAMPLES", "PRELOAD_EXAMPLES", "STATUS_EXAMPLES", "SUBMIT_EXAMPLES",
    "await_", "cancel", "evict", "preload", "status", "submit",
]  # fmt: skip

SUBMIT_EXAMPLES = epilog(
    "cuzk submit porep:2KiB --vanilla c1.json",
    "cuzk submit window-post:32GiB --vanilla post.vproof --priority critical\n--wait --proof-bytes proof.bin",
    "cuzk submit mycircuit --witness witness.wtns --request-id sector-7",
    no="with --wait: the job was not proven",
    environment="no daemon answers",
)
AWAIT_EXAMPLES = epilog(
    "cuzk await sector-7 --proof-bytes proof.bin",
    "cuzk await sector-7 --timeout 60 --json",
    done="proven",
    no="failed, cancelled, unknown or not yet",
    environment="no daemon answers",
)
STATUS_EXAMPLES = epilog(
    "cuzk status", "cuzk status sector-7", "cuzk status --json", environment="no daemon answers"
)
CANCEL_EXAMPLES = epilog("cuzk cancel sector-7", environment="no daemon answers")
PRELOAD_EXAMPLES = epilog("cuzk preload porep:32GiB", environment="no daemon answers")
EVICT_EXAMPLES = epilog("cuzk evict porep:32GiB", environment="no daemon answers")

_AddressOption = Annotated[
    str,
    typer.Option(
        "--address", metavar="ADDRESS", help="Of the daemon: HOST:PORT or unix:PATH.", envvar="CUZK_DAEMON"
    ),
]
_TokenOption = Annotated[
    Path | None, typer.Option("--token-file", metavar="FILE", help="Its first line is the daemon's token.")
]
_CertificateOption = Annotated[
    Path | None,
    typer.Option("--tls-ca", metavar="FILE", help="Certificate that signed the daemon's; turns TLS on."),
]
_JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="The job's identifier.")]
_ProofOption = Annotated[
    Path | None,
    typer.Option("--proof-bytes", metavar="FILE", help="Write the proofs there, one after the other."),
]

_DEFAULT_ADDRESS = "127.0.0.1:9820"
_MOST_SECONDS = 1e9
_PRIORITIES = ("low", "normal", "high", "critical")
_KINDS = {"porep": 1, "window-post": 3, "winning-post": 4}
_TIERS = ("hot", "warm", "cold")
_STATUS = ("unknown", "completed", "failed", "cancelled", "timeout")


def _connect(address: str, token_file: Path | None, certificate: Path | None) -> EngineClient:
    require_engine_libraries()
    from cuzk.engine.client import EngineClient

    check_inputs({"--token-file": token_file, "--tls-ca": certificate})
    token = "" if token_file is None else token_file.read_text("utf-8").partition("\n")[0].strip()
    return EngineClient(address, token=token, certificate=certificate)


def submit(
    circuit: Annotated[str, typer.Argument(metavar="CIRCUIT", help="Whose key the daemon has.")],
    vanilla: Annotated[
        list[Path] | None,
        typer.Option(
            "--vanilla", metavar="FILE", help="Vanilla proof; of a PoSt one per sector, by repeating it."
        ),
    ] = None,
    witness: Annotated[Path | None, typer.Option("--witness", metavar="W.wtns", help="Witness file.")] = None,
    priority: Annotated[
        str, typer.Option(metavar="PRIORITY", help="low, normal, high or critical.")
    ] = "normal",
    request_id: Annotated[
        str, typer.Option(metavar="ID", help="Names the job; the same name twice is the same job.")
    ] = "",
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the proof.")] = False,
    proof_bytes: _ProofOption = None,
    address: _AddressOption = _DEFAULT_ADDRESS,
    token_file: _TokenOption = None,
    certificate: _CertificateOption = None,
    as_json: JsonOption = False,
) -> int:
    """Submit a job, and print its identifier; with --wait also its end."""
    level = _priority(priority)
    files = list(vanilla or [])
    if bool(files) == (witness is not None):
        raise InputError("a job has either --vanilla or --witness", remedy="give one of them")
    inputs = {
        **{f"--vanilla {path}": path for path in files},
        "--witness": witness, "--token-file": token_file, "--tls-ca": certificate,
    }  # fmt: skip
    check_inputs(inputs)
    check_outputs({"--proof-bytes": proof_bytes}, inputs)
    with _connect(address, token_file, certificate) as client:
        with (
            LateProgress(f"submit {circuit}", [("send", "send the job")], quiet=as_json) as progress,
            progress.step("send"),
        ):
            if witness is not None:
                job = client.submit_witness(
                    circuit, witness.read_bytes(), priority=level, request_id=request_id
                )
            else:
                job = client.submit(_filecoin(circuit, files) | {"priority": level, "request_id": request_id})
        if wait or proof_bytes is not None:
            return _report_end(client, job, 0.0, proof_bytes, as_json)
    if as_json:
        print_json({"job": job})
    else:
        print(job)
    return 0


def _priority(text: str) -> int:
    if text.lower() not in _PRIORITIES:
        raise InputError(
            f"there is no priority {text!r:.40}",
            where="--priority",
            limit=", ".join(_PRIORITIES),
            remedy="leave it out for normal",
        )
    return _PRIORITIES.index(text.lower()) + 1


def _filecoin(circuit: str, files: list[Path]) -> dict[str, Any]:
    """The fields of a SubmitProofRequest for a circuit's name."""
    from cuzk.circuits.vanilla.shapes import sector_shape

    family, _, size = circuit.partition(":")
    if family not in _KINDS:
        raise InputError(
            f"the daemon takes no vanilla proof of {circuit!r:.60}",
            limit=", ".join(f"{name}:SIZE" for name in _KINDS),
            remedy="give --witness, or prove without a daemon: cuzk prove --circuit CIRCUIT --vanilla FILE",
        )  # fmt: skip
    fields: dict[str, Any] = {"proof_kind": _KINDS[family], "sector_size": sector_shape(size).size_bytes}
    data = [path.read_bytes() for path in files]
    if family == "porep":
        if len(data) != 1:
            raise InputError(
                f"{len(data)} files for a PoRep",
                limit="one output of the first commit phase",
                remedy="give one --vanilla",
            )
        return fields | {"vanilla_proof": data[0]}
    return fields | {"vanilla_proofs": data}


def await_(
    job: _JobArgument,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", help="Give up waiting after so long; 0 never.")
    ] = 0.0,
    proof_bytes: _ProofOption = None,
    address: _AddressOption = _DEFAULT_ADDRESS,
    token_file: _TokenOption = None,
    certificate: _CertificateOption = None,
    as_json: JsonOption = False,
) -> int:
    """Wait for a job's end, and say how far it is meanwhile."""
    if not 0 <= timeout <= _MOST_SECONDS:
        raise InputError(
            f"the timeout is {timeout:g} s", where="--timeout", limit=f"0 (never) to {_MOST_SECONDS:g}",
            remedy="leave it out to wait as long as it takes",
        )  # fmt: skip
    check_outputs({"--proof-bytes": proof_bytes}, {"--token-file": token_file, "--tls-ca": certificate})
    with _connect(address, token_file, certificate) as client:
        return _report_end(client, job, timeout, proof_bytes, as_json)


def _report_end(client: EngineClient, job: str, timeout_s: float, target: Path | None, as_json: bool) -> int:
    """Wait, showing that and where; print the end, and write the proofs."""
    until = time.monotonic() + timeout_s if timeout_s else None
    shown = ""
    while True:
        left = 1.0 if until is None else max(0.001, min(1.0, until - time.monotonic()))
        answer = client.wait(job, left)
        if _STATUS[answer.status] != "timeout" or (until is not None and time.monotonic() >= until):
            break
        now = client.call("DescribeJob", job_id=job)
        line = f"{job}: {now.partitions_done} of {now.partitions} proofs, {now.queue_position} before it"
        if line != shown:
            note(line)
            shown = line
    ended = _STATUS[answer.status]
    facts = {
        "job": job,
        "status": ended,
        "error": answer.error_message,
        "proof_bytes": len(answer.proof),
        "queue_wait_ms": answer.queue_wait_ms,
        "synthesis_ms": answer.synthesis_ms,
        "gpu_compute_ms": answer.gpu_compute_ms,
        "total_ms": answer.total_ms,
    }
    if target is not None and answer.proof:
        write_together({target: answer.proof})
    if as_json:
        print_json(facts | {"proof": answer.proof.hex()})
    else:
        print_facts({name.replace("_", " "): value for name, value in facts.items() if value != ""})
    return 0 if ended == "completed" else 1


def status(
    job: Annotated[
        str | None, typer.Argument(metavar="[JOB]", help="One job; by default the daemon.")
    ] = None,
    address: _AddressOption = _DEFAULT_ADDRESS,
    token_file: _TokenOption = None,
    certificate: _CertificateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a daemon is doing, or how far one job is."""
    with _connect(address, token_file, certificate) as client:
        if job is not None:
            _report_job(client.call("DescribeJob", job_id=job), as_json)
            return
        answer = client.call("GetStatus", timeout_s=30)
    facts = {
        "uptime s": answer.uptime_seconds,
        "jobs done": answer.total_proofs_completed,
        "jobs failed": answer.total_proofs_failed,
        "key bytes": answer.pinned_memory_bytes,
        "key limit bytes": answer.pinned_memory_limit_bytes,
    }
    workers = [
        {"index": gpu.ordinal, "device": gpu.name, "job": gpu.current_job_id, "kind": gpu.current_proof_kind}
        for gpu in answer.gpus
    ]
    keys = [
        {"circuit": key.circuit_id, "tier": _TIERS[key.tier], "bytes": key.size_bytes, "held": key.ref_count}
        for key in answer.loaded_srs
    ]
    queues = [
        {"kind": queue.proof_kind, "waiting": queue.pending, "running": queue.in_progress}
        for queue in answer.queues
    ]
    if as_json:
        names = {name.replace(" ", "_"): value for name, value in facts.items()}
        print_json(names | {"workers": workers, "keys": keys, "queues": queues})
        return
    print_facts(facts)
    for title, rows in (("workers", workers), ("keys", keys), ("partitions", queues)):
        if rows:
            made = table(title, *rows[0])
            for row in rows:
                made.add_row(*map(str, row.values()))
            print_table(made)


def _report_job(answer: Any, as_json: bool) -> None:
    states = ("unknown", "queued", "running", "done", "failed", "cancelled")
    facts = {
        "job": answer.job_id,
        "state": states[answer.state],
        "circuit": answer.circuit,
        "proofs": f"{answer.partitions_done} of {answer.partitions}",
        "before it": answer.queue_position,
        "error": answer.error_message,
    }
    if as_json:
        print_json({name.replace(" ", "_"): value for name, value in facts.items()})
    else:
        print_facts({name: value for name, value in facts.items() if value != ""})


def cancel(
    job: _JobArgument,
    address: _AddressOption = _DEFAULT_ADDRESS,
    token_file: _TokenOption = None,
    certificate: _CertificateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Stop a job; what runs of it stops at its next phase."""
    with _connect(address, token_file, certificate) as client:
        was_running = bool(client.call("CancelProof", job_id=job).was_running)
    if as_json:
        print_json({"job": job, "was_running": was_running})
    else:
        print(f"{job}: {'was running' if was_running else 'was not running'}")


def preload(
    circuit: Annotated[str, typer.Argument(metavar="CIRCUIT", help="Whose key.")],
    address: _AddressOption = _DEFAULT_ADDRESS,
    token_file: _TokenOption = None,
    certificate: _CertificateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Load a key on every worker of the daemon, so that the first proof does not wait for it."""
    with (
        _connect(address, token_file, certificate) as client,
        LateProgress(
            f"preload of {circuit}", [("load", "load the key on every worker")], quiet=as_json
        ) as progress,
        progress.step("load"),
    ):
        answer = client.call("PreloadSRS", circuit_id=circuit)
    if as_json:
        print_json({"already_loaded": answer.already_loaded, "load_time_ms": answer.load_time_ms})
    else:
        print("was loaded" if answer.already_loaded else f"loaded in {answer.load_time_ms} ms")


def evict(
    circuit: Annotated[str, typer.Argument(metavar="CIRCUIT", help="Whose key.")],
    address: _AddressOption = _DEFAULT_ADDRESS,
    token_file: _TokenOption = None,
    certificate: _CertificateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a key go on every worker of the daemon; one that a proof needs stays."""
    with _connect(address, token_file, certificate) as client:
        answer = client.call("EvictSRS", circuit_id=circuit)
    if as_json:
        print_json({"was_loaded": answer.was_loaded, "freed_bytes": answer.freed_bytes})
    else:
        kept = "stays: a proof needs it" if answer.was_loaded else "was not loaded"
        print(f"freed {answer.freed_bytes} bytes" if answer.freed_bytes else kept)
