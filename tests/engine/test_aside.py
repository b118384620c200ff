"""Payloads as a worker reads them: large JSON beside its own threads, errors without the daemon's paths.

Would catch: a file whose parsing keeps the interpreter from the thread that gives work to the device, one parsed again
for each partition, another proof made of it, and a path of the server in what a remote client is told.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cuzk.circuits.catalogue import find_circuit
from cuzk.circuits.porep import forget_files
from cuzk.circuits.vanilla import codec
from cuzk.circuits.vanilla.porep_files import read_commit1, write_commit1_json
from cuzk.engine import aside
from cuzk.engine.backend import assignment_of
from cuzk.engine.jobs import PayloadForm
from cuzk.engine.messages import Payload
from cuzk.errors import CuzkError, EngineError, FormatError, InputError
from tests.cli.support import circuit

CIRCUIT = "porep:2KiB"


@pytest.fixture(scope="module")
def bincode() -> bytes:
    return find_circuit(CIRCUIT).synthetic(b"one")


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Processes that were started; every file of JSON counts as large."""
    started = []
    run = subprocess.run

    def counted(*arguments: Any, **options: Any) -> Any:
        started.append(arguments)
        return run(*arguments, **options)

    monkeypatch.setattr(subprocess, "run", counted)
    monkeypatch.setattr(aside, "_LARGE", 0)
    forget_files()
    aside.forget()
    yield started
    forget_files()
    aside.forget()


def payload(folder: Path, data: bytes, form: PayloadForm = PayloadForm.VANILLA) -> Payload:
    path = folder / "payload-of-a-client"
    path.write_bytes(data)
    return Payload(path, form, 0)


def no_json(*_: object) -> None:
    raise AssertionError("JSON was parsed in the worker's own process")


def test_large_json_is_parsed_beside_the_worker_once(
    tmp_path: Path, bincode: bytes, runs: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = write_commit1_json(read_commit1(bincode), 7, "2KiB")
    wanted = assignment_of(CIRCUIT, payload(tmp_path, bincode))
    assert runs == []
    monkeypatch.setattr(codec, "from_json", no_json)
    for _ in range(2):
        found = assignment_of(CIRCUIT, payload(tmp_path, text))
        assert (found.values == wanted.values).all()
    assert len(runs) == 1


def test_small_json_needs_no_process(
    tmp_path: Path, bincode: bytes, runs: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = write_commit1_json(read_commit1(bincode), 7, "2KiB")
    monkeypatch.setattr(aside, "_LARGE", len(text) + 1)
    assignment_of(CIRCUIT, payload(tmp_path, text))
    assert runs == []


def test_what_does_not_parse_is_said_as_without_it(tmp_path: Path, runs: list[Any]) -> None:
    with pytest.raises(FormatError, match="no JSON") as raised:
        assignment_of(CIRCUIT, payload(tmp_path, b'{"SectorNum": 1,'))
    assert len(runs) == 1
    assert str(tmp_path) not in str(raised.value)


def test_a_process_that_cannot_be_started_loses_nothing(
    tmp_path: Path, bincode: bytes, runs: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = write_commit1_json(read_commit1(bincode), 7, "2KiB")
    monkeypatch.setattr("sys.executable", str(tmp_path / "none"))
    wanted = assignment_of(CIRCUIT, payload(tmp_path, bincode))
    assert (assignment_of(CIRCUIT, payload(tmp_path, text)).values == wanted.values).all()
    assert len(runs) == 1


@pytest.mark.parametrize("data", [b"nothing", circuit("bn128").wtns.read_bytes()[:-1]])
def test_an_error_about_a_witness_does_not_tell_where_it_lies(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(CuzkError, match=r"^witness") as raised:
        assignment_of("product", payload(tmp_path, data, PayloadForm.WITNESS))
    assert str(tmp_path) not in str(raised.value)
    assert "payload-of-a-client" not in str(raised.value)


@pytest.mark.parametrize("form", [PayloadForm.WITNESS, PayloadForm.VANILLA])
def test_a_payload_that_is_gone_is_said_without_its_path(form: PayloadForm, tmp_path: Path) -> None:
    gone = payload(tmp_path, b"", form)
    gone.path.unlink()
    with pytest.raises((EngineError, InputError), match="No such file") as raised:
        assignment_of(CIRCUIT, gone)
    assert str(tmp_path) not in str(raised.value)
