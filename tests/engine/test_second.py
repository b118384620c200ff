"""A second daemon where a first one is: refused by name, and the first is not harmed.

Would catch: a socket file taken from under a daemon that listens on it, files deleted that are nobody's socket, and
an error that leaves open which of the settings is meant.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cuzk.engine.client import EngineClient
from cuzk.engine.journal import Journal
from cuzk.engine.wire.listen import check_free, socket_lock
from cuzk.errors import InputError
from tests.cli.support import Run, assert_refused, cuzk
from tests.engine.test_commands import running


@pytest.fixture
def taken() -> Iterator[str]:
    """The address of another program."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield f"127.0.0.1:{other.getsockname()[1]}"


def second(folder: Path, **addresses: str) -> Run:
    """A daemon that must not start, with a state folder of its own."""
    words = ["daemon", "--device", "cpu", "--state", str(folder / "second")]
    for option, value in {"listen": "127.0.0.1:0", "status-listen": "", **addresses}.items():
        words += [f"--{option}", value]
    return cuzk(*words)


@pytest.mark.parametrize("option", ["listen", "status-listen"])
def test_a_taken_port_is_named(
    option: str, taken: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    refused = second(tmp_path, **{option: taken})
    assert_refused(refused, 2, f"{option.replace('-', '_')}: {taken} is taken", f"--{option}")
    assert not (tmp_path / "second").exists()
    assert capfd.readouterr().err == ""


def test_a_state_folder_in_use_is_named(tmp_path: Path) -> None:
    first = Journal(tmp_path / "second")
    stored = first.store(b"on its way")
    try:
        assert_refused(second(tmp_path), 3, "another daemon uses the state folder", "second", "--state")
        assert (tmp_path / "second" / "payloads" / stored).read_bytes() == b"on its way"
    finally:
        first.close()


def test_a_socket_is_left_to_who_listens_and_taken_from_the_dead(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    with running(tmp_path) as first:
        refused = second(tmp_path, listen=first.address)
        assert_refused(refused, 2, f"listen: {first.address} is taken", "--listen")
        assert not (tmp_path / "second").exists()
        with EngineClient(first.address) as client:
            client.call("GetStatus", timeout_s=60.0)
        os.killpg(first.process.pid, signal.SIGKILL)
        first.process.wait()
    assert (tmp_path / "socket").is_socket()
    with running(tmp_path) as next_one, EngineClient(next_one.address) as client:
        client.call("GetStatus", timeout_s=60.0)
        assert next_one.end() == 0
    assert not (tmp_path / "socket").exists()


def test_a_file_that_is_no_socket_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "notes"
    file.write_text("mine")
    assert_refused(second(tmp_path, listen=f"unix:{file}"), 2, "is no socket", "--listen")
    assert file.read_text() == "mine"


@pytest.mark.parametrize(("name", "why"), [("none/socket", "no folder"), ("s" * 120, "too long")])
def test_where_no_socket_can_be_is_said(
    name: str, why: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert_refused(second(tmp_path, listen=f"unix:{tmp_path}/{name}"), 2, why, "--listen")
    assert capfd.readouterr().err == ""


def test_an_address_of_another_machine_is_named() -> None:
    """Of a net that is for documentation alone.."""
    with pytest.raises(InputError, match=r"listen: cannot listen on 192.0.2.77:1.*another address"):
        check_free("192.0.2.77:1", "listen")


#: ``cuzk daemon`` that waits between its look at the address and its taking it, until a file says go on.
_WAITING = """
import pathlib, sys, time
import cuzk.engine.daemon as daemon
from cuzk.cli import main

marker, go, journal = pathlib.Path(sys.argv.pop(1)), pathlib.Path(sys.argv.pop(1)), daemon.Journal

def later(folder):
    marker.touch()
    while not go.exists():
        time.sleep(0.005)
    return journal(folder)

daemon.Journal = later
main()
"""


def _free_port() -> str:
    """An address that nobody listens on, and that the system gives to nobody who asks for any port.

    Each process of a run of tests looks at ports of its own.
    """
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    first = 1 + os.getpid() % 500 * 16
    for port in range(lowest - first, lowest - first - 16, -1):
        with socket.socket() as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                one.bind(("127.0.0.1", port))
                return f"127.0.0.1:{port}"
    raise AssertionError(f"sixteen ports below {lowest - first} are taken")


def _wait(what: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not what():
        assert time.monotonic() < until
        time.sleep(0.01)


def _race(folder: Path, listen: str, status: str) -> list[tuple[int | None, str]]:
    """Two daemons that look at an address before either takes it: exit codes, None of one that runs, and logs.

    All are ended.
    """
    (folder / "keys").mkdir()
    go = folder / "go"
    logs = [folder / f"{i}.log" for i in range(2)]
    markers = [folder / f"{i}.looked" for i in range(2)]
    processes = []
    for i, log in enumerate(logs):
        words = [str(markers[i]), str(go), "daemon", "--listen", listen, "--status-listen", status]
        words += ["--device", "cpu", "--state", str(folder / f"state{i}"), "--keys", str(folder / "keys")]
        with log.open("wb") as out:
            processes.append(
                subprocess.Popen([sys.executable, "-c", _WAITING, *words], stderr=out, start_new_session=True)
            )
    try:
        _wait(
            lambda: all(p.poll() is not None or m.exists() for p, m in zip(processes, markers, strict=True))
        )
        go.touch()
        _wait(
            lambda: all(
                p.poll() is not None or "ready: " in log.read_text()
                for p, log in zip(processes, logs, strict=True)
            )
        )
        codes = [process.poll() for process in processes]
        if listen.startswith("unix:") and None in codes:
            with EngineClient(listen) as client:
                client.call("GetStatus", timeout_s=60.0)
        return [(code, log.read_text()) for code, log in zip(codes, logs, strict=True)]
    finally:
        for process in processes:
            if process.poll() is None:
                process.terminate()
        for process in processes:
            process.wait(120)


@pytest.mark.parametrize("kind", ["socket", "listen", "status_listen"])
def test_of_two_daemons_that_start_at_once_one_listens(kind: str, tmp_path: Path) -> None:
    """Each finds a stale socket's file, or a port, that nobody listens on."""
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    port = _free_port()
    if kind == "socket":
        ended = _race(tmp_path, f"unix:{path}", "")
    else:
        ended = _race(
            tmp_path, port if kind == "listen" else "127.0.0.1:0", port if kind == "status_listen" else ""
        )
    codes = [code for code, _ in ended]
    assert sorted(map(str, codes)) == ["2", "None"], ended
    log = ended[codes.index(2)][1]
    assert "Traceback" not in log
    if kind == "socket":
        assert f"error: listen: unix:{path} is taken" in log
        assert "choose another address with --listen" in log
        assert [entry.name for entry in tmp_path.glob("socket*")] == [], (
            "the one that ran leaves nothing behind"
        )
    else:
        assert f"cannot listen on {port}" in log
        assert "choose another address" in log


def test_a_lock_that_a_killed_daemon_left_locks_nothing(tmp_path: Path) -> None:
    (tmp_path / "socket.lock").touch()
    hold = socket_lock(f"unix:{tmp_path}/socket")
    with pytest.raises(InputError, match=r"listen: unix:.*socket is taken"):
        socket_lock(f"unix:{tmp_path}/../{tmp_path.name}/socket").close()
    hold.close()
    assert not (tmp_path / "socket.lock").exists()
    socket_lock(f"unix:{tmp_path}/socket").close()


def test_a_lock_whose_file_was_removed_meanwhile_is_not_held_by_two(tmp_path: Path) -> None:
    """One that waits on a file which its holder removes would lock what nobody else finds."""
    path, real, opened = tmp_path / "socket.lock", os.open, 0

    def open_then_lose(*arguments: Any, **named: Any) -> int:
        nonlocal opened
        descriptor = real(*arguments, **named)
        opened += 1
        if opened == 1:
            path.unlink()
        return descriptor

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", open_then_lose)
        hold = socket_lock(f"unix:{tmp_path}/socket")
    assert opened == 2
    with pytest.raises(InputError, match="is taken"):
        socket_lock(f"unix:{tmp_path}/socket")
    hold.close()


def test_where_a_lock_cannot_be_is_said(tmp_path: Path) -> None:
    (tmp_path / "socket.lock").mkdir()
    with pytest.raises(
        InputError, match=r"cannot listen on unix:.*socket\.lock.*another address with --listen"
    ):
        socket_lock(f"unix:{tmp_path}/socket")
