"""Regressions of writing files: reports FIL-14 and FIL-15, each checked as a kind of fault.

Would catch: an output that destroys its input, under whatever name; half of a file under the name of a whole one.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import cuzk
from cuzk.errors import InputError
from cuzk.formats import load_cuzk_key, save_cuzk_key
from tests.cli.support import cuzk as command
from tests.regressions.support import files


@pytest.mark.parametrize("kind", ["same", "symlink", "hard link"])
def test_fil_14_an_output_never_destroys_an_input(kind: str, tmp_path: Path) -> None:
    f = files("bn254")
    inputs = {}
    for suffix in ("zkey", "wtns", "r1cs"):
        inputs[suffix] = tmp_path / f"a.{suffix}"
        inputs[suffix].write_bytes(f.path(suffix).read_bytes())

    def alias(path: Path) -> Path:
        if kind == "same":
            return path
        other = tmp_path / f"alias{path.suffix}"
        other.unlink(missing_ok=True)
        if kind == "symlink":
            other.symlink_to(path)
        else:
            other.hardlink_to(path)
        return other

    before = {path: path.read_bytes() for path in inputs.values()}
    prove: list[str | Path] = ["prove", "--key", inputs["zkey"], "--witness", inputs["wtns"]]
    runs: list[list[str | Path]] = [
        [*prove, "--proof", alias(inputs["zkey"]), "--public", tmp_path / "p.json"],
        [*prove, "--proof", tmp_path / "q.json", "--public", alias(inputs["wtns"])],
        ["setup", inputs["r1cs"], "--key", alias(inputs["r1cs"]), "--vkey", tmp_path / "v.json", "--force"],
        ["key", "convert", inputs["zkey"], "--out", alias(inputs["zkey"]), "--force"],
        ["key", "export", inputs["zkey"], "--format", "zkey", "--out", alias(inputs["zkey"]), "--force"],
    ]
    for words in runs:
        done = command(*words)
        # A hard link is another name: writing replaces that name and leaves the input's content alone.
        assert done.code == (0 if kind == "hard link" else 2), (words, done)
        assert {path: path.read_bytes() for path in inputs.values()} == before


WRITER = """
import sys
from cuzk.formats import load_cuzk_key, save_cuzk_key
first, second = (load_cuzk_key(path) for path in sys.argv[1:3])
print("ready", flush=True)
while True:
    for key in (second, first):
        save_cuzk_key(sys.argv[3], key, overwrite=True)
"""


@pytest.mark.timeout(900)
def test_fil_15_a_killed_writer_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    first, second, target = (tmp_path / f"{name}.cuzk" for name in ("first", "second", "target"))
    save_cuzk_key(first, files("bn254").key)
    save_cuzk_key(second, files("bn254", "no_public").key)
    known = {first.read_bytes(), second.read_bytes()}
    root = str(Path(cuzk.__file__).resolve().parents[1])
    for delay in (0.0, 0.003, 0.011, 0.029):
        target.write_bytes(first.read_bytes())
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, first, second, target], stdout=subprocess.PIPE, cwd=root
        )
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        time.sleep(delay)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        assert target.read_bytes() in known
        load_cuzk_key(target, verify="all")
    with pytest.raises(InputError):
        save_cuzk_key(target, files("bn254").key)
