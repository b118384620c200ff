"""Built-in circuits on the command line: set-up by name, proof from a vanilla proof, and the mistakes one can make.

Would catch: hints in another order than the circuit takes them, public inputs that are not the verifier's, a stale
compiled circuit, a vanilla proof of another circuit that passes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cuzk.circuits.vanilla.post_files import write_post
from cuzk.circuits.vanilla.shapes import sector_shape
from cuzk.circuits.vanilla.synthetic import synthetic_post
from cuzk.cli.circuits import circuit_folder, load_compiled
from cuzk.formats import save_witness
from cuzk.witness import Witness
from tests.circuits.witnesses import with_hints
from tests.cli.support import circuit, cuzk, entries, verify

NAME = "fallback-post:8-0-0:64n:1s:1c"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keys of a small proof of spacetime, and vanilla proofs of two sectors."""
    made = tmp_path_factory.mktemp("built-in")
    done = cuzk("setup", NAME, "--key", made / "k.cuzk", "--vkey", made / "v.json", "--device", "cpu")
    assert done.code == 0, done.err
    for number in (1, 2):
        proof = synthetic_post(sector_shape("2KiB"), number, b"\x07" * 31 + b"\0", challenges=1)
        (made / f"{number}.vproof").write_bytes(write_post(proof))
    return made


@pytest.fixture(autouse=True)
def own_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))


def prove(folder: Path, *more: object) -> list[str]:
    words = ["prove", "--key", folder / "k.cuzk", "--proof", folder / "p.json", "--public", folder / "x.json"]
    return [str(word) for word in (*words, "--device", "cpu", *more)]


def test_from_a_vanilla_proof(folder: Path) -> None:
    """Two sectors: each proof holds for its own public inputs and not for the other's."""
    for number in (1, 2):
        done = cuzk(*prove(folder, "--circuit", NAME, "--vanilla", folder / f"{number}.vproof"))
        assert done.code == 0, done.err
        for name in "px":
            (folder / f"{name}.json").rename(folder / f"{name}{number}.json")
    for number in (1, 2):
        for other in (1, 2):
            told = verify(folder / "v.json", folder / f"x{other}.json", folder / f"p{number}.json")
            assert told.code == (0 if number == other else 1)


@pytest.fixture(scope="module")
def seeded(folder: Path) -> tuple[Path, Path]:
    """The same key without and with its matrices."""
    made = folder / "pieces.cuzk", folder / "matrices.cuzk"
    for path, more in zip(made, ((), ("--matrices",)), strict=True):
        words = ("setup", NAME, "--key", path, "--vkey", folder / "seeded.json", "--device", "cpu", "--force")
        done = cuzk(*words, "--insecure-seed", "3", *more)
        assert done.code == 0, done.err
    return made


def test_the_same_bytes_as_from_its_witness(folder: Path, seeded: tuple[Path, Path]) -> None:
    """The witness that plain Python computes from the same hints, as a .wtns, and the key with matrices."""
    from cuzk.circuits.catalogue import find_circuit

    built_in = find_circuit(NAME)
    data = (folder / "1.vproof").read_bytes()
    _, _, witness = with_hints(built_in.record, built_in.hints(data, "1.vproof", 0))
    save_witness(folder / "w.wtns", Witness(witness.curve, witness.values))
    sources = (
        (0, "--circuit", NAME, "--vanilla", folder / "1.vproof"),
        (0, "--circuit", NAME, "--witness", folder / "w.wtns"),
        (1, "--circuit", NAME, "--witness", folder / "w.wtns"),
        (1, "--witness", folder / "w.wtns"),
    )
    made = []
    for number, *source in sources:
        more = ("--key", seeded[number], "--insecure-blinding", "7,11")
        done = cuzk(*prove(folder, *source, *more))
        assert done.code == 0, done.err
        made.append(((folder / "p.json").read_bytes(), (folder / "x.json").read_bytes()))
    assert made[0] == made[1] == made[2] == made[3]


def test_a_key_without_matrices_says_what_it_wants(folder: Path, seeded: tuple[Path, Path]) -> None:
    """Would catch: a raw failure, or a proof of something else, where the circuit is not named."""
    pieces, matrices = seeded
    assert pieces.stat().st_size < matrices.stat().st_size
    found = load_compiled(NAME)
    values = [1] + [0] * (found.num_variables - 1)
    save_witness(folder / "zeros.wtns", Witness.from_ints(found.curve, values))
    done = cuzk(*prove(folder, "--key", pieces, "--witness", folder / "zeros.wtns"))
    assert done.code == 2
    for part in ("pieces.cuzk", "holds no matrices", f"--circuit {NAME}", f"cuzk setup {NAME} --matrices"):
        assert part in done.err
    assert cuzk("key", "info", pieces, "--json").report["compiled_circuit"] == NAME


def test_a_compiled_circuit_is_kept_and_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = load_compiled(NAME)
    (kept,) = circuit_folder().glob("fallback-post*.pce")
    monkeypatch.setattr("cuzk.circuits.catalogue.compiled_circuit", lambda _: pytest.fail("compiled again"))
    assert load_compiled(NAME).num_rows == first.num_rows
    kept.write_bytes(kept.read_bytes()[:-1] + b"\0")
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert load_compiled(NAME).num_rows == first.num_rows


def test_a_changed_vanilla_proof_names_a_row_or_what_does_not_fit(folder: Path) -> None:
    data = bytearray((folder / "1.vproof").read_bytes())
    data[200] ^= 1
    (folder / "changed.vproof").write_bytes(data)
    done = cuzk(*prove(folder, "--circuit", NAME, "--vanilla", folder / "changed.vproof"))
    assert done.code == 2
    assert "constraint" in done.err
    assert "changed.vproof: row" in done.err
    assert "make the file again" in done.err  # what a .wtns needs would not help
    assert not {"p.json.part", "x.json.part"} & entries(folder)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "either --witness or --vanilla"),
        (["--vanilla", "1.vproof", "--witness", "1.vproof"], "either --witness or --vanilla"),
        (["--vanilla", "1.vproof"], "belongs to a built-in circuit"),
        (["--vanilla", "1.vproof", "--circuit", "winning-pots:2KiB"], "did you mean"),
        (["--vanilla", "1.vproof", "--circuit", "sha256:512"], "a message of"),
        (["--vanilla", "none", "--circuit", NAME], "no such file"),
        (["--vanilla", "1.vproof", "--circuit", NAME, "--partition", "1"], "partition 1"),
        (["--vanilla", "1.vproof", "--circuit", "fallback-post:8-0-0:512n:1s:1c"], "error: 1.vproof: "),
        (["--vanilla", "1.vproof", "--circuit", "winning-pots"], "cuzk circuit list"),
        (["--vanilla", "1.vproof", "--circuit", "fallback-post:8-0-0:64n:1s:2c"], "multiple of 2"),
        (["--vanilla", "k.cuzk", "--circuit", NAME], "k.cuzk"),
    ],
)  # fmt: skip
def test_mistakes_are_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.chdir(folder)
    done = cuzk(*prove(folder, *words))
    assert done.code == 2, done.err
    assert message in done.err


def test_a_witness_has_no_partition(folder: Path) -> None:
    done = cuzk(*prove(folder, "--witness", circuit("bls12381").wtns, "--partition", "1"))
    assert done.code == 2
    assert "--partition" in done.err


def test_a_key_of_another_circuit_is_refused(folder: Path) -> None:
    other = "fallback-post:8-0-0:64n:1s:2c"
    proof = synthetic_post(sector_shape("2KiB"), 1, b"\x07" * 31 + b"\0", challenges=2)
    (folder / "two.vproof").write_bytes(write_post(proof))
    done = cuzk(*prove(folder, "--circuit", other, "--vanilla", folder / "two.vproof"))
    assert done.code == 2
    assert "num_variables" in done.err
