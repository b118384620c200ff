"""What every test of the command line relies on."""

from __future__ import annotations

import pytest

import cuzk.device


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make ``--device auto`` the cpu, so that a run says the same on every machine."""
    monkeypatch.setattr(cuzk.device, "cuda_available", lambda: False)
