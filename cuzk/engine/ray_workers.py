"""Workers as Ray actors: one per GPU of a cluster, on whatever machine that is.

An actor runs the same worker as a process of this machine does; only the pipe is another: orders go as calls, answers
come by long polls. Payloads travel with their orders, since another machine has not the daemon's files. Keys are read
from the same path on each machine and mapped, so that actors of one machine share their pages. When a node is lost, its
actors' orders go back to the queue, and new actors are placed where there is room.
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import shutil
import socket
import tempfile
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import ray
from ray.exceptions import RayError

from cuzk.device import cuda_count
from cuzk.engine.messages import Failed, Prove, Proved
from cuzk.engine.pool import WorkerPipe, WorkerProcess
from cuzk.engine.wire.address import check_address, split_address
from cuzk.engine.worker import WorkerConfig, serve
from cuzk.errors import CuzkError, EngineError

__all__ = ["RayCluster", "check_answers"]

_POLL_S = 1.0
#: Until an address that does not answer is given up; for connecting, and for the answer.
_PROBE_S = 6.0
#: Calls an actor answers beside each other: orders, polls, and the end.
_CONCURRENCY = 4


class _Inbox:
    """An actor's end of the pipe: orders that calls have brought, answers that polls will take."""

    def __init__(self) -> None:
        self.orders: queue.Queue[Any] = queue.Queue()
        self.answers: queue.Queue[Any] = queue.Queue()
        self._folder = Path(tempfile.mkdtemp(prefix="cuzk-ray-"))
        self._left: Counter[int] = Counter()

    def take(self, message: Any, payloads: list[bytes]) -> None:
        """Put an order in the queue, its payloads in files of this machine."""
        if isinstance(message, Prove):
            folder = self._folder / str(message.number)
            folder.mkdir()
            local = []
            for i, (payload, data) in enumerate(zip(message.payloads, payloads, strict=True)):
                path = folder / str(i)
                path.write_bytes(data)
                local.append(replace(payload, path=path))
            message = replace(message, payloads=tuple(local))
            self._left[message.number] = len(message.tasks)
        self.orders.put(message)

    def send(self, obj: Any) -> None:
        """Keep an answer for the next poll; an order that is over needs its files no more."""
        if isinstance(obj, (Proved, Failed)):
            self._left[obj.number] -= 1
            if self._left[obj.number] <= 0:
                del self._left[obj.number]
                shutil.rmtree(self._folder / str(obj.number), ignore_errors=True)
        self.answers.put(obj)

    def recv(self) -> Any:
        """Wait for an order."""
        return self.orders.get()

    def poll(self, wait_s: float) -> list[Any]:
        """Answers so far, or the first that comes within some seconds."""
        found: list[Any] = []
        with contextlib.suppress(queue.Empty):
            found.append(self.answers.get(timeout=wait_s))
            while True:
                found.append(self.answers.get_nowait())
        return found

    def close(self) -> None:
        """Delete what is left of payloads."""
        shutil.rmtree(self._folder, ignore_errors=True)


class _Actor:
    """A worker inside an actor's process."""

    def __init__(self, config: WorkerConfig) -> None:
        if config.device == "auto":
            # Ray shows an actor its own GPU alone; where it only pretends to have one, the cpu proves.
            config = replace(config, device="cuda:0" if cuda_count() else "cpu")
        self._inbox = _Inbox()
        self._ended = threading.Event()
        threading.Thread(target=self._run, args=(config,), daemon=True).start()

    def _run(self, config: WorkerConfig) -> None:
        try:
            serve(config, self._inbox)
        finally:
            self._inbox.close()
            self._ended.set()

    def take(self, message: Any, payloads: list[bytes]) -> None:
        """An order."""
        self._inbox.take(message, payloads)

    def poll(self, wait_s: float) -> tuple[list[Any], bool]:
        """Answers, and whether the worker has ended."""
        has_ended = self._ended.is_set()
        return self._inbox.poll(0.0 if has_ended else wait_s), has_ended


class _Process:
    """An actor as the daemon's pool sees a process."""

    pid: int | None = None
    exitcode: int | None = None

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    def kill(self) -> None:
        """End it at once."""
        with contextlib.suppress(RayError, ValueError):
            ray.kill(self._actor, no_restart=True)

    def join(self) -> None:
        """Make sure that its GPU is free again."""
        self.kill()


class _Pipe:
    """The daemon's end: calls, and polls whose answers are handed out one by one."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor
        self._answers: list[Any] = []
        self._has_ended = False

    def send(self, message: Any) -> None:
        """Call the actor; whether it is alive, a poll tells."""
        payloads = []
        if isinstance(message, Prove):
            payloads = [payload.path.read_bytes() for payload in message.payloads]
        self._actor.take.remote(message, payloads)

    def recv(self) -> Any:
        """Wait for an answer.

        Raises:
            EOFError: The actor is gone, or the worker in it has ended.
        """
        while not self._answers:
            if self._has_ended:
                raise EOFError
            try:
                self._answers, self._has_ended = ray.get(self._actor.poll.remote(_POLL_S))
            except RayError as error:
                raise EOFError(str(error)) from error
        return self._answers.pop(0)

    def close(self) -> None:
        """Nothing is held."""


def check_answers(address: str) -> None:
    """Ask what is at an address before Ray does, which tries for minutes and tells each try.

    Raises:
        InputError: It is no address.   EngineError: Nothing answers there, or something else.
    """
    if address == "auto":
        address = os.environ.get("RAY_ADDRESS") or address
    if address in ("auto", "local"):
        return  # found on this machine or not, at once
    target = address.removeprefix("ray://")
    check_address(target, "--ray")
    why, remedy = "", f"start one: ray start --head; look with: ray health-check --address {target}"
    try:
        with socket.create_connection(split_address(target), _PROBE_S):
            pass
        if os.environ.get("RAY_USE_TLS", "0").lower() not in ("1", "true"):  # Ray has the certificates
            service = "RayletDriver/ClusterInfo" if target != address else "NodeInfoGcsService/CheckAlive"
            with grpc.insecure_channel(target, [("grpc.enable_http_proxy", 0)]) as channel:
                channel.unary_unary(f"/ray.rpc.{service}")(b"", timeout=_PROBE_S)
    except TimeoutError:
        why = f"no answer within {_PROBE_S:g} s"
    except OSError as error:
        why = error.strerror or str(error)
    except grpc.RpcError as error:
        code: grpc.StatusCode = error.code()
        if code is grpc.StatusCode.DEADLINE_EXCEEDED:
            why = f"no answer within {_PROBE_S:g} s"
        elif code is grpc.StatusCode.UNIMPLEMENTED:
            why = "what answers there is no Ray cluster"
        elif code is grpc.StatusCode.UNAVAILABLE:
            why = error.details() or code.name
        # Any other answer is that of a Ray cluster, and Ray knows what to say to it.
    if why:
        raise EngineError(f"the Ray cluster cannot be reached: {why}", where=address, remedy=remedy)


class RayCluster:
    """A Ray cluster as a place for workers.

    Args:
        address: As ``ray.init`` takes it: "auto", HOST:PORT, ray://HOST:PORT; "local" starts one on this machine.
        num_gpus: With "local": GPUs it is to have, or to pretend to have.

    Raises:
        InputError: The address is none.   EngineError: It cannot be reached, or has no GPU.
    """

    def __init__(self, address: str, *, num_gpus: int | None = None) -> None:
        options: dict[str, Any] = {"num_gpus": num_gpus} if address == "local" else {"address": address}
        try:
            if not ray.is_initialized():
                check_answers(address)
                ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR, **options)
            resources: Any = ray.cluster_resources  # its annotation is missing
            self.num_gpus = int(resources().get("GPU", 0))
        except CuzkError:
            raise
        except (RayError, ConnectionError, RuntimeError, ValueError, OSError) as error:
            raise EngineError(
                f"the Ray cluster cannot be reached: {error}",
                where=address,
                remedy="start one: ray start --head",
            ) from error
        if self.num_gpus < 1:
            raise EngineError(
                "the Ray cluster has no GPU",
                where=address,
                remedy="start its nodes with --num-gpus (1 even for tests)",
            )

    def launch(self, index: int, config: WorkerConfig) -> tuple[WorkerProcess, WorkerPipe]:
        """Start an actor; it becomes ready once the cluster has a free GPU for it."""
        kind = ray.remote(_Actor)
        actor = kind.options(
            num_gpus=1, num_cpus=0, max_concurrency=_CONCURRENCY, max_restarts=0, name=None
        ).remote(replace(config, device="auto"))
        del index
        return _Process(actor), _Pipe(actor)

    def close(self) -> None:
        """Leave the cluster; its actors end."""
        leave: Any = ray.shutdown
        leave()
