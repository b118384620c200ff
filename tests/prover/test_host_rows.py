"""Where a, b and c wait between synthesis and quotient, setting by setting.

Would catch: rows that take a way round although they stay, circuits in another order, buffers that are not kept for the
next proof or kept twice, pages that stay locked, phases and counts that viewers are shown wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cuzk.device import Device
from cuzk.errors import UnsatisfiedError
from cuzk.groth16 import Prover
from cuzk.groth16.host_rows import HostRows, RowPool
from cuzk.groth16.resident import ResidentKey
from cuzk.telemetry import Event, Recorder
from cuzk.variants import resolve
from cuzk.witness import Witness
from tests.prover.support import device, key, workload


class _Sink:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def receive(self, event: Event) -> None:
        self.events.append(event)


class Run:
    """The rows of two circuits on their way."""

    def __init__(self, setting: str, pool: RowPool | None = None) -> None:
        self.device: Device = device("cpu")
        resident = ResidentKey.upload(self.device, key(workload("random", "toy", 30, 1), "odd_lagrange"), 2)
        self.pool, self.sink = pool or RowPool(self.device), _Sink()
        self.rows = HostRows(resident, resolve({"B1": setting}), Recorder([self.sink]), self.pool, 2)
        self.shape = (3, resident.domain.size, 1)
        self.abc = [np.full(self.shape, number, np.uint64) for number in (5, 6)]

    def there(self) -> list[Any]:
        """Up to the point where both circuits' rows are there for the quotient."""
        self.rows.begin()
        for abc in self.abc:
            self.rows.keep(abc)
        self.rows.lock()
        return [self.rows.take() for _ in range(2)]

    @property
    def phases(self) -> list[str]:
        return [event.phase for event in self.sink.events]


def test_resident_rows_stay_what_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run("resident")

    def refuse(*_: object) -> None:
        raise AssertionError("rows that stay are not copied")

    monkeypatch.setattr(run.device, "upload", refuse)
    monkeypatch.setattr(run.device, "download", refuse)
    assert [one is other for one, other in zip(run.there(), run.abc, strict=True)] == [True, True]
    assert run.rows.end() == []
    assert run.phases == []


@pytest.mark.parametrize("setting", ["pageable", "register", "pool"])
def test_others_come_back_in_their_order(setting: str) -> None:
    run = Run(setting)
    for number, found in zip((5, 6), run.there(), strict=True):
        assert found.shape == run.shape
        assert (found == number).all()
        assert found is not run.abc[number - 5]


def test_pageable_rows_are_nobodys_afterwards() -> None:
    run = Run("pageable")
    run.there()
    assert run.rows.end() == []
    assert run.phases == ["rows_down", "rows_down"]


def test_registered_rows_are_locked_until_the_end_and_handed_over() -> None:
    run = Run("register")
    run.there()
    assert len(run.rows.end()) == 2
    assert run.rows.end() == []
    assert run.phases == ["rows_down", "rows_down", "pin_abc", "unpin", "unpin"]
    tags = run.sink.events[2].tags
    assert {name: tags[name] for name in ("B1", "num_circuits", "abc_bytes_each")} == {
        "B1": "register", "num_circuits": 2, "abc_bytes_each": 8 * run.shape[0] * run.shape[1],
    }  # fmt: skip


def test_pooled_buffers_serve_the_next_proof() -> None:
    first = Run("pool")
    first.there()
    assert first.rows.end() == []
    assert first.phases == ["pin_abc", "rows_down", "rows_down", "unpin"]
    second = Run("pool", first.pool)
    second.there()
    assert [run.sink.events[0].tags["recycled"] for run in (first, second)] == [0, 2]
    second.rows.abandon()
    third = Run("pool", first.pool)
    third.rows.begin()
    assert third.sink.events[0].tags["recycled"] == 0  # what was abandoned is not handed out again


def test_a_buffer_is_kept_until_it_is_taken() -> None:
    pool = RowPool(device("cpu"))
    buffer, used = pool.take((3, 4, 1))
    assert (buffer.shape, used) == ((3, 4, 1), False)
    pool.give_back(buffer)
    again, used = pool.take((3, 4, 1))
    assert again is buffer
    assert used
    assert pool.take((3, 4, 1))[1] is False


def test_rows_that_lie_apart_come_back_apart() -> None:
    run = Run("pageable")
    run.rows._apart = True
    run.rows.keep(list(run.abc[0]))
    (found,) = [run.rows.take()]
    assert [part.tolist() for part in found] == [part.tolist() for part in run.abc[0]]


def test_an_error_lets_go_of_the_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    load, begun = workload("random", "toy", 30, 1), list[HostRows]()
    begin = HostRows.begin

    def noting(self: HostRows) -> None:
        begin(self)
        assert len(self._buffers) == 1
        begun.append(self)

    monkeypatch.setattr(HostRows, "begin", noting)
    prover = Prover(key(load), device("emu"), variants={"B1": "pool"})
    wrong = Witness.from_ints(load.curve, [1, *([7] * (len(load.values) - 1))])
    with pytest.raises(UnsatisfiedError):
        prover.prove(wrong)
    assert [rows._buffers for rows in begun] == [[]]
