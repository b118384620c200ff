"""Copies beside the launches, on the host devices.

Would catch: a missing ``wait``, an `after` that is too early, and a checker that sees neither, or sees them where
there are none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cuzk.curves import get_curve
from cuzk.device import Ticket, get_device
from cuzk.errors import InternalError
from cuzk.limbs import fr_from_ints, fr_to_ints
from cuzk.ops.fr_vec import fr_mul

CURVE = get_curve("bn254")


def values(*ints: int) -> Any:
    return fr_from_ints(CURVE, list(ints))


@pytest.fixture
def emu() -> Any:
    return get_device("emu")


@pytest.mark.parametrize("kind", ["cpu", "emu"])
def test_chunks_through_two_buffers(kind: str) -> None:
    """The pattern of copies.py."""
    device = get_device(kind)
    total, want = device.upload(values(1, 1)), [1, 1]
    buffer: list[Any] = [device.alloc((2, CURVE.fr.limbs)) for _ in range(2)]
    free: list[Ticket | None] = [None, None]
    begin = device.mark()
    for i in range(2, 9):
        device.wait(device.stage(values(i, i + 1), buffer[i % 2], after=free[i % 2]))
        fr_mul(device, CURVE, total, buffer[i % 2], out=total)
        free[i % 2] = device.mark()
        want = [want[0] * i, want[1] * (i + 1)]
    assert fr_to_ints(CURVE, device.download(total)) == want
    spans = device.take_copies()
    assert [span.nbytes for span in spans] == [2 * CURVE.fr.nbytes] * 7
    assert device.time_of(begin) <= spans[0].begin_ms <= spans[0].end_ms <= spans[1].begin_ms
    assert spans[-1].end_ms <= device.time_of(device.mark())
    end = device.mark()
    assert device.elapsed(begin, end) == pytest.approx(device.time_of(end) - device.time_of(begin), abs=1e-3)
    assert device.counters()["bytes_up"] >= 7 * 2 * CURVE.fr.nbytes


def test_a_missing_wait(emu: Any) -> None:
    x = emu.upload(values(1, 2, 3))
    ticket = emu.stage(values(5), x[1:2], after=emu.mark())
    fr_mul(emu, CURVE, x[2:], x[2:])  # another part of the array
    with pytest.raises(
        InternalError, match=r"fr_mul_bn254_fr uses .* while a copy into it .* wait for the copy"
    ):
        fr_mul(emu, CURVE, x, x)
    with pytest.raises(InternalError, match="a download uses"):
        emu.download(x)
    with pytest.raises(InternalError, match="fill_zero uses"):
        emu.fill_zero(x)
    emu.wait(ticket)
    assert fr_to_ints(CURVE, emu.download(fr_mul(emu, CURVE, x, x))) == [1, 25, 9]


def test_waiting_for_a_later_copy_is_enough(emu: Any) -> None:
    x, y = emu.upload(values(1)), emu.upload(values(2))
    emu.stage(values(3), x)
    emu.wait(emu.stage(values(4), y))
    assert fr_to_ints(CURVE, emu.download(fr_mul(emu, CURVE, x, y))) == [12]
    emu.stage(values(5), x)
    emu.synchronize()  # so is waiting for everything
    assert fr_to_ints(CURVE, emu.download(x)) == [5]


def test_a_buffer_that_is_still_read(emu: Any) -> None:
    x, early = emu.upload(values(1, 2)), emu.mark()
    y = fr_mul(emu, CURVE, x, x)
    with pytest.raises(InternalError, match="would overwrite what fr_mul_bn254_fr may still use"):
        emu.stage(values(3, 4), x, after=early)
    emu.fill_zero(y)
    late = emu.mark()
    emu.wait(emu.stage(values(3, 4), x, after=late))
    other = emu.alloc((2, CURVE.fr.limbs))
    emu.wait(emu.stage(values(3, 4), other, after=late))
    copied = emu.stage(values(3, 4), other, after=late)
    fr_mul(emu, CURVE, y, y, out=y)
    with pytest.raises(InternalError, match="what fr_mul_bn254_fr may still use"):
        emu.stage(values(1, 1), y, after=copied)  # comes after the copy, and that may run before the launch
    with pytest.raises(InternalError, match="may still use"):
        emu.stage(values(1, 1), y, after=early)


@pytest.mark.parametrize("kind", ["cpu", "emu"])
def test_copies_that_can_not_be(kind: str) -> None:
    device = get_device(kind)
    x = device.alloc((4, CURVE.fr.limbs))
    with pytest.raises(InternalError, match="32 bytes are staged into 128 bytes"):
        device.stage(values(1), x)
    with pytest.raises(InternalError, match="only contiguous arrays"):
        device.stage(np.zeros((8, CURVE.fr.limbs), np.uint64)[::2], x)
    with device.lock_pages(np.zeros(4)) as locked:
        assert not locked  # a host device copies nothing over a bus
