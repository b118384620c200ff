"""How long a new process takes to a ready prover, kernels cached: imports, device, kernels, key, first proof.

python -m tests.device.startup [--log 20] [--repeats 3] [--json RESULT.json]

A key of a PoRep-shaped circuit is made and saved once; every sample is a fresh Python process that opens it.  Ready
means: a Prover that holds the key and whose kernels are loaded.  The limit is 3 s for a domain of 2^20.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from cuzk.device import Device, get_device
from tests.device import gpu
from tests.device.results import ROOT, Results, tree_digest

READY_LIMIT_S = 3.0
#: A sample that takes longer is given up.
_TIMEOUT_S = 120


def prepare(folder: Path, log_domain: int, device: Device) -> None:
    """Save a key and a witness of it."""
    import numpy as np

    from cuzk.formats.cuzk_key import save_cuzk_key
    from cuzk.groth16 import ToxicWaste
    from cuzk.groth16.setup import setup
    from tests.workloads.porep_shape import porep_shape

    circuit, witness = porep_shape(log_domain)
    save_cuzk_key(
        folder / "key.cuzk", setup(circuit, device, toxic_waste=ToxicWaste.from_seed(circuit.curve, 1))
    )
    np.save(folder / "witness.npy", witness.values)


def sample(folder: Path, spawned: float, name: str) -> dict[str, float]:
    """In a fresh process: seconds from its start to each point."""
    points = {"python": time.time() - spawned}

    import numpy as np

    from cuzk.device import get_device
    from cuzk.formats.cuzk_key import load_cuzk_key
    from cuzk.groth16 import Prover
    from cuzk.witness import Witness

    points["imports"] = time.time() - spawned
    device = get_device(name)
    points["device"] = time.time() - spawned
    key = load_cuzk_key(folder / "key.cuzk")
    device.load(key.curve.name)
    points["kernels"] = time.time() - spawned
    prover = Prover(key, device)
    device.synchronize()
    points["ready"] = time.time() - spawned
    prover.prove(Witness(key.curve, np.load(folder / "witness.npy")))
    points["first_proof"] = time.time() - spawned
    return points


def run_sample(folder: Path, device: str) -> dict[str, float]:
    """Start a fresh process and read what it measured."""
    command = [
        sys.executable,
        "-m",
        "tests.device.startup",
        "--sample",
        str(folder),
        "--device",
        device,
        "--spawned",
        repr(time.time()),
    ]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the sample failed: {done.stderr[-2000:]}")
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> int:
    """Entry point; returns the exit code: 1 if the median start takes longer than the limit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--log", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--sample", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--spawned", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.sample:
        print(json.dumps(sample(options.sample, options.spawned, options.device)))
        return 0
    reason = gpu.why_none() if options.device.startswith("cuda") else ""
    if reason:
        print(f"startup skipped: {reason}")
        return 0
    device = get_device(options.device)
    results = Results(options.json, {"device": device.name, "build": device.build_key, "tree": tree_digest()})
    rows: list[dict[str, Any]] = results.data["rows"]
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name), options.log, device)
        run_sample(
            Path(name), options.device
        )  # fills the page cache and, the first time ever, the kernel cache
        for _ in range(options.repeats):
            row = run_sample(Path(name), options.device)
            results.add(
                {
                    "log_domain": options.log,
                    **row,
                    "limit_s": READY_LIMIT_S,
                    "pass": row["ready"] <= READY_LIMIT_S,
                }
            )
            print("  ".join(f"{point} {seconds:.2f} s" for point, seconds in row.items()), flush=True)
    results.finish()
    ready = sorted(row["ready"] for row in rows)[len(rows) // 2]
    print(f"result: ready in {ready:.2f} s (median of {len(rows)}), limit {READY_LIMIT_S:g} s")
    return int(ready > READY_LIMIT_S)


if __name__ == "__main__":
    raise SystemExit(main())
