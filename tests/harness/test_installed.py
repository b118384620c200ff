"""The installed package serves other people's tests: a wheel, an empty environment, thirty lines of somebody's code.

Would catch: a plugin that the wheel does not announce, a module that only a checkout has, a check that needs compiled
kernels or this repository's own settings.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]

#: Somebody's sum over BN254: windows of 4 bits, and a fault where the top window is full.
_FOREIGN = """
P = 21888242871839275222246405745257275088696311157297823662689037894645226208583


def add(p, q):
    if p is None or q is None:
        return q if p is None else p
    if p[0] == q[0]:
        if p[1] != q[1]:
            return None
        slope = 3 * p[0] * p[0] * pow(2 * p[1], -1, P)
    else:
        slope = (q[1] - p[1]) * pow(q[0] - p[0], -1, P)
    x = (slope * slope - p[0] - q[0]) % P
    return x, (slope * (p[0] - x) - p[1]) % P


def msm(points, scalars, top=FIRST):
    total = None
    for shift in range(top, -1, -4):
        for _ in range(4):
            total = add(total, total)
        buckets = [None] * 16
        for p, k in zip(points, scalars):
            digit = k >> shift & 15
            buckets[digit] = add(buckets[digit], p) if digit else None
        running = None
        for bucket in reversed(buckets[1:]):
            running = add(running, bucket)
            total = add(total, running)
    return total
"""
_TEST = """
from cuzk_fuzz.foreign import Limits, msm_of_ints

from foreign import msm


def test_msm(differential):
    differential("msm", "bn254_g1", msm_of_ints(msm), cases=60, limits=Limits(largest=6), shrink_seconds=2)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an empty environment with the wheel of this checkout, made without its compiled kernels.

    What the package depends on comes from this test's own environment, so that no network is needed.
    """
    folder = tmp_path_factory.mktemp("installed")
    wheel = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation",
             "--disable-pip-version-check", "--config-settings=wheel.cmake=false",
             f"--config-settings=build-dir={folder / 'build'}", "--wheel-dir", str(folder), str(ROOT)]  # fmt: skip
    subprocess.run(wheel, check=True, capture_output=True, cwd=folder)
    venv.create(folder / "env", with_pip=True)
    found = folder / "env" / "bin" / "python"
    (built,) = folder.glob("cuzk-*.whl")
    install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--disable-pip-version-check",
        str(built),
    ]
    subprocess.run([str(found), *install], check=True, capture_output=True, cwd=folder)
    (site,) = (folder / "env" / "lib").glob("python*/site-packages")
    (site / "zz_dependencies.pth").write_text(str(Path(np.__file__).parents[1]) + "\n")
    return found


def _pytest(python: Path, folder: Path, first: int) -> subprocess.CompletedProcess[str]:
    (folder / "foreign.py").write_text(_FOREIGN.replace("FIRST", str(first)))
    (folder / "test_foreign.py").write_text(_TEST)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYTEST", "COV"))}
    command = [
        str(python),
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-p",
        "no:benchmark",
    ]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_somebody_elses_sum_is_checked_with_the_installed_package(python: Path, tmp_path: Path) -> None:
    done = _pytest(python, tmp_path, 252)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_the_fault_planted_in_it_is_found(python: Path, tmp_path: Path) -> None:
    done = _pytest(python, tmp_path, 248)  # the window above bit 252 is left out
    assert done.returncode == 1, done.stdout + done.stderr
    assert "the oracle says" in done.stdout
    assert list((tmp_path / "fuzz-out").glob("foreign-msm-bn254_g1-0-*.json"))


def test_the_package_is_the_wheels(python: Path, tmp_path: Path) -> None:
    code = "import cuzk_fuzz.foreign, cuzk_oracles, cuzk; print(cuzk_fuzz.foreign.__file__, cuzk.__file__)"
    done = subprocess.run(
        [str(python), "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.count(str(python.parents[1])) == 2
