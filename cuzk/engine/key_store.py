"""Keys under a budget: which are on the device, which are mapped into memory, which are on the disk only.

A key is COLD (a file), WARM (its file is mapped and checked, its pages count as host memory) or HOT (its points and
matrices are on the device as well). It is held while a proof needs it; what nobody holds is given up, least recently
used first, when another key needs the bytes: where the device is too full a key only leaves the device, and stays
WARM, so that it is back without being read and checked again. Sizes are measured, on the file before a load and on
the device after it, never assumed; a key that cannot fit even alone is refused with the sum that shows why.

>>> class Loader:
...     def sizes(self, circuit):
...         return KeySizes(host=60, device=40)
...     def map(self, circuit, progress):
...         return f"mapped {circuit}"
...     def host_bytes(self, mapped, uploaded):
...         return 0
...     def upload(self, mapped):
...         return f"{mapped}, uploaded", 40
>>> store = KeyStore(Loader(), Budget(host=150, device=90))
>>> with store.hold("a") as prover:
...     prover
'mapped a, uploaded'
>>> store.preload("b"), store.preload("b"), [(entry.circuit, entry.tier.name) for entry in store.report()]
(False, True, [('a', 'HOT'), ('b', 'HOT')])
>>> store.preload("c"), [(entry.circuit, entry.tier.name) for entry in store.report()]
(False, [('b', 'HOT'), ('c', 'HOT')])
>>> roomy = KeyStore(Loader(), Budget(host=500, device=90))
>>> [roomy.preload(name) for name in "abc"], [(entry.circuit, entry.tier.name) for entry in roomy.report()]
([False, False, False], [('a', 'WARM'), ('b', 'HOT'), ('c', 'HOT')])
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from typing import Generic, Protocol, TypeVar

from cuzk.errors import OutOfMemoryError

__all__ = ["Budget", "KeyLoader", "KeyReport", "KeySizes", "KeyStore", "Tier"]

_M = TypeVar("_M")
_P = TypeVar("_P")


class Tier(IntEnum):
    """Where a key is; the numbers are those of the wire."""

    HOT = 0
    WARM = 1
    COLD = 2


@dataclass(frozen=True)
class KeySizes:
    """Bytes that a key takes.

    Args:
        host: Mapped, pinned or on the heap.
        device: Memory of the device; 0 where the device works on host memory.
    """

    host: int
    device: int


@dataclass(frozen=True)
class Budget:
    """Bytes that all keys of a store may take together."""

    host: int
    device: int


class KeyLoader(Protocol[_M, _P]):
    """How keys come and go; a store calls it from one thread at a time per key."""

    def sizes(self, circuit: str) -> KeySizes:
        """What the key will take, from its file."""

    def map(self, circuit: str, progress: Callable[[float], None]) -> _M:
        """Map and check the file. Progress is a share, 0 to 1."""

    def upload(self, mapped: _M) -> tuple[_P, int]:
        """Make the key ready on the device, and say how many bytes that took there."""

    def host_bytes(self, mapped: _M, uploaded: _P) -> int:
        """Bytes of the host that a key takes, measured; 0 where its file's size was right."""


@dataclass(frozen=True)
class KeyReport:
    """What a store says of one key.

    Args:
        circuit: Whose key.
        tier: Where it is.
        host_bytes: Taken from the host's budget.
        device_bytes: Taken from the device's.
        holders: Proofs that need it now.
        progress: Share of a load that is under way; 1 for what is loaded.
        loads: How often it was brought to the device since it was mapped.
    """

    circuit: str
    tier: Tier
    host_bytes: int
    device_bytes: int
    holders: int
    progress: float
    loads: int = 0


class _Entry(Generic[_M, _P]):
    """A key that is known; what it takes now, and what it takes of a device when it is there."""

    def __init__(self, sizes: KeySizes) -> None:
        self.sizes = sizes
        self.wanted = sizes.device
        self.holders = 0
        self.loads = 0
        self.used = 0.0
        self.progress = 0.0
        self.mapped: _M | None = None
        self.prover: _P | None = None
        self.loading = threading.Lock()

    @property
    def tier(self) -> Tier:
        if self.prover is not None:
            return Tier.HOT
        return Tier.COLD if self.mapped is None else Tier.WARM


class KeyStore(Generic[_M, _P]):
    """The keys of one device. Safe to use from several threads.

    Args:
        loader: How keys come.
        budget: What they may take.
        min_idle_s: Seconds that a key must have been unused before it makes room for another.
        clock: Seconds, monotonic.
    """

    def __init__(
        self,
        loader: KeyLoader[_M, _P],
        budget: Budget,
        *,
        min_idle_s: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.budget = budget
        self._loader = loader
        self._min_idle_s = min_idle_s
        self._clock = clock
        self._entries: dict[str, _Entry[_M, _P]] = {}
        self._changed = threading.Condition()

    @contextmanager
    def hold(
        self, circuit: str, *, wait_s: float = 600.0, came: Callable[[float], None] = lambda _: None
    ) -> Iterator[_P]:
        """The key on the device for the duration of a ``with`` block; loaded first where it is not there.

        Args:
            circuit: Whose key.
            wait_s: Seconds to wait for keys that are held by others to be let go.
            came: Told how many seconds a key took to come that was not there.

        Raises:
            OutOfMemoryError: It does not fit the budget alone, or what fills it was not let go in time.
            InputError: There is no such key, or it is damaged.
        """
        began = self._clock()
        entry, was_there = self._enter(circuit, wait_s)
        try:
            with entry.loading:
                prover = self._load(circuit, entry)
            if not was_there:
                came(self._clock() - began)
            yield prover
        finally:
            with self._changed:
                entry.holders -= 1
                entry.used = self._clock()
                if entry.tier is Tier.COLD and not entry.holders:
                    self._entries.pop(circuit, None)
                self._changed.notify_all()

    def preload(self, circuit: str) -> bool:
        """Load a key; whether it was loaded before. Errors as of hold."""
        with self._changed:
            entry = self._entries.get(circuit)
            loaded = entry is not None and entry.tier is Tier.HOT
        with self.hold(circuit):
            return loaded

    def evict(self, circuit: str) -> int | None:
        """Let a key go.

        Returns:
            Bytes that are free now, none where a proof holds it; None where it is not loaded.
        """
        with self._changed:
            entry = self._entries.get(circuit)
            if entry is None or entry.tier is Tier.COLD:
                return None
            return 0 if entry.holders else self._drop(circuit)

    def report(self) -> list[KeyReport]:
        """Every key that is loaded or being loaded, by name."""
        with self._changed:
            return [
                KeyReport(
                    circuit, entry.tier, entry.sizes.host, entry.sizes.device, entry.holders,
                    1.0 if entry.tier is Tier.HOT else entry.progress, entry.loads,
                )
                for circuit, entry in sorted(self._entries.items())
            ]  # fmt: skip

    def used(self) -> Budget:
        """Bytes that the keys take."""
        with self._changed:
            return self._used()

    def _used(self) -> Budget:
        sizes = [entry.sizes for entry in self._entries.values()]
        return Budget(sum(size.host for size in sizes), sum(size.device for size in sizes))

    def _enter(self, circuit: str, wait_s: float) -> tuple[_Entry[_M, _P], bool]:
        """The key's entry, counted as held, its bytes taken from the budget; whether it is on the device."""
        sizes = None if circuit in self._entries else self._loader.sizes(circuit)
        until = self._clock() + wait_s
        with self._changed:
            while True:
                entry = self._entries.get(circuit)
                if entry is None:
                    sizes = sizes or self._loader.sizes(circuit)
                    needed = sizes
                else:
                    needed = KeySizes(0, entry.wanted - entry.sizes.device)
                if not (needed.host or needed.device) or self._make_room(circuit, needed):
                    break
                left = until - self._clock()
                if left <= 0:
                    raise self._no_room(circuit, needed, "and what is loaded is in use")
                self._changed.wait(min(left, 1.0))
            if entry is None:
                entry = self._entries[circuit] = _Entry(needed)
            else:
                entry.sizes = KeySizes(entry.sizes.host, entry.wanted)
            entry.holders += 1
            entry.used = self._clock()
            return entry, entry.tier is Tier.HOT

    def _make_room(self, circuit: str, sizes: KeySizes) -> bool:
        """Evict until a key of these sizes fits beside what stays; whether it does."""
        if sizes.host > self.budget.host or sizes.device > self.budget.device:
            raise self._no_room(circuit, sizes, "even with no other key loaded")
        while True:
            used = self._used()
            host_is_full = used.host + sizes.host > self.budget.host
            if not host_is_full and used.device + sizes.device <= self.budget.device:
                return True
            name = self._least_recently_used(circuit, only_hot=not host_is_full)
            if name is None:
                return False
            if host_is_full:
                self._drop(name)
            else:
                self._cool(self._entries[name])

    def _least_recently_used(self, circuit: str, *, only_hot: bool) -> str | None:
        """The key that has to go first; not the one that room is made for, and none that is held or still young."""
        idle_since = self._clock() - self._min_idle_s
        idle = [
            (entry.used, name)
            for name, entry in self._entries.items()
            if name != circuit and not entry.holders and entry.used <= idle_since
            and not (only_hot and entry.tier is not Tier.HOT)
        ]  # fmt: skip
        return min(idle)[1] if idle else None

    @staticmethod
    def _cool(entry: _Entry[_M, _P]) -> None:
        """Take a key from the device; its file stays mapped."""
        entry.prover = None
        entry.sizes = KeySizes(entry.sizes.host, 0)

    def _no_room(self, circuit: str, sizes: KeySizes, why: str) -> OutOfMemoryError:
        used = self._used()
        return OutOfMemoryError(
            f"the key of {circuit} needs {sizes.device} bytes of the device and {sizes.host} of the host, {why}: "
            f"{used.device} and {used.host} are taken",
            limit=f"budget of {self.budget.device} and {self.budget.host} bytes",
            remedy="raise memory.device_bytes and memory.host_bytes, or evict keys with `cuzk evict`",
        )

    def _drop(self, circuit: str) -> int:
        sizes = self._entries.pop(circuit).sizes
        self._changed.notify_all()
        return sizes.host + sizes.device

    def _load(self, circuit: str, entry: _Entry[_M, _P]) -> _P:
        """Bring a held key to HOT; on failure it is COLD again."""
        if entry.prover is not None:
            return entry.prover

        def progress(share: float) -> None:
            entry.progress = share

        try:
            if entry.mapped is None:
                entry.mapped = self._loader.map(circuit, progress)
            prover, device_bytes = self._loader.upload(entry.mapped)
        except BaseException:
            entry.mapped = None
            raise
        with self._changed:
            entry.prover = prover
            entry.loads += 1
            entry.wanted = device_bytes
            entry.sizes = KeySizes(
                self._loader.host_bytes(entry.mapped, prover) or entry.sizes.host, device_bytes
            )
            self._shrink(circuit)
        return prover

    def _shrink(self, circuit: str) -> None:
        """Where a key took more than its file had promised, let others go, as far as nobody holds them."""
        while (used := self._used()).host > self.budget.host or used.device > self.budget.device:
            only_hot = used.host <= self.budget.host
            name = self._least_recently_used(circuit, only_hot=only_hot)
            if name is None:
                return
            if only_hot:
                self._cool(self._entries[name])
            else:
                self._drop(name)
