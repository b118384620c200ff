"""A hostile client, a careless operator: what one of them does must not reach anybody else.

Would catch: a token that travels in the clear, a port that anybody can fill with silence, names that forge log lines
or fill the metrics, answers that say of a key or a daemon that it is not there.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any

import grpc
import pytest

from cuzk.engine.client import EngineClient
from cuzk.engine.config import DaemonConfig, SecurityConfig
from cuzk.engine.core import Engine
from cuzk.engine.daemon import configure_logging
from cuzk.engine.http import StatusServer
from cuzk.engine.jobs import check_circuit
from cuzk.engine.service import read_token
from cuzk.errors import CuzkError, EngineError, InputError
from tests.engine.engines import ENDLESS, PATIENCE_S, hearing, job, make_engine, run, until
from tests.engine.test_wire import served

Call = Callable[..., Awaitable[Any]]

# The status port


def get(url: str, context: ssl.SSLContext | None = None, token: str = "") -> int:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    with urllib.request.urlopen(request, timeout=PATIENCE_S, context=context) as answer:
        return int(answer.status)


@pytest.fixture
def tls(tmp_path: Path) -> SecurityConfig:
    """A certificate of this machine alone, and a token."""
    key, certificate, token = tmp_path / "key.pem", tmp_path / "certificate.pem", tmp_path / "token"
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    words += ["-keyout", str(key), "-out", str(certificate), "-days", "2", "-subj", "/CN=localhost"]
    words += ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(words, check=True, capture_output=True)
    token.write_text("0123456789abcdef\n")
    return SecurityConfig(str(certificate), str(key), str(token))


def test_the_status_port_speaks_tls_where_the_service_does(tmp_path: Path, tls: SecurityConfig) -> None:
    """A token over plain HTTP would be everybody's; and one that connects and is silent stops nobody."""
    context = ssl.create_default_context(cafile=tls.tls_certificate)

    async def scenario(engine: Engine) -> None:
        server = StatusServer(engine, "127.0.0.1:0", read_token(tls), security=tls)
        silent = await asyncio.open_connection("127.0.0.1", server.port)
        try:
            address = f"://127.0.0.1:{server.port}/status"
            assert await asyncio.to_thread(get, f"https{address}", context, read_token(tls)) == 200
            with pytest.raises(urllib.error.HTTPError, match="401"):
                await asyncio.to_thread(get, f"https{address}", context)
            with pytest.raises((OSError, HTTPException)):  # a closed connection has many names
                await asyncio.to_thread(get, f"http{address}", None, read_token(tls))
            assert server.url == f"https://127.0.0.1:{server.port}/"
        finally:
            silent[1].close()
            await asyncio.to_thread(server.close)

    run(scenario, lambda: make_engine(tmp_path / "state"))


def test_files_that_are_no_certificate_are_named(tmp_path: Path, tls: SecurityConfig) -> None:
    Path(tls.tls_certificate).write_text("none")

    async def scenario(engine: Engine) -> None:
        with pytest.raises(InputError, match=r"certificate.pem.*security.tls"):
            StatusServer(engine, "127.0.0.1:0", security=tls)

    run(scenario, lambda: make_engine(tmp_path / "state"))
    with pytest.raises(InputError, match=r"certificate.pem.*security.tls"):
        served(tmp_path, lambda *_: asyncio.sleep(0), tls)


def test_the_status_port_listens_where_only_ipv6_is(tmp_path: Path) -> None:
    async def scenario(engine: Engine) -> None:
        server = StatusServer(engine, "[::1]:0")
        try:
            assert server.url == f"http://[::1]:{server.port}/"
            assert await asyncio.to_thread(get, f"{server.url}status") == 200
        finally:
            await asyncio.to_thread(server.close)

    run(scenario, lambda: make_engine(tmp_path / "state"))


@pytest.mark.parametrize("token", ["0123456789äbcdef", "0123456789 abcdef\x07", "0123456789abcd\tef"])
def test_a_token_that_no_client_can_send_is_refused(tmp_path: Path, token: str) -> None:
    (tmp_path / "token").write_text(token, "utf-8")
    with pytest.raises(InputError, match=r"token.*printable"):
        read_token(SecurityConfig(token_file=str(tmp_path / "token")))


def test_connections_to_the_status_port_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is a thread, and /health asks for no token: who opens more is hung up on, and the next one is served."""
    monkeypatch.setattr("cuzk.engine.http._MOST_CONNECTIONS", 3)

    async def scenario(engine: Engine) -> None:
        server = StatusServer(engine, "127.0.0.1:0")
        silent = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(4)]
        try:
            assert await silent[3][0].read() == b""
            for _, writer in silent[:3]:
                writer.close()
            await until(lambda: engine.workers[0].state.ready)
            until_s = time.monotonic() + PATIENCE_S / 2
            while True:
                try:
                    assert await asyncio.to_thread(get, f"{server.url}health") == 200
                    break
                except OSError:
                    assert time.monotonic() < until_s, "connections that are over still count"
                    await asyncio.sleep(0.01)
        finally:
            for _, writer in silent:
                writer.close()
                with contextlib.suppress(OSError):
                    await writer.wait_closed()
            await asyncio.to_thread(server.close)

    run(scenario, lambda: make_engine(tmp_path / "state"))


def test_a_browser_can_give_the_token(tmp_path: Path) -> None:
    """It asks for a password when it is told to, and sends it with every request of the page."""
    token = "0123456789:abcdef"

    def answer(port: int, given: str) -> tuple[int, str]:
        request = urllib.request.Request(f"http://127.0.0.1:{port}/status", headers={"Authorization": given})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as found:
                return int(found.status), ""
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers["WWW-Authenticate"]

    async def scenario(engine: Engine) -> None:
        server = StatusServer(engine, "127.0.0.1:0", token)
        try:
            for given, code in (
                (f"Bearer {token}", 200), (f"Basic {b64encode(f'me:{token}'.encode()).decode()}", 200),
                (f"basic {b64encode(f':{token}'.encode()).decode()}", 200),
                (f"Basic {b64encode(token.encode()).decode()}", 401), (f"Basic {token}", 401), ("Basic \xe4", 401),
                (token, 401), ("", 401),
            ):  # fmt: skip
                found = await asyncio.to_thread(answer, server.port, given)
                assert found == (code, "" if code == 200 else 'Basic realm="cuzk", charset="UTF-8"'), given
        finally:
            await asyncio.to_thread(server.close)

    run(scenario, lambda: make_engine(tmp_path / "state"))


def test_nothing_is_read_of_a_call_without_the_token(tmp_path: Path, tls: SecurityConfig) -> None:
    """A request may have 256 MiB; who may not call is told so before the first byte of it."""
    never = threading.Event()

    def silent() -> Iterator[bytes]:
        never.wait(PATIENCE_S)
        yield b""

    def call_for(listen: str) -> grpc.StatusCode:
        with grpc.insecure_channel(listen) as channel:
            rpc = channel.stream_unary("/cuzk.v1.ProvingEngine/GetStatus")
            with pytest.raises(grpc.RpcError) as refused:
                rpc(silent(), timeout=PATIENCE_S)
        return refused.value.code()

    async def scenario(_: Engine, client: EngineClient, __: Call) -> None:
        code = await asyncio.to_thread(call_for, client.address)
        never.set()
        assert code is grpc.StatusCode.UNAUTHENTICATED

    served(tmp_path, scenario, SecurityConfig(token_file=tls.token_file))


# Names that clients choose


@pytest.mark.parametrize(
    "name", ["", "c" * 300, "ä" * 150, "a\nb", "\x1b[31mred", "a\0b", "a\u2028b", "a\u202eb"]
)
def test_what_is_no_name_of_a_circuit_is_refused_at_the_door(tmp_path: Path, name: str) -> None:
    """Nothing of it is stored, logged, sent to a worker or counted."""

    async def scenario(engine: Engine, _: EngineClient, call: Call) -> None:
        for rpc, fields in (
            ("SubmitWitness", {"circuit": name, "witness": b"{}"}),
            ("PreloadSRS", {"circuit_id": name}),
            ("EvictSRS", {"circuit_id": name}),
        ):
            with pytest.raises(InputError, match="circuit"):
                await call(rpc, **fields)
        assert engine.board.totals.accepted == 0

    with pytest.raises(InputError, match="no name of a circuit"):
        check_circuit(name)
    served(tmp_path, scenario)


def test_no_value_makes_a_line_of_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    with hearing():  # which puts back what configure_logging makes of the logger
        configure_logging("info", as_json=False)
        logging.getLogger("cuzk.engine").info(
            "ended", extra={"facts": {"reason": "no\n2026-01-01 info ended job=root\x1b[2J\u2028", "n": 3}}
        )
    (line,) = capsys.readouterr().err.split("\n")[:-1]
    assert line.isprintable()
    assert r"reason=no\n2026-01-01 info ended job=root\x1b[2J\u2028 n=3" in line


# Answers


def test_a_key_in_use_is_not_said_to_be_absent(tmp_path: Path) -> None:
    """`was_loaded` with nothing freed: a client that plans its memory must not take it for gone."""

    async def scenario(engine: Engine, _: EngineClient, call: Call) -> None:
        engine.submit(job(ENDLESS, name="slow"))
        await until(lambda: any(key.holders for key in engine.workers[0].state.keys))
        answer = await call("EvictSRS", circuit_id="c")
        assert (answer.was_loaded, answer.freed_bytes) == (True, 0)
        engine.cancel("slow")
        assert not (await call("EvictSRS", circuit_id="other")).was_loaded

    served(tmp_path, scenario)


def test_a_daemon_that_refuses_is_not_said_to_be_absent(tmp_path: Path) -> None:
    async def scenario(engine: Engine, _: EngineClient, call: Call) -> None:
        engine.is_draining = True
        with pytest.raises(EngineError) as refused:
            await call("SubmitWitness", circuit="c", witness=b"{}")
        assert (
            str(refused.value)
            == "the daemon is stopping and takes no more jobs. To fix: submit when it is back"
        )

    served(tmp_path, scenario)


def test_a_full_message_of_refusal_reaches_the_caller() -> None:
    """What check_circuit says holds no part of a name that could do harm where it is printed."""
    with pytest.raises(CuzkError) as refused:
        check_circuit("\x1b[2J" + "c" * 1000)
    assert len(str(refused.value)) < 400
    assert str(refused.value).isprintable()


def test_the_default_configuration_needs_no_certificate(tmp_path: Path) -> None:
    async def scenario(engine: Engine) -> None:
        server = StatusServer(engine, DaemonConfig().status_listen.replace("9821", "0"))
        assert server.url.startswith("http://127.0.0.1:")
        await asyncio.to_thread(server.close)

    run(scenario, lambda: make_engine(tmp_path / "state"))
