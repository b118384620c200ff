"""The first seconds of a daemon, and its second proof: a slow start, or a key loaded twice, shows here."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from cuzk.ab.engine_workload import make_key
from cuzk.circuits.catalogue import find_circuit
from cuzk.engine.client import EngineClient
from tests.cli.support import cuzk
from tests.engine.porep import check, prove_over_the_wire
from tests.engine.test_commands import running

#: What the daemon and its worker may take of a processor until a worker is ready; the machine may be busy.
_READY_CPU_S = 3.0
#: How often it is measured, at most: what else a machine does may fall on the one measurement, not on each of them.
_TRIES = 5
_PATIENCE_S = 120.0
SMALL = "por:poseidon:8-0-0:64:public"


def cpu_s(pid: int) -> float:
    """Processor time of a process and of its children so far."""
    processes = [psutil.Process(pid), *psutil.Process(pid).children()]
    return float(sum(one.cpu_times().user + one.cpu_times().system for one in processes))


def test_ready_soon(tmp_path: Path) -> None:
    took_s: list[float] = []
    while len(took_s) < _TRIES and min(took_s, default=_READY_CPU_S) >= _READY_CPU_S:
        folder = tmp_path / str(len(took_s))
        (folder / "keys").mkdir(parents=True)
        with running(folder) as daemon:
            daemon.until_ready()
            took_s.append(cpu_s(daemon.process.pid))
    assert min(took_s) < _READY_CPU_S, took_s


def test_the_second_proof_loads_nothing(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.mkdir()
    make_key(SMALL, keys)
    vanilla = tmp_path / "vanilla"
    vanilla.write_bytes(find_circuit(SMALL).synthetic(b"one"))
    with running(tmp_path) as daemon:
        daemon.until_ready()
        words = ("bench", "single", SMALL, "--jobs", "2", "--payload", vanilla, "--json")
        done = cuzk(*words, "--address", daemon.address)
        assert done.code == 0, done.err
        assert done.report["where"] == daemon.address
        assert done.report["proofs"] == 2
        assert done.report["memory_bytes"]["any"] > 1 << 20
        worker = json.loads(daemon.get("status"))["workers"][0]
        assert [(key["circuit"], key["loads"]) for key in worker["keys"]] == [(SMALL, 1)]
        assert {"prove", "self_check"} <= {phase["name"] for phase in worker["phases"]}
        # The first of three proofs waited for the key, the others for nothing.
        assert done.report["stages_ms"]["key_load"]["max"] == 0
        assert daemon.end() == 0


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_post_goes_in_as_a_vanilla_proof_and_comes_out_as_bytes_that_verify(tmp_path: Path) -> None:
    """What `python -m tests.engine.porep` does with a PoRep, with the smallest PoSt that has a name on the wire."""
    keys = tmp_path / "keys"
    keys.mkdir()
    key = make_key("winning-post:2KiB", keys)
    vanilla = find_circuit("winning-post:2KiB").synthetic(b"sector 7")
    with running(tmp_path) as daemon:
        daemon.until_ready()
        with EngineClient(daemon.address) as client:
            answer = prove_over_the_wire(client, "winning-post:2KiB", vanilla, 600.0)
        assert answer.status == 1, answer.error_message
        check("winning-post:2KiB", key, vanilla, answer.proof)
        assert answer.srs_load_ms > 0
        assert daemon.end() == 0


def test_a_signal_during_the_start_ends_the_daemon_well(tmp_path: Path) -> None:
    """As soon as the journal is there: the start goes on, drains at once, and ends with 0."""
    words = [sys.executable, "-m", "cuzk", "daemon", "--listen", f"unix:{tmp_path}/s", "--status-listen", ""]
    words += ["--device", "cpu", "--state", str(tmp_path / "state")]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    until = time.monotonic() + _PATIENCE_S
    while not (tmp_path / "state" / "journal.sqlite").exists() and time.monotonic() < until:
        time.sleep(0.001)
    os.kill(process.pid, signal.SIGTERM)
    _, errors = process.communicate(timeout=_PATIENCE_S)
    assert process.returncode == 0, errors.decode()


def test_what_is_not_there_is_refused_before_the_start(tmp_path: Path) -> None:
    config = tmp_path / "daemon.toml"
    config.write_text(f'state_folder = "{tmp_path}/state"\n[keys]\npreload = ["porep:2KiB"]\n')
    done = cuzk("daemon", "--config", config, "--keys", tmp_path)
    assert done.code == 2
    assert "there is no key of 'porep:2KiB'" in done.err
    done = cuzk("daemon", "--keys", tmp_path / "none", "--state", tmp_path / "state")
    assert done.code == 2
    assert "folder of keys cannot be read" in done.err
    assert not (tmp_path / "state").exists()
