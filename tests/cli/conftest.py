"""What every test of the command line relies on."""

from __future__ import annotations

from pathlib import Path

import pytest

import cuzk.device


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make ``--device auto`` the cpu, so that a run says the same on every machine."""
    monkeypatch.setattr(cuzk.device, "cuda_available", lambda: False)


@pytest.fixture(autouse=True)
def checked_keys(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where ``cuzk key check`` remembers: a folder of the test's own, not the user's."""
    folder = tmp_path_factory.mktemp("cache") / "checked_keys"
    monkeypatch.setattr("cuzk.cli.checked_keys.folder", lambda: folder)
    return folder


@pytest.fixture(autouse=True)
def no_late_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands that are mostly quick say nothing of their steps, however busy the machine is."""
    monkeypatch.setattr("cuzk.cli.late._AFTER_S", 1e6)
    monkeypatch.setattr("cuzk.cli.progress._TICK_S", 1e6)
