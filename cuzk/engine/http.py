"""The status port: a page for people at /, and /status, /metrics and /health for programs. It answers GET alone."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import logging
import socket
import ssl
import sys
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeVar

from cuzk.engine.config import SecurityConfig
from cuzk.engine.metrics import health, prometheus_text, status_tree
from cuzk.engine.tls import server_context
from cuzk.engine.wire.address import split_address
from cuzk.errors import InputError

if TYPE_CHECKING:
    from cuzk.engine.core import Engine

__all__ = ["StatusServer"]

_LOG = logging.getLogger("cuzk.engine")
_T = TypeVar("_T")

_JSON, _TEXT, _HTML = (
    "application/json",
    "text/plain; version=0.0.4; charset=utf-8",
    "text/html; charset=utf-8",
)
_PATIENCE_S = 5.0
_HANDSHAKE_S = 10.0
#: At a time; each is a thread.
_MOST_CONNECTIONS = 128


class _Server(ThreadingHTTPServer):
    """One thread a connection, on IPv4 or IPv6, with TLS where there is a context.

    Args:
        address: Host and port.
        handler: Of each connection.
        context: Of TLS, or None.
    """

    daemon_threads = True

    def __init__(
        self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], context: ssl.SSLContext | None
    ) -> None:
        self.context = context
        self._free = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        self.address_family = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)[0][0]
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """In a thread of its own, or not at all."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """That thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def finish_request(self, request: Any, client_address: Any) -> None:
        """In the connection's own thread: whoever is slow with its handshake keeps nobody else waiting."""
        if self.context is None:
            super().finish_request(request, client_address)
            return
        request.settimeout(_HANDSHAKE_S)
        with self.context.wrap_socket(request, server_side=True) as secure:
            super().finish_request(secure, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up, is silent, or speaks something else than TLS is no news; our own errors are."""
        if not isinstance(sys.exception(), OSError):
            facts = {"client": str(client_address), "socket": str(request)}
            _LOG.exception("status port", extra={"facts": facts})


def _token_of(header: str) -> bytes:
    """What an Authorization header gives for a token; nothing where it gives none."""
    scheme, _, value = header.partition(" ")
    if scheme.lower() == "bearer":
        return value.encode("utf-8", "replace")
    if scheme.lower() != "basic":
        return b""
    try:
        return base64.b64decode(value, validate=True).partition(b":")[2]
    except ValueError:
        return b""


class StatusServer:
    """Serves what an engine says of itself, from threads that ask the engine's event loop.

    Args:
        engine: Whose status.
        listen: HOST:PORT; port 0 takes a free one.
        token: Where given, requests need ``Authorization: Bearer TOKEN``, or as browsers do Basic with the token for a
            password; all but /health.
        security: Where it names a certificate, the port speaks TLS alone: a token must not travel in the clear.

    Raises:
        InputError: The address is malformed or taken, or the certificate cannot be used.
    """

    def __init__(
        self, engine: Engine, listen: str, token: str = "", *, security: SecurityConfig | None = None
    ) -> None:
        self._engine = engine
        self._loop = asyncio.get_running_loop()
        host, _, port = listen.rpartition(":")
        if not host or not port.isdigit():
            raise InputError(
                f"{listen!r:.80} is no HOST:PORT", where="status_listen", remedy="write 127.0.0.1:9821"
            )
        try:
            self._server = _Server(split_address(listen), self._handler(token), server_context(security))
        except (OSError, OverflowError) as error:
            raise InputError(
                f"cannot listen on {listen}: {error}", remedy="choose another address"
            ) from error
        scheme = "http" if self._server.context is None else "https"
        #: Of the page.
        self.url = f"{scheme}://{host}:{self.port}/"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._server.server_address[1])

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _ask(self, question: Callable[[Engine], _T]) -> _T:
        """Ask in the engine's loop, which alone may touch its state."""

        async def answer() -> _T:
            return question(self._engine)

        return asyncio.run_coroutine_threadsafe(answer(), self._loop).result(_PATIENCE_S)

    def _answer(self, path: str) -> tuple[HTTPStatus, str, str]:
        if path == "/":
            return HTTPStatus.OK, _HTML, files("cuzk.engine").joinpath("page.html").read_text("utf-8")
        if path == "/status":
            return HTTPStatus.OK, _JSON, json.dumps(self._ask(status_tree))
        if path == "/metrics":
            return HTTPStatus.OK, _TEXT, self._ask(prometheus_text)
        if path == "/health":
            is_well, why = self._ask(health)
            status = HTTPStatus.OK if is_well else HTTPStatus.SERVICE_UNAVAILABLE
            return status, _JSON, json.dumps({"healthy": is_well, "health": why})
        return HTTPStatus.NOT_FOUND, _TEXT, "possible: / /status /metrics /health\n"

    def _handler(self, token: str) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            server_version = "cuzk"
            sys_version = ""
            timeout = 30

            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                given = _token_of(self.headers.get("Authorization", ""))
                if token and path != "/health" and not hmac.compare_digest(given, token.encode()):
                    self._send(HTTPStatus.UNAUTHORIZED, _TEXT, "the token is missing or wrong\n")
                    return
                try:
                    self._send(*outer._answer(path))
                except (TimeoutError, RuntimeError):
                    self._send(HTTPStatus.SERVICE_UNAVAILABLE, _TEXT, "the daemon is stopping\n")

            def _send(self, status: HTTPStatus, kind: str, text: str) -> None:
                body = text.encode()
                self.send_response(status)
                if status is HTTPStatus.UNAUTHORIZED:
                    self.send_header("WWW-Authenticate", 'Basic realm="cuzk", charset="UTF-8"')
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Control", "no-store")
                self.send_header("X-Content-Type-Options", "nosniff")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing: polls are no news."""

        return Handler
