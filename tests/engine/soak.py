"""A long run against a daemon that is mistreated: jobs of all kinds, clients that leave, workers and daemons killed.

    python -m tests.engine.soak --jobs 1000 --seed 7

Every accepted job must end exactly once with its own proof or a reason, memory must be flat after the first part, and
no CRITICAL job may wait for more than one partition of another. A part of the jobs is proven for real; the rest is
rehearsed, by a backend that does both.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import grpc
from cuzk_fuzz.rehearsal import expected_proof

from cuzk.ab.engine_workload import make_key
from cuzk.engine.client import EngineClient
from cuzk.engine.wire.schema import message
from cuzk.errors import BusyError, CuzkError, EngineError
from cuzk.formats import decode_proof, load_key
from cuzk.groth16.verify import verify
from tests.engine.soak_critical import overtaken
from tests.engine.soak_daemon import REAL, Daemon, public_of, real_payload

_STATUS = ("unknown", "completed", "failed", "cancelled", "timeout")
_PATIENCE_S = 600.0
#: What jobs are of whose client hangs up, and no others.
_LEFT = "POREP_SEAL_COMMIT"


@dataclass
class Wanted:
    """A job that was accepted, and what it may end with."""

    payload: bytes
    circuit: str
    may_fail: bool
    cancelled: bool = False


@dataclass
class Report:
    """What the run has seen."""

    accepted: int = 0
    refused: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    real: int = 0
    malformed: int = 0
    left: int = 0
    worker_kills: int = 0
    daemon_kills: int = 0
    rss_mib: list[float] = field(default_factory=list)
    critical: int = 0
    most_waited_for: int = 0
    wall_s: float = 0.0


class Soak:
    """One run.

    Args:
        jobs: To submit.
        seed: Of all choices.
        folder: For state, keys and logs.
        real_share: Of jobs that are proven for real.
        daemon_kills: SIGKILLs of the daemon, spread over the run.
    """

    def __init__(self, jobs: int, seed: int, folder: Path, real_share: float, daemon_kills: int) -> None:
        self._jobs, self._folder = jobs, folder
        self._rng = random.Random(seed)
        self._real_share = real_share
        # In the first half: the last daemon lives long enough to show whether its memory grows.
        self._kill_at = {round(jobs * (i + 1) / (2 * daemon_kills + 1)) for i in range(daemon_kills)}
        self.wanted: dict[str, Wanted] = {}
        self.report = Report()
        keys = folder / "keys"
        keys.mkdir()
        self._vkey = load_key(make_key(REAL, keys)).verifying_key()
        self.daemon = Daemon(folder)

    def run(self) -> Report:
        """Submit everything, wait for every end, and check it."""
        began = time.monotonic()
        self.daemon.start()
        try:
            with EngineClient(self.daemon.address) as client:
                for i in range(self._jobs):
                    self._step(client, i)
                    if i % max(1, self._jobs // 50) == 0:
                        self.report.rss_mib.append(self.daemon.rss_mib())
                for name, wanted in self.wanted.items():
                    self._check_end(client, name, wanted)
                self._check_counts(client)
            self.report.rss_mib.append(self.daemon.rss_mib())
            self.report.critical, self.report.most_waited_for = overtaken(self.daemon.decision_logs())
        finally:
            self.daemon.end()
        self.report.wall_s = time.monotonic() - began
        return self.report

    # One job after the other, and what is done to the daemon meanwhile

    def _step(self, client: EngineClient, i: int) -> None:
        rng = self._rng
        self._submit(client, f"job-{i}")
        if rng.random() < 0.08 and self.wanted:
            self._cancel(client, rng.choice(list(self.wanted)))
        if rng.random() < 0.05:
            self._malformed(rng)
        if rng.random() < 0.04:
            self._leave(client)
        if rng.random() < 0.01:
            self.report.worker_kills += self.daemon.kill_worker(rng.random())
        if i in self._kill_at:
            self.daemon.kill()
            self.report.daemon_kills += 1
            self.report.rss_mib.clear()
            self.daemon.start()

    def _submit(self, client: EngineClient, name: str) -> None:
        rng = self._rng
        is_real = rng.random() < self._real_share
        if is_real:
            payload, circuit, may_fail = real_payload(rng.randrange(4)), REAL, False
        else:
            fault = rng.choice(["", "", "", "", "", "", "input", "device", "lost"])
            script = {"gpu": rng.randrange(6), "synthesis": rng.randrange(3), "n": name, "fault": fault}
            payload, circuit, may_fail = json.dumps(script).encode(), rng.choice("wxyz"), bool(fault)
        priority = rng.choice([1, 2, 2, 2, 3, 4])
        until = time.monotonic() + _PATIENCE_S
        while True:
            try:
                client.submit_witness(circuit, payload, priority=priority, request_id=name)
                break
            except BusyError:
                self.report.refused += 1
                time.sleep(0.02)
            except EngineError:
                time.sleep(0.05)  # the daemon is being started again: the same name makes this the same job
            assert time.monotonic() < until, f"{name} was never accepted"
        self.wanted[name] = Wanted(payload, circuit, may_fail)
        self.report.accepted += 1
        self.report.real += is_real

    def _cancel(self, client: EngineClient, name: str) -> None:
        try:
            client.call("CancelProof", job_id=name, timeout_s=_PATIENCE_S)
        except CuzkError:
            return
        self.wanted[name].cancelled = True

    def _malformed(self, rng: random.Random) -> None:
        """Bytes that are no request, and requests that make no sense."""
        self.report.malformed += 1
        with grpc.insecure_channel(self.daemon.address) as channel:
            for rpc in ("/cuzk.v1.ProvingEngine/SubmitProof", "/cuzk.jobs.v1.Jobs/SubmitWitness"):
                try:
                    channel.unary_unary(rpc)(rng.randbytes(rng.randrange(1, 200)), timeout=_PATIENCE_S)
                except grpc.RpcError:
                    continue
                raise AssertionError("random bytes were accepted as a request")

    def _leave(self, client: EngineClient) -> None:
        """A client that asks for a proof and hangs up: its job has no name and must not stay.

        It is waited for until it has gone: a daemon killed before that would take it up again, and nobody cancel it.
        """
        self.report.left += 1
        request, answer = message("cuzk.v1.ProveRequest"), message("cuzk.v1.ProveResponse")
        fields = {"proof_kind": 1, "sector_size": 2048, "vanilla_proof": b'{"gpu": 1e9}'}
        with grpc.insecure_channel(self.daemon.address) as channel:
            prove = channel.unary_unary(
                "/cuzk.v1.ProvingEngine/Prove", request.SerializeToString, answer.FromString
            )
            going = prove.future(request(submit=fields), timeout=_PATIENCE_S)
            self._until(client, lambda kinds: going.done() or _LEFT in kinds)
            going.cancel()
        self._until(client, lambda kinds: _LEFT not in kinds)

    @staticmethod
    def _until(client: EngineClient, is_so: Callable[[set[str]], bool]) -> None:
        """Wait for something to be so of the kinds of proofs that a daemon has in its queue."""
        until = time.monotonic() + _PATIENCE_S
        while not is_so({queue.proof_kind for queue in client.call("GetStatus").queues}):
            assert time.monotonic() < until, "waited in vain"
            time.sleep(0.01)

    # What must be true

    def _check_end(self, client: EngineClient, name: str, wanted: Wanted) -> None:
        answer = client.wait(name, _PATIENCE_S)
        status = _STATUS[answer.status]
        self.report.ends[status] += 1
        if status == "completed":
            assert self._is_right(wanted, answer.proof), f"{name}: the proof is not this job's"
        else:
            assert status in ("failed", "cancelled"), f"{name} did not end: {status}"
            assert answer.error_message, f"{name} ended as {status} without a reason"
            assert (status == "cancelled") == wanted.cancelled or wanted.may_fail, (
                f"{name}: {answer.error_message}"
            )
        again = client.wait(name, 1.0)
        assert (again.status, again.proof) == (answer.status, answer.proof), f"{name} ended twice"

    def _is_right(self, wanted: Wanted, proof: bytes) -> bool:
        if wanted.circuit != REAL:
            return proof == expected_proof(wanted.payload, 0)
        return bool(verify(self._vkey, public_of(wanted.payload), decode_proof(self._vkey.curve, proof)))

    def _check_counts(self, client: EngineClient) -> None:
        """Nothing is left over: no job, no partition in a worker's hands."""
        self._until(client, lambda kinds: not kinds)


def flatness(rss_mib: list[float]) -> float:
    """Growth in the last daemon's life, MiB: median of the last third less that of the one before."""
    third = max(1, len(rss_mib) // 3)
    last, before = sorted(rss_mib[-third:]), sorted(rss_mib[-2 * third : -third])
    return last[len(last) // 2] - before[len(before) // 2]


def main(arguments: list[str] | None = None) -> int:
    """Run, print the figures as JSON, and fail where something did not hold."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--real-share", type=float, default=0.1)
    parser.add_argument("--daemon-kills", type=int, default=3)
    parser.add_argument("--most-growth-mib", type=float, default=24.0)
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="cuzk-soak-") as folder:
        soak = Soak(chosen.jobs, chosen.seed, Path(folder), chosen.real_share, chosen.daemon_kills)
        report = soak.run()
    growth = flatness(report.rss_mib)
    print(json.dumps({**vars(report), "ends": dict(report.ends), "growth_mib": round(growth, 2)}, indent=1))
    assert sum(report.ends.values()) == report.accepted == chosen.jobs
    assert report.most_waited_for <= 1, "a critical job waited for more than one partition"
    assert growth <= chosen.most_growth_mib, f"the daemon grew by {growth:.1f} MiB"
    return 0


if __name__ == "__main__":
    sys.exit(main())
