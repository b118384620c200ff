"""How many partitions a PoRep has: interactive and synthetic ones ten from 32 GiB on, non-interactive ones 126.

The circuit is the same. A client says which by the number of the registered proof, and the file says it as well; where
the two differ, or the file has another number of partitions than any PoRep of its size, nothing is proven.
"""

from __future__ import annotations

import base64
import binascii
import re

from cuzk.circuits.vanilla.shapes import SectorShape
from cuzk.errors import InputError

__all__ = ["porep_partitions"]

#: Registered proofs are numbered by feature (V1, V1_1, synthetic, non-interactive), and in each by sector size.
_SIZES = ("2KiB", "8MiB", "512MiB", "32GiB", "64GiB")
_NON_INTERACTIVE, _END = 15, 20
#: Partitions that the start of a file can mean.
_MOST = 1 << 16
_NAME = re.compile(rb'"registered_proof"\s*:\s*"StackedDrg\w*?V1(?:_1|_2)?(_Feat_\w+)?"')
#: The name of the registered proof stands at the start of the file in base64 within a file of JSON.
_START = re.compile(rb'"Phase1Out"\s*:\s*"([A-Za-z0-9+/]{4,2048})')


def porep_partitions(registered_proof: int, shape: SectorShape, payload: bytes) -> int:
    """The partitions of a PoRep's vanilla proofs.

    Args:
        registered_proof: The client's number; 0 where it says nothing (and the oldest proof of 2 KiB).
        shape: Of the sector.
        payload: Output of the first commit phase, bincode or JSON. Only its start is looked at.

    Raises:
        InputError: Number, size and file contradict each other.
    """
    asked = _asked(registered_proof, shape)
    found = _in_file(payload, shape)
    if found is not None and asked is not None and found != asked:
        raise InputError(
            f"the vanilla proof has {found} partitions, and registered_proof {registered_proof} means {asked}",
            where="vanilla_proof",
            limit=f"{shape.partitions} partitions, of a non-interactive PoRep {shape.non_interactive_partitions}",
            remedy="send the registered proof that the sector was sealed for",
        )
    return found or asked or shape.partitions


def _asked(registered_proof: int, shape: SectorShape) -> int | None:
    """What the number means; None for 0."""
    if not registered_proof:
        return None
    size = _SIZES[registered_proof % len(_SIZES)]
    if registered_proof >= _END or size != shape.name:
        raise InputError(
            f"registered_proof is {registered_proof}"
            + ("" if registered_proof >= _END else f", a proof of {size}, and the sector has {shape.name}"),
            where="registered_proof",
            limit=f"1 to {_END - 1}, of the sector's size; 0 says nothing",
            remedy="send the number of the seal proof (15 to 19 are the non-interactive ones), or 0",
        )
    return shape.non_interactive_partitions if registered_proof >= _NON_INTERACTIVE else shape.partitions


def _in_file(payload: bytes, shape: SectorShape) -> int | None:
    """What the start of a file says; None where it says nothing that is known here."""
    if payload.lstrip()[:1] == b"{":
        return _in_json(payload, shape)
    count = int.from_bytes(payload[:8], "little")
    if len(payload) < 8 or not 0 < count <= _MOST:
        return None  # no output of the first commit phase: its reader says what is wrong, and where
    allowed = (shape.partitions, shape.non_interactive_partitions)
    if count not in allowed:
        raise InputError(
            f"the vanilla proof has {count} partitions",
            where="vanilla_proof",
            limit=f"{allowed[0]} for a sector of {shape.name}, {allowed[1]} for a non-interactive PoRep",
            remedy="send the whole output of the first commit phase, as bincode or JSON",
        )
    return count


def _in_json(payload: bytes, shape: SectorShape) -> int | None:
    start = _START.search(payload, 0, 1 << 12)
    if start is None:
        return None
    text = start[1][: len(start[1]) // 4 * 4]
    try:
        name = _NAME.search(base64.b64decode(text))
    except binascii.Error:
        return None
    if name is None:
        return None
    is_alone = name[1] is not None and b"NonInteractive" in name[1]
    return shape.non_interactive_partitions if is_alone else shape.partitions
