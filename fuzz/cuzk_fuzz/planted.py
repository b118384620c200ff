"""Faults planted in one variant of the prover, for tests of what finds them.

    with plant("B1", "pool", phase="ntt_h", index=5, curve=key.curve) as planted:
        ...   # proofs made with B1=pool have h[5] one too large; all others are right

The fault sits where a phase hands on its result, so the phases after it work on what is wrong, as after a fault of the
phase itself: values that are shown to a comparison are wrong from there on, and so is the proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from unittest import mock

from cuzk.curves import Curve
from cuzk.errors import InputError
from cuzk.limbs import limbs_to_ints
from cuzk.telemetry import Recorder
from cuzk.variants import VARIANTS

__all__ = ["PLACES", "Planted", "plant"]

#: Phase -> beginning of the names under which it shows the results that are spoilt.
PLACES: Mapping[str, str] = MappingProxyType(
    {
        "spmv": "a",
        "ntt_h": "h_",
        "msm_h": "sum_h",
        "batch_add": "ones_",
        "tail_msm": "sum_l",
        "b_g2_msm": "sum_b_g2",
    }
)
#: Phases whose results are vectors; those of the others are points.
_VECTORS = ("spmv", "ntt_h")


@dataclass
class Planted:
    """What was planted.

    Attributes:
        variant: Its id.
        value: The value in force that is faulty.
        phase: Where.
        index: Element of a vector.
        hits: Names of the results that were spoilt, one for each time.
    """

    variant: str
    value: str
    phase: str
    index: int
    hits: list[str] = field(default_factory=list)


@contextmanager
def plant(variant: str, value: str, phase: str, index: int = 0, *, curve: Curve) -> Iterator[Planted]:
    """Spoil the result of one phase in every proof for which a variant has a value.

    Args:
        variant: Its id.
        value: The value in force that is to be faulty.
        phase: One of PLACES.
        index: Element of a vector: it becomes one more, mod r, and of the rows a and c both change, so that the row
            still holds. A point becomes its opposite, whatever the index.
        curve: Of the proofs.

    Yields:
        The fault, with what it has hit so far.

    Raises:
        InputError: No such variant, value or phase.
    """
    if phase not in PLACES:
        raise InputError(f"no fault can be planted in {phase!r}", limit=f"possible: {', '.join(PLACES)}")
    if variant not in VARIANTS:
        raise InputError(f"there is no variant {variant!r}", limit=f"possible: {', '.join(VARIANTS)}")
    planted = Planted(variant, VARIANTS[variant].check(value), phase, index)
    original: Callable[..., None] = Recorder.show

    def show(recorder: Recorder, **values: Any) -> None:
        if recorder.variants.get(variant) == value:
            _spoil(planted, curve, values)
        original(recorder, **values)

    # Sums over bases of scalar one are made apart only if somebody wants to see them.
    viewed = property(lambda recorder: True)
    with mock.patch.object(Recorder, "show", show), mock.patch.object(Recorder, "is_viewed", viewed):
        yield planted


def _spoil(planted: Planted, curve: Curve, values: Mapping[str, Any]) -> None:
    """Change, in place, the values that are meant."""
    start = PLACES[planted.phase]
    for name, array in values.items():
        # Over bases into which C is folded, sums have names of their own.
        if name.removesuffix("_folded") != start and not (start.endswith("_") and name.startswith(start)):
            continue
        planted.hits.append(name)
        if planted.phase not in _VECTORS:
            _negate(curve, array)
            continue
        i, r = planted.index, curve.r
        wrong = (_element(array, i) + 1) % r
        _write(array[i], wrong)
        if planted.phase == "spmv":  # in Montgomery form the product has a factor too many
            product = wrong * _element(values["b"], i) * pow(curve.fr.mont_r, -1, r)
            _write(values["c"][i], product % r)


def _element(array: Any, index: int) -> int:
    """An element of a vector, as it stands; the vector may be on any device."""
    row = array[index : index + 1]
    return limbs_to_ints(row.get() if hasattr(row, "get") else row)[0]


def _write(limbs: Any, value: int) -> None:
    """Overwrite limbs, little-endian."""
    for k in range(limbs.shape[0]):
        limbs[k] = value >> (64 * k) & (2**64 - 1)


def _negate(curve: Curve, point: Any) -> None:
    """(x, y) to (x, -y). Shape (2, limbs) or (2, 2, limbs) uint64, on the host."""
    y = point[1].reshape(-1, curve.fp.limbs)
    for k, value in enumerate(limbs_to_ints(y)):
        _write(y[k], -value % curve.p)
