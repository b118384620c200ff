"""A real PoRep through the daemon: 2 KiB are sealed, proven from their vanilla proof over the wire, and verified.

    python -m tests.engine.porep --key keys/porep-2KiB.cuzk

The key is made by `cuzk setup porep:2KiB --key keys/porep-2KiB.cuzk --vkey vkey.json` (minutes); it needs about 4 GiB
of memory. With `--circuit winning-post:2KiB` a PoSt of the same sector's size goes the same way, with a key of 40 MB.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from cuzk.circuits.catalogue import find_circuit
from cuzk.circuits.vanilla.porep import porep_challenges, prove_challenge
from cuzk.circuits.vanilla.porep_files import CommitPhase1, write_commit1_json
from cuzk.circuits.vanilla.shapes import sector_shape
from cuzk.curves import get_curve
from cuzk.engine.client import EngineClient
from cuzk.errors import CuzkError
from cuzk.formats import decode_proof, load_key
from cuzk.groth16.verify import verify
from cuzk.synthesis import ConstraintSystem
from tests.circuits import sectors

__all__ = ["main", "prove_over_the_wire", "seal_and_commit"]

_KINDS = {"porep": 1, "winning-post": 4}
_START_S = 60.0


def seal_and_commit() -> CommitPhase1:
    """The output of the first commit phase of a sector of 2 KiB of random data."""
    sector, seed = sectors.sealed("2KiB"), sectors.SEED
    shape = sector_shape("2KiB")
    challenges = porep_challenges(sector.replica_id, seed, sector.graph.num_nodes, shape.challenges)
    proofs = tuple(prove_challenge(sector, challenge) for challenge in challenges)
    return CommitPhase1(
        (proofs,), comm_r=sector.comm_r, comm_d=sector.comm_d, replica_id=sector.replica_id, seed=seed,
        ticket=sectors.TICKET,
    )  # fmt: skip


def prove_over_the_wire(client: EngineClient, circuit: str, vanilla: bytes, timeout_s: float) -> Any:
    """Submit as an existing client does, and wait; the AwaitProofResponse."""
    family = circuit.partition(":")[0]
    payload = {"vanilla_proof": vanilla} if family == "porep" else {"vanilla_proofs": [vanilla]}
    job = client.call(
        "SubmitProof", proof_kind=_KINDS[family], sector_size=2048, sector_number=7, priority=3, **payload
    )
    return client.wait(job.job_id, timeout_s)


def check(circuit: str, key_file: Path, vanilla: bytes, proof: bytes) -> None:
    """Raise AssertionError unless the bytes are one proof that holds for the vanilla proof's public inputs."""
    assert len(proof) == 192, f"{len(proof)} bytes"
    found = find_circuit(circuit)
    cs = ConstraintSystem(get_curve(found.curve), hints=found.hints(vanilla, "vanilla proof", 0))
    found.record(cs)
    public = (cs.inputs or [])[1:]
    assert public, "a statement without public inputs says nothing"
    vkey = load_key(key_file).verifying_key()
    assert verify(vkey, public, decode_proof(vkey.curve, proof)), "the proof does not verify"
    other = [(public[0] + 1) % vkey.curve.r, *public[1:]]
    assert not verify(vkey, other, decode_proof(vkey.curve, proof)), "it verifies for another statement too"


def run_job(circuit: str, key_file: Path, vanilla: bytes, folder: Path, timeout_s: float) -> dict[str, Any]:
    """Start a daemon, send the job twice, and stop the daemon; figures and the proofs."""
    keys = folder / "keys"
    keys.mkdir()
    (keys / f"{circuit.replace(':', '-')}.cuzk").symlink_to(key_file.resolve())
    address = f"unix:{folder}/socket"
    words = ["daemon", "--listen", address, "--status-listen", "", "--device", "cpu", "--keys", str(keys)]
    began = time.monotonic()
    with (folder / "log").open("wb") as log:
        words = [sys.executable, "-m", "cuzk", *words, "--state", str(folder / "state")]
        daemon = subprocess.Popen(words, stdout=log, stderr=log)
    try:
        with EngineClient(address) as client:
            until_it_answers(client)
            ready_s = time.monotonic() - began
            answers = [prove_over_the_wire(client, circuit, vanilla, timeout_s) for _ in range(2)]
    finally:
        daemon.terminate()
        daemon.wait(timeout_s)
    for answer in answers:
        assert answer.status == 1, answer.error_message
    return {
        "circuit": circuit, "key_bytes": key_file.stat().st_size, "ready_s": round(ready_s, 2),
        "first": times_of(answers[0]), "second": times_of(answers[1]),
        "proofs": [answer.proof for answer in answers],
    }  # fmt: skip


def until_it_answers(client: EngineClient) -> None:
    """Wait until a worker is there."""
    until = time.monotonic() + _START_S
    while time.monotonic() < until:
        try:
            if all(gpu.name != "cpu" for gpu in client.call("GetStatus", timeout_s=5.0).gpus):
                return
        except CuzkError:
            pass
        time.sleep(0.05)
    raise AssertionError("the daemon does not answer")


def times_of(answer: Any) -> dict[str, int]:
    """What the wire says of a job's time, milliseconds."""
    names = ("queue_wait_ms", "srs_load_ms", "synthesis_ms", "gpu_compute_ms", "total_ms")
    return {name: int(getattr(answer, name)) for name in names}


def main(arguments: list[str] | None = None) -> int:
    """Run it, and print figures as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--circuit", choices=["porep:2KiB", "winning-post:2KiB"], default="porep:2KiB")
    parser.add_argument("--key", type=Path, required=True, help="proving key of the circuit")
    parser.add_argument("--timeout", type=float, default=1800.0, metavar="SECONDS")
    chosen = parser.parse_args(arguments)
    is_porep = chosen.circuit.startswith("porep")
    if is_porep:
        vanilla = write_commit1_json(seal_and_commit(), sectors.SECTOR_NUMBER, "2KiB")
    else:
        vanilla = find_circuit(chosen.circuit).synthetic(b"sector 7")
    folder = Path(tempfile.mkdtemp(prefix="cuzk-porep-"))
    try:
        report = run_job(chosen.circuit, chosen.key, vanilla, folder, chosen.timeout)
        for proof in report.pop("proofs"):
            check(chosen.circuit, chosen.key, vanilla, proof)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(report | {"verified": 2, "cpus": os.cpu_count()}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
