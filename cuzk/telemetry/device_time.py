"""What a device spends on a phase, by its own clock: the spans between two waits of the host.

A phase launches work, waits for some of it, and launches more.  `DeviceTime` marks the device's stream at the first
launch after a wait and again before the next wait; the sum of these spans is the phase's time.  A span holds gaps where
the host was late with a launch.  So the device is held up beforehand, by work of no use: launches are queued when the
span begins, and run one behind the other.  At first it is held up for as long as the host needs for all launches of the
span, then (`tighten`) for what the gaps add up to, which is enough: no launch came later than that.

It needs no other part of the project, and from a device only the methods that every version of it has, so that a
comparison can put it around the device of an older one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["DeviceTime"]

#: Work on the stream, and what makes the host wait for it.
_WORK, _WAITS = ("launch", "fill_zero"), ("download", "synchronize", "elapsed", "time_of")
#: A span is held up by so much more than what was learnt, and by at least the second, milliseconds.
_MARGIN, _SPARE_MS = 1.5, 0.3
#: But no longer than this: a host that needs more waits for something itself.
_MOST_MS = 4.0


@dataclass
class _Span:
    """Work between two waits.

    Args:
        phases: Those that are open, outermost first.
        place: The innermost, and which of its spans this is.
        begin: The device's mark.
        opened_ns: The host's clock.
    """

    phases: tuple[str, ...]
    place: tuple[str, int]
    begin: Any
    opened_ns: int


class DeviceTime:
    """A recorder's sink that knows the device's time of every phase.

    Args:
        device: Where the phases run; its launches and waits are watched until `close`.
        hold: Launches work of no use that lasts so many milliseconds on the device, and does not wait.

    Example::

        meter = DeviceTime(device, load.hold)
        prover = Prover(key, device, recorder=Recorder([meter]))
        for _ in range(3):
            prover.prove(witness)         # learns how long the host needs for each span
        meter.take()
        meter.mode = "hold"
        prover.prove(witness)
        meter.take()                      # phase -> milliseconds
        meter.tighten()                   # the next ones are held up for less
    """

    def __init__(self, device: Any, hold: Callable[[float], None]) -> None:
        self._device, self._hold = device, hold
        #: "learn" for how long spans have to be held up, "hold" them up, or neither: "off".
        self.mode = "learn"
        #: Phase -> work that is launched at its beginning and counts as its own: slow-downs that are planted.
        self.plants: dict[str, Callable[[], None]] = {}
        self._stack: list[tuple[str, int]] = []
        self._current: _Span | None = None
        self._done: list[tuple[_Span, Any]] = []
        self._planted: list[tuple[str, Any, Any]] = []
        self._needed_ms: dict[tuple[str, int], float] = {}
        self._free_ms: dict[tuple[str, int], float] = {}
        self._held_ms: dict[tuple[str, int], float] = {}
        self._is_own = False
        self._wrapped = {name: getattr(device, name) for name in (*_WORK, *_WAITS)}
        for name, method in self._wrapped.items():
            setattr(device, name, self._watched(method, self._begin if name in _WORK else self._end))

    def close(self) -> None:
        """Give the device its own methods back."""
        for name in self._wrapped:
            delattr(self._device, name)

    # -- of a recorder

    def started(self, phase: str) -> None:
        """A phase begins; the recorder has waited for the device."""
        self._stack.append((phase, 0))
        if phase in self.plants:
            self._begin()
            begin = self._device.mark()
            self.plants[phase]()
            self._planted.append((phase, begin, self._device.mark()))

    def advanced(self, phase: str, share: float) -> None:
        """Progress is of no interest."""

    def receive(self, event: Any) -> None:
        """A phase has ended; those of the device itself, and of a host beside it, never began here."""
        if self._stack and self._stack[-1][0] == event.phase:
            self._end()
            self._stack.pop()

    # -- of the device

    def _watched(self, method: Callable[..., Any], before: Callable[[], None]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            if not self._is_own:
                before()
            return method(*args, **named)

        return call

    def _begin(self) -> None:
        if self._current is not None or not self._stack:
            return
        place = self._stack[-1]
        self._stack[-1] = (place[0], place[1] + 1)
        if self.mode == "hold" and (needed := self._needed_ms.get(place, 0.0)):
            self._is_own = True
            try:
                self._hold(min(_MARGIN * needed + _SPARE_MS, _MOST_MS))
            finally:
                self._is_own = False
        phases = tuple(name for name, _ in self._stack)
        self._current = _Span(phases, place, self._device.mark(), time.perf_counter_ns())

    def _end(self) -> None:
        span, self._current = self._current, None
        if span is None:
            return
        self._done.append((span, self._device.mark()))
        if self.mode == "learn":
            host_ms = (time.perf_counter_ns() - span.opened_ns) / 1e6
            self._needed_ms[span.place] = max(host_ms, self._needed_ms.get(span.place, 0.0))

    # -- results

    @property
    def held_ms(self) -> float:
        """Milliseconds for which all spans together are held up, in one run of the phases that were learnt."""
        return sum(min(_MARGIN * needed + _SPARE_MS, _MOST_MS) for needed in self._needed_ms.values())

    def take(self) -> dict[str, float]:
        """Phase -> milliseconds on the device since the last call, parts included in what holds them."""
        self._end()
        spent: dict[str, float] = {}
        for span, end in self._done:
            took, place = float(self._device.elapsed(span.begin, end)), span.place
            if self.mode == "learn":
                self._free_ms[place] = max(took, self._free_ms.get(place, 0.0))
            elif self.mode == "hold":
                self._held_ms[place] = min(took, self._held_ms.get(place, took))
            for name in {*span.phases}:
                spent[name] = spent.get(name, 0.0) + took
        self._done.clear()
        return spent

    def relearn(self) -> None:
        """Forget for how long spans have to be held up, and learn it again."""
        self.mode = "learn"
        for known in (self._needed_ms, self._free_ms, self._held_ms):
            known.clear()

    def tighten(self) -> None:
        """Hold spans up for no longer than their gaps, by what `take` has seen of the same work with and without."""
        for place, held_ms in self._held_ms.items():
            gaps_ms = self._free_ms.get(place, held_ms) - held_ms
            if place in self._needed_ms:
                self._needed_ms[place] = min(self._needed_ms[place], max(gaps_ms, _SPARE_MS))

    def take_planted(self) -> dict[str, float]:
        """Phase -> milliseconds that what was planted has taken since the last call, by the same clock."""
        spent: dict[str, float] = {}
        for name, begin, end in self._planted:
            spent[name] = spent.get(name, 0.0) + self._device.elapsed(begin, end)
        self._planted.clear()
        return spent
