"""Which bases of a key are infinity, and copies of queries that leave those out.

A base is infinity where its variable occurs in no row of the matrix; of B in a circuit made of bits most are. Where
the bases stay on a device a mask is enough. Where they pass through it for every proof, what is infinity should not.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from cuzk.curves import GroupSpec
from cuzk.device.base import Device
from cuzk.groth16.key_stream import Chunk
from cuzk.limbs import U64Array
from cuzk.ops.points import infinite_mask

__all__ = ["Mask", "compact", "find_infinite"]

#: Shape (m,) uint8: 1 where the base is infinity.
Mask = npt.NDArray[np.uint8]

#: Bases that a thread copies at a time.
_GRAIN = 1 << 16
_MOST_THREADS = 8


def find_infinite(device: Device, group: GroupSpec, length: int, chunks: Iterable[Chunk]) -> Mask | None:
    """The mask of a query's infinite bases, None where there are none.

    Args:
        device: Where the chunks are.
        group: The bases' group.
        length: Number of bases.
        chunks: All of them.

    Cost: one read of the bases on the device, one download of the mask.
    """
    with device.label("key"):
        mask = device.alloc((length,), np.uint8)
    for chunk in chunks:
        infinite_mask(device, group, chunk.bases, mask[chunk.first : chunk.last])
    found: Mask = device.download(mask)
    return found if found.any() else None


def compact(bases: U64Array, places: npt.NDArray[np.uint32]) -> U64Array:
    """The bases at some places, as a new array on the host.

    Args:
        bases: Shape (m, *affine_shape) uint64; may be mapped from a file.
        places: Shape (n,) uint32. Order: ascending.
    """
    from concurrent.futures import ThreadPoolExecutor  # here: it brings the logging module along

    kept = np.empty((len(places), *bases.shape[1:]), bases.dtype)

    def copy(first: int) -> None:
        np.take(bases, places[first : first + _GRAIN], axis=0, out=kept[first : first + _GRAIN], mode="clip")

    threads = min(_MOST_THREADS, len(os.sched_getaffinity(0)))
    with ThreadPoolExecutor(threads, thread_name_prefix="cuzk-compact") as pool:
        for _ in pool.map(copy, range(0, len(places), _GRAIN)):
            pass
    return kept
