"""Signals that reach the daemon's workers too: systemd and terminals send them to the whole group.

Would catch: workers that end before the daemon says so, and workers that outlive a daemon that was killed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil
import pytest
from cuzk_fuzz.rehearsal import expected_proof

from cuzk.engine.client import EngineClient
from cuzk.engine.jobs import JobState
from cuzk.engine.journal import Journal
from tests.engine.engines import ENDLESS, Gate
from tests.engine.soak_daemon import Daemon

_PATIENCE_S = 120.0


def until(condition: Callable[[], object]) -> None:
    """Wait for a condition of another process."""
    limit = time.monotonic() + _PATIENCE_S
    while not condition():
        assert time.monotonic() < limit, "waited in vain"
        time.sleep(0.01)


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    """A daemon with two workers that rehearse, in a group of its own."""
    (tmp_path / "keys").mkdir()
    made = Daemon(tmp_path)
    made.start()
    yield made
    made.end()


def submit(daemon: Daemon, payloads: Sequence[bytes]) -> None:
    """Jobs named 0, 1, ..., the first two of which are with workers when this returns, and stay there."""
    with EngineClient(daemon.address) as client:
        for i, payload in enumerate(payloads):
            client.submit_witness("c", payload, request_id=str(i))
        until(lambda: sum(queue.in_progress for queue in client.call("GetStatus").queues) >= 2)


def ends(folder: Path, payloads: Sequence[bytes]) -> list[JobState]:
    """How the jobs stand in the journal of a daemon that has ended; proofs must be their own."""
    journal = Journal(folder / "state")
    found = [journal.find(str(i)) for i in range(len(payloads))]
    journal.close()
    states = []
    for payload, job in zip(payloads, found, strict=True):
        assert job is not None
        states.append(job.state)
        assert job.proofs == ({0: expected_proof(payload, 0)} if job.state is JobState.DONE else {})
    return states


def log_of(folder: Path) -> str:
    """What a daemon has logged so far."""
    return (folder / "daemon.log").read_text()


def drain(daemon: Daemon, folder: Path, number: int) -> None:
    """A signal to daemon and workers, which the daemon has taken when this returns: two that wait are one."""
    daemon.signal_group(number)
    until(lambda: " draining " in log_of(folder))


def test_a_group_that_is_told_to_end_drains(daemon: Daemon, tmp_path: Path) -> None:
    """One SIGTERM to daemon and workers: every accepted job is finished, by the workers that were there."""
    gate = Gate(tmp_path / "gate")
    payloads = [gate.script()] * 6
    submit(daemon, payloads)
    drain(daemon, tmp_path, signal.SIGTERM)
    gate.open()
    assert daemon.wait() == 0
    assert ends(tmp_path, payloads) == [JobState.DONE] * 6
    assert "worker gone" not in log_of(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_group_that_is_told_twice_finishes_what_is_in_work(
    daemon: Daemon, tmp_path: Path, number: int
) -> None:
    """What is in work ends with its proof where it is short; what waits, or is long, stays in the journal.

    Short is what ends within the grace, which is far longer here than it needs; when it has ended, the workers that
    have the long ones are killed, as they would be at the grace's end.
    """
    gate = Gate(tmp_path / "gate")
    payloads = [*[gate.script()] * 2, *[ENDLESS] * 12]
    submit(daemon, payloads)
    drain(daemon, tmp_path, number)
    daemon.signal_group(number)
    until(lambda: daemon.is_deaf())
    gate.open()
    until(lambda: daemon.decision_logs()[0].read_text().count('"do":"done"') == 2)
    while daemon.is_running():
        for worker in daemon.workers():
            with contextlib.suppress(psutil.Error):
                worker.kill()
        time.sleep(0.01)
    assert daemon.wait() == 0
    assert ends(tmp_path, payloads) == [JobState.DONE] * 2 + [JobState.QUEUED] * 12
    assert "worker gone" not in log_of(tmp_path)


def test_workers_end_with_a_daemon_that_is_killed(daemon: Daemon) -> None:
    """SIGKILL to the daemon alone, while partitions are in work: none of its processes is left."""
    submit(daemon, [ENDLESS] * 4)
    children = daemon.children()
    assert len(children) >= 2
    daemon.signal_group(signal.SIGTERM)
    os.kill(daemon.pid, signal.SIGKILL)
    _, alive = psutil.wait_procs(children, _PATIENCE_S)
    assert not alive


def test_a_program_that_forgets_its_worker_ends_all_the_same() -> None:
    """A worker ignores what multiprocessing ends children with, which would then be waited for."""
    program = (
        "from cuzk.engine.pool import launch_process\n"
        "from cuzk.engine.worker import WorkerConfig\n"
        "config = WorkerConfig('0', backend='cuzk_fuzz.rehearsal:make_backend')\n"
        "kept = launch_process(0, config)\n"
        "print(kept[1].recv().pid)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=_PATIENCE_S, check=True
    )
    assert not psutil.pid_exists(int(done.stdout))
