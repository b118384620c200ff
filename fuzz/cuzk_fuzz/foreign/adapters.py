"""How an implementation takes its inputs: as Python ints, as arrays of limbs (also on a GPU), or through a C interface.

Arrays: little-endian uint64 limbs. Scalars have shape (n, limbs), points of G1 (n, 2, limbs), of G2 (n, 2, 2, limbs),
c0 before c1; infinity is all zero. Form: Montgomery with R = 2^(64 * limbs), or standard where `form="standard"`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from cuzk.curves import FieldSpec, GroupSpec
from cuzk.limbs import ints_to_limbs, limbs_to_ints, points_from_ints, points_to_ints

U64 = npt.NDArray[np.uint64]
Form = Literal["montgomery", "standard"]

#: An affine point: None for infinity, coordinates of G2 as (c0, c1).
Point = Any


@dataclass(frozen=True)
class Implementation:
    """Something that computes one kind of operation.

    Attributes:
        kind: "msm", "ntt" or "field".
        run: msm: (group, points, scalars) -> point; ntt: (field, omega, values, inverse, shift) -> values; field:
            (field, operation, operands) -> int. Python ints in standard form, whatever the implementation takes itself.
    """

    kind: str
    run: Callable[..., Any]


def msm_of_ints(function: Callable[[Sequence[Point], Sequence[int]], Point]) -> Implementation:
    """A multi-scalar multiplication of affine points and ints."""
    return Implementation("msm", lambda group, points, scalars: function(points, scalars))


def ntt_of_ints(function: Callable[[int, Sequence[int], bool], Sequence[int]]) -> Implementation:
    """A transform (omega, values, inverse) -> values in natural order, the inverse with its 1/n."""
    return Implementation("ntt", lambda field, omega, values, inverse: function(omega, values, inverse))


def field_of_ints(function: Callable[[str, int, int], int]) -> Implementation:
    """Operations ("add", "sub", "mul", "inverse") on ints in standard form; 1/0 = 0."""
    return Implementation("field", lambda field, operation, a, b: function(operation, a, b))


def as_array(value: Any) -> npt.NDArray[Any]:
    """A host array of what an implementation returned: NumPy, anything with DLPack on the host, CuPy, PyTorch on a GPU.

    Raises:
        TypeError: It is none of these.
    """
    if hasattr(value, "get") and hasattr(value, "__cuda_array_interface__"):  # CuPy
        return np.asarray(value.get())
    if hasattr(value, "cpu"):  # PyTorch; signed words where it has no unsigned ones
        value = value.cpu()
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    raise TypeError(
        f"{type(value).__name__} is neither an array nor has __dlpack__ or __cuda_array_interface__"
    )


def _in_form(field: FieldSpec, values: Sequence[int], form: Form) -> U64:
    numbers = [field.to_mont(v) for v in values] if form == "montgomery" else list(values)
    return ints_to_limbs(numbers, field.limbs)


def _points_in_form(group: GroupSpec, points: Sequence[Point], form: Form) -> U64:
    array = points_from_ints(group, list(points))
    if form == "montgomery":
        return array
    fp = group.fp
    flat = [fp.from_mont(v) for v in limbs_to_ints(array.reshape(-1, fp.limbs))]
    return ints_to_limbs(flat, fp.limbs).reshape(array.shape)


def _point_from_form(group: GroupSpec, array: U64, form: Form) -> Point:
    fp = group.fp
    words = limbs_to_ints(np.ascontiguousarray(array).view(np.uint64).reshape(-1, fp.limbs))
    if any(word >= fp.modulus for word in words):
        raise ValueError("a coordinate of the result is not below the modulus")
    if form == "standard":
        words = [fp.to_mont(word) for word in words]
    limbs = ints_to_limbs(words, fp.limbs).reshape(1, *group.affine_shape)
    return points_to_ints(group, limbs)[0]


def msm_of_arrays(
    function: Callable[[Any, Any], Any],
    *,
    form: Form = "montgomery",
    device: Callable[[U64], Any] | None = None,
) -> Implementation:
    """A multi-scalar multiplication (points, scalars) -> affine point, all of them arrays.

    Args:
        function: What to call. Its result may be an array on a GPU, or anything with DLPack.
        form: Of points and scalars, in and out.
        device: Moves a host array to where the function wants it, such as `cupy.asarray` or `torch.from_dlpack`;
            None to hand over NumPy arrays.
    """
    put = device or (lambda array: array)

    def run(group: GroupSpec, points: Sequence[Point], scalars: Sequence[int]) -> Point:
        bases = put(_points_in_form(group, points, form))
        numbers = put(_in_form(group.curve.fr, scalars, form))
        return _point_from_form(group, as_array(function(bases, numbers)), form)

    return Implementation("msm", run)


def ntt_of_arrays(
    function: Callable[[Any, bool], Any],
    *,
    form: Form = "montgomery",
    device: Callable[[U64], Any] | None = None,
) -> Implementation:
    """A transform (values, inverse) -> values of arrays in natural order, with a root of unity of its own choice.

    The root is the curve's usual one; a function that uses another differs in its first long case.
    """
    put = device or (lambda array: array)

    def run(field: FieldSpec, omega: int, values: Sequence[int], inverse: bool) -> list[int]:
        del omega
        done = as_array(function(put(_in_form(field, values, form)), inverse))
        found = limbs_to_ints(np.ascontiguousarray(done).view(np.uint64).reshape(-1, field.limbs))
        return [field.from_mont(v) for v in found] if form == "montgomery" else found

    return Implementation("ntt", run)


def c_library(path: Path | str, name: str, *, form: Form = "montgomery") -> Implementation:
    """A multi-scalar multiplication in a shared library, with this C interface:

        int NAME(uint64_t* result, const uint64_t* points, const uint64_t* scalars, size_t n);

    It returns 0, or the number of its error.

    Args:
        path: The library.
        name: The function.
        form: Of points and scalars, in and out.

    Raises:
        OSError, AttributeError: There is no such library, or no such function in it.
    """  # noqa: D415 - the signature is part of the sentence
    function = getattr(ctypes.CDLL(str(path)), name)
    pointer = ctypes.POINTER(ctypes.c_uint64)
    function.argtypes, function.restype = [pointer, pointer, pointer, ctypes.c_size_t], ctypes.c_int

    def run(group: GroupSpec, points: Sequence[Point], scalars: Sequence[int]) -> Point:
        bases = _points_in_form(group, points, form)
        numbers = _in_form(group.curve.fr, scalars, form)
        result = np.zeros(group.affine_shape, np.uint64)
        arguments = [array.ctypes.data_as(pointer) for array in (result, bases, numbers)]
        if code := function(*arguments, len(points)):
            raise RuntimeError(f"{name} returned {code}")
        return _point_from_form(group, result, form)

    return Implementation("msm", run)
