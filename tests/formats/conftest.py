"""Fixtures of the format tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.formats.builders import Save


@pytest.fixture
def save(tmp_path: Path) -> Save:
    """Write bytes to a file, a new one on each call, and return its path."""
    count = iter(range(1 << 30))

    def write(content: bytes) -> Path:
        path = tmp_path / f"file{next(count)}"
        path.write_bytes(content)
        return path

    return write
