"""Every two values of two variants together in a proof, and always the same bytes.

python -m tests.variants.covering --device cpu|emu|cuda [--curve bn254] [--log 8] [--circuits 3] [--budget-s 500]
    [--json RESULT.json]

Every row of a pairwise covering array over all values that the device has proves a batch with fixed blinding; the bytes
are those of the defaults on the cpu, and the events, launches and copies of each run show each value at work. What is
left out is printed with its reason.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cuzk_fuzz.covering import Factor, covering_array

from cuzk.device import Device, get_device
from cuzk.errors import InputError
from cuzk.groth16 import Blinding, Prover
from cuzk.keys import ProvingKey
from cuzk.proof import Proof
from cuzk.telemetry import Recorder
from cuzk.variants import VARIANTS
from cuzk.witness import Witness
from tests.device.results import Results, tree_digest
from tests.prover.support import blinding, key, workload
from tests.variants.circuit import classes
from tests.variants.evidence import Run, missing_evidence, noting_launches

__all__ = ["Bench", "factors", "left_out"]

#: Wider windows have thousands of buckets for each of a few hundred terms; tests/kernels/test_msm_windows.py has them.
WIDEST = 12


def left_out(device: Device, circuits: int) -> dict[str, dict[str, str]]:
    """Variant -> value -> why no row has it."""
    found: dict[str, dict[str, str]] = {}
    for row in VARIANTS.values():
        reasons = {value: row.why_not(value, device.kind) for value in row.values}
        if row.id == "D4":
            reasons |= {
                value: f"2^{int(value) - 1} buckets a window for a few hundred terms: the kernels' tests have them"
                for value in row.values
                if value.isdigit() and int(value) > WIDEST
            }
            try:
                Prover(small_key(), device, variants={"D4": "per_msm"})
            except InputError as error:
                reasons["per_msm"] = str(error).splitlines()[0]
        if row.id == "C1":
            reasons |= {
                value: f"as {circuits} for a batch of {circuits}"
                for value in row.values
                if value.isdigit() and int(value) > circuits
            }
        found[row.id] = {value: reason for value, reason in reasons.items() if reason is not None}
    return {name: reasons for name, reasons in found.items() if reasons}


def small_key() -> ProvingKey:
    """Any key."""
    return key(workload("bits", "bls12_381", 20))


def factors(
    device: Device, circuits: int, only: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> list[Factor]:
    """What varies on a device; of some variants `only` these values."""
    out = left_out(device, circuits)
    found = []
    for row in VARIANTS.values():
        values = tuple(value for value in row.values if value not in out.get(row.id, {}))
        values = tuple(value for value in values if value in only.get(row.id, values))
        if len(values) > 1:
            default = row.default_for(device.kind)
            found.append(Factor(row.id, values, default, row.only_with))
    # Those that others depend on come first.
    return sorted(found, key=lambda factor: factor.only_with is not None)


class Bench:
    """A key, a batch of witnesses, and the proofs that every setting must give.

    Args:
        device: Where to prove.
        curve: Which curve.
        log_domain: log2 of the rows.
        circuits: Proofs in a batch.
    """

    def __init__(self, device: Device, curve: str, log_domain: int, circuits: int) -> None:
        self.device, self.circuits = device, circuits
        # As many rows as the domain holds beside those that bind the inputs.
        loads = [classes(curve, (1 << log_domain) - 8, seed) for seed in range(circuits)]
        load, self.curve = loads[0], loads[0].curve
        self.key, self.monomial = key(load, "odd_lagrange"), key(load, "monomial")
        self.witnesses: list[Witness] = [one.witness for one in loads]
        self.expected = Prover(self.key, get_device("cpu")).prove_batch(
            self.witnesses, blindings=self.blindings(), self_check=False
        )

    def blindings(self) -> list[Blinding]:
        """Other blinding for every circuit."""
        return [blinding(self.curve, 7 + i, 11 + i) for i in range(self.circuits)]

    def run(self, variants: dict[str, str]) -> tuple[list[Proof], Run]:
        """Prove the batch; what the run leaves behind."""
        recorder = Recorder()
        chosen = self.monomial if variants.get("Q1") == "seven_ntt" else self.key
        prover = Prover(chosen, self.device, variants=variants, recorder=recorder)
        run = Run(self.device, prover.variants, self.circuits, self.curve.fr.nbytes << self.key.log_domain)
        with noting_launches(self.device, run):
            proofs = prover.prove_batch(self.witnesses, blindings=self.blindings(), self_check=False)
        return proofs, dataclasses.replace(run, events=recorder.events)

    def faults(self, variants: dict[str, str]) -> list[str]:
        """What is wrong with a row; nothing, if all is well."""
        proofs, run = self.run(variants)
        wrong = [
            i for i, (ours, right) in enumerate(zip(proofs, self.expected, strict=True)) if ours != right
        ]
        return [f"proofs {wrong} differ"] * bool(wrong) + missing_evidence(run)


def check(bench: Bench, rows: Sequence[dict[str, str]], budget_s: float) -> Iterator[dict[str, Any]]:
    """Run rows while there is time; a result for each."""
    start = time.perf_counter()
    for number, row in enumerate(rows):
        if time.perf_counter() - start > budget_s:
            yield {"row": number, "variants": row, "faults": ["not run: no time was left"]}
            continue
        begin = time.perf_counter()
        faults = bench.faults(row)
        yield {
            "row": number,
            "variants": row,
            "faults": faults,
            "seconds": round(time.perf_counter() - begin, 3),
        }


def main() -> int:
    """Entry point; returns the exit code: 1 if a row is wrong or was not run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--curve", default="bn254")
    parser.add_argument("--log", type=int, help="log2 of the rows; 7 on emu, 10 on cpu, 12 on cuda")
    parser.add_argument("--circuits", type=int, default=3)
    parser.add_argument("--budget-s", type=float, default=3600)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    device = get_device(options.device)
    device.load(options.curve)
    log_domain = options.log or {"emu": 7, "cpu": 10, "cuda": 12}[device.kind]
    out = left_out(device, options.circuits)
    for name, reasons in out.items():
        for reason in dict.fromkeys(reasons.values()):
            values = ", ".join(value for value, why in reasons.items() if why == reason)
            print(f"left out: {name}={values}: {reason}")
    made = factors(device, options.circuits)
    rows = covering_array(made)
    count = sum(len(factor.values) for factor in made)
    print(
        f"{len(rows)} rows cover all pairs of {count} values of {len(made)} variants on {device.name}",
        flush=True,
    )
    bench = Bench(device, options.curve, log_domain, options.circuits)
    head = {"device": device.name, "build": device.build_key, "tree": tree_digest()}
    shape = {"curve": options.curve, "log_domain": log_domain, "circuits": options.circuits, "left_out": out}
    results = Results(options.json, head | shape)
    for result in check(bench, rows, options.budget_s):
        results.add(result)
        if result["faults"]:
            print(f"row {result['row']}: {result['faults']}\n  {result['variants']}", flush=True)
    results.finish()
    done = results.data["rows"]
    bad = [result for result in done if result["faults"]]
    print(f"{len(done) - len(bad)} rows of {len(done)} gave the bytes and the traces that they should")
    return int(bool(bad))


if __name__ == "__main__":
    raise SystemExit(main())
