"""Variants of the engine: how many proofs are under way, and in which order. They belong to no single proof."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cuzk.variants.model import Variant

__all__ = ["ENGINE_VARIANTS"]

_ROWS = (
    Variant(
        id="P2",
        name="overlap of synthesis, device and finish",
        phase=("engine",),
        values=("on", "off"),
        default="on",
        promise="The same proofs; with on each stage has a thread of its own, so that one partition's payload is read "
        "while another is on the device and a third is verified; off takes a partition through all stages before the "
        "next.",
        forecast="on saves what synthesis and self-check take of the host where the device is a GPU: 5 to 10 ms of a "
        "small proof, 1% of a PoRep partition, whose synthesis is the device's. On the cpu, whose cores they share, "
        "10% for proofs of milliseconds, nothing for longer ones.",
        trace="P2",
    ),
    Variant(
        id="P3",
        name="partitions of one circuit in a call",
        phase=("engine",),
        values=tuple(str(count) for count in (1, 2, 4, 8, 16, 32)),
        default="1",
        promise="The same proofs; as many waiting partitions of one circuit as there are, at most this many, go "
        "through the stages together, in order; none overtakes another, and no critical one waits for the others.",
        forecast="With a resident key 3 to 7%, and a latency that grows with the batch; with a streamed key half "
        "the time a proof. On the cpu 5% for circuits below 2^12 rows.",
        trace="P3",
    ),
    Variant(
        id="P6",
        name="partitions interleave",
        phase=("engine",),
        values=("on", "off"),
        default="on",
        promise="The same proofs; with off a job is given to one worker whole, as one batch.",
        forecast="The same throughput with one device; with n devices off takes up to n times as long for one job "
        "alone, and its memory is that of all its partitions.",
        trace="P6",
    ),
    Variant(
        id="P8",
        name="threads that give work to a device",
        phase=("engine",),
        values=tuple(str(count) for count in range(1, 9)),
        default="1",
        promise="The same proofs; a prover takes one call at a time, so a second thread only has its arguments ready.",
        forecast="Nothing: below 2% with P2=on and P12=on, whose stages do the same better. With P12=off two threads "
        "hide each other's assembly and self-check.",
        trace="P8",
    ),
    Variant(
        id="P12",
        name="proofs are started and finished apart",
        phase=("engine",),
        values=("on", "off"),
        default="on",
        promise="The same proofs; with on assembly and self-check are a stage of their own, beside the next "
        "partition's kernels.",
        forecast="on saves up to 10 ms a proof where the device is a GPU and P2 is off, else below 2%. On the cpu "
        "5% where a core is idle, else nothing.",
        trace="P12",
    ),
)

#: Every variant of the engine by id.
ENGINE_VARIANTS: Mapping[str, Variant] = MappingProxyType({row.id: row for row in _ROWS})
