"""Keys written while they are made: the same bytes as a key that is made first and written then.

Would catch: a query at another's place, a checksum of an array that was not complete, a file that lacks room found out
only at the end, a file that is there although its key is not.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from types import SimpleNamespace
from typing import BinaryIO

import numpy as np
import pytest

from cuzk.errors import InputError, InternalError
from cuzk.formats import cuzk_key_to_bytes
from cuzk.formats.atomic import atomic_write
from cuzk.formats.key_builder import KeyBuilder
from cuzk.groth16.setup import setup
from tests.prover.support import device, waste
from tests.prover.test_compiled import Compiled, compiled
from tests.prover.test_compiled_setup import key_of


def begin(file: BinaryIO, load: Compiled, roots: str = "snarkjs", h_form: str = "odd_lagrange") -> KeyBuilder:
    where = "keys/k.cuzk"
    return KeyBuilder(file, where, load.circuit, "mine", h_form=h_form, root_convention=roots)  # type: ignore[arg-type]


@pytest.mark.parametrize("roots", ["snarkjs", "bellman"])
@pytest.mark.parametrize("h_form", ["odd_lagrange", "monomial"])
@pytest.mark.parametrize("curve", ["toy", "bls12_381"])
def test_the_same_bytes(curve: str, h_form: str, roots: str, tmp_path: Path) -> None:
    load, shares = compiled(curve), list[float]()
    options = {"name": "mine", "h_form": h_form, "root_convention": roots}
    with atomic_write(tmp_path / "k.cuzk") as file, begin(file, load, roots, h_form) as builder:
        made = setup(
            load.circuit, device("cpu"), toxic_waste=waste(load.curve), place=builder.place, **options  # type: ignore[arg-type]
        )  # fmt: skip
        builder.finish(made, shares.append)
        assert not (tmp_path / "k.cuzk").exists()
    apart = setup(load.circuit, device("cpu"), toxic_waste=waste(load.curve), **options)  # type: ignore[arg-type]
    assert (tmp_path / "k.cuzk").read_bytes() == cuzk_key_to_bytes(apart)
    assert len(shares) == 13
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_no_room_is_found_before_anything_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load = compiled("toy")
    monkeypatch.setattr(os, "fstatvfs", lambda _: SimpleNamespace(f_bavail=3, f_frsize=4096))
    told = r"keys/k\.cuzk.* takes \d+ bytes .*12288 bytes are free.*make room"
    with pytest.raises(InputError, match=told), atomic_write(tmp_path / "k.cuzk") as file:
        begin(file, load)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_system_that_refuses_room(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: int) -> None:
        raise OSError(number, "no")

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    with pytest.raises(InputError, match="more than there is room for"), atomic_write(tmp_path / "k") as file:
        begin(file, compiled("toy"))
    assert not list(tmp_path.iterdir())


def test_other_failures_are_told_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: int) -> None:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(os, "posix_fallocate", fail)
    with pytest.raises(OSError, match="broken"), atomic_write(tmp_path / "k") as file:
        begin(file, compiled("toy"))


def test_what_has_no_place(tmp_path: Path) -> None:
    load = compiled("toy")
    with atomic_write(tmp_path / "k") as file, begin(file, load) as builder:
        for name, shape in (("a_query", (1, 2, 1)), ("z_query", (1, 2, 1))):
            with pytest.raises(InternalError, match="no place"):
                builder.place(name, shape)
        other = key_of(load, "bellman")
        with pytest.raises(InternalError, match="another"):
            builder.finish(other)
        mine = key_of(load)
        assert builder.place("ic", mine.ic.shape).dtype == np.uint64
