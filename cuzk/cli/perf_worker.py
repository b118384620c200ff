"""One side of an interleaved comparison: proves on request and prints what each phase took.

It is run as a file, with the package of either build first on the path, so it uses nothing but what both have had for
long.  Protocol: a line ``N`` on stdin asks for one sample of N proofs; the answer is a line of JSON, phase -> total of
milliseconds.  The first line printed is ``{"ready": phase -> ms of one proof}``.  With the metric "device" a phase is
what the device spends on it by its own clock, and "PHASE.wall" what the host's clock says, of proofs that nothing holds
up.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import sys
from collections.abc import Callable
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

__all__ = ["load_function", "main", "open_meter", "totals"]


def totals(events: list[Any], metric: str) -> dict[str, float]:
    """Phase -> milliseconds, children not taken off.

    Args:
        events: Finished phases.
        metric: "cpu" for processor time, "time" for the clock.
    """
    spent: dict[str, float] = {}
    for event in events:
        took = event.cpu_ns if metric == "cpu" else event.duration_ns
        spent[event.phase] = spent.get(event.phase, 0.0) + took / 1e6
    return spent


def load_function(place: str) -> Callable[..., Any]:
    """A function of a file.

    Args:
        place: FILE.py:FUNCTION.

    Raises:
        SystemExit: It is written otherwise, or the file has no such function.
    """
    path, _, name = place.rpartition(":")
    spec = importlib.util.spec_from_file_location("workload", path) if path.endswith(".py") else None
    if spec is None or spec.loader is None:
        raise SystemExit(f"{place!r} is no circuit: write mixed, or FILE.py:FUNCTION")
    module = sys.modules["workload"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[..., Any] | None = getattr(module, name, None)
    if found is None:
        raise SystemExit(f"{path} has no {name}: name a function, called with a size and curve=")
    return found


def _burner(metric: str) -> Callable[[float], None]:
    """Something that keeps this thread busy for some milliseconds of the metric's own clock."""
    import time

    clock = time.process_time if metric == "cpu" else time.perf_counter

    def burn(milliseconds: float) -> None:
        end = clock() + milliseconds / 1e3
        while clock() < end:
            pass

    return burn


class _Planted:
    """A sink that makes one phase slower by a share of what it took at first: for tests of the gate.

    Args:
        phase: Which; empty for none.
        share: By how much.
        burn: Spends milliseconds.
    """

    def __init__(self, phase: str, share: float, burn: Callable[[float], None]) -> None:
        self.phase, self.share, self.burn = phase, share, burn
        self.extra_ms = 0.0

    def started(self, phase: str) -> None:
        """Spend the extra time inside the phase."""
        if phase == self.phase and self.extra_ms:
            self.burn(self.extra_ms)

    def advanced(self, phase: str, share: float) -> None:
        """Progress is of no interest."""

    def receive(self, event: Any) -> None:
        """Ends are of no interest."""


def _sibling(path: Path) -> Any:
    """A module of this file's own project, whatever package is imported."""
    spec = importlib.util.spec_from_file_location(f"own_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def open_meter(device: Any, curve: Any, log_elements: int) -> Any:
    """A DeviceTime with a load that holds the device up."""
    here = Path(__file__).resolve().parent
    load = _sibling(here / "perf_load.py").Load(device, curve, log_elements)
    return _sibling(here.parent / "telemetry" / "device_time.py").DeviceTime(device, load.hold)


def _make_prover(options: argparse.Namespace, sink: _Planted) -> tuple[Callable[[], object], Any, Any]:
    """Set up a circuit and return what proves it once, its recorder, and the meter of the metric "device"."""
    from cuzk.curves import get_curve
    from cuzk.device import get_device
    from cuzk.groth16 import Blinding, Prover, ToxicWaste, setup
    from cuzk.telemetry import Recorder

    curve = get_curve(options.curve)
    device: Any = get_device(options.device)
    with contextlib.suppress(ImportError):  # this may run with the package of a commit that cannot tell
        from cuzk.device.instruments import require_fresh

        require_fresh(device)
    if options.shape != "mixed":
        circuit, witness = load_function(options.shape)(options.size, curve=options.curve)
    else:
        from cuzk.cli.perf_workloads import mixed_circuit

        circuit, witness = mixed_circuit(curve, options.size)
    is_metered = options.metric == "device"
    meter = open_meter(device, curve, 22 if device.kind == "cuda" else 8) if is_metered else None
    recorder = Recorder([sink] if meter is None else [sink, meter])
    key = setup(circuit, device, toxic_waste=ToxicWaste.from_seed(curve, 1))
    prover = Prover(key, device, recorder=recorder)
    return lambda: prover.prove(witness, blinding=Blinding(7, 11), self_check=False), recorder, meter


def _require_tree(tree: Path) -> None:
    """Make sure that the package which proves is the tree's own.

    Raises:
        SystemExit: It is another's, whose times would be taken for the tree's.
    """
    if any((tree / "cuzk").glob("_*.so")):
        # A build; the finder of an editable install would come first, and import its own package.
        sys.meta_path.insert(0, PathFinder)
    import cuzk

    if not Path(cuzk.__file__).resolve().is_relative_to(tree.resolve()):
        raise SystemExit(f"cuzk is imported from {cuzk.__file__}, not from {tree}")


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--curve", default="bn254")
    parser.add_argument(
        "--shape", default="mixed", help="mixed, or FILE.py:FUNCTION that makes circuit and witness"
    )
    parser.add_argument("--size", type=int, default=500, help="rows; what FUNCTION takes")
    parser.add_argument("--metric", choices=("cpu", "time", "device"), default="cpu")
    parser.add_argument("--plant", default="")
    parser.add_argument("--share", type=float, default=0.0)
    options = parser.parse_args()
    _require_tree(Path.cwd())
    sink = _Planted(options.plant, options.share, _burner(options.metric))
    prove, recorder, meter = _make_prover(options, sink)

    def plain(proofs: int) -> dict[str, float]:
        seen = len(recorder.events)
        for _ in range(proofs):
            prove()
        return totals(recorder.events[seen:], options.metric)

    def sample(proofs: int) -> dict[str, float]:
        if meter is None:
            return plain(proofs)
        meter.mode = "hold"
        plain(proofs)
        spent, meter.mode = dict(meter.take()), "off"
        wall = plain(proofs)
        meter.take()
        return spent | {f"{phase}.wall": took for phase, took in wall.items()}

    plain(1)
    if meter is not None:
        meter.take()
        meter.relearn()  # the first proof builds things
        plain(3)
        meter.take()
        sample(2)
        meter.tighten()
    first = sample(3)
    once = {phase: took / 3 for phase, took in first.items()}
    sink.extra_ms = options.share * once.get(options.plant, 0.0)
    print(json.dumps({"ready": once}), flush=True)
    for line in sys.stdin:
        print(json.dumps(sample(int(line))), flush=True)


if __name__ == "__main__":
    main()
