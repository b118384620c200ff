"""A run as lanes of bars on one time axis, its critical path, and what bounds it.  Drawing is elsewhere.

A bar is a phase as one speaks of it: children of `prove`, of `synthesis` and of `ntt_msm_h`; the queries inside a
multi-scalar multiplication belong to it.  A lane is a thread of the host, the kernels of a device, or its copies.

The critical path is that of the measured schedule (critical path method): a bar must end before the next bar of its
lane starts, and before the bars that need its result.  A bar's slack is how much later it could have ended with the
run's end where it was.  Waits have no length of their own: what they wait for is on the path, or has slack.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from cuzk.errors import InputError
from cuzk.telemetry.phases import PHASES
from cuzk.telemetry.records import Event
from cuzk.telemetry.tree import build_tree

__all__ = ["Bar", "Lane", "Waterfall", "build_waterfall", "seconds_words"]

#: Phases that only hold others.
_CONTAINERS = frozenset({"prove", "setup", "verify", "synthesis", "ntt_msm_h"})
#: Phase -> phases whose result it needs, within one call of the prover.
_NEEDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "spmv": ("witness",),
        "row_check": ("spmv",),
        "pin_abc": ("spmv",),
        "ntt_h": ("spmv", "pin_abc"),
        "msm_h": ("ntt_h",),
        "prep_msm": ("witness",),
        "batch_add": ("prep_msm",),
        "tail_msm": ("prep_msm",),
        "b_g2_msm": ("prep_msm",),
        "proof_assembly": ("msm_h", "batch_add", "tail_msm", "b_g2_msm"),
        "unpin": ("ntt_h",),
        "self_check": ("proof_assembly",),
    }
)
#: Less slack than this share of the run is none: readings of the clock lie between the bars.
_TOLERANCE = 0.005


@dataclass(slots=True)
class Bar:
    """One phase of the run.

    Args:
        event: What was recorded.
        label: Name to show: the phase, with a number where it occurs more than once.
        slack_ns: How much later it could have ended, nanoseconds.
        is_critical: On the critical path.
        is_hidden: Off the path, and something on the path ran all the while.
    """

    event: Event
    label: str
    slack_ns: int = 0
    is_critical: bool = False
    is_hidden: bool = False

    @property
    def start_ns(self) -> int:
        """Start on the recorder's clock."""
        return self.event.start_ns

    @property
    def end_ns(self) -> int:
        """End on the recorder's clock."""
        return self.event.end_ns

    @property
    def is_wait(self) -> bool:
        """Waiting, not work."""
        return PHASES[self.event.phase].is_wait

    @property
    def where(self) -> str:
        """GPU, CPU or copy."""
        if self.event.phase == "transfer":
            return "copy"
        return "GPU" if _runs_on_gpu(self.event) else "CPU"


@dataclass(slots=True)
class Lane:
    """Bars that follow each other: one thread, one stream."""

    name: str
    bars: list[Bar] = field(default_factory=list)


@dataclass(frozen=True)
class Waterfall:
    """A run, ready to be drawn.

    Args:
        lanes: In order: threads of the host, kernels, copies.
        start_ns: Where the time axis begins.
        end_ns: Where it ends.
        sentence: What bounds the run.
    """

    lanes: tuple[Lane, ...]
    start_ns: int
    end_ns: int
    sentence: str

    @property
    def bars(self) -> list[Bar]:
        """All bars, by start."""
        return sorted((bar for lane in self.lanes for bar in lane.bars), key=lambda bar: bar.start_ns)

    @property
    def critical_path(self) -> list[Bar]:
        """The bars on the path, by start."""
        return [bar for bar in self.bars if bar.is_critical]


def seconds_words(nanoseconds: float) -> str:
    """A duration with two or three digits: 22.8s, 1.7s, 35ms, 0.4ms."""
    seconds = nanoseconds / 1e9
    if not seconds:
        return "0s"
    if seconds >= 0.1:
        return f"{seconds:.1f}s" if seconds >= 1 else f"{seconds:.2f}s"
    return f"{seconds * 1e3:.0f}ms" if seconds >= 0.01 else f"{seconds * 1e3:.1f}ms"


def build_waterfall(events: Sequence[Event]) -> Waterfall:
    """Arrange a run's events.

    Args:
        events: Finished events of one recorder; of several calls of the prover, all.

    Raises:
        InputError: There is nothing to draw.
    """
    bars = _bars(events)
    if all(bar.is_wait for bar in bars):
        raise InputError(
            "the events hold no phase to draw", remedy="pass a file that --events wrote for a proof"
        )
    lanes = _lanes(bars)
    start_ns, end_ns = min(bar.start_ns for bar in bars), max(bar.end_ns for bar in bars)
    # A wait at the end bounds nothing by itself: the path ends with the last work.
    last_ns = max(bar.end_ns for bar in bars if not bar.is_wait)
    _find_slack(lanes, _calls(events), last_ns, max(round((end_ns - start_ns) * _TOLERANCE), 1))
    return Waterfall(tuple(lanes), start_ns, end_ns, _sentence(bars, end_ns - start_ns))


def _runs_on_gpu(event: Event) -> bool:
    return (event.device or "").startswith("cuda") and PHASES[event.phase].on_device


def _bars(events: Sequence[Event]) -> list[Bar]:
    """The topmost events that are no containers; a container without children is a bar too."""
    found: list[Event] = []
    stack = list(build_tree(events))
    while stack:
        node = stack.pop()
        if node.event.phase in _CONTAINERS and node.children:
            stack += node.children
        else:
            found.append(node.event)
            # A wait, a copy, or work that another thread does for this one, has a lane of its own.
            stack += [
                child
                for child in node.children
                if PHASES[child.event.phase].is_wait or child.event.thread != node.event.thread
            ]
    found.sort(key=lambda event: (event.start_ns, event.id))
    times: dict[str, int] = defaultdict(int)
    for event in found:
        times[event.phase] += 1
    numbers: dict[str, int] = defaultdict(int)
    bars = []
    for event in found:
        numbers[event.phase] += 1
        many = times[event.phase] > 1
        bars.append(Bar(event, f"{event.phase} {numbers[event.phase]}" if many else event.phase))
    return bars


def _lanes(bars: Sequence[Bar]) -> list[Lane]:
    """Bars by lane: host threads in order of appearance, then kernels and copies of each device."""
    threads: dict[int, Lane] = {}
    streams: dict[str, Lane] = {}
    for bar in bars:
        event = bar.event
        if bar.where == "CPU":
            if event.thread not in threads:
                threads[event.thread] = Lane(f"thread {len(threads) + 1}")
            threads[event.thread].bars.append(bar)
        else:
            stream = 0 if event.stream is None else event.stream
            name = f"{event.device} " + (f"copies, stream {stream}" if bar.where == "copy" else "kernels")
            if bar.where != "copy" and stream:
                name += f", stream {stream}"
            streams.setdefault(name, Lane(name)).bars.append(bar)
    order = sorted(streams, key=lambda name: ("copies" in name, name))
    return [*threads.values(), *(streams[name] for name in order)]


def _calls(events: Sequence[Event]) -> dict[int, int | None]:
    """Event id -> id of the call (`prove`) that it belongs to."""
    by_id = {event.id: event for event in events}
    found: dict[int, int | None] = {}
    for event in events:
        at: Event | None = event
        while at is not None and at.phase != "prove":
            at = by_id.get(at.parent) if at.parent is not None else None
        found[event.id] = None if at is None else at.id
    return found


def _find_slack(lanes: Sequence[Lane], calls: Mapping[int, int | None], end_ns: int, tolerance: int) -> None:
    """Latest end of every bar that leaves the run's end where it is, from the last bar to the first."""
    work = [bar for lane in lanes for bar in lane.bars if not bar.is_wait]
    after = _followers(lanes, calls)
    latest_start: dict[int, int] = {}
    for bar in sorted(work, key=lambda bar: (bar.start_ns, bar.end_ns), reverse=True):
        latest = min((latest_start[other] - lag for other, lag in after[bar.event.id]), default=end_ns)
        latest = max(latest, bar.end_ns)
        bar.slack_ns = latest - bar.end_ns
        bar.is_critical = bar.slack_ns <= tolerance
        latest_start[bar.event.id] = latest - bar.event.duration_ns
    critical = [(bar.start_ns, bar.end_ns) for bar in work if bar.is_critical]
    for bar in work:
        bar.is_hidden = not bar.is_critical and _is_covered(bar.start_ns, bar.end_ns, critical, tolerance)


def _followers(lanes: Sequence[Lane], calls: Mapping[int, int | None]) -> dict[int, list[tuple[int, int]]]:
    """Event id -> (id of a bar that can't start before it ends, time that always lies between them)."""
    after: dict[int, list[tuple[int, int]]] = defaultdict(list)
    bars = sorted((bar for lane in lanes for bar in lane.bars), key=lambda bar: (bar.start_ns, bar.end_ns))
    # A thread starts its phases one after the other, on whatever lane their work then runs.
    threads: dict[int, list[Bar]] = defaultdict(list)
    for bar in bars:
        if bar.where != "copy":
            threads[bar.event.thread].append(bar)
    for row in (*threads.values(), *(lane.bars for lane in lanes)):
        _in_a_row(row, after)
    work = [bar for bar in bars if not bar.is_wait]
    for bar in work:
        for other in work:
            needs = bar.event.phase in _NEEDS.get(other.event.phase, ())
            together = calls[bar.event.id] == calls[other.event.id]
            if needs and together and other.start_ns >= bar.end_ns:
                after[bar.event.id].append((other.event.id, 0))
        if bar.where == "copy":  # whose bases these are is not recorded: the next kernels count as their user
            users = (b for b in work if b.where == "GPU" and b.start_ns >= bar.end_ns)
            after[bar.event.id] += [(user.event.id, 0) for user in list(users)[:1]]
    return after


def _in_a_row(row: Sequence[Bar], after: dict[int, list[tuple[int, int]]]) -> None:
    """Note that the bars of one thread, or of one lane, follow each other."""
    previous: Bar | None = None
    waited = False
    for bar in row:
        if bar.is_wait:
            waited = True
        else:
            if previous is not None and bar.start_ns >= previous.end_ns:
                # A gap in which its thread did not wait is work that no phase names: it stays as long as it is.
                is_busy = not waited and bar.event.thread == previous.event.thread and bar.where != "copy"
                gap = bar.start_ns - previous.end_ns if is_busy else 0
                after[previous.event.id].append((bar.event.id, gap))
            previous, waited = bar, False


def _is_covered(start: int, end: int, spans: Sequence[tuple[int, int]], tolerance: int) -> bool:
    """Whether spans leave no more than the tolerance of an interval open."""
    at, left = start, 0
    for first, last in sorted(spans):
        if last <= at or first >= end:
            continue
        left += max(first - at, 0)
        at = max(at, min(last, end))
    return left + (end - at) <= tolerance


def _sentence(bars: Sequence[Bar], total_ns: int) -> str:
    """What bounds the run, in one sentence, and what it hides."""
    times: dict[tuple[str, str], int] = defaultdict(int)
    for bar in bars:
        if bar.is_critical:
            times[bar.event.phase, bar.where] += bar.event.duration_ns
    (phase, where), longest = max(times.items(), key=lambda item: item[1])
    waits = sum(bar.event.duration_ns for bar in bars if bar.is_wait)
    words = {"GPU": "the GPU's kernels", "CPU": "the host's processors", "copy": "copies to the GPU"}[where]
    text = (
        f"{phase} on {words} bounds the run: {seconds_words(longest)} of {seconds_words(total_ns)} "
        f"({longest / total_ns:.0%}) are on the critical path"
    )
    hidden = sorted((bar for bar in bars if bar.is_hidden), key=lambda bar: -bar.event.duration_ns)
    if hidden:
        first = hidden[0]
        text += (
            f"; {first.label} ({seconds_words(first.event.duration_ns)}, {first.where}) is hidden, "
            f"with {seconds_words(first.slack_ns)} to spare"
        )
    if waits > total_ns * _TOLERANCE:
        text += f"; {seconds_words(waits)} were spent waiting"
    return text + "."
