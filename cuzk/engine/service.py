"""The gRPC services in front of an engine: cuzk.v1, as existing clients speak it, and our own.

Errors that a client caused are INVALID_ARGUMENT or NOT_FOUND with the reason, UNIMPLEMENTED where nobody proves that
kind; a full queue is RESOURCE_EXHAUSTED, a daemon that stops UNAVAILABLE. A job that fails is no error of an rpc:
AwaitProof says FAILED and why.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import logging
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc

from cuzk.engine.config import DaemonConfig, SecurityConfig
from cuzk.engine.core import Engine
from cuzk.engine.jobs import Job, JobRequest, check_circuit
from cuzk.engine.metrics import prometheus_text
from cuzk.engine.tls import server_context
from cuzk.engine.wire.address import check_address
from cuzk.engine.wire.convert import (
    UnsupportedError,
    await_response,
    job_request,
    kind_of_circuit,
    witness_request,
)
from cuzk.engine.wire.schema import SAID_BY_DAEMON, SERVICES, enum_value, message
from cuzk.errors import BusyError, CuzkError, EngineError, InputError

__all__ = ["check_exposure", "make_server", "read_token"]

_LOG = logging.getLogger("cuzk.engine")

_MIN_TOKEN = 16

_Handler = Callable[[Any, Any], Awaitable[Any]]


class _Services:
    """Each method is one rpc: a request and the call's context in, a response out."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    # cuzk.v1.ProvingEngine

    async def SubmitProof(self, request: Any, _: Any) -> Any:
        """Accept a job."""
        job, position = await self._engine.submit_large(job_request(request))
        holders = (
            worker.state.device
            for worker in self._engine.workers
            if any(task.job_id == job.id for order in worker.state.orders.values() for task in order.tasks)
        )
        return message("cuzk.v1.SubmitProofResponse")(
            job_id=job.id, queue_position=position, assigned_gpu=next(holders, "")
        )

    async def AwaitProof(self, request: Any, _: Any) -> Any:
        """Wait for a job's end, or for the timeout."""
        return await self._await(request.job_id, request.timeout_ms)

    async def Prove(self, request: Any, _: Any) -> Any:
        """Submit and wait; a client that goes away cancels a job that had no name of its own."""
        return await self._prove(job_request(request.submit))

    async def CancelProof(self, request: Any, _: Any) -> Any:
        """Stop a job."""
        if self._engine.board.find(request.job_id) is None:
            raise _NotFoundError(request.job_id)
        was_running = self._engine.cancel(request.job_id)
        return message("cuzk.v1.CancelProofResponse")(was_running=was_running)

    async def GetStatus(self, _: Any, __: Any) -> Any:
        """Devices, keys, queues, counts."""
        return _status(self._engine)

    async def GetMetrics(self, _: Any, __: Any) -> Any:
        """The Prometheus text."""
        return message("cuzk.v1.GetMetricsResponse")(prometheus_text=prometheus_text(self._engine))

    async def PreloadSRS(self, request: Any, _: Any) -> Any:
        """Load a key everywhere."""
        began = time.monotonic()
        answers = await self._engine.keys.preload(check_circuit(request.circuit_id))
        for answer in answers:
            if answer.error:
                raise _RelayedError(answer.error)
        return message("cuzk.v1.PreloadSrsResponse")(
            already_loaded=all(answer.was_loaded for answer in answers),
            load_time_ms=round((time.monotonic() - began) * 1e3),
        )

    async def EvictSRS(self, request: Any, _: Any) -> Any:
        """Let a key go everywhere."""
        answers = await self._engine.keys.evict(check_circuit(request.circuit_id))
        return message("cuzk.v1.EvictSrsResponse")(
            was_loaded=any(answer.was_loaded for answer in answers),
            freed_bytes=sum(answer.freed for answer in answers),
        )

    # cuzk.jobs.v1.Jobs

    async def SubmitWitness(self, request: Any, _: Any) -> Any:
        """Accept a job with a witness file."""
        job, position = await self._engine.submit_large(witness_request(request))
        return message("cuzk.jobs.v1.SubmitWitnessResponse")(job_id=job.id, queue_position=position)

    async def DescribeJob(self, request: Any, _: Any) -> Any:
        """How far a job is."""
        job = self._engine.board.find(request.job_id)
        if job is None:
            raise _NotFoundError(request.job_id)
        return message("cuzk.jobs.v1.DescribeJobResponse")(
            job_id=job.id,
            state=enum_value("cuzk.jobs.v1.State", job.state.name),
            circuit=job.circuit,
            partitions=job.num_partitions,
            partitions_done=len(job.proofs),
            queue_position=self._engine.position(job),
            error_message=job.error,
        )

    async def _await(self, job_id: str, timeout_ms: int) -> Any:
        began = time.monotonic()
        job = await self._engine.board.wait(job_id, timeout_ms / 1e3 if timeout_ms else None)
        total_ms = (time.monotonic() - began) * 1e3
        if job is not None:
            end = job.finished if job.finished is not None else self._engine.board.journal.now()
            total_ms = max(0.0, end - job.submitted) * 1e3
        return await_response(job, job_id, total_ms)

    async def _prove(self, wanted: JobRequest) -> Any:
        submitting = asyncio.ensure_future(self._engine.submit_large(wanted))
        try:
            job, _ = await asyncio.shield(submitting)
            result = await self._await(job.id, 0)
        except asyncio.CancelledError:  # the client is gone
            if not wanted.request_id:
                submitting.add_done_callback(self._cancel_accepted)
            raise
        return message("cuzk.v1.ProveResponse")(result=result)

    def _cancel_accepted(self, submitting: asyncio.Future[tuple[Job, int]]) -> None:
        if not submitting.cancelled() and submitting.exception() is None:
            job, _ = submitting.result()
            if job.id in self._engine.board:
                self._engine.cancel(job.id)


class _RelayedError(InputError):
    """A worker's own words, which say what to do."""


class _NotFoundError(InputError):
    def __init__(self, job_id: str) -> None:
        super().__init__(f"there is no job {job_id!r:.60}", remedy="results are kept for a while only")


def _status(engine: Engine) -> Any:
    """The cuzk.v1 view of an engine."""
    totals = engine.board.totals
    out = message("cuzk.v1.GetStatusResponse")(
        total_proofs_completed=totals.done,
        total_proofs_failed=totals.failed,
        uptime_seconds=int(engine.uptime_s()),
    )
    held: dict[str, list[int]] = {}
    for worker in engine.workers:
        state = worker.state
        memory = state.memory
        job, circuit = state.current() or ("", "")
        out.gpus.add(
            ordinal=state.ordinal,
            name=state.device,
            vram_total_bytes=memory.device_total or 0,
            vram_free_bytes=max(0, (memory.device_total or 0) - (memory.device_used or 0)),
            current_job_id=job,
            current_proof_kind=kind_of_circuit(circuit),
        )
        # Both by the key store's account, so that one can be held against the other: what keys take of the host's
        # memory, mapped, pinned or on the heap. What is page-locked of it, /status and the metrics say.
        out.pinned_memory_bytes += sum(key.host_bytes for key in state.keys)
        out.pinned_memory_limit_bytes += memory.host_limit or 0
        for key in state.keys:
            tier, size, holders = held.get(key.circuit, [2, 0, 0])
            held[key.circuit] = [
                min(tier, key.tier),
                size + key.device_bytes + key.host_bytes,
                holders + key.holders,
            ]
    for circuit, (tier, size, holders) in sorted(held.items()):
        out.loaded_srs.add(circuit_id=circuit, tier=tier, size_bytes=size, ref_count=holders)
    queues: dict[str, tuple[int, int]] = {}
    for circuit, counts in sorted(engine.schedule.by_circuit().items()):
        waiting, running = queues.get(kind_of_circuit(circuit), (0, 0))
        queues[kind_of_circuit(circuit)] = waiting + counts[0], running + counts[1]
    for kind, (waiting, running) in queues.items():
        out.queues.add(proof_kind=kind, pending=waiting, in_progress=running)
    return out


def _answering(handler: _Handler) -> _Handler:
    """A handler whose errors become status codes."""

    async def answer(request: Any, context: Any) -> Any:
        try:
            return await handler(request, context)
        except _NotFoundError as error:
            await context.abort(grpc.StatusCode.NOT_FOUND, str(error))
        except UnsupportedError as error:
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, str(error))
        except InputError as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        except BusyError as error:
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, str(error))
        except EngineError as error:
            await context.abort(grpc.StatusCode.UNAVAILABLE, str(error), (SAID_BY_DAEMON,))
        except CuzkError as error:
            await context.abort(grpc.StatusCode.INTERNAL, str(error))

    return answer


class _TokenCheck(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    """Refuses calls without ``authorization: Bearer TOKEN``."""

    def __init__(self, token: str) -> None:
        self._wanted = f"Bearer {token}".encode()

        async def refuse(_: Any, context: Any) -> None:
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "the token is missing or wrong")

        # As a stream, so that nothing of the request is waited for or kept; on the wire both are the same.
        self._refusal = grpc.stream_stream_rpc_method_handler(refuse)

    async def intercept_service(self, continuation: Any, details: Any) -> Any:
        """Let a call through, or not."""
        sent = dict(details.invocation_metadata).get("authorization", "")
        given = sent if isinstance(sent, bytes) else sent.encode()
        if hmac.compare_digest(given, self._wanted):
            return await continuation(details)
        return self._refusal


def check_exposure(listen: str, config: DaemonConfig) -> None:
    """Refuse an address that others can reach without both TLS and a token.

    Raises:
        InputError: It is one.
    """
    check_address(listen, "listen")
    if listen.startswith("unix:"):
        return
    host = listen.rpartition(":")[0].strip("[]")
    try:
        is_local = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_local = False
    security = config.security
    if not is_local and not (security.tls_certificate and security.token_file):
        raise InputError(
            f"{listen} can be reached from other machines",
            limit="without TLS and a token only 127.0.0.1, localhost or unix:PATH",
            remedy="set security.tls_certificate, tls_key and token_file, or listen on a local address",
        )


def read_token(security: SecurityConfig) -> str:
    """What clients must send; nothing where no token is asked for.

    Raises:
        InputError: The file cannot be read, or holds too short a token.
    """
    if not security.token_file:
        return ""
    token = _read(security.token_file).decode("utf-8", "replace").partition("\n")[0].strip()
    is_short = len(token) < _MIN_TOKEN
    if is_short or not (token.isascii() and token.isprintable()):  # no header can hold anything else
        raise InputError(
            "the token is too short" if is_short else "the token has characters that no client can send",
            where=security.token_file,
            limit=f"{_MIN_TOKEN} or more printable ASCII characters",
            remedy="write a long random one into the file",
        )
    return token


def make_server(engine: Engine, config: DaemonConfig) -> tuple[Any, int]:
    """The server of both services, not yet started, and the port it is bound to (0 for a socket file).

    Raises:
        InputError: An exposed address without protection, files that cannot be read, an address that is taken.
    """
    check_exposure(config.listen, config)
    security = config.security
    interceptors = []
    if security.token_file:
        interceptors.append(_TokenCheck(read_token(security)))
    size = config.max_message_bytes
    options = [
        ("grpc.max_receive_message_length", size),
        ("grpc.max_send_message_length", size),
        ("grpc.so_reuseport", 0),
    ]
    server = grpc.aio.server(interceptors=interceptors, options=options)
    services = _Services(engine)
    for service, methods in SERVICES.items():
        handlers = {
            method.name: grpc.unary_unary_rpc_method_handler(
                _answering(getattr(services, method.name)),
                request_deserializer=message(method.request).FromString,
                response_serializer=message(method.response).SerializeToString,
            )
            for method in methods
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
    try:
        if security.tls_certificate:
            server_context(security)  # says what is wrong with the files, where gRPC names the address
            pair = (_read(security.tls_key), _read(security.tls_certificate))
            port = server.add_secure_port(config.listen, grpc.ssl_server_credentials([pair]))
        else:
            port = server.add_insecure_port(config.listen)
    except RuntimeError as error:
        raise InputError(
            f"cannot listen on {config.listen}: {error}", remedy="choose another address"
        ) from error
    return server, int(port)


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(
            f"the file cannot be read: {error}", where=path, remedy="check the path and its permissions"
        ) from error
