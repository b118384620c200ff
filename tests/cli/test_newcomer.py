"""What somebody meets who uses the commands for the first time: wrong files, swapped arguments, odd names and numbers.

Would catch: a traceback, an exit code that is not 2 (or 3 for a device), an error that does not say what the wrong file
is, or leaves out what to do.
"""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from cuzk.errors import DeviceError
from cuzk.formats.kinds import KINDS, kind_of_start, start_in_words
from tests.cli.support import Run, assert_refused, circuit, cuzk

FILES = circuit("bn128")
OTHER = circuit("bls12381")
#: Name in the test's folder -> where it comes from.
NAMES = {
    "c.r1cs": FILES.r1cs, "w.wtns": FILES.wtns, "k.zkey": FILES.zkey, "vkey.json": FILES.vkey,
    "proof.json": FILES.proof, "public.json": FILES.public, "other.wtns": OTHER.wtns, "other.r1cs": OTHER.r1cs,
    "other_vkey.json": OTHER.vkey,
}  # fmt: skip
CONTENTS = {
    "empty": b"",
    "text": b"hello\n",
    "list.json": b'{"a": 1}',
    "bom.json": b"\xef\xbb\xbf" + FILES.vkey.read_bytes(),
    "page.json": b"<!DOCTYPE html><html>404</html>",
    "lfs.zkey": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n",
    "c.wasm": b"\x00asm\x01\x00\x00\x00" + bytes(40),
    "c.circom": b"pragma circom 2.1.0;\n",
    "k.zkey.gz": b"\x1f\x8b\x08" + bytes(60),
    "noise": bytes(range(7, 255)) * 5,
}
PROVE = "prove --device cpu --proof p.json --public q.json"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with good and bad files, as the current one."""
    for name, source in NAMES.items():
        shutil.copyfile(source, tmp_path / name)
    for name, content in CONTENTS.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "dir").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(command: str, *fragments: str, code: int = 2) -> Run:
    """Run a command that must be refused with a remedy and leave nothing behind."""
    before = set(Path().iterdir())
    done = cuzk(*command.split(), "--json")
    assert_refused(done, code, *fragments)
    error = done.report["error"]
    assert error["what"]
    assert error["remedy"], error
    assert error["where"] or error["limit"] or code == 3, error
    assert "unexpected" not in error["what"], error
    assert set(Path().iterdir()) == before
    return done


@pytest.mark.parametrize(
    ("command", "fragments"),
    [
        (f"{PROVE} --key w.wtns --witness k.zkey", ("k.zkey", "not a .wtns file", "proving key (snarkjs .zkey)")),
        (f"{PROVE} --key vkey.json --witness w.wtns", ("not a proving key", "verification key")),
        (f"{PROVE} --key c.r1cs --witness w.wtns", ("not a proving key", "circuit (circom .r1cs)")),
        (f"{PROVE} --key k.zkey --witness c.wasm", ("c.wasm", "witness generator")),
        (f"{PROVE} --key k.zkey --witness public.json", ("not a .wtns file, but a JSON text",)),
        (f"{PROVE} --key lfs.zkey --witness w.wtns", ("git lfs pull",)),
        (f"{PROVE} --key k.zkey.gz --witness w.wtns", ("gzip",)),
        (f"{PROVE} --key k.zkey --witness w.wtns --circuit k.zkey", ("not a .r1cs file", "proving key")),
        (f"{PROVE} --key k.zkey --witness other.wtns", ("other.wtns", "bls12_381", "bn254")),
        (f"{PROVE} --key k.zkey --witness w.wtns --circuit other.r1cs", ("other.r1cs", "bls12_381", "bn254")),
        ("verify --vkey proof.json --public public.json --proof vkey.json", ("proof.json", "proof (snarkjs JSON)")),
        ("verify --vkey vkey.json --public proof.json --proof public.json", ("proof.json", "public inputs")),
        ("verify --vkey vkey.json --public public.json --proof public.json", ("not a proof", "public inputs")),
        ("verify --vkey k.zkey --public public.json --proof proof.json", ("not a verification key", "k.zkey")),
        ("verify --vkey bom.json --public public.json --proof proof.json", ("bom.json", "byte order mark")),
        ("verify --vkey page.json --public public.json --proof proof.json", ("page.json", "download")),
        ("verify --vkey list.json --public public.json --proof proof.json", ("list.json", "is missing")),
        ("verify --vkey other_vkey.json --public public.json --proof proof.json", ("bn128", "bls12381")),
        ("setup w.wtns --key a.cuzk --vkey a.json", ("not a .r1cs file", "witness (circom .wtns)")),
        ("setup c.circom --key a.cuzk --vkey a.json", ("c.circom", "circom --r1cs --wasm")),
        ("setup c.r1cs --key a.cuzk --vkey a.json --ptau k.zkey", ("not a .ptau file", "proving key")),
        ("key check vkey.json", ("not a proving key", "verification key (snarkjs JSON)")),
        ("key check w.wtns", ("not a proving key", "witness (circom .wtns)")),
        ("key export k.zkey --format params --out o", ("bn254", "bls12_381")),
        ("circuit info k.zkey", ("not a circuit", "proving key (snarkjs .zkey)")),
        ("info text", ("text", "b'hello")),
        ("info list.json", ("list.json", "neither proof")),
        ("info bom.json", ("byte order mark", "without BOM")),
    ],
)  # fmt: skip
def test_a_file_of_another_kind_is_told_what_it_is(command: str, fragments: tuple[str, ...]) -> None:
    refused(command, *fragments)


@pytest.mark.parametrize("name", [*CONTENTS, "dir", "missing", "/dev/null", "/dev/zero"])
def test_every_command_refuses_what_is_no_file_of_its_kind(name: str) -> None:
    for command in (
        f"info {name}",
        f"key info {name}",
        f"key check {name} --device cpu",
        f"key convert {name} --out o.cuzk --device cpu",
        f"key export {name} --format zkey --out o --device cpu",
        f"circuit info {name}",
        f"setup {name} --key a.cuzk --vkey a.json --device cpu",
        f"setup c.r1cs --key a.cuzk --vkey a.json --device cpu --ptau {name}",
        f"{PROVE} --key {name} --witness w.wtns",
        f"{PROVE} --key k.zkey --witness {name}",
        f"{PROVE} --key k.zkey --witness w.wtns --circuit {name}",
        f"verify --vkey {name} --public public.json --proof proof.json",
        f"verify --vkey vkey.json --public {name} --proof proof.json",
        f"verify --vkey vkey.json --public public.json --proof {name}",
        f"verify --vkey vkey.json --batch {name}",
    ):
        refused(command, Path(name).name)


@pytest.mark.parametrize(
    ("command", "code", "fragments"),
    [
        (f"{PROVE} --key k.zkey --witness w.wtns --insecure-blinding {10**400},1", 2, ("blinding",)),
        (f"{PROVE} --key k.zkey --witness w.wtns --insecure-blinding 1,2,3", 2, ("R,S", "7,11")),
        (f"{PROVE} --key k.zkey --witness w.wtns --variant D4={10**60}", 2, ("D4", "auto")),
        (f"{PROVE} --key k.zkey --witness w.wtns --device cuda:99999", 2, ("cuda:N",)),
        (f"{PROVE} --key k.zkey --witness w.wtns --device cuda", 3, ("--device cpu",)),
        ("bench ntt --size -3", 2, ("--size", "2^12")),
        ("bench ntt --size 2^99", 2, ("--size", "2^12")),
        (f"bench ntt --size {10**30}", 2, ("--size", "2^12")),
        ("bench ntt --repeats 0", 2, ("--repeats",)),
        ("key convert k.zkey --out o.cuzk --h-form foo", 2, ("--h-form", "monomial")),
        ("key convert k.zkey --out k.zkey", 2, ("same file",)),
        ("key convert k.zkey --out dir", 2, ("directory",)),
        ("key export k.zkey --format pdf --out o", 2, ("--format", "zkey")),
        ("setup c.r1cs --key vkey.json --vkey a.json", 2, ("--force",)),
        ("setup c.r1cs --key a --vkey a", 2, ("same file",)),
        ("setup c.r1cs --key none/a --vkey a", 2, ("no directory",)),
        (f"info {'x' * 300}", 2, ("name",)),
    ],
)
def test_odd_values(
    command: str, code: int, fragments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    if "--device cuda" in command:  # also on a machine that has a GPU

        def absent(*_: object, **__: object) -> None:
            raise DeviceError("there is no NVIDIA driver", remedy="install one, or use --device cpu")

        monkeypatch.setattr("cuzk.device.get_device", absent)
    refused(command, *fragments, code=code)


def test_a_name_with_a_slip_gets_a_hint() -> None:
    assert "there is k.zkey" in refused("info k.zkye").err
    assert "; there is" not in refused("info something_else_entirely").err


def test_what_the_system_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        blind = SimpleNamespace(access=lambda *_: False, path=os.path, R_OK=os.R_OK, W_OK=os.W_OK)
        patch.setattr("cuzk.cli.paths.os", blind)  # Typer looks with os.access, too, and has words of its own
        refused("info k.zkey", "no permission to read", "chmod")
        refused("key convert k.zkey --out o.cuzk", "no permission")
    for number, code in ((errno.EACCES, 2), (errno.ENOSPC, 3), (errno.EROFS, 2), (errno.EIO, 3)):
        failure = OSError(number, os.strerror(number), "k.zkey")

        def fail(*_: object, failure: OSError = failure) -> None:
            raise failure

        monkeypatch.setattr("cuzk.formats.describe", fail)
        refused("info k.zkey", "k.zkey", code=code)


def test_every_magic_is_known_and_named() -> None:
    for name, source in NAMES.items():
        start = source.read_bytes()[:64]
        kind = kind_of_start(start)
        assert (kind is None) == name.endswith("json")
        assert (KINDS[kind] if kind else "JSON") in start_in_words(start)
