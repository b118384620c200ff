"""``cuzk daemon`` and its client commands as a user runs them, with real proofs on the cpu.

Would catch: a command that does not reach the daemon, a proof that is another job's, a signal that loses a job, an
error that does not say what to do.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cuzk.formats import decode_proof, load_public, load_vkey
from cuzk.groth16.verify import verify
from tests.cli.support import circuit, cuzk

_PATIENCE_S = 120


class Daemon:
    """A daemon in a process of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.address = f"unix:{folder}/socket"
        self.log = folder / "daemon.log"
        self.log.touch()
        before = self.log.stat().st_size
        words = ["daemon", "--listen", self.address, "--status-listen", "127.0.0.1:0", "--device", "cpu"]
        words += ["--state", str(folder / "state"), "--keys", str(folder / "keys"), *options]
        with self.log.open("ab") as log:
            # A group of its own: it and its workers can be killed at one stroke.
            self.process = subprocess.Popen(
                [sys.executable, "-m", "cuzk", *words],
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
        self.page = ""
        until = time.monotonic() + _PATIENCE_S
        while not self.page and self.process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
            for line in self.log.read_bytes()[before:].decode().splitlines(keepends=True):
                if line.startswith("ready: ") and line.endswith("\n"):
                    self.page = line.split("status at ")[1].strip()

    def get(self, path: str) -> Any:
        """What the status port answers, as text; asked again while it says that the daemon cannot answer now."""
        until = time.monotonic() + _PATIENCE_S
        while True:
            try:
                with urllib.request.urlopen(self.page + path, timeout=_PATIENCE_S) as answer:
                    return answer.read().decode()
            except urllib.error.HTTPError as error:
                with error:
                    if error.code != 503 or time.monotonic() > until:
                        raise
            time.sleep(0.2)  # what it takes to answer is counted as the daemon's

    def until_ready(self) -> None:
        """Wait for a worker."""
        self.get("health")

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal, and wait for the end; the exit code."""
        self.process.send_signal(number)
        return self.process.wait(_PATIENCE_S)


@contextmanager
def running(folder: Path, *options: str) -> Iterator[Daemon]:
    daemon = Daemon(folder, *options)
    try:
        assert daemon.page, daemon.log.read_text()
        yield daemon
    finally:
        if daemon.process.poll() is None:
            daemon.process.kill()
            daemon.process.wait()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Keys of a circuit over each curve."""
    (tmp_path / "keys").mkdir()
    for curve in ("bls12381", "bn128"):
        shutil.copyfile(circuit(curve).zkey, tmp_path / "keys" / f"product-{curve}.zkey")
    return tmp_path


def check(proof: bytes, curve: str) -> bool:
    files = circuit(curve)
    vkey = load_vkey(files.vkey)
    return bool(verify(vkey, load_public(files.public, vkey.curve), decode_proof(vkey.curve, proof)))


def test_from_submission_to_proof(folder: Path) -> None:
    with running(folder) as daemon:
        to = ("--address", daemon.address)
        daemon.until_ready()
        for curve in ("bls12381", "bn128"):
            target = folder / f"{curve}.bin"
            files = circuit(curve)
            done = cuzk(
                "submit", f"product-{curve}", "--witness", files.wtns, "--request-id", f"job-{curve}",
                "--wait", "--proof-bytes", target, "--json", *to,
            )  # fmt: skip
            assert done.code == 0, done.err
            assert done.report["status"] == "completed"
            assert bytes.fromhex(done.report["proof"]) == target.read_bytes()
            assert check(target.read_bytes(), curve)
        unnamed = cuzk("submit", "product-bn128", "--witness", circuit("bn128").wtns, *to).out.strip()
        shown = cuzk("status", "job-bn128", "--json", *to)
        assert (shown.report["state"], shown.report["proofs"]) == ("done", "1 of 1")
        assert "jobs done" in cuzk("status", *to).out
        assert cuzk("await", "job-bn128", *to).code == 0
        assert cuzk("await", unnamed, *to).code == 0  # until it has ended, it may need the key
        assert cuzk("preload", "product-bn128", *to).out.strip() == "was loaded"
        assert "freed" in cuzk("evict", "product-bn128", *to).out
        assert cuzk("cancel", "job-bn128", *to).out.strip() == "job-bn128: was not running"
        status = json.loads(daemon.get("status"))
        assert status["totals"]["done"] == 3
        assert status["workers"][0]["memory"]["rss"] > 0
        assert "cuzk_done_total" in daemon.get("metrics")
        assert "<title>cuzk</title>" in daemon.get("")
        assert daemon.end() == 0


def test_a_program_that_starts_a_daemon_reads_where_it_is(tmp_path: Path) -> None:
    """Ports that the daemon chose itself, in a line of stdout; the log is JSON, line by line."""
    words = [
        "daemon",
        "--json",
        "--listen",
        "127.0.0.1:0",
        "--status-listen",
        "127.0.0.1:0",
        "--device",
        "cpu",
    ]
    words += ["--state", str(tmp_path / "state"), "--keys", str(tmp_path)]
    with subprocess.Popen(
        [sys.executable, "-m", "cuzk", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        with urllib.request.urlopen(ready["page"] + "status", timeout=_PATIENCE_S) as answer:
            json.load(answer)
        assert cuzk("status", "--json", "--address", ready["listen"]).report["jobs_done"] == 0
        process.terminate()
        rest, log = process.communicate(timeout=_PATIENCE_S)
    assert (process.returncode, ready["ready"], rest) == (0, True, "")
    assert {"ready", "stopped"} <= {json.loads(line)["message"] for line in log.splitlines()}
    refused = cuzk("daemon", "--json", "--listen", "nowhere", "--state", str(tmp_path / "state2"))
    assert (refused.code, refused.report["error"]["where"]) == (2, "listen")


def test_a_false_witness_fails_its_job_with_the_row(folder: Path) -> None:
    """The witness of one circuit for the key of another, and one with a value changed."""
    files = circuit("bn128")
    data = bytearray(files.wtns.read_bytes())
    data[-32] ^= 1
    (folder / "false.wtns").write_bytes(data)
    with running(folder) as daemon:
        to = ("--address", daemon.address)
        done = cuzk("submit", "product-bn128", "--witness", folder / "false.wtns", "--wait", *to)
        assert done.code == 1
        assert "failed" in done.out
        assert "does not" in done.out or "breaks" in done.out
        done = cuzk("submit", "product-bls12381", "--witness", files.wtns, "--wait", *to)
        assert done.code == 1
        assert "bn254" in done.out
        done = cuzk("submit", "nothing", "--witness", files.wtns, "--wait", *to)
        assert done.code == 1
        assert "there is no key of 'nothing'" in done.out
        assert daemon.end() == 0


def test_jobs_survive_a_kill(folder: Path) -> None:
    """SIGKILL with ten jobs accepted: the next daemon ends each once, and proves none that was proven."""
    files = circuit("bn128")
    with running(folder) as daemon:
        for i in range(10):
            done = cuzk(
                "submit",
                "product-bn128",
                "--witness",
                files.wtns,
                "--request-id",
                f"j{i}",
                "--address",
                daemon.address,
            )
            assert done.code == 0, done.err
        os.killpg(daemon.process.pid, signal.SIGKILL)
        daemon.process.wait()
    with running(folder) as daemon:
        for i in range(10):
            target = folder / f"{i}.bin"
            done = cuzk("await", f"j{i}", "--proof-bytes", target, "--address", daemon.address)
            assert done.code == 0, done.out
            assert check(target.read_bytes(), "bn128")
        assert daemon.end() == 0


def test_the_first_signal_drains_and_the_second_stops(folder: Path) -> None:
    files = circuit("bn128")
    with running(folder) as daemon:
        cuzk(
            "submit",
            "product-bn128",
            "--witness",
            files.wtns,
            "--request-id",
            "kept",
            "--address",
            daemon.address,
        )
        assert daemon.end() == 0  # drained: the job was proven before the end
    with running(folder) as daemon:
        assert cuzk("status", "kept", "--json", "--address", daemon.address).report["state"] == "done"
        assert daemon.end(signal.SIGINT) == 0


def test_mistakes_are_named(folder: Path) -> None:
    config = folder / "daemon.toml"
    config.write_text("[queue]\nmax_job = 1\n")
    done = cuzk("daemon", "--config", config)
    assert done.code == 2
    assert "did you mean queue.max_jobs" in done.err
    done = cuzk("daemon", "--listen", "0.0.0.0:0", "--state", folder / "s", "--device", "cpu")
    assert done.code == 2
    assert "can be reached from other machines" in done.err
    done = cuzk("daemon", "--device", "gpu7", "--state", folder / "s")
    assert done.code == 2
    assert "there is no device" in done.err
    done = cuzk("status", "--address", f"unix:{folder}/nobody")
    assert done.code == 3
    assert "cuzk daemon" in done.err
    wtns = circuit("bn128").wtns
    for words, message in (
        (["x"], "either --vanilla or --witness"),
        (["x", "--witness", wtns, "--priority", "now"], "no priority 'now'"),
        (["x", "--vanilla", wtns], "takes no vanilla proof"),
        (["porep:3KiB", "--vanilla", wtns], "unknown sector size"),
        (["x", "--witness", folder / "none"], "no such file"),
    ):
        done = cuzk("submit", *words, "--address", f"unix:{folder}/nobody")
        assert done.code == 2, words
        assert message in done.err
