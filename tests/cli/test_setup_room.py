"""``cuzk setup`` knows before it begins what it takes, and refuses what would die in the middle.

Would catch: a bound below what a set-up really takes, one so far above it that what fits is refused, a message without
the sum, half a key left behind.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from cuzk.circuits.catalogue import compiled_circuit
from cuzk.cli.setup_room import need_of
from cuzk.curves import get_curve
from cuzk.device import get_device
from cuzk.device.base import DeviceLimits
from cuzk.groth16 import setup, setup_memory
from cuzk.pieces import CompiledCircuit
from cuzk.relation import R1CS
from cuzk.synthesis.expand import expand
from tests.cli.support import Run, assert_refused, cuzk, entries

NAME = "poseidon:2"


def circuit(matrices: bool, name: str = NAME) -> R1CS | CompiledCircuit:
    made = compiled_circuit(name)
    return expand(made) if matrices else made


def run(folder: Path, *more: str) -> Run:
    return cuzk(
        "setup", NAME, "--key", folder / "k.cuzk", "--vkey", folder / "v.json", "--device", "cpu", *more
    )


@pytest.mark.parametrize("matrices", [False, True])
@pytest.mark.parametrize("kind", ["cpu", "emu"])
def test_a_device_with_what_is_said_is_enough_and_hardly_less(kind: str, matrices: bool) -> None:
    need = need_of(circuit(matrices), get_device(kind, 1 << 30))
    device = get_device(kind, need.device)
    setup(circuit(matrices), device)
    assert need.device / 2 < device.memory().peak <= need.device


@pytest.mark.parametrize("matrices", [(), ("--matrices",)])
def test_the_file_is_no_larger_than_said(matrices: tuple[str, ...], tmp_path: Path) -> None:
    assert run(tmp_path, *matrices).code == 0
    size = (tmp_path / "k.cuzk").stat().st_size
    assert size <= need_of(circuit(bool(matrices)), get_device("cpu")).file < 1.5 * size + 32 * 4096


def test_the_figures_of_a_large_partition() -> None:
    """Its key's size is published; an H200 has room for its set-up, a card of 16 GiB has not."""
    counts = setup_memory._Counts(
        get_curve("bls12_381"), 130_170_221, 327, 130_278_541, 722_388_563, 1_000_000, 1 << 28, 33_112_282
    )
    assert 47_373_928_632 < setup_memory._file_bytes(counts) < 47_600_000_000
    limits = DeviceLimits(
        num_sms=132, max_threads=1024, warp=32, shared_bytes=232448, memory_bytes=139 << 30, gpu_like=True
    )
    most = max(sum(parts.values()) for parts in setup_memory._phases(counts, limits))
    assert 16 << 30 < most < 40 << 30


@pytest.mark.parametrize("matrices", [(), ("--matrices",)])
def test_a_capped_device_is_refused_with_the_sum(
    matrices: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cuzk.cli.setup.open_device", lambda *_: get_device("cpu", 1 << 20))
    monkeypatch.setattr("cuzk.cli.loading.load_kernels", lambda *_: pytest.fail("work was begun"))
    refused = run(tmp_path, *matrices)
    assert_refused(
        refused, 3, f"a set-up of {NAME} takes", "bytes of the device", "vectors over 314 variables",
        "tables of multiples", "1048576 bytes", "device with more memory",
    )  # fmt: skip
    assert entries(tmp_path) == set()


@pytest.mark.parametrize("matrices", [(), ("--matrices",)])
def test_a_full_disk_is_refused_before_any_work(
    matrices: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.statvfs", lambda _: SimpleNamespace(f_bavail=2, f_frsize=4096))
    monkeypatch.setattr("cuzk.cli.loading.load_kernels", lambda *_: pytest.fail("work was begun"))
    refused = run(tmp_path, *matrices)
    assert_refused(refused, 2, "k.cuzk", "bytes on the disk", "8192 bytes are free", "make room")
    assert entries(tmp_path) == set()


def test_a_full_disk_is_refused_before_powers_of_tau_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "powers.ptau").write_bytes(b"never looked at")
    monkeypatch.setattr("os.statvfs", lambda _: SimpleNamespace(f_bavail=2, f_frsize=4096))
    refused = run(tmp_path, "--ptau", str(tmp_path / "powers.ptau"))
    assert_refused(refused, 2, "takes 353.38 KiB on the disk", "k.cuzk", "8192 bytes are free", "make room")
    assert entries(tmp_path) == {"powers.ptau"}


def test_a_host_with_too_little_is_refused_with_the_sum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cuzk.device.machine.memory_bytes", lambda _: 1 << 20)
    refused = run(tmp_path, "--matrices")
    assert_refused(refused, 3, "of the host's memory", "for the key", "arrays of the device", "--matrices")
    assert entries(tmp_path) == set()


def test_it_is_said_before_the_first_step(tmp_path: Path) -> None:
    lines = run(tmp_path).err.splitlines()
    said = next(i for i, line in enumerate(lines) if "takes at most" in line and "on the disk" in line)
    assert said < next(i for i, line in enumerate(lines) if "columns of the matrices" in line)
    assert "takes at most" not in cuzk(
        "setup", NAME, "--key", tmp_path / "q.cuzk", "--vkey", tmp_path / "q.json", "--quiet"
    ).err  # fmt: skip
