"""A client of the daemon, over the same wire as everybody's.

Answers with an error status become the errors that the daemon raised: bad input, a full queue, a daemon that is gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import grpc

from cuzk.engine.wire.address import check_address
from cuzk.engine.wire.schema import SAID_BY_DAEMON, SERVICES, message
from cuzk.errors import BusyError, EngineError, InputError

__all__ = ["EngineClient"]

_METHODS = {method.name: (service, method) for service, methods in SERVICES.items() for method in methods}


class _RefusedError(InputError):
    """The daemon's own words, which say what to do."""


class _UnableError(EngineError):
    """Likewise, of one that cannot now."""

    usual_remedy = ""  # it is in the words


class EngineClient:
    """A connection to a daemon.

    Args:
        address: HOST:PORT or unix:PATH.
        token: What the daemon asks for, if anything.
        certificate: PEM file with the authority that signed the daemon's certificate; with it the connection is TLS.
        max_message_bytes: Of one request or response.
    """

    def __init__(
        self,
        address: str,
        *,
        token: str = "",
        certificate: Path | None = None,
        max_message_bytes: int = 256 << 20,
    ) -> None:
        check_address(address)
        options = [
            ("grpc.max_receive_message_length", max_message_bytes),
            ("grpc.max_send_message_length", max_message_bytes),
        ]
        self.address = address
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()
        if certificate is None:
            self._channel = grpc.insecure_channel(address, options)
        else:
            chain = certificate.read_bytes()
            if b"-----BEGIN CERTIFICATE-----" not in chain:
                raise InputError(
                    "the file holds no certificate", where=str(certificate), limit="PEM",
                    remedy="give the certificate that signed the daemon's",
                )  # fmt: skip
            credentials = grpc.ssl_channel_credentials(chain)
            self._channel = grpc.secure_channel(address, credentials, options)

    def __enter__(self) -> EngineClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._channel.close()

    def call(self, name: str, *, timeout_s: float | None = None, **fields: Any) -> Any:
        """Call an rpc by its name.

        Args:
            name: As in SERVICES.
            timeout_s: Seconds until the call is given up.
            **fields: Of the request; a message within it is given as a mapping.

        Returns:
            The response message.

        Raises:
            InputError: The daemon refuses the request.
            BusyError: Its queue is full.
            EngineError: It cannot be reached, is stopping, or fails.
        """
        service, method = _METHODS[name]
        request = message(method.request)(**fields)
        rpc = self._channel.unary_unary(
            f"/{service}/{name}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=message(method.response).FromString,
        )
        try:
            return rpc(request, timeout=timeout_s, metadata=self._metadata)
        except grpc.RpcError as error:
            raise self._translated(error) from error

    def _translated(self, error: Any) -> EngineError | InputError:
        code, details = error.code(), error.details() or ""
        if code in (
            grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND, grpc.StatusCode.UNIMPLEMENTED
        ):  # fmt: skip
            return _RefusedError(details)
        if code is grpc.StatusCode.RESOURCE_EXHAUSTED and "larger than max" in details:
            return InputError(
                f"the message is too large: {details}", where=self.address,
                remedy="raise max_message_bytes in the daemon's configuration, and in the client",
            )  # fmt: skip
        if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
            return BusyError(details)
        if code is grpc.StatusCode.UNAUTHENTICATED:
            return InputError(details, where=self.address, remedy="give the daemon's token (--token-file)")
        if code is grpc.StatusCode.DEADLINE_EXCEEDED:
            return EngineError("the daemon did not answer in time", where=self.address)
        if code is grpc.StatusCode.UNAVAILABLE and SAID_BY_DAEMON in (error.trailing_metadata() or ()):
            return _UnableError(details)
        if code is grpc.StatusCode.UNAVAILABLE:
            return EngineError(
                f"no daemon answers: {details}", where=self.address, remedy="start one with `cuzk daemon`"
            )
        return EngineError(f"{code.name}: {details}", where=self.address)

    def submit(self, fields: Mapping[str, Any]) -> str:
        """Submit a Filecoin proof; the job's identifier. Fields as of cuzk.v1.SubmitProofRequest."""
        return str(self.call("SubmitProof", **fields).job_id)

    def submit_witness(self, circuit: str, witness: bytes, *, priority: int = 0, request_id: str = "") -> str:
        """Submit a witness file; the job's identifier."""
        answer = self.call(
            "SubmitWitness", circuit=circuit, witness=witness, priority=priority, request_id=request_id
        )
        return str(answer.job_id)

    def wait(self, job_id: str, timeout_s: float = 0.0) -> Any:
        """Wait for a job's end; the AwaitProofResponse. 0 waits for ever."""
        return self.call("AwaitProof", job_id=job_id, timeout_ms=round(timeout_s * 1e3))
