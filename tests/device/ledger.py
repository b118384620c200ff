"""The ledger's comparison by turns as an instrument on a GPU: planted slow-downs, and the same build against itself.

python -m tests.device.ledger [--log 20] [--planted 60] [--same 100] [--json RESULT.json] [--budget-s 480]

A trial is a whole comparison (cuzk/perf/pairs.py) of every phase of a proof with the shape of a PoRep partition.  Both
sides are one prover; in a planted trial side B does more work on the device in each phase, launched on its stream: 1.5%
of a phase of 5 ms, 4% of one of 0.5 ms.  A call that finds trials of the same tree in RESULT goes on after them, and
one that ends before the last trial exits with 75.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from cuzk.cli.perf_ab import judge_phases
from cuzk.device import Device, get_device
from cuzk.groth16 import Blinding, Prover, ToxicWaste, setup
from cuzk.ops.fr_vec import fr_mul
from cuzk.perf import Answer, Outcome, PairLimits, rate_upper_bound
from cuzk.telemetry import PHASES, Recorder
from tests.device import gpu
from tests.device.results import UNFINISHED, Results, tree_digest
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


def share_of(milliseconds: float) -> float:
    """The share that is planted in a phase; 0 where it is too short to be judged."""
    return next((share for least, share in SHARES if milliseconds >= least), 0.0)


class Load:
    """Products on the device's stream that take a given time and are of no use.

    Args:
        device: Where.
        curve: Whose scalars are multiplied.
        log_elements: Of the vectors; a launch takes as many of them as its time needs.
    """

    def __init__(self, device: Device, curve: Any, log_elements: int) -> None:
        self._device, self._curve, self._most = device, curve, 1 << log_elements
        shape = (self._most, curve.fr.limbs)
        self._a, self._b = (device.alloc(shape, np.uint64, zero=True) for _ in range(2))
        self._out = device.alloc(shape, np.uint64)
        self._launch(self._most)
        self.whole_ms = min(self._time(self._most) for _ in range(9))
        self.empty_ms = min(self.whole_ms / 2, min(self._time(1) for _ in range(9)))

    def _launch(self, elements: int) -> None:
        a, b, out = self._a[:elements], self._b[:elements], self._out[:elements]
        fr_mul(self._device, self._curve, a, b, out)

    def _time(self, elements: int) -> float:
        """Milliseconds of a launch among others, so that none waits for Python."""
        begin = self._device.mark()
        for _ in range(8):
            self._launch(elements)
        took = self._device.elapsed(begin, self._device.mark()) / 8
        self._device.synchronize()
        return took

    def run(self, milliseconds: float) -> None:
        """Launch work of so long; it does not wait."""
        whole, rest = divmod(milliseconds, self.whole_ms)
        for _ in range(int(whole)):
            self._launch(self._most)
        slope = (self.whole_ms - self.empty_ms) / self._most
        if (elements := round((rest - self.empty_ms) / slope)) > 0:
            self._launch(min(elements, self._most))


class Plants:
    """A sink that does more work when a phase begins.

    Args:
        load: The work.
    """

    def __init__(self, load: Load) -> None:
        self._load = load
        self.extra_ms: dict[str, float] = {}

    def started(self, phase: str) -> None:
        """Launch the phase's extra work."""
        if extra := self.extra_ms.get(phase, 0.0):
            self._load.run(extra)

    def advanced(self, phase: str, share: float) -> None:
        """Progress is of no interest."""

    def receive(self, event: Any) -> None:
        """Ends are of no interest."""


class Side:
    """One side of a comparison.

    Args:
        bench: The prover that both share.
        extra_ms: Phase -> milliseconds of work more.
    """

    def __init__(self, bench: Bench, extra_ms: dict[str, float]) -> None:
        self._bench, self._extra_ms, self.ready = bench, extra_ms, bench.once

    def sample(self, proofs: int) -> dict[str, float]:
        """Phase -> milliseconds of so many proofs."""
        self._bench.plants.extra_ms = self._extra_ms
        return self._bench.prove(proofs)


class Bench:
    """A prover, and what each of its phases on the device takes.

    Args:
        device: Where it proves.
        curve: Name of the curve.
        log_domain: Size of the circuit.
    """

    def __init__(self, device: Device, curve: str, log_domain: int) -> None:
        circuit, plain = porep_shape(log_domain, curve=curve)
        key = setup(circuit, device, toxic_waste=ToxicWaste.from_seed(circuit.curve, 1))
        self.plants = Plants(Load(device, circuit.curve, min(22, log_domain)))
        self._recorder = Recorder([self.plants])
        self._prover, self._witness = Prover(key, device, recorder=self._recorder), plain
        self.once: dict[str, float] = {}
        self.prove(2)
        self.once = {phase: took / 5 for phase, took in self.prove(5).items()}

    def prove(self, proofs: int) -> dict[str, float]:
        """Phase on the device -> milliseconds of so many proofs."""
        seen = len(self._recorder.events)
        for _ in range(proofs):
            self._prover.prove(self._witness, blinding=Blinding(7, 11), self_check=False)
        spent: dict[str, float] = {}
        for event in self._recorder.events[seen:]:
            if event.phase in JUDGED:
                spent[event.phase] = spent.get(event.phase, 0.0) + event.duration_ns / 1e6
        return spent


def trial(bench: Bench, kind: str, pairs: int) -> dict[str, Any]:
    """One comparison of every phase.

    Args:
        bench: The prover.
        kind: "planted" or "same".
        pairs: Of each step.
    """
    extra = {phase: share_of(took) * took for phase, took in bench.once.items()} if kind == "planted" else {}
    a, b, twin = Side(bench, {}), Side(bench, extra), Side(bench, {})
    answers = judge_phases(a, b, twin, PairLimits(), pairs, sample_ms=0.0)
    rows = {phase: _row(answer, bench.once[phase]) for phase, answer in answers.items()}
    return {"kind": kind, "phases": rows}


def _row(answer: Answer, milliseconds: float) -> dict[str, Any]:
    found = answer.comparison
    return {
        "ms": milliseconds, "share": share_of(milliseconds), "outcome": answer.outcome.value,
        "seen": None if found is None else found.median, "pairs": 0 if found is None else found.pairs,
        "same": answer.control.median, "spread": answer.control.sigma / 2**0.5,
    }  # fmt: skip


def summarise(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Of each kind and phase: trials, alarms, void ones, the 95% upper bound of false alarms, and what was seen."""
    table: dict[str, Any] = {}
    for row in rows:
        for phase, said in row.get("phases", {}).items():
            into = table.setdefault(row["kind"], {}).setdefault(
                phase,
                {"trials": 0, "slower": 0, "void": 0, "unclear": 0, "ms": said["ms"], "share": said["share"]},
            )
            into["trials"] += 1
            for outcome in (Outcome.SLOWER, Outcome.VOID, Outcome.UNCLEAR):
                into[outcome.value] += said["outcome"] == outcome.value
    for said in table.get("same", {}).values():
        said["false_alarms_at_most"] = rate_upper_bound(said["slower"], said["trials"])
    return table


def is_met(table: dict[str, Any]) -> bool:
    """Whether enough planted slow-downs were caught, in every phase, and nothing else raised an alarm."""
    caught = all(said["slower"] >= _CAUGHT * said["trials"] for said in table.get("planted", {}).values())
    return caught and not any(said["slower"] for said in table.get("same", {}).values())


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
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--budget-s", type=float, default=480)
    options = parser.parse_args()
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
    kinds = ["planted"] * options.planted + ["same"] * options.same
    bench, longest = Bench(device, options.curve, options.log), 0.0
    for kind in kinds[len(rows) :]:
        began = clock.left_s
        if began < 1.5 * longest:
            break
        results.add(trial(bench, kind, options.pairs))
        longest = max(longest, began - clock.left_s)
    table = results.data["summary"] = summarise(rows)
    for kind, phases in table.items():
        for phase, said in phases.items():
            print(f"{kind:8} {phase:16} {json.dumps(said)}", flush=True)
    if len(rows) < len(kinds):
        results.write()
        print(f"{len(kinds) - len(rows)} trials are left: call again with the same --json")
        return UNFINISHED
    results.finish()
    return 0 if is_met(table) else 1


if __name__ == "__main__":
    raise SystemExit(main())
