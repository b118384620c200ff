"""A cuda device on fake CUDA."""

from __future__ import annotations

from typing import Any

import pytest

from cuzk.device import builder, cuda, cuda_memory
from cuzk.device.cuda import CudaDevice
from tests.devices import fake_cuda
from tests.devices.fake_engine import Driver, Engine


def open_fake(
    monkeypatch: pytest.MonkeyPatch,
    engine: Engine | None = None,
    *,
    virtual_memory: bool = True,
    cupy_options: dict[str, int] | None = None,
    **options: Any,
) -> tuple[Any, Engine]:
    """A CudaDevice, and the engine that it runs on."""
    engine = engine or Engine()
    cupy = fake_cuda.make_cupy(engine, **(cupy_options or {}))
    driver = Driver(engine, virtual_memory=virtual_memory)
    monkeypatch.setattr(cuda, "import_cupy", lambda: cupy)
    monkeypatch.setattr(cuda_memory, "load_driver", lambda: driver)
    monkeypatch.setattr(cuda_memory, "_RESERVE_BYTES", 0)
    monkeypatch.setattr(cuda_memory, "_RESERVE_SHARE", 1 << 60)
    monkeypatch.setattr(builder, "build_all", lambda arch, pairs, progress: fake_cuda.built_modules(pairs))
    monkeypatch.setattr(builder, "module_key", lambda *names: "key")
    return CudaDevice(**options), engine
