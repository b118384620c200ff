"""What must hold between cuzk and snarkjs for one folder of circuit files: checks that raise on a difference.

Both programs run as processes of their own, the way their users run them. A folder NAME holds NAME.r1cs,
NAME.wtns and snarkjs's vkey.json, proof.json and public.json, and mostly NAME.zkey and proof_r7_s11.json.
"""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cuzk_oracles import third_party
from cuzk_oracles.parsers import parse_proof_json, parse_public_json, parse_vkey_json
from cuzk_oracles.verify import verify

# snarkjs 0.7.6 is what the stored proofs and keys were made with.
SNARKJS_PACKAGE = "snarkjs@0.7.6"

# Neither descends from arkworks, which verifies for cuzk on BLS12-381. py_ecc knows both curves.
OTHER_PAIRINGS = ("pyblst", "py_ecc")

# No command here takes anywhere near so long; a hanging one must not hang the whole run.
_TIMEOUT_S = 900


class CheckFailedError(Exception):
    """A check found a difference; the message says which."""


@dataclass(frozen=True)
class Triple:
    """Everything that a verifier reads."""

    vkey: Path
    public: Path
    proof: Path


@dataclass(frozen=True)
class Case:
    """One folder, a scratch folder of its own, and the snarkjs program."""

    folder: Path
    work: Path
    snarkjs: Path

    @property
    def title(self) -> str:
        """CURVE/NAME."""
        return f"{self.folder.parent.name}/{self.folder.name}"

    @property
    def has_zkey(self) -> bool:
        """Whether snarkjs's proving key is there."""
        return self._file("zkey").exists()

    @property
    def has_golden(self) -> bool:
        """Whether there is a proof with known blinding to compare with."""
        return self.has_zkey and (self.folder / "proof_r7_s11.json").exists()

    @property
    def num_constraints(self) -> int:
        """Rows of the circuit, from the header section of its file."""
        with self._file("r1cs").open("rb") as file:
            file.seek(12)
            while (head := file.read(12))[:4] != b"\x01\0\0\0":
                file.seek(int.from_bytes(head[4:], "little"), 1)
            return int(struct.unpack_from("<I", file.read(64), 60)[0])

    @property
    def theirs(self) -> Triple:
        """Snarkjs's key and proof."""
        return Triple(self.folder / "vkey.json", self.folder / "public.json", self.folder / "proof.json")

    def _file(self, extension: str) -> Path:
        return self.folder / f"{self.folder.name}.{extension}"

    def cuzk(self, *arguments: str | Path) -> int:
        """Run cuzk; exit statuses other than 0 and 1 fail the check on the spot."""
        # -P keeps the working directory off the import path: the installed package runs, not a source tree.
        command = [sys.executable, "-P", "-m", "cuzk", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S)
        if done.returncode not in (0, 1):
            raise CheckFailedError(
                f"cuzk {arguments[0]} ended with {done.returncode}: {done.stderr.strip()[-500:]}"
            )
        return done.returncode

    def prove(self, stem: str, key: Path, vkey: Path, *options: str) -> Triple:
        """Prove with cuzk; the proof must state the same public values as snarkjs's."""
        made = Triple(vkey, self.work / f"{stem}_public.json", self.work / f"{stem}_proof.json")
        outputs: list[str | Path] = ["--proof", made.proof, "--public", made.public]
        status = self.cuzk("prove", "--key", key, "--witness", self._file("wtns"), *outputs, *options)
        if status != 0:
            raise CheckFailedError("cuzk prove ended with 1")
        if json.loads(made.public.read_text()) != json.loads(self.theirs.public.read_text()):
            raise CheckFailedError("cuzk wrote other public values than snarkjs")
        return made

    def snarkjs_accepts(self, triple: Triple) -> bool:
        """What snarkjs says about a proof."""
        command = [
            str(self.snarkjs),
            "groth16",
            "verify",
            str(triple.vkey),
            str(triple.public),
            str(triple.proof),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S)
        said_ok = "OK!" in done.stdout
        if said_ok != (done.returncode == 0):
            raise CheckFailedError(
                f"snarkjs contradicts itself: status {done.returncode}, {done.stdout.strip()}"
            )
        return said_ok

    def run_snarkjs(self, *arguments: str | Path) -> None:
        """Run a snarkjs command that must succeed."""
        command = [str(self.snarkjs), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S)
        if done.returncode != 0:
            raise CheckFailedError(
                f"snarkjs {arguments[0]} ended with {done.returncode}: {done.stdout[-500:]}"
            )

    def spoiled(self, triple: Triple) -> Triple:
        """The same with C replaced by A: on the curve, in the subgroup, and false."""
        proof = json.loads(triple.proof.read_text())
        proof["pi_c"] = proof["pi_a"]
        path = self.work / f"spoiled_{triple.proof.name}"
        path.write_text(json.dumps(proof))
        return Triple(triple.vkey, triple.public, path)


def pairing_accepts(library: str, triple: Triple) -> bool | None:
    """What a pairing library says about a proof; None where it does not know the curve."""
    params, proof = parse_proof_json(triple.proof.read_text())
    if not third_party.get(library).supports("pairing", params):
        return None
    _, vkey = parse_vkey_json(triple.vkey.read_text())
    return verify(params, vkey, parse_public_json(triple.public.read_text(), params), proof, library)


def _must_be_accepted(case: Case, triple: Triple) -> None:
    if not case.snarkjs_accepts(triple):
        raise CheckFailedError("snarkjs rejects our proof")
    if case.snarkjs_accepts(case.spoiled(triple)):
        raise CheckFailedError("snarkjs accepts a spoiled proof, so its verdict means nothing here")
    for library in OTHER_PAIRINGS:
        if pairing_accepts(library, triple) is False:
            raise CheckFailedError(f"{library} rejects our proof")


def their_key(case: Case) -> None:
    """With snarkjs's key, snarkjs and pairings of other lineages accept our proof."""
    _must_be_accepted(case, case.prove("their_key", case._file("zkey"), case.theirs.vkey))


def own_key(case: Case) -> None:
    """With a key of our own, snarkjs and pairings of other lineages accept our proof."""
    key, vkey = case.work / "own.cuzk", case.work / "own_vkey.json"
    if case.cuzk("setup", case._file("r1cs"), "--key", key, "--vkey", vkey) != 0:
        raise CheckFailedError("cuzk setup ended with 1")
    _must_be_accepted(case, case.prove("own_key", key, vkey))


def their_proof(case: Case) -> None:
    """We accept snarkjs's proof, and reject it spoiled."""
    for triple, expected in ((case.theirs, 0), (case.spoiled(case.theirs), 1)):
        files: list[str | Path] = ["--vkey", triple.vkey, "--public", triple.public, "--proof", triple.proof]
        if case.cuzk("verify", *files) != expected:
            raise CheckFailedError(
                "we reject snarkjs's proof" if expected == 0 else "we accept a spoiled proof"
            )


def _golden(case: Case, device: str) -> None:
    options = ["--insecure-blinding", "7,11", "--device", device]
    made = case.prove(f"golden_{device}", case._file("zkey"), case.theirs.vkey, *options)
    if json.loads(made.proof.read_text()) != json.loads((case.folder / "proof_r7_s11.json").read_text()):
        raise CheckFailedError(f"on {device} the proof with blinding 7, 11 is not the stored one")


def golden_cpu(case: Case) -> None:
    """With blinding 7, 11 the cpu device makes the stored proof, number for number."""
    _golden(case, "cpu")


def golden_emu(case: Case) -> None:
    """With blinding 7, 11 the emulator makes the stored proof, number for number."""
    _golden(case, "emu")


def our_zkey(case: Case) -> None:
    """With the .zkey that we export of a key of our own, snarkjs proves, and reads the same verification key."""
    key, vkey, zkey = case.work / "zk.cuzk", case.work / "zk_vkey.json", case.work / "zk.zkey"
    made = Triple(case.work / "zk_their_vkey.json", case.work / "zk_public.json", case.work / "zk_proof.json")
    if case.cuzk("setup", case._file("r1cs"), "--key", key, "--vkey", vkey) != 0:
        raise CheckFailedError("cuzk setup ended with 1")
    if case.cuzk("key", "export", key, "--format", "zkey", "--out", zkey) != 0:
        raise CheckFailedError("cuzk key export ended with 1")
    case.run_snarkjs("groth16", "prove", zkey, case._file("wtns"), made.proof, made.public)
    case.run_snarkjs("zkey", "export", "verificationkey", zkey, made.vkey)
    theirs, ours = (json.loads(path.read_text()) for path in (made.vkey, vkey))
    if theirs != theirs | ours:
        raise CheckFailedError("snarkjs reads another verification key from our .zkey")
    _must_be_accepted(case, made)


CHECKS: dict[str, Callable[[Case], None]] = {
    check.__name__: check for check in (their_key, own_key, our_zkey, their_proof, golden_cpu, golden_emu)
}


def applies(check: str, case: Case) -> bool:
    """Whether a folder has what a check needs."""
    if check == "their_key":
        return case.has_zkey
    if check in ("golden_cpu", "golden_emu"):
        return case.has_golden
    return True


def find_folders(root: Path) -> list[Path]:
    """All circuit folders under root/CURVE, in order."""
    return sorted(path.parent for path in root.glob("*/*/*.r1cs") if path.stem == path.parent.name)
