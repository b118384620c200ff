"""Checksums of a key's points, compared while the key is in use.

Would catch: a check that is begun and forgotten, a damaged key that gives a proof, or an error other than the one that
says so, and points that nobody compares because they are many.
"""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from cuzk.curves import get_curve
from cuzk.errors import FormatError
from cuzk.formats import load_cuzk_key, save_cuzk_key
from cuzk.formats.cuzk_key import map_cuzk_key
from cuzk.formats.deferred import Deferred
from cuzk.groth16 import ToxicWaste, setup
from tests.cli.support import assert_refused, circuit, cuzk, entries, prove
from tests.prover.support import device
from tests.workloads import mixed_circuit

QUERIES = ("a_query", "b_g1_query", "b_g2_query", "h_query", "l_query")


@pytest.fixture(autouse=True)
def all_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points count as many and matrices as large, whatever their number."""
    monkeypatch.setattr("cuzk.formats.cuzk_key.SMALL_BYTES", 0)
    monkeypatch.setattr("cuzk.formats.cuzk_key._MANY_ENTRIES", 0)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    curve = get_curve("bn254")
    made = setup(mixed_circuit("bn254", 70)[0], device("cpu"), toxic_waste=ToxicWaste.from_seed(curve, 1))
    target = tmp_path_factory.mktemp("key") / "k.cuzk"
    save_cuzk_key(target, made)
    return target


def damaged(path: Path, folder: Path, query: str) -> Path:
    """The key with one bit of a query changed."""
    array = getattr(load_cuzk_key(path), query)
    data = bytearray(path.read_bytes())
    at = data.index(array.tobytes())
    data[at + array.nbytes // 2] ^= 1
    target = folder / "damaged.cuzk"
    target.write_bytes(data)
    return target


def test_a_sound_key_passes(path: Path) -> None:
    key, checks = map_cuzk_key(path)
    checks.wait()
    checks.wait()
    assert (key.h_query == load_cuzk_key(path, verify="all").h_query).all()


@pytest.mark.parametrize("query", QUERIES)
def test_damage_is_found_at_the_latest_when_waited_for(path: Path, tmp_path: Path, query: str) -> None:
    target = damaged(path, tmp_path, query)
    _, checks = map_cuzk_key(target)
    with pytest.raises(FormatError, match="checksum") as caught:
        checks.wait()
    assert caught.value.section == query
    assert str(target) in str(caught.value)
    with pytest.raises(FormatError, match="checksum"):
        load_cuzk_key(target, verify="all")


def test_a_wrong_circuit_digest_is_found(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cuzk.keys.circuit_digest", lambda *_: "0" * 64)
    _, checks = map_cuzk_key(path)
    with pytest.raises(FormatError, match="circuit digest"):
        checks.wait()


def test_what_indexes_memory_does_not_wait(path: Path, tmp_path: Path) -> None:
    """Matrices are compared before anybody gets the key."""
    array = load_cuzk_key(path).a.col
    data = bytearray(path.read_bytes())
    data[data.index(array.tobytes()) + array.nbytes // 2] ^= 1
    (tmp_path / "m.cuzk").write_bytes(data)
    with pytest.raises(FormatError, match="checksum") as caught:
        map_cuzk_key(tmp_path / "m.cuzk")
    assert caught.value.section == "A.col"


@pytest.mark.parametrize("option", ["--no-self-check", "--timing"])
def test_no_proof_of_a_damaged_key(tmp_path: Path, option: str) -> None:
    """The message is that the file is damaged, with or without a self-check that fails first."""
    files = circuit("bn128")
    made = (
        "setup",
        files.r1cs,
        "--key",
        tmp_path / "k.cuzk",
        "--vkey",
        tmp_path / "v.json",
        "--device",
        "cpu",
    )
    assert cuzk(*made).code == 0
    target = damaged(tmp_path / "k.cuzk", tmp_path, "h_query")
    run = prove(files, tmp_path, option, "--device", "cpu", key=target)
    assert_refused(run, 2, "h_query", "checksum")
    assert entries(tmp_path) == {"k.cuzk", "v.json", "damaged.cuzk"}


def test_an_error_of_the_block_gives_way_to_that_of_a_check() -> None:
    def check() -> None:
        raise FormatError("damaged")

    def block(error: BaseException) -> None:
        with Deferred([check]):
            raise error

    with pytest.raises(FormatError, match="damaged"):
        block(ValueError("nonsense comes out of nonsense"))
    with pytest.raises(KeyboardInterrupt):
        block(KeyboardInterrupt())


def test_checks_run_beside_the_block_and_in_order() -> None:
    begun, may_end = threading.Event(), threading.Event()

    def first() -> None:
        begun.set()
        assert may_end.wait(1000)
        raise FormatError("first")

    def second() -> None:
        raise FormatError("second")

    checks = Deferred([first, second])
    assert begun.wait(1000)
    may_end.set()
    with pytest.raises(FormatError, match="first"):
        checks.wait()
    Deferred([]).wait()
