"""The status port: a page for people at /, and /status, /metrics and /health for programs. It answers GET alone."""

from __future__ import annotations

import asyncio
import hmac
import json
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import TYPE_CHECKING, TypeVar

from cuzk.engine.metrics import health, prometheus_text, status_tree
from cuzk.errors import InputError

if TYPE_CHECKING:
    from cuzk.engine.core import Engine

__all__ = ["StatusServer"]

_T = TypeVar("_T")

_JSON, _TEXT, _HTML = (
    "application/json",
    "text/plain; version=0.0.4; charset=utf-8",
    "text/html; charset=utf-8",
)
_PATIENCE_S = 5.0


class StatusServer:
    """Serves what an engine says of itself, from threads that ask the engine's event loop.

    Args:
        engine: Whose status.
        listen: HOST:PORT; port 0 takes a free one.
        token: Where given, requests need ``Authorization: Bearer TOKEN``, all but /health.

    Raises:
        InputError: The address is malformed or taken.
    """

    def __init__(self, engine: Engine, listen: str, token: str = "") -> None:
        self._engine = engine
        self._loop = asyncio.get_running_loop()
        host, _, port = listen.rpartition(":")
        if not host or not port.isdigit():
            raise InputError(
                f"{listen!r:.80} is no HOST:PORT", where="status_listen", remedy="write 127.0.0.1:9821"
            )
        try:
            self._server = ThreadingHTTPServer((host.strip("[]"), int(port)), self._handler(token))
        except (OSError, OverflowError) as error:
            raise InputError(
                f"cannot listen on {listen}: {error}", remedy="choose another address"
            ) from error
        self._server.daemon_threads = True
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
        wanted = f"Bearer {token}".encode()

        class Handler(BaseHTTPRequestHandler):
            server_version = "cuzk"
            sys_version = ""
            timeout = 30

            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                given = self.headers.get("Authorization", "").encode("utf-8", "replace")
                if token and path != "/health" and not hmac.compare_digest(given, wanted):
                    self._send(HTTPStatus.UNAUTHORIZED, _TEXT, "the token is missing or wrong\n")
                    return
                try:
                    self._send(*outer._answer(path))
                except (TimeoutError, RuntimeError):
                    self._send(HTTPStatus.SERVICE_UNAVAILABLE, _TEXT, "the daemon is stopping\n")

            def _send(self, status: HTTPStatus, kind: str, text: str) -> None:
                body = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Control", "no-store")
                self.send_header("X-Content-Type-Options", "nosniff")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing: polls are no news."""

        return Handler
