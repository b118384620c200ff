"""What ``cuzk key check`` remembers, and when it must not.

Would catch: a changed key that is taken for a checked one, a check that is skipped without one before, a damaged or
foreign entry that is believed, a cache without permission that stops the command.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from cuzk.cli import checked_keys as module
from cuzk.errors import InputError
from cuzk.formats.container import read_container
from tests.cli.support import Run, assert_refused, circuit, cuzk, prove

FILES = circuit("bls12381")
UNCHECKED = "whether they lie in the subgroup was not checked"


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """A key file that a test may change."""
    path = tmp_path / "k.zkey"
    path.write_bytes(FILES.zkey.read_bytes())
    return path


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows when points are checked."""
    seen: list[str] = []
    for name in ("first_off_curve", "first_outside_subgroup"):

        def note(*_: object, name: str = name) -> None:
            seen.append(name)

        monkeypatch.setattr(f"cuzk.ops.points.{name}", note)
    return seen


def check(key: Path, *more: str | Path) -> Run:
    """Run ``cuzk key check``."""
    return cuzk("key", "check", key, "--device", "cpu", *more)


def spoil(key: Path) -> None:
    """Move one point of h_query off the curve; size and time stay."""
    times = key.stat()
    start = read_container(key, b"zkey", 1, frozenset(range(1, 11))).spans[9][0]
    data = bytearray(key.read_bytes())
    data[start + 3 * 96] ^= 1
    key.write_bytes(bytes(data))
    os.utime(key, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_the_second_check_does_not_look_at_points(
    key: Path, checked_keys: Path, looked_at: list[str]
) -> None:
    first = check(key, "--json")
    assert (first.code, first.report["points_checked"]) == (0, "now")
    times = len(looked_at)
    assert times > 10
    copy = key.with_name("copy.zkey")
    copy.write_bytes(key.read_bytes())
    for path in (key, copy):
        again = check(path, "--json", "--circuit", FILES.r1cs)
        assert again.code == 0
        assert again.report["points_checked"].startswith("20")
        assert again.report["blake2b"] == first.report["blake2b"]
        assert again.report["points"] == first.report["points"]
    shown = check(key)
    assert "points in the subgroup, as checked before" in shown.out
    assert "--force checks them again" in shown.out
    assert len(looked_at) == times
    assert check(key, "--force").code == 0
    assert len(looked_at) == 2 * times
    (entry,) = checked_keys.iterdir()
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600


def test_the_circuit_is_compared_also_of_a_remembered_key(key: Path) -> None:
    assert check(key).code == 0
    assert_refused(check(key, "--circuit", circuit("bls12381", "sparse_b").r1cs), 2, "num_variables")


def test_a_changed_key_is_checked_again(key: Path) -> None:
    assert check(key).code == 0
    spoil(key)
    for _ in range(2):
        assert_refused(check(key), 2, "h_query[3]")


def test_a_key_that_fails_is_not_remembered(key: Path, checked_keys: Path) -> None:
    spoil(key)
    assert_refused(check(key), 2, "h_query[3]")
    assert not checked_keys.exists()


def test_prove_and_convert_take_the_check_for_theirs(key: Path, tmp_path: Path, looked_at: list[str]) -> None:
    assert UNCHECKED in prove(FILES, tmp_path, key=key).err
    assert looked_at
    assert check(key).code == 0
    looked_at.clear()
    done = prove(FILES, tmp_path, key=key)
    assert done.code == 0
    assert UNCHECKED not in done.err
    assert cuzk("key", "convert", key, "--out", tmp_path / "k.cuzk", "--device", "cpu").code == 0
    assert looked_at == []
    spoil(key)
    assert UNCHECKED in prove(FILES, tmp_path, "--no-self-check", key=key).err
    assert looked_at


@pytest.mark.parametrize(
    "change",
    [
        {"version": 0},
        {"digest": "0" * 64},
        {"points": -1},
        {"unknown": 1},
        {"when": None},
        None,
    ],
)
def test_entries_that_are_not_ours_do_not_count(
    change: dict[str, object] | None, key: Path, checked_keys: Path, looked_at: list[str]
) -> None:
    assert check(key).code == 0
    (entry,) = checked_keys.iterdir()
    text = json.loads(entry.read_text(encoding="utf-8"))
    entry.write_text("{" if change is None else json.dumps(text | change), encoding="utf-8")
    looked_at.clear()
    again = check(key, "--json")
    assert (again.code, again.report["points_checked"]) == (0, "now")
    assert looked_at


def test_a_cache_that_cannot_be_written_does_not_stop_the_check(key: Path, checked_keys: Path) -> None:
    checked_keys.parent.mkdir(exist_ok=True)
    checked_keys.write_text("a file where the folder should be", encoding="utf-8")
    for _ in range(2):
        done = check(key)
        assert done.code == 0
        assert "cannot be remembered" in done.err
        assert "as checked before" not in done.out


def test_a_user_without_a_home_has_no_cache(
    key: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(module, "folder", homeless)
    done = check(key)
    assert done.code == 0
    assert "cannot be remembered: Could not determine home directory" in done.err
    assert prove(FILES, tmp_path, key=key).code == 0


def test_a_file_that_changes_meanwhile_is_refused(key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def change(*_: object) -> None:
        key.write_bytes(key.read_bytes())
        spoil(key)

    monkeypatch.setattr("cuzk.cli.loading.check_every_point", change)
    assert_refused(check(key), 2, "changed while it was checked")
    with pytest.raises(InputError):
        module.remember(key, "0" * 64, 1)
    assert module.recall(key) is None
