"""Variants of memory: where vectors lie, how they are let go, how many circuits are at work together."""

from __future__ import annotations

from cuzk.variants.model import Variant

__all__ = ["ROWS"]

_NO_BUS = (
    "the cpu computes where the host's arrays are, so nothing is copied that page-locking could speed up"
)

ROWS = (
    Variant(
        id="B1",
        name="host memory of a, b, c",
        phase=("rows_down", "pin_abc", "ntt_h", "unpin"),
        values=("resident", "pageable", "register", "pool"),
        default="resident",
        promise="The same vectors; all but `resident` move them to the host's memory after synthesis and back before "
        "the transforms, 96 bytes a row each way, `register` page-locks them for every proof (pin_abc, unpin), "
        "`pool` keeps page-locked buffers from proof to proof.",
        forecast="On a GPU at 2^27 rows: resident saves 0.5 s a proof over pool; register costs 0.15 to 0.3 s more "
        "than pool if page-locking is as fast as hoped, 7 s if it is as slow as it was measured elsewhere; pageable "
        "costs 1 s more than pool. On the cpu pageable costs 2% for the copies.",
        trace="B1",
        not_on={"cpu": {"register": _NO_BUS, "pool": _NO_BUS}},
    ),
    Variant(
        id="B2",
        name="deallocation of large arrays",
        phase=("prove", "dealloc"),
        values=("arena", "sync", "async"),
        default="arena",
        promise="The same proofs; `arena` lets each array go with its last reader, the others keep witnesses and host "
        "copies to the end of the batch, and free them before (`sync`) or while (`async`) the proofs are returned.",
        forecast="arena and async are within 1% of each other; sync costs 0.1 s for each 4 GiB on a host, where "
        "memory goes back to the system, and nothing on a GPU.",
        trace="B2",
    ),
    Variant(
        id="C1",
        name="circuits per call",
        phase=("prove",),
        values=("fit", *(str(count) for count in range(1, 33))),
        default="fit",
        promise="The same proofs; a batch is cut into calls of so many circuits, fewer where the device's memory holds "
        "fewer. A call shares classification's wait and every chunk of a query that is streamed; bases that stay on "
        "the device are read once for each circuit.",
        forecast="With a streamed key 10 circuits a call halve the time a proof; with a resident one 3% at most.",
        trace="C1",
    ),
)
