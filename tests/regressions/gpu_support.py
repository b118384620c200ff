"""What the regression tests about devices share: where they run, small proofs, child processes."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import unittest
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from cuzk.device import get_device
from cuzk.device.host import EmuDevice
from cuzk.groth16 import Prover
from cuzk.keys import ProvingKey
from cuzk.proof import Proof
from tests.device import gpu
from tests.prover.support import blinding, key, workload
from tests.workloads import Workload

ROOT = Path(__file__).resolve().parents[2]
ON_GPU = pytest.mark.device
_CUDA = pytest.param("cuda", marks=ON_GPU)
#: The GPU where there is one, and what stands for it where there is none.
on_emu_and_gpu = pytest.mark.parametrize("device_name", ["emu", _CUDA])
on_cpu_and_gpu = pytest.mark.parametrize("device_name", ["cpu", _CUDA])
everywhere = pytest.mark.parametrize("device_name", ["cpu", "emu", _CUDA])


def open_device(name: str, **options: Any) -> Any:
    """A device of this test's own, or the shared GPU where nothing is asked of it; several blocks at once on emu."""
    if name == "cuda":
        shared = gpu.gpu()  # skips the test where there is none
        return get_device("cuda", **options) if options else shared
    if name == "emu" and not options:
        return EmuDevice("random_warp", seed=3, resident=3)
    return get_device(name, **options)


def needs(condition: bool, what: str) -> None:
    """Skip the test where the machine lacks something."""
    if not condition:
        raise unittest.SkipTest(f"this machine lacks {what}")


def size_for(device: Any, on_gpu: int, elsewhere: int) -> int:
    """A number that suits the device."""
    return on_gpu if device.kind == "cuda" else elsewhere


def small_proof(curve: str, rows: int) -> tuple[Workload, ProvingKey, Proof]:
    """A circuit, its key (made on cpu), and the cpu's proof with fixed blinding."""
    load = workload("random", curve, rows)
    made = key(load)
    return load, made, Prover(made, get_device("cpu")).prove(load.witness, blinding=blinding(load.curve))


def parts(proof: Proof) -> dict[str, bytes]:
    """The bytes of each element of a proof, so that a difference names it."""
    return {name: getattr(proof, name).tobytes() for name in "abc"}


def python(
    script: str, *arguments: str, timeout: float = 1000, environment: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Run a script in a process of its own and return what it prints."""
    paths = [str(ROOT), *(str(ROOT / name) for name in ("oracles", "fuzz", "examples"))]
    env = (
        os.environ
        | {"PYTHONPATH": os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])}
        | dict(environment)
    )
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *arguments],
        cwd=ROOT, env=env, capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
