"""Operations of the target vec that go by the place of an element: gathering, bit reversal, tau - g^i."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from cuzk.curves import Curve
from cuzk.device import Array, Device
from cuzk.limbs import fr_from_ints, fr_to_ints
from cuzk.ops import fr_vec
from cuzk.ops.fr_common import launch
from cuzk.ops.plan_fr import plan_bit_reverse, plan_elementwise
from cuzk.ops.power_tables import power_tables
from cuzk_fuzz.targets.draw import U64

PLACED = ("gather", "bit_reverse", "tau_minus")

#: log2 of the longest vector that is reversed, where threads are cheap and where they are not.
_LONGEST, _LONGEST_EMULATED = 17, 11


def indices(values: U64, factor: int) -> npt.NDArray[np.uint32]:
    """Which elements are gathered: any; the last one is beyond the vector where the batch is to be refused."""
    n = values.shape[1]
    found = (values[1, :, 0] % np.uint64(max(1, n))).astype(np.uint32)
    if is_refused("gather", values, factor):
        found[-1] = n
    return found


def is_refused(op: str, values: U64, factor: int) -> bool:
    """Whether a kernel has to refuse it."""
    return op == "gather" and values.shape[1] > 0 and factor % 4 == 0


def run(op: str, device: Device, curve: Curve, values: U64, factor: int) -> Array:
    """One operation on a. Shape (n, limbs)."""
    n = values.shape[1]
    if n == 0:
        return values[0]
    if op == "gather":
        x = device.upload(values[0].copy())
        return np.asarray(
            device.download(fr_vec.gather(device, curve, x, device.upload(indices(values, factor))))
        )
    if op == "bit_reverse":
        return _reversed(device, curve, values[0], factor)
    tables = power_tables(device, curve, factor, (n - 1).bit_length())
    out = device.alloc((n, curve.fr.limbs), np.uint64)
    launch(
        device, curve, "fr_tau_minus", plan_elementwise(n, device.limits),
        tau=device.upload(values[1, :1].copy()), **tables.arguments(), out=out, n=n,
    )  # fmt: skip
    return np.asarray(device.download(out))


def expected(op: str, curve: Curve, values: U64, factor: int) -> U64:
    """The same on the host. Shape (n, limbs)."""
    n = values.shape[1]
    if op == "gather":
        gathered: U64 = values[0][indices(values, factor)]
        return gathered
    if op == "bit_reverse" or n == 0:
        return np.asarray(values[0])
    (tau,) = fr_to_ints(curve, values[1, :1])
    return fr_from_ints(curve, [(tau - pow(factor, i, curve.r)) % curve.r for i in range(n)])


def _reversed(device: Device, curve: Curve, elements: U64, factor: int) -> U64:
    """Elements that went to places of a long vector, taken from where those belong after it was reversed.

    Length, side of the tiles and places depend on the factor. Where something else is not zero, no element is right.
    """
    n, longest = len(elements), _LONGEST_EMULATED if device.limits.gpu_like else _LONGEST
    log_n = max((n - 1).bit_length(), 1 + factor % longest)
    log_tile = factor // longest % (min(4, log_n // 2) + 1)
    places = (np.arange(n, dtype=np.int64) * (factor % (1 << 20) | 1) + factor % 97) % (1 << log_n)
    vector = np.zeros((1 << log_n, curve.fr.limbs), np.uint64)
    vector[places] = elements
    shape, _ = plan_bit_reverse(log_n, 1, curve, device.limits)
    grid = min(shape.grid, 1 << (log_n - 2 * log_tile))
    shape = replace(shape, grid=grid, shared_bytes=2 * curve.fr.nbytes << (2 * log_tile))
    out = device.alloc(vector.shape, np.uint64)
    launch(
        device, curve, "fr_bit_reverse", shape,
        src=device.upload(vector), dst=out, log_n=log_n, log_tile=log_tile, batch=1,
    )  # fmt: skip
    found = np.asarray(device.download(out))
    targets = [int(f"{place:0{log_n}b}"[::-1], 2) for place in places]
    rows: U64 = found[targets]
    same_number = np.count_nonzero(found.any(axis=1)) == np.count_nonzero(elements.any(axis=1))
    return rows if same_number else ~rows
