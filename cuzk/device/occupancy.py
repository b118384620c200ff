"""How many warps of a kernel one multiprocessor holds at once: from registers, static shared memory and block size.

The rules are those of NVIDIA's occupancy tables: registers are handed out to warps in groups of 256 within each of four
quarters, shared memory to blocks, with 1 KiB for the system.  Shared memory that a launch asks for is not in it.
"""

from __future__ import annotations

from typing import NamedTuple

from cuzk.errors import InputError

__all__ = ["Sm", "resident_warps", "sm_of"]

_WARP = 32
_QUARTERS, _QUARTER_REGISTERS = 4, 16384
_REGISTER_UNIT = 256
_SYSTEM_SHARED_BYTES = 1024


class Sm(NamedTuple):
    """What one multiprocessor holds.

    Args:
        warps: At most.
        blocks: At most.
        shared_bytes: Of all its blocks.
    """

    warps: int
    blocks: int
    shared_bytes: int


_AMPERE, _SMALL_AMPERE, _ADA = Sm(64, 32, 164 << 10), Sm(48, 16, 100 << 10), Sm(48, 24, 100 << 10)
_DATA_CENTRE = Sm(64, 32, 228 << 10)
_SMS = {
    "80": _AMPERE, "86": _SMALL_AMPERE, "87": Sm(48, 16, 164 << 10), "89": _ADA, "90": _DATA_CENTRE,
    "100": _DATA_CENTRE, "103": _DATA_CENTRE, "120": _ADA, "121": _ADA,
}  # fmt: skip


def sm_of(arch: str) -> Sm:
    """The multiprocessor of an architecture.

    Args:
        arch: Compute capability without the dot.

    Raises:
        InputError: Its limits are not written here.
    """
    if arch not in _SMS:
        raise InputError(
            f"occupancy of sm_{arch} is not known", limit=f"known: {', '.join(_SMS)}",
            remedy="add its row from NVIDIA's occupancy tables to cuzk/device/occupancy.py",
        )  # fmt: skip
    return _SMS[arch]


def resident_warps(sm: Sm, registers: int, shared_bytes: int, threads: int) -> int:
    """Warps that one multiprocessor holds; 0 where not even one block fits.

    Args:
        sm: The multiprocessor.
        registers: A thread.
        shared_bytes: A block, static.
        threads: A block.
    """
    warps = -(-threads // _WARP)
    of_a_warp = max(1, -(-registers * _WARP // _REGISTER_UNIT)) * _REGISTER_UNIT
    by_registers = _QUARTER_REGISTERS // of_a_warp * _QUARTERS // warps
    by_shared = sm.shared_bytes // (shared_bytes + _SYSTEM_SHARED_BYTES)
    return min(sm.warps // warps, sm.blocks, by_registers, by_shared) * warps
