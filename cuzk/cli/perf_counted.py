"""Run by valgrind: proves a fixed circuit on the cpu device and has callgrind write its count at each phase's edge.

Callgrind takes requests from the program itself, by a sequence of instructions that do nothing elsewhere.  The count
is on only while the second proof runs, so start-up, set-up and tables are not in it.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import mmap
from typing import Any

__all__ = ["END", "START", "Callgrind", "Edges", "main"]

#: Labels of the counts: what ran since the last one belongs to the phase around a START, or to the END's own phase.
START, END = "start", "end"

# mov rax, rdi; xor edx, edx; rol rdi, 3, 13, 61, 51; xchg rbx, rbx; mov rax, rdx; ret  (valgrind.h)
_REQUEST = bytes.fromhex("4889f8 31d2 48c1c703 48c1c70d 48c1c73d 48c1c733 4887db 4889d0 c3")
_RUNNING_ON_VALGRIND = 0x1001
_CALLGRIND = 0x43540000
_ZERO, _DUMP_AT, _START, _STOP = _CALLGRIND + 1, _CALLGRIND + 3, _CALLGRIND + 4, _CALLGRIND + 5


class Callgrind:
    """Requests to callgrind, which are no-ops outside of it."""

    def __init__(self) -> None:
        self._page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self._page.write(_REQUEST)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._page))
        self._call = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)(address)
        self._words = (ctypes.c_uint64 * 6)()

    def request(self, code: int, argument: int = 0) -> int:
        """Send one request; returns its answer, 0 outside of valgrind."""
        self._words[0], self._words[1] = code, argument
        return int(self._call(ctypes.addressof(self._words)))

    def start(self) -> None:
        """Count from here on, from zero."""
        self.request(_START)
        self.request(_ZERO)

    def stop(self) -> None:
        """Count no more, and run faster."""
        self.request(_STOP)

    def dump(self, label: str) -> None:
        """Have the counts since the last dump written under a label."""
        text = ctypes.create_string_buffer(label.encode())
        self.request(_DUMP_AT, ctypes.addressof(text))


class Edges:
    """A sink of phases that marks their edges, and may do extra work in one of them.

    Args:
        callgrind: Where the marks go.
        plants: Phase -> extra work in it, rounds of an empty loop: for tests of the gate.
    """

    def __init__(self, callgrind: Callgrind, plants: dict[str, int]) -> None:
        self._callgrind, self._plants = callgrind, plants
        self._counting = False

    def begin(self) -> None:
        """Count from here on."""
        self._counting = True
        self._callgrind.start()

    def started(self, phase: str) -> None:
        """A phase begins: what ran so far belongs to the one around it."""
        if not self._counting:
            return
        self._callgrind.dump(f"{START} {phase}")
        for _ in range(self._plants.pop(phase, 0)):  # once, also where a phase comes twice
            pass

    def advanced(self, phase: str, share: float) -> None:
        """Progress is of no interest."""

    def receive(self, event: Any) -> None:
        """A phase ends."""
        if self._counting:
            self._callgrind.dump(f"{END} {event.phase}")


def main() -> None:
    """Entry point: CURVE ROWS [--plant PHASE=LOOPS]..."""
    parser = argparse.ArgumentParser()
    parser.add_argument("curve")
    parser.add_argument("rows", type=int)
    parser.add_argument("--plant", action="append", default=[], metavar="PHASE=LOOPS")
    options = parser.parse_args()
    from cuzk.cli.perf_workloads import mixed_circuit
    from cuzk.curves import get_curve
    from cuzk.device.host import CpuDevice
    from cuzk.errors import InputError
    from cuzk.groth16 import Blinding, Prover, ToxicWaste, setup
    from cuzk.telemetry import Recorder

    callgrind = Callgrind()
    if not callgrind.request(_RUNNING_ON_VALGRIND):
        raise InputError("this counts under valgrind only", remedy="cuzk perf check --tier T1h")
    device, curve = CpuDevice(threads=1), get_curve(options.curve)
    circuit, witness = mixed_circuit(curve, options.rows)
    key = setup(circuit, device, toxic_waste=ToxicWaste.from_seed(curve, 1))
    warm = Prover(key, device)
    warm.prove(witness, blinding=Blinding(7, 11), self_check=False)
    planted = (text.partition("=") for text in options.plant)
    edges = Edges(callgrind, {phase: int(loops) for phase, _, loops in planted})
    prover = Prover(key, device, recorder=Recorder([edges]))
    # A collection walks every object of the process and comes when a counter is full: unused text moved it between
    # phases, which shifted a tenth of one.  What it costs a phase is nothing that the phase does.
    gc.collect()
    gc.disable()
    edges.begin()
    prover.prove(witness, blinding=Blinding(7, 11), self_check=False)
    callgrind.stop()


if __name__ == "__main__":
    main()
