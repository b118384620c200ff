"""Instructions, branches and cache misses of the classic synthesis in callgrind's simulated processor.

Its counts are the same on a busy machine, and exist where a virtual machine has no counters. Only the loop over rows is
counted. Run as a module, this file is the program that callgrind runs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cuzk.cli.perf_counted import Callgrind
from cuzk.closures import Setting, Steps, Tape
from cuzk.curves import get_curve
from cuzk.device.machine import has_bmi2_adx
from cuzk.errors import DeviceError

if TYPE_CHECKING:
    from cuzk.cli.bench_synth_runs import SynthCase

__all__ = ["count", "read_events"]

#: What is shown -> the sum of these events of callgrind.
_EVENTS = {
    "instructions": ("Ir",),
    "branches": ("Bc", "Bi"),
    "mispredicted": ("Bcm", "Bim"),
    "l1_misses": ("I1mr", "D1mr", "D1mw"),
    "last_level_misses": ("ILmr", "DLmr", "DLmw"),
}
_ARRAYS = ("sides", "variables", "codes", "aux_so_far", "dictionary")
_OPTIONS = (
    "--tool=callgrind", "--branch-sim=yes", "--cache-sim=yes", "--instr-atstart=no", "--toggle-collect=*replay_rows*",
)  # fmt: skip
_NAMES = re.compile(r"^events: (.+)$", re.MULTILINE)
_LABEL = re.compile(r"^desc: Trigger: Client Request: setting (\d+)$", re.MULTILINE)
_TOTALS = re.compile(r"^totals: (.+)$", re.MULTILINE)


def count(case: SynthCase, settings: Sequence[Setting]) -> list[dict[str, int]]:
    """Run every setting once under callgrind.

    Args:
        case: The circuit.
        settings: How.

    Returns:
        For each its events: instructions, branches, mispredicted, l1_misses, last_level_misses.

    Raises:
        DeviceError: valgrind is not installed, or fails.

    Cost: about 50 times a run of each, after half a minute.
    """
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise DeviceError(
            "valgrind is not installed", where="--callgrind",
            remedy="install your distribution's package valgrind, or leave the option out to measure time",
        )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        tape, out = Path(folder) / "tape.npz", Path(folder) / "out"
        steps = case.steps
        arrays = {name: getattr(steps, name) for name in _ARRAYS}
        sizes = np.array([steps.num_inputs, steps.num_variables])
        np.savez(tape, w=case.w, sizes=sizes, curve=np.array(steps.curve.name), **arrays)
        words = [",".join(setting.variants().values()) for setting in settings]
        done = subprocess.run(
            [valgrind, *_OPTIONS, f"--callgrind-out-file={out}", sys.executable, "-m", __name__, tape, *words],
            capture_output=True, text=True, check=False, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
        if done.returncode:
            raise DeviceError(
                f"valgrind ended with {done.returncode}: {done.stderr[-300:]}",
                remedy="run `valgrind --version`; versions from 3.18 on know all instructions that are used here",
            )
        found = read_events(path.read_text(encoding="utf-8") for path in Path(folder).glob("out*"))
    if found.keys() != set(range(len(settings))):
        raise DeviceError(
            f"callgrind counted {len(found)} of {len(settings)} settings",
            remedy="install cuzk with its own build, which keeps the names of functions",
        )
    return [found[i] for i in range(len(settings))]


def read_events(texts: Iterable[str]) -> Mapping[int, dict[str, int]]:
    r"""Read callgrind's files: number of the setting -> its events, of those for which something was counted.

    Args:
        texts: Contents of its files.

    >>> one = "desc: Trigger: Client Request: setting 3\nevents: Ir Bc Bcm Bi Bim D1mr D1mw\ntotals: 90 8 2 1 0 3 4\n"
    >>> read_events([one, "desc: Trigger: Program termination\nevents: Ir\ntotals: 1\n"])[3]
    {'instructions': 90, 'branches': 9, 'mispredicted': 2, 'l1_misses': 7, 'last_level_misses': 0}
    """
    found = {}
    for text in texts:
        names, label, totals = (pattern.search(text) for pattern in (_NAMES, _LABEL, _TOTALS))
        if names and label and totals:
            counted = dict(zip(names[1].split(), map(int, totals[1].split()), strict=False))
            if counted["Ir"]:
                sums = {name: sum(counted.get(event, 0) for event in of) for name, of in _EVENTS.items()}
                found[int(label[1])] = sums
    return found


def _child(path: str, *settings: str) -> None:
    """Load a tape and run it under each setting."""
    with np.load(path) as file:
        arrays: dict[str, Any] = {name: file[name] for name in _ARRAYS}
        num_inputs, num_variables = file["sizes"].tolist()
        steps = Steps(get_curve(str(file["curve"])), num_inputs, num_variables, **arrays)
        w = file["w"]
    tape, callgrind = Tape(steps, fast=has_bmi2_adx()), Callgrind()
    for i, values in enumerate(settings):
        indexer, *flags = values.split(",")
        setting = Setting(indexer, *(flag == "on" for flag in flags))
        callgrind.start()
        tape.run(w, setting)
        callgrind.dump(f"setting {i}")
        callgrind.stop()


if __name__ == "__main__":
    _child(*sys.argv[1:])
