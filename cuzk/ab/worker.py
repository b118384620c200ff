"""The other process of a comparison: a script that runs with another commit's package.

It uses only what that package offers to everybody (formats, devices, the prover, the recorder), and nothing of this
one.  Requests come as JSON lines on stdin, answers go as JSON lines to stdout: `open`, then `trace` and `sample`.
"""

from __future__ import annotations

import json
import sys
import warnings
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

_BLINDING = (7, 11)


class _Worker:
    """The prover of that commit, and what its last run recorded."""

    def __init__(self, request: dict[str, Any]) -> None:
        import cuzk

        if not Path(cuzk.__file__).resolve().is_relative_to(Path(request["tree"]).resolve()):
            raise ImportError(
                f"cuzk is imported from {cuzk.__file__}, not from that commit's {request['tree']}"
            )
        from cuzk.device import get_device
        from cuzk.formats import load_key, load_witness
        from cuzk.groth16 import Prover
        from cuzk.telemetry import Recorder

        self.events: list[Any] = []
        self.values: dict[str, list[Any]] | None = None
        recorder = Recorder([self])
        try:
            recorder = recorder.scoped(viewer=self._view)
        except Exception as error:  # noqa: BLE001 - an old commit shows nothing; its proof is compared all the same
            sys.stderr.write(f"that commit shows no intermediates ({type(error).__name__})\n")
        self.device = get_device(request["device"])
        key = load_key(request["key"])
        self.witnesses = [load_witness(path) for path in request["witnesses"]]
        self.prover = Prover(key, self.device, variants=request["variants"], recorder=recorder)

    def receive(self, event: Any) -> None:
        """Take one event of the recorder."""
        self.events.append(event)

    def _view(self, name: str, value: Any) -> None:
        import numpy as np

        if self.values is not None:
            host = value if isinstance(value, np.ndarray) else self.device.download(value)
            self.values.setdefault(name, []).append(np.array(host, copy=True))

    def _prove(self) -> list[Any]:
        from cuzk.groth16 import Blinding

        self.events.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            blindings = [Blinding.insecure(self.prover.key.curve, *_BLINDING) for _ in self.witnesses]
        return list(self.prover.prove_batch(self.witnesses, blindings=blindings, self_check=False))

    def trace(self, request: dict[str, Any]) -> None:
        """Prove once and write every intermediate into a file."""
        import numpy as np

        self.values = values = {}
        proofs = self._prove()
        self.values = None
        for point in ("a", "b", "c"):
            values[f"proof_{point}"] = [getattr(proof, point) for proof in proofs]
        arrays = {f"{name}.{i}": array for name, found in values.items() for i, array in enumerate(found)}
        np.savez(request["to"], **arrays)

    def sample(self, request: dict[str, Any]) -> dict[str, float]:
        """Prove once; milliseconds by phase."""
        self._prove()
        found: dict[str, float] = {}
        for event in self.events:
            name = "total" if event.phase == "prove" else event.phase
            taken = event.duration_ns if request["clock"] == "wall" else getattr(event, "cpu_ns", 0)
            found[name] = found.get(name, 0.0) + taken / 1e6
        return found


def main() -> None:
    """Answer requests until stdin ends."""
    # The finder of an editable install comes first, and would import its own package, not that commit's.
    sys.meta_path.insert(0, PathFinder)
    worker: _Worker | None = None
    for line in sys.stdin:
        request = json.loads(line)
        answer: dict[str, Any] = {"value": None}
        try:
            if request["do"] == "open":
                worker = _Worker(request)
            elif worker is not None:
                answer["value"] = getattr(worker, request["do"])(request)
        except Exception as error:  # noqa: BLE001 - the asking process turns it into its own error
            answer = {"error": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
