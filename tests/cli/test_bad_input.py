"""Bad input: a named error that says what, where and what to do, exit code 2, and no file left behind.

Would catch: a traceback, a wrong exit code, a half-written output, an input destroyed by an output.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cuzk.formats import load_witness, save_witness
from cuzk.formats.container import read_container
from cuzk.witness import Witness
from tests.cli.support import CURVES, Circuit, assert_refused, circuit, cuzk, entries, prove, verify

_BROKEN_VARIABLE = -1


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """An empty folder for outputs."""
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


def _wrong_witness(files: Circuit, folder: Path) -> Path:
    """The circuit's witness with a private value changed."""
    witness = load_witness(files.wtns)
    values = witness.to_ints()
    values[_BROKEN_VARIABLE] = (values[_BROKEN_VARIABLE] + 1) % witness.curve.r
    path = folder / "wrong.wtns"
    save_witness(path, Witness.from_ints(witness.curve, values))
    return path


@pytest.mark.parametrize("curve", CURVES)
def test_a_wrong_witness_is_told_with_its_row(curve: str, tmp_path: Path, out: Path) -> None:
    files = circuit(curve)
    wrong = _wrong_witness(files, tmp_path)
    done = prove(files, out, "--circuit", files.r1cs, "--json", witness=wrong)
    assert_refused(done, 2, "breaks constraint", "row ", "A w = ")
    assert done.report["error"]["type"] == "UnsatisfiedError"
    assert entries(out) == set()


def test_a_wrong_witness_without_the_circuit(tmp_path: Path, out: Path) -> None:
    files = circuit("bls12381")
    done = prove(files, out, witness=_wrong_witness(files, tmp_path))
    assert_refused(done, 2, "does not satisfy", "--circuit")
    assert entries(out) == set()


def test_a_key_of_our_own_names_the_row_by_itself(tmp_path: Path, out: Path) -> None:
    files = circuit("bls12381")
    key = tmp_path / "k.cuzk"
    assert cuzk("setup", files.r1cs, "--key", key, "--vkey", tmp_path / "vk.json").code == 0
    done = prove(files, out, key=key, witness=_wrong_witness(files, tmp_path))
    assert_refused(done, 2, "breaks constraint")
    assert entries(out) == set()


@pytest.mark.parametrize("keep", [0, 3, 40, -1])
@pytest.mark.parametrize("option", ["key", "witness", "circuit"])
def test_a_truncated_file(option: str, keep: int, tmp_path: Path, out: Path) -> None:
    files = circuit("bn128")
    whole = {"key": files.zkey, "witness": files.wtns, "circuit": files.r1cs}
    cut = tmp_path / f"cut{whole[option].suffix}"
    cut.write_bytes(whole[option].read_bytes()[:keep])
    done = (
        prove(files, out, "--circuit", files.r1cs, **{option: cut})
        if option != "circuit"
        else (prove(files, out, "--circuit", cut))
    )
    assert_refused(done, 2, str(cut))
    assert entries(out) == set()


def test_a_damaged_key_of_our_own(tmp_path: Path, out: Path) -> None:
    files = circuit("bn128")
    key = tmp_path / "k.cuzk"
    assert cuzk("setup", files.r1cs, "--key", key, "--vkey", tmp_path / "vk.json").code == 0
    whole = key.read_bytes()
    for position in (20, 100, 4096, len(whole) // 2, len(whole) - 1):
        key.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        assert_refused(prove(files, out, key=key), 2, str(key))
    assert entries(out) == set()


def test_a_foreign_key_with_a_point_off_the_curve(tmp_path: Path, out: Path) -> None:
    files = circuit("bls12381")
    start = read_container(files.zkey, b"zkey", 1, frozenset(range(1, 11))).spans[9][0]
    data = bytearray(files.zkey.read_bytes())
    data[start + 3 * 96] ^= 1
    key = tmp_path / "bad.zkey"
    key.write_bytes(bytes(data))
    assert_refused(prove(files, out, key=key), 2, "h_query[3]", "not a valid point")
    assert_refused(cuzk("key", "check", key), 2, "h_query[3]")
    assert entries(out) == set()


def test_files_of_two_curves(out: Path) -> None:
    files, other = circuit("bls12381"), circuit("bn128")
    both = ("bn254", "bls12_381")
    assert_refused(prove(files, out, witness=other.wtns), 2, *both)
    assert_refused(prove(files, out, key=other.zkey), 2, *both)
    assert_refused(prove(files, out, "--circuit", other.r1cs), 2, *both)
    assert_refused(verify(files.vkey, files.public, other.proof), 2, "bn128", "bls12381")
    assert entries(out) == set()


def test_files_of_two_circuits(out: Path) -> None:
    files, other = circuit("bn128"), circuit("bn128", "sparse_b")
    assert_refused(prove(files, out, witness=other.wtns), 2, "95", "39")
    assert_refused(prove(files, out, "--circuit", other.r1cs), 2, "num_variables")
    assert_refused(prove(files, out, key=files.vkey), 2, "not a proving key")
    assert entries(out) == set()


@pytest.mark.parametrize(
    ("options", "fragments"),
    [
        (("--variant", "Z9=1"), ("Z9", "D4 (MSM window bits)", "M2 (", "cuzk variants")),
        (("--variant", "D4=99"), ("D4", "99", "auto, 2, 3")),
        (("--variant", "D4"), ("ID=VALUE",)),
        (("--variant", "D4=3", "--variant", "D4=4"), ("'3'", "'4'")),
        (("--device", "gpu"), ("gpu", "cuda:N")),
        (("--device", "cpu:0"), ("cpu:0",)),
        (("--insecure-blinding", "7"), ("R,S",)),
        (("--insecure-blinding", "7,eleven"), ("eleven",)),
        (("--insecure-blinding", "7,-1"), ("blinding s", "0 <= s < r")),
        (("--insecure-blinding", f"{1 << 256},1"), ("blinding r",)),
    ],
)
def test_options_that_make_no_sense(options: tuple[str, ...], fragments: tuple[str, ...], out: Path) -> None:
    assert_refused(prove(circuit("bn128"), out, *options), 2, *fragments)
    assert entries(out) == set()


@pytest.mark.parametrize("option", ["key", "witness", "circuit"])
def test_an_input_that_is_not_there(option: str, tmp_path: Path, out: Path) -> None:
    files = circuit("bn128")
    for path, problem in ((tmp_path / "none", "no such file"), (tmp_path, "directory")):
        done = prove(files, out, f"--{option}", path)
        assert_refused(done, 2, str(path), f"--{option}", problem)
    assert entries(out) == set()


@pytest.mark.parametrize("option", ["proof", "public", "proof-bytes", "events", "memory"])
def test_an_output_that_cannot_be(option: str, tmp_path: Path, out: Path) -> None:
    files = circuit("bn128")
    for path, problem in (
        (tmp_path, "directory"),
        (tmp_path / "none" / "x", "no directory"),
        (Path("/dev/null"), "device"),
    ):
        assert_refused(prove(files, out, f"--{option}", path), 2, str(path), f"--{option}", problem)
    assert entries(out) == set()


def test_an_output_never_destroys_an_input(tmp_path: Path, out: Path) -> None:
    files = circuit("bn128")
    witness = tmp_path / "w.wtns"
    witness.write_bytes(files.wtns.read_bytes())
    link = tmp_path / "link.json"
    link.symlink_to(witness)
    for target in (witness, link):
        assert_refused(prove(files, out, "--proof", target, witness=witness), 2, "same file")
    same = out / "x"
    assert_refused(prove(files, out, proof=same, public=same), 2, "same file")
    assert witness.read_bytes() == files.wtns.read_bytes()
    assert entries(out) == set()


def test_a_device_that_is_not_there(out: Path) -> None:
    done = prove(circuit("bn128"), out, "--device", "cuda:9999", "--json")
    assert_refused(done, 3)
    assert done.report["error"]["exit_code"] == 3
    assert entries(out) == set()


def test_usage_errors_end_with_2(out: Path) -> None:
    for words in (["prove"], ["nonsense"], ["prove", "--nonsense"], ["verify", "x"], ["bench", "nothing"]):
        done = cuzk(*words)
        assert done.code == 2, words
        assert "Usage: cuzk" in done.err
