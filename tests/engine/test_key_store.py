"""Keys under a budget: a store that takes more than it may, drops what is in use, or waits for ever shows here."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable

import pytest

from cuzk.engine.key_store import Budget, KeySizes, KeyStore, Tier
from cuzk.errors import InputError, OutOfMemoryError

_PATIENCE_S = 120.0
SIZES = {"a": (10, 5), "b": (20, 10), "c": (30, 15), "whale": (1000, 1)}


class Loader:
    """Keys of known sizes; counts what it does."""

    def __init__(self) -> None:
        self.loads: list[str] = []
        self.broken: set[str] = set()
        self.gate = threading.Event()
        self.gate.set()
        self.measured: dict[str, int] = {}
        self.heap: dict[str, int] = {}
        self.maps: list[str] = []

    def sizes(self, circuit: str) -> KeySizes:
        if circuit not in SIZES:
            raise InputError(f"no key of {circuit}")
        return KeySizes(*SIZES[circuit])

    def map(self, circuit: str, progress: Callable[[float], None]) -> str:
        progress(0.5)
        assert self.gate.wait(_PATIENCE_S)
        self.maps.append(circuit)
        if circuit in self.broken:
            raise InputError("damaged")
        return circuit

    def host_bytes(self, mapped: str, uploaded: str) -> int:
        return self.heap.get(mapped, 0)

    def upload(self, mapped: str) -> tuple[str, int]:
        self.loads.append(mapped)
        return mapped.upper(), self.measured.get(mapped, SIZES[mapped][1])


def store(host: int = 60, device: int = 30) -> tuple[KeyStore[str, str], Loader]:
    loader = Loader()
    return KeyStore(loader, Budget(host, device)), loader


def loaded(keys: KeyStore[str, str]) -> list[str]:
    return [entry.circuit for entry in keys.report() if entry.tier is Tier.HOT]


def test_a_second_proof_pays_no_load() -> None:
    keys, loader = store()
    for _ in range(3):
        with keys.hold("a") as prover:
            assert prover == "A"
    assert loader.loads == ["a"]


def test_the_least_recently_used_goes_first() -> None:
    keys, loader = store(host=50)
    for name in ("a", "b", "a", "c"):
        keys.preload(name)
    assert loaded(keys) == ["a", "c"]
    assert loader.loads == ["a", "b", "c"]
    assert keys.used() == Budget(40, 20)


def test_a_key_in_use_is_never_dropped() -> None:
    keys, _ = store(host=50)
    with keys.hold("b"):
        keys.preload("a")
        assert keys.evict("b") == 0
        keys.preload("c")
        assert loaded(keys) == ["b", "c"]
    assert keys.evict("b") == 30
    assert keys.evict("b") is None


def test_one_that_can_never_fit_is_refused_with_the_sum() -> None:
    keys, _ = store()
    keys.preload("a")
    with pytest.raises(
        OutOfMemoryError, match=r"needs 1 bytes of the device and 1000 of the host.*budget of 30 and 60"
    ):
        keys.preload("whale")
    assert loaded(keys) == ["a"]


def test_waiting_for_a_held_key_ends() -> None:
    now = [0.0]
    loader = Loader()
    keys = KeyStore(loader, Budget(40, 30), clock=lambda: now[0])
    with keys.hold("c"):
        now[0] = 1.0
        with pytest.raises(OutOfMemoryError, match="in use"), keys.hold("b", wait_s=-1):
            pass
    with keys.hold("b", wait_s=-1):
        assert loaded(keys) == ["b"]


def test_whoever_waits_gets_the_room_that_is_let_go() -> None:
    """The other thread looks at the clock twice when it comes, and again when it looks for room: then it waits."""
    got: list[str] = []
    looks, waits = [0], threading.Event()

    def clock() -> float:
        if threading.current_thread() is thread:
            looks[0] += 1
            if looks[0] > 2:
                waits.set()
        return 0.0

    def other() -> None:
        with keys.hold("b") as prover:
            got.append(prover)

    thread = threading.Thread(target=other)
    keys = KeyStore(Loader(), Budget(40, 30), clock=clock)
    with keys.hold("c"):
        thread.start()
        assert waits.wait(_PATIENCE_S)
        assert not got
    thread.join(_PATIENCE_S)
    assert got == ["B"]


def test_only_a_key_that_was_not_there_is_said_to_have_come() -> None:
    """What a proof says it has waited for its key is nothing at all where it was there, however slow the machine is."""
    ticks = itertools.count()
    keys = KeyStore(Loader(), Budget(60, 30), clock=lambda: float(next(ticks)))
    came: list[float] = []
    for name in ("a", "a", "b", "a"):
        with keys.hold(name, came=came.append):
            pass
    assert len(came) == 2
    assert all(seconds > 0 for seconds in came)


def test_idle_time_protects_a_key() -> None:
    now = [0.0]
    keys = KeyStore(Loader(), Budget(40, 30), min_idle_s=10, clock=lambda: now[0])
    keys.preload("c")
    now[0] = 5.0
    with pytest.raises(OutOfMemoryError), keys.hold("b", wait_s=-1):
        pass
    now[0] = 11.0
    keys.preload("b")
    assert loaded(keys) == ["b"]


def test_a_failed_load_leaves_nothing_and_can_be_repeated() -> None:
    keys, loader = store()
    loader.broken.add("a")
    with pytest.raises(InputError, match="damaged"):
        keys.preload("a")
    assert keys.report() == []
    assert keys.used() == Budget(0, 0)
    loader.broken.clear()
    assert keys.preload("a") is False


def test_two_at_once_load_once() -> None:
    keys, loader = store()
    loader.gate.clear()
    threads = [threading.Thread(target=keys.preload, args=("a",)) for _ in range(4)]
    for thread in threads:
        thread.start()
    until = time.monotonic() + _PATIENCE_S
    while not (report := keys.report()) or report[0].holders < 4:
        assert time.monotonic() < until
        time.sleep(0.001)
    assert (report[0].tier, report[0].progress) in ((Tier.COLD, 0.5), (Tier.COLD, 0.0))
    loader.gate.set()
    for thread in threads:
        thread.join()
    assert loader.loads == ["a"]
    assert keys.report()[0].holders == 0


def test_what_a_load_really_took_is_what_counts() -> None:
    keys, loader = store()
    loader.measured["a"] = 9
    keys.preload("a")
    assert keys.used() == Budget(10, 9)
    assert keys.evict("a") == 19


def test_unknown_keys_are_named() -> None:
    keys, _ = store()
    with pytest.raises(InputError, match="no key of z"):
        keys.preload("z")
    assert keys.evict("z") is None


def test_the_budget_holds_under_many_threads() -> None:
    """Eight threads take keys at random; the sum of what is loaded never passes the budget."""
    keys, _ = store(host=60, device=30)
    over: list[Budget] = []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(200):
            name = rng.choice("abc")
            with keys.hold(name) as prover:
                used = keys.used()
                if used.host > 60 or used.device > 30 or prover != name.upper():
                    over.append(used)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert over == []
    assert all(entry.holders == 0 for entry in keys.report())


def test_a_key_leaves_a_full_device_and_stays_mapped() -> None:
    """The device holds 30 bytes: a goes to WARM for c, and comes back without its file being mapped again."""
    keys, loader = store(host=200, device=25)
    for name in ("a", "b", "c", "a"):
        keys.preload(name)
    tiers = {entry.circuit: entry.tier for entry in keys.report()}
    assert tiers == {"a": Tier.HOT, "b": Tier.WARM, "c": Tier.HOT}
    assert loader.loads == ["a", "b", "c", "a"]
    assert loader.maps == ["a", "b", "c"]
    assert keys.used() == Budget(60, 20)
    assert keys.evict("b") == 20, "a mapped key still gives its host memory back"


def test_a_key_that_is_cooled_waits_for_room_on_the_device() -> None:
    keys, _ = store(host=200, device=15)
    keys.preload("a")
    with keys.hold("c"):
        assert {entry.circuit: entry.tier for entry in keys.report()}["a"] is Tier.WARM
        with pytest.raises(OutOfMemoryError, match="in use"), keys.hold("a", wait_s=0.0):
            pass
    with keys.hold("a") as prover:
        assert prover == "A"


def test_what_a_key_takes_is_measured_and_others_make_room() -> None:
    """A file of 10 bytes that needs 45 of the host: the least recently used goes when that is known."""
    keys, loader = store(host=60)
    loader.heap["a"] = 45
    keys.preload("b")
    keys.preload("a")
    assert loaded(keys) == ["a"]
    assert keys.used().host == 45
