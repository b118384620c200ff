"""What the tests of comparisons share."""

from __future__ import annotations

import pytest

from cuzk.device import get_device, sources


@pytest.fixture(autouse=True)
def _fresh_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the kernels at hand for those of the sources: tests/telemetry/ checks that stale ones are refused."""
    digest = get_device("cpu")._module.source_digest()  # type: ignore[attr-defined]
    monkeypatch.setattr(sources, "host_source_digest", lambda directory=None: digest)
