"""What a test of the engine finds, whatever ran before it in the same process and however busy the machine is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engine.engines import PATIENCE_S, log_left_as_found


@pytest.fixture(autouse=True)
def engine_log() -> Iterator[None]:
    """No test finds the engine's logger as another has left it."""
    with log_left_as_found():
        yield


@pytest.fixture(autouse=True)
def patient_status_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """A status port in this process does not give up an event loop that stands still for a few seconds."""
    monkeypatch.setattr("cuzk.engine.http._PATIENCE_S", PATIENCE_S / 2)
