"""What the scalar-field operations share: checks at the edge, launches by curve, one-element constants."""

from __future__ import annotations

import numpy as np

from cuzk.curves import Curve
from cuzk.device.base import Array, Device
from cuzk.errors import ShapeError
from cuzk.limbs import fr_from_ints
from cuzk.ops.plan_fr import LaunchShape


def check_fr(curve: Curve, name: str, x: Array, shape: tuple[int, ...] | None = None) -> int:
    """Check that x holds scalars: shape (..., limbs) uint64, contiguous, and if given exactly this shape.

    Returns:
        The number of scalars.
    Raises:
        ShapeError: It does not; the message calls it by name.
    """
    limbs = curve.fr.limbs
    if x.ndim < 2 or x.shape[-1] != limbs or x.dtype != np.uint64:
        raise ShapeError(
            f"{name} of shape {tuple(x.shape)} and type {x.dtype} is no vector of {curve.fr.name}",
            limit=f"(n, {limbs}) uint64",
        )
    if shape is not None and tuple(x.shape) != shape:
        raise ShapeError(f"{name} has shape {tuple(x.shape)}", limit=f"{shape}")
    if not x.flags.c_contiguous:
        raise ShapeError(f"{name} is not contiguous", remedy="pass a copy")
    return int(x.size) // limbs


def _address(x: Array) -> int:
    interface = getattr(x, "__cuda_array_interface__", None) or x.__array_interface__
    return int(interface["data"][0])


def check_overlap(name: str, out: Array, x: Array, *, exact_allowed: bool = True) -> None:
    """Refuse an output that shares memory with an input, unless it is that input (and exact_allowed).

    Raises:
        ShapeError: The two overlap.
    """
    first, second = _address(out), _address(x)
    apart = first + out.nbytes <= second or second + x.nbytes <= first
    if not apart and not (exact_allowed and (first, out.nbytes) == (second, x.nbytes)):
        remedy = "use a separate array" + (", or the same one" if exact_allowed else "")
        raise ShapeError(f"the output overlaps {name}", remedy=remedy)


def output_like(device: Device, curve: Curve, like: Array, out: Array | None, **inputs: Array) -> Array:
    """The checked output of an operation whose result has the shape of `like`; new unless out is given."""
    if out is None:
        return device.alloc(tuple(like.shape), np.uint64)
    check_fr(curve, "out", out, tuple(like.shape))
    for name, value in inputs.items():
        check_overlap(name, out, value)
    return out


def launch(device: Device, curve: Curve, op: str, shape: LaunchShape, **args: Array | int) -> None:
    """Launch the kernel of an operation from the curve's fr module."""
    device.launch(
        f"{op}_{curve.name}_fr", grid=shape.grid, block=shape.block, shared_bytes=shape.shared_bytes, **args
    )


def constant(device: Device, curve: Curve, value: int) -> Array:
    """One scalar on the device. Shape (1, limbs) uint64. Form: Montgomery. value is taken mod r."""
    return device.upload(fr_from_ints(curve, [value]))


def check_power_of_two(name: str, x: Array) -> int:
    """log2 of the length of the vectors in x, Shape (n, limbs) or (batch, n, limbs).

    Raises:
        ShapeError: Another number of axes, or n is not a power of two.
    """
    if x.ndim not in (2, 3) or x.shape[-2] < 1 or x.shape[-2] & (x.shape[-2] - 1):
        raise ShapeError(
            f"{name} has shape {tuple(x.shape)}", limit="(n, limbs) or (batch, n, limbs), n a power of two"
        )
    return int(x.shape[-2]).bit_length() - 1
