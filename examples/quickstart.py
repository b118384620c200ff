"""Make and verify a real Groth16 proof, from a circuit made on the spot to the files that a verifier needs.

    python examples/quickstart.py [--curve bls12_381|bn254] [--size CONSTRAINTS] [--out FOLDER] [--device D]

The circuit says "I know a leaf and a path to this Merkle root". This script writes it and a witness as
.r1cs and .wtns, the formats of circom and snarkjs, and then runs three commands that you can run yourself:

    cuzk setup    a key pair for the circuit (once per circuit; a further run finds it in the folder)
    cuzk prove    a proof from key and witness
    cuzk verify   the check that somebody else would make, from the small files alone
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from cuzk_examples.files import r1cs_bytes, write_if_changed, wtns_bytes
from cuzk_examples.mimc import depth_for, merkle_path

from cuzk.curves import get_curve


@dataclass(frozen=True)
class Files:
    """Where everything lies. Names carry curve and depth, so that runs of several kinds share a folder."""

    folder: Path
    stem: str

    def path(self, suffix: str) -> Path:
        """The file of this run with a suffix."""
        return self.folder / f"{self.stem}{suffix}"


class StepFailedError(Exception):
    """A command ended with another status than 0; carries that status."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the command ended with status {status}")
        self.status = status


def run_cuzk(*arguments: str | Path) -> float:
    """Run one cuzk command in a process of its own, as a shell would; returns the seconds it took."""
    words = [str(argument) for argument in arguments]
    print(f"\n$ cuzk {shlex.join(words)}", flush=True)
    start = time.perf_counter()
    # -P keeps the working directory off the import path: the installed package runs, not a source tree.
    status = subprocess.run([sys.executable, "-P", "-m", "cuzk", *words], check=False).returncode
    seconds = time.perf_counter() - start
    if status != 0:
        raise StepFailedError(status)
    return seconds


def write_circuit(curve: str, size: int, folder: Path) -> Files:
    """Generate circuit and witness and write their files; a key made for another circuit is removed."""
    start = time.perf_counter()
    circuit = merkle_path(get_curve(curve).r, depth_for(size))
    files = Files(folder, f"merkle_{depth_for(size)}_{curve}")
    changed = write_if_changed(files.path(".r1cs"), r1cs_bytes(circuit))
    write_if_changed(files.path(".wtns"), wtns_bytes(circuit))
    if changed:
        files.path(".cuzk").unlink(missing_ok=True)
    print(
        f"A Merkle path of {depth_for(size)} levels over {curve}: {circuit.num_constraints} constraints, "
        f"{circuit.num_variables} variables, {circuit.num_public} public value; "
        f"made and written in {time.perf_counter() - start:.1f} s."
    )
    print(f"  circuit  {files.path('.r1cs')}\n  witness  {files.path('.wtns')}")
    return files


def make_and_verify(files: Files, device: str) -> None:
    """Set-up where there is no key yet, then a proof, then its verification."""
    key, vkey = files.path(".cuzk"), files.path("_vkey.json")
    proof, public = files.path("_proof.json"), files.path("_public.json")
    if key.exists() and vkey.exists():
        print(f"\nThe key of an earlier run is there: {key}")
    else:
        key.unlink(missing_ok=True)
        vkey.unlink(missing_ok=True)
        seconds = run_cuzk("setup", files.path(".r1cs"), "--key", key, "--vkey", vkey)
        print(f"Set-up took {seconds:.1f} s.")
    options: list[str | Path] = ["--proof", proof, "--public", public, "--device", device]
    seconds = run_cuzk("prove", "--key", key, "--witness", files.path(".wtns"), *options)
    print(f"Proving took {seconds:.1f} s, start of the program and check of the proof included.")
    seconds = run_cuzk("verify", "--vkey", vkey, "--public", public, "--proof", proof)
    print(f"Verification took {seconds:.1f} s, start of the program included.")
    print(f"\nThe proof is in {proof}, the root it speaks of in {public}.")
    print(f"Send both with {vkey} to whoever wants to check them; snarkjs reads them too.")


def main() -> int:
    """Command line; the exit status is that of the first command that fails."""
    parser = argparse.ArgumentParser(description="Make and verify a real Groth16 proof.")
    parser.add_argument("--curve", choices=["bls12_381", "bn254"], default="bls12_381")
    parser.add_argument(
        "--size", type=int, default=30_000, help="about so many constraints (default %(default)s)"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("quickstart-out"), help="folder (default %(default)s)"
    )
    parser.add_argument("--device", default="auto", help="auto, cpu, emu, cuda, cuda:N (default %(default)s)")
    options = parser.parse_args()
    if options.size < 1:
        parser.error(f"--size must be at least 1, not {options.size}")
    options.out.mkdir(parents=True, exist_ok=True)
    try:
        make_and_verify(write_circuit(options.curve, options.size, options.out), options.device)
    except StepFailedError as failure:
        print(f"\nStopped: {failure}.", file=sys.stderr)
        return failure.status
    return 0


if __name__ == "__main__":
    sys.exit(main())
