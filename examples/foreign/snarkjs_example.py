"""snarkjs's arithmetic against the oracles, through a worker that speaks JSON: any language can be checked so.

npm install snarkjs@0.7.6, then: pytest examples/foreign/snarkjs_example.py --node-modules node_modules
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from cuzk_fuzz.foreign import Limits, msm_of_ints, ntt_of_ints


class Worker:
    """A process that answers one line of JSON with another."""

    def __init__(self, modules: Path) -> None:
        script = Path(__file__).with_name("snarkjs_worker.mjs")
        self._process = subprocess.Popen(
            ["node", str(script), str(modules)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, **request: Any) -> Any:
        """One question; ints travel as texts, which JavaScript would round otherwise."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait(20)
        if self._process.stdout is not None:
            self._process.stdout.close()


@pytest.fixture(scope="module")
def worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    """The worker, for all tests of this file."""
    running = Worker(Path(request.config.getoption("--node-modules")).resolve())
    yield running
    running.close()


def test_sums_in_the_first_group(differential: Any, worker: Worker) -> None:
    def total(points: Sequence[Any], scalars: Sequence[int]) -> Any:
        texts = [None if p is None else list(map(str, p)) for p in points]
        answer = worker.ask(op="msm", points=texts, scalars=list(map(str, scalars)))
        return None if answer is None else tuple(map(int, answer))

    differential("msm", "bn254_g1", msm_of_ints(total), limits=Limits(largest=40, smallest=1))


def test_transforms(differential: Any, worker: Worker) -> None:
    def transform(omega: int, values: Sequence[int], inverse: bool) -> list[int]:
        del omega  # the conventions agree
        return list(map(int, worker.ask(op="ntt", values=list(map(str, values)), inverse=inverse)))

    differential("ntt", "bn254", ntt_of_ints(transform), limits=Limits(largest=256, smallest=1))
