"""The ledger's comparison by turns as an instrument on a GPU: planted slow-downs, and the same build against itself.

python -m tests.device.ledger [--log 20] [--planted 60] [--same 100] [--json RESULT.json] [--budget-s 480]
python -m tests.device.ledger --show RESULT.json

A trial is a whole comparison (cuzk/perf/pairs.py) of every phase of a proof with the shape of a PoRep partition, by the
device's own time (cuzk/telemetry/device_time.py); one trial judges all phases, by the same proofs.  All three sides are
one prover; in a planted trial side B does more work on the device in every phase at once, launched on its stream inside
what is measured: 1.5% of a phase of 5 ms, 4% of one of 0.5 ms.  What was planted is measured as well, so that it can be
held against what was seen.  Proofs end before the host assembles them.  A call that finds trials of the same tree in
RESULT goes on after them, and one that ends before the last trial exits with 75.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from cuzk.cli.perf_ab import judge_phases
from cuzk.cli.perf_load import Load
from cuzk.device import Device, get_device
from cuzk.groth16 import Blinding, Prover, ToxicWaste, setup
from cuzk.perf import Answer, Outcome, PairLimits, rate_upper_bound, read_tolerances
from cuzk.telemetry import PHASES, DeviceTime, Recorder
from tests.device import gpu
from tests.device.results import ROOT, UNFINISHED, Results, tree_digest
from tests.workloads.porep_shape import porep_shape

#: (least milliseconds of a phase, share of it that is planted), largest phases first.
SHARES = ((5.0, 0.015), (0.5, 0.04))
#: Phases whose work is the device's and who end with it; parts of them don't.
JUDGED = frozenset(
    name
    for name, spec in PHASES.items()
    if spec.on_device and {"prove", "synthesis", "ntt_msm_h"} & {*spec.parents}
)
#: Of 60 planted trials so many have to be caught.
_CAUGHT = 57 / 60
#: And of trials of the same against the same so many have to pass: an instrument that never says is none.
_PASSED = 95 / 100
#: Seen over planted above which something else was seen as well.
_FAR_MORE = 1.5
#: Proofs by which a phase's time is known.
_ONCE = 5


def share_of(milliseconds: float) -> float:
    """The share that is planted in a phase; 0 where it is too short to be judged."""
    return next((share for least, share in SHARES if milliseconds >= least), 0.0)


class Side:
    """One side of a comparison.

    Args:
        bench: The prover that all sides share.
        is_slower: Whether its phases have more work.
    """

    def __init__(self, bench: Bench, *, is_slower: bool) -> None:
        self._bench, self._is_slower, self.ready = bench, is_slower, bench.once

    def sample(self, proofs: int) -> dict[str, float]:
        """Phase -> milliseconds of so many proofs."""
        return self._bench.prove(proofs, is_slower=self._is_slower)


class Bench:
    """A prover, and what the device spends on each of its phases.

    Args:
        device: Where it proves.
        curve: Name of the curve.
        log_domain: Size of the circuit.
    """

    def __init__(self, device: Device, curve: str, log_domain: int) -> None:
        circuit, plain = porep_shape(log_domain, curve=curve)
        key = setup(circuit, device, toxic_waste=ToxicWaste.from_seed(circuit.curve, 1))
        self.load = Load(device, circuit.curve, min(22, log_domain + 2))
        self.meter = DeviceTime(device, self.load.hold)
        self._recorder = Recorder([self.meter], keep=64)
        self._prover, self._witness = Prover(key, device, recorder=self._recorder), plain
        self.planted_ms: list[dict[str, float]] = []
        self._plants: dict[str, Callable[[], None]] = {}
        self.prove(2)  # learns, and builds what the first proof builds
        self.meter.mode = "hold"
        taken = [self.prove(1) for _ in range(_ONCE)]
        self.once = {phase: statistics.median(one[phase] for one in taken) for phase in taken[0]}
        for phase, took in self.once.items():
            if share := share_of(took):
                self._plants[phase] = partial(self.load.run, share * took)
        self.meter.relearn()  # all sides are held up alike, by what the slower one needs
        self.prove(_ONCE, is_slower=True)
        self.meter.mode = "hold"
        self.prove(3, is_slower=True)
        self.meter.tighten()
        self.planted_ms.clear()

    def prove(self, proofs: int, *, is_slower: bool = False) -> dict[str, float]:
        """Phase -> milliseconds that the device spends on so many proofs, up to their assembly by the host."""
        self.meter.plants = self._plants if is_slower else {}
        for _ in range(proofs):
            self._prover.start([self._witness], blindings=[Blinding(7, 11)], self_check=False)
        spent = self.meter.take()
        if is_slower:
            self.planted_ms.append({p: took / proofs for p, took in self.meter.take_planted().items()})
        return {phase: took for phase, took in spent.items() if phase in JUDGED}

    def close(self) -> None:
        """Leave the device as it was."""
        self.meter.close()


def trial(bench: Bench, kind: str, pairs: int) -> dict[str, Any]:
    """One comparison of every phase.

    Args:
        bench: The prover.
        kind: "planted" or "same".
        pairs: The most rounds.
    """
    bench.planted_ms.clear()
    began = time.perf_counter()
    a, b, twin = (Side(bench, is_slower=kind == "planted" and side == "B") for side in "ABC")
    tolerances = read_tolerances(ROOT / "perf_baselines" / "tolerances.toml")
    answers = judge_phases(
        a, b, twin, lambda phase: PairLimits.of(tolerances, "time", phase), pairs, sample_ms=0.0
    )
    planted = {
        phase: statistics.median(one.get(phase, 0.0) for one in bench.planted_ms) if bench.planted_ms else 0.0
        for phase in answers
    }
    rows = {phase: _row(answer, bench.once[phase], planted[phase]) for phase, answer in answers.items()}
    return {"kind": kind, "seconds": round(time.perf_counter() - began, 3), "phases": rows}


def _row(answer: Answer, milliseconds: float, planted_ms: float) -> dict[str, Any]:
    found = answer.comparison
    return {
        "ms": milliseconds, "share": share_of(milliseconds), "outcome": answer.outcome.value,
        "planted": planted_ms / milliseconds, "seen": None if found is None else math.expm1(found.median),
        "pairs": answer.control.pairs, "same": answer.control.median, "spread": answer.control.sigma / 2**0.5,
    }  # fmt: skip


def summarise(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Of each kind and phase: trials, outcomes, what was planted and seen, and the 95% bound of false alarms."""
    table: dict[str, Any] = {}
    for row in rows:
        for phase, said in row["phases"].items():
            into = table.setdefault(row["kind"], {}).setdefault(
                phase,
                {"trials": 0, **{o.value: 0 for o in Outcome}, "ms": said["ms"], "share": said["share"]},
            )
            into["trials"] += 1
            into[said["outcome"]] += 1
    for kind, phases in table.items():
        for phase, into in phases.items():
            found = [row["phases"][phase] for row in rows if row["kind"] == kind and phase in row["phases"]]
            for name in ("planted", "seen", "spread", "pairs"):
                values = [said[name] for said in found if said[name] is not None]
                into[name] = statistics.median(values) if values else None
            seen = [(said["seen"], said["planted"]) for said in found if said["seen"] is not None]
            into["seen_least"], into["seen_most"] = (
                end(s for s, _ in seen) if seen else None for end in (min, max)
            )
            if kind == "planted":
                into["seen_far_more"] = sum(value > _FAR_MORE * planted for value, planted in seen)
            if kind == "same":
                alarms = into["slower"] + into["faster"]
                into["false_alarms_at_most"] = rate_upper_bound(alarms, into["trials"])
    return table


def show(table: dict[str, Any]) -> None:
    """Print a line a kind and phase."""
    for kind, phases in table.items():
        for phase, said in phases.items():
            print(f"{kind:8} {phase:16} {json.dumps(said)}", flush=True)


def is_met(table: dict[str, Any]) -> bool:
    """Whether in every phase enough planted slow-downs were caught, enough of the same passed, and nothing alarmed."""
    caught = all(said["slower"] >= _CAUGHT * said["trials"] for said in table.get("planted", {}).values())
    same = table.get("same", {}).values()
    passed = all(said["same"] >= _PASSED * said["trials"] for said in same)
    return caught and passed and not any(said["slower"] + said["faster"] for said in same)


def _kinds_left(planted: int, same: int, done: Counter[str]) -> list[str]:
    """Kinds of the trials to come, spread over each other, so that a call that ends early has some of both."""
    total = planted + same
    steps = [(i + 1) * planted // total - i * planted // total for i in range(total)]
    left = Counter({"planted": planted, "same": same}) - done
    kinds = []
    for kind in ("planted" if step else "same" for step in steps):
        if left[kind] > 0:
            left[kind] -= 1
            kinds.append(kind)
    return kinds


def _open(path: Path | None, head: dict[str, Any]) -> Results:
    """The result file, with the trials of an earlier call of the same tree, size and device."""
    old: list[dict[str, Any]] = []
    if path is not None and path.exists():
        stored = json.loads(path.read_text(encoding="utf-8"))
        old = stored["rows"] if all(stored.get(key) == value for key, value in head.items()) else []
    results = Results(path, head)
    for row in old:
        results.add(row)
    return results


def main() -> int:
    """Entry point; 1 if the comparison does not see what it should, 75 if trials are left."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--log", type=int, default=20, help="log2 of the domain")
    parser.add_argument("--curve", default="bls12_381")
    parser.add_argument("--planted", type=int, default=60, help="trials with more work in each phase")
    parser.add_argument("--same", type=int, default=100, help="trials of the same against the same")
    parser.add_argument("--pairs", type=int, default=60, help="the most rounds of a trial")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--budget-s", type=float, default=480)
    parser.add_argument(
        "--show", type=Path, help="print what the trials of a result file come to, and run none"
    )
    options = parser.parse_args()
    if options.show is not None:
        show(summarise(json.loads(options.show.read_text(encoding="utf-8"))["rows"]))
        return 0
    if reason := gpu.why_none() if options.device.startswith("cuda") else "":
        print(f"ledger skipped: {reason}")
        return 0
    clock, device = gpu.Clock(options.budget_s), get_device(options.device)
    device.load(options.curve)
    head = {
        "device": device.name,
        "build": device.build_key,
        "tree": tree_digest(),
        "log_domain": options.log,
    }
    results = _open(options.json, head | {"curve": options.curve, "pairs": options.pairs})
    rows = results.data["rows"]
    kinds = _kinds_left(options.planted, options.same, Counter(row["kind"] for row in rows))
    bench, longest = Bench(device, options.curve, options.log), 0.0
    for kind in kinds:
        began = clock.left_s
        if began < 1.5 * longest:
            break
        results.add(trial(bench, kind, options.pairs))
        longest = max(longest, began - clock.left_s)
    print(f"spans of a proof are held up for {bench.meter.held_ms:.1f} ms together", flush=True)
    bench.close()
    table = results.data["summary"] = summarise(rows)
    show(table)
    if left := options.planted + options.same - len(rows):
        results.write()
        print(f"{left} trials are left: call again with the same --json")
        return UNFINISHED
    results.finish()
    return 0 if is_met(table) else 1


if __name__ == "__main__":
    raise SystemExit(main())
