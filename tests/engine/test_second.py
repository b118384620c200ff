"""A second daemon where a first one is: refused by name, and the first is not harmed.

Would catch: a socket file taken from under a daemon that listens on it, files deleted that are nobody's socket, and
an error that leaves open which of the settings is meant.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from cuzk.engine.client import EngineClient
from cuzk.engine.journal import Journal
from cuzk.engine.wire.listen import check_free
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
