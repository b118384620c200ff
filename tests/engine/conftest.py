"""What a test of the engine finds, whatever ran before it in the same process and however busy the machine is."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tests.engine.engines import PATIENCE_S


@pytest.fixture(autouse=True)
def engine_log() -> Iterator[None]:
    """The engine's logger is left as it was found: ``cuzk daemon``, run in this process, sets it up for good."""
    log = logging.getLogger("cuzk.engine")
    before = log.handlers, log.level, log.propagate
    yield
    log.handlers, log.propagate = before[0], before[2]
    log.setLevel(before[1])


@pytest.fixture(autouse=True)
def patient_status_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """A status port in this process does not give up an event loop that stands still for a few seconds."""
    monkeypatch.setattr("cuzk.engine.http._PATIENCE_S", PATIENCE_S / 2)
