"""Kernels that are not those of the sources beside them are not measured, by whatever command.

Would catch: figures of another build, a source that the digest leaves out, and a command that does not ask.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cuzk.device import get_device
from cuzk.device.instruments import require_fresh, stale_reason
from cuzk.errors import DeviceError
from tests.cli.support import cuzk


@pytest.mark.parametrize("spec", ["cpu", "emu"])
def test_a_stale_build_is_refused(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from cuzk.device import sources

    device = get_device(spec)
    built = device._module.source_digest()  # type: ignore[attr-defined]
    monkeypatch.setattr(sources, "host_source_digest", lambda: built)
    assert stale_reason(device) is None
    require_fresh(device)
    monkeypatch.setattr(sources, "host_source_digest", lambda: "0" * 16)
    with pytest.raises(DeviceError, match=rf"stale kernel build.*{built}.*0000"):
        require_fresh(device)


@pytest.mark.parametrize("tier", ["T1", "T1h"])
def test_the_ledger_refuses_a_stale_build(tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from cuzk.cli import perf_instructions
    from cuzk.device import sources

    monkeypatch.setattr(sources, "host_source_digest", lambda: "0" * 16)
    monkeypatch.setattr(perf_instructions, "why_not", lambda: "")
    done = cuzk("perf", "check", "--tier", tier)
    assert done.code == 3
    assert "a stale kernel build is not measured" in done.err


def test_the_digest_covers_every_kernel_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cuzk.device import sources

    (tmp_path / "native").mkdir()
    (tmp_path / "generated").mkdir()
    monkeypatch.setattr(sources, "KERNEL_DIR", tmp_path)
    seen = {sources.host_source_digest()}
    for name in (
        "field.cuh",
        "exec_emu.hpp",
        "generated/constants.cuh",
        "native/pool.hpp",
        "native/family.cpp",
    ):
        (tmp_path / name).write_text("x")
        seen.add(sources.host_source_digest())
        (tmp_path / name).write_text("y")
        seen.add(sources.host_source_digest())
    assert len(seen) == 11


def test_a_gpus_kernels_are_stale_once_a_source_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    from cuzk.device import builder

    monkeypatch.setattr(builder, "module_key", lambda *names: "key of " + "-".join(names))
    device: Any = SimpleNamespace(kind="cuda", arch="90", name="cuda:0", build_key="key of all-all-90")
    assert stale_reason(device) is None
    device.build_key = "another"
    assert "another" in (stale_reason(device) or "")
