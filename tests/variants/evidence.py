"""What a run leaves behind that shows which value of a variant was at work.

Two kinds: the trace that the registry names, a tag of a phase's event; and what can't be said without being done:
launches of kernels with their shapes and arguments, copies, phases, threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from cuzk.device import Device
from cuzk.telemetry import Event
from cuzk.variants import VARIANTS, Variant

__all__ = ["Run", "acts", "missing_evidence", "noting_launches"]


@dataclass
class Run:
    """What is known of one batch of proofs.

    Attributes:
        device: Where.
        variants: Every value in force.
        circuits: Proofs in the batch.
        row_bytes: Bytes of one vector over the domain.
        events: Of the prover, its key's loading included.
        launches: (kernel without curve and group, arguments, grid and block among them), in order.
    """

    device: Device
    variants: Mapping[str, str]
    circuits: int
    row_bytes: int
    events: Sequence[Event] = ()
    launches: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    def phases(self, name: str) -> list[Event]:
        """The events of a phase."""
        return [event for event in self.events if event.phase == name]

    def kernels(self, name: str) -> list[Mapping[str, Any]]:
        """The launches of a kernel."""
        return [args for kernel, args in self.launches if kernel.startswith(name)]


@contextmanager
def noting_launches(device: Device, run: Run) -> Any:
    """Put down every launch on a device inside a ``with`` block."""
    original = device.launch

    def launch(kernel: str, **args: Any) -> None:
        numbers = {name: value for name, value in args.items() if isinstance(value, int)}
        run.launches.append((kernel, numbers))
        original(kernel, **args)

    device.__dict__["launch"] = launch
    try:
        yield
    finally:
        del device.__dict__["launch"]


def acts(row: Variant, variants: Mapping[str, str]) -> bool:
    """Whether a variant does anything under these settings."""
    return row.only_with is None or variants[row.only_with[0]] == row.only_with[1]


def missing_evidence(run: Run) -> list[str]:
    """The variants of which a run shows no sign, with what is missing."""
    found = []
    for row in VARIANTS.values():
        value = run.variants[row.id]
        if not acts(row, run.variants):
            continue
        if not any(event.phase in row.phase and event.tags.get(row.trace) == value for event in run.events):
            found.append(f"{row.id}={value}: no event of {', '.join(row.phase)} has the tag")
        check = _CHECKS.get(row.id)
        if check is not None and not check(run, value):
            found.append(f"{row.id}={value}: no sign of it but the tag")
    return found


def _b_g2(run: Run, value: str) -> bool:
    """Beside a device the processor's threads make it, and the proof waits for them; else it is one of the phases."""
    (one,) = {event.thread for event in run.phases("prove")}
    beside = value != "gpu" and run.device.reference is not run.device
    events = run.phases("b_g2_msm")
    return (
        all((event.thread != one) == beside for event in events) and bool(run.phases("wait_b_g2")) == beside
    )


def _host_rows(run: Run, value: str) -> bool:
    """Three vectors go down and up again for every circuit; they are locked as the value says."""
    locks = {"register", "pool"} & {value}
    calls = len(run.phases("prep_msm"))
    if [len(run.phases(name)) for name in ("pin_abc", "unpin")] != ([calls, calls] if locks else [0, 0]):
        return False
    down, up = (  # bytes
        sum(getattr(event, name) for event in run.phases(phase))
        for phase, name in (("rows_down", "bytes_down"), ("ntt_h", "bytes_up"))
    )
    return bool(down == 0 if value == "resident" else min(down, up) >= 3 * run.row_bytes * run.circuits)


def _deallocation(run: Run, value: str) -> bool:
    """A phase of its own; by ``sync`` the memory is free at its end."""
    events = run.phases("dealloc")
    if value == "arena":
        return not events
    return bool(events) and (value == "async" or all(int(event.tags["freed_bytes"]) > 0 for event in events))


def _circuits(run: Run, value: str) -> bool:
    """So many calls."""
    at_once = run.circuits if value == "fit" else min(int(value), run.circuits)
    return len(run.phases("prep_msm")) == -(-run.circuits // at_once)


def _add_shape(run: Run, value: str) -> bool:
    """A launch of that shape; none where no bases are added up apart."""
    shapes = {(args["block"], args["grid"]) for args in run.kernels("batch_add")}
    if value == "auto" or run.variants["M2"] == "none":
        return True
    threads, blocks = map(int, value.split("x"))
    return (threads, blocks * run.device.limits.num_sms) in shapes


def _windows(run: Run, value: str) -> bool:
    """The digits' kernel gets the bits; one width for all, or five widths of a multiplication that is tuned."""
    bits = {args["window_bits"] for args in run.kernels("msm_digits")}
    if value.isdigit():
        return bits == {int(value)}
    return value != "largest" or len(bits) == 1


def _contexts(run: Run, value: str) -> bool:
    """A phase for each query of each call."""
    inits = [event for event in run.phases("msm_init") if "D5" in event.tags]
    return bool(inits) == (value == "per_query")


def _additions(run: Run, value: str) -> bool:
    """Rounds of affine additions, or none."""
    halvings = len(run.kernels("msm_halve"))
    return {"xyzz": halvings == 0, "batched_affine": halvings > 0}.get(value, True)


def _classes(run: Run, value: str) -> bool:
    """Scalars are classified, and copied out of a vector by list."""
    classified, gathered = run.kernels("classify_count"), run.kernels("fr_gather")
    return bool(classified) == (value != "none") and bool(gathered) == (value == "split")


def _radices(run: Run, value: str) -> bool:
    """No pass of a larger radix."""
    largest = max(args["log_r"] for args in run.kernels("ntt_d"))
    return value == "auto" or largest <= int(value.removeprefix("2^"))


def _quotient(run: Run, value: str) -> bool:
    """So many transforms for each circuit: elements through all passes, over those of one transform."""
    passes = run.kernels("ntt_d")
    elements = sum(args["num_tiles"] << (args["log_r"] + args["log_t"]) for args in passes)
    each = len({args["log_l"] for args in passes}) << passes[0]["log_n"]
    wanted = {"seven_ntt": (7,), "six_ntt": (6,), "four_ntt": (4,)}.get(value, (6, 7))
    return any(elements == number * each * run.circuits for number in wanted)


_CHECKS: Mapping[str, Callable[[Run, str], bool]] = {
    "A4": _b_g2,
    "B1": _host_rows,
    "B2": _deallocation,
    "C1": _circuits,
    "D2": _add_shape,
    "D4": _windows,
    "D5": _contexts,
    "M1": _additions,
    "M2": _classes,
    "N1": _radices,
    "Q1": _quotient,
}
