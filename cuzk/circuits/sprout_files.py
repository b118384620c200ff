"""Files of a JoinSplit's secrets and public values, in bincode and JSON, and such files of notes that nobody holds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from cuzk.circuits.boolean import bytes_to_bits
from cuzk.circuits.sha256 import sha256_compression, sha256_initial_state
from cuzk.circuits.sprout import TREE_DEPTH, JoinSplit, OutputNote, SpentNote, joinsplit_hints
from cuzk.circuits.uint32 import word_to_bits_be
from cuzk.circuits.vanilla import codec
from cuzk.circuits.vanilla.codec import BYTES32, U32, U64, ListOf, Struct
from cuzk.circuits.vanilla.merkle_files import PathName, is_json
from cuzk.curves import get_curve
from cuzk.errors import FormatError, ShapeError
from cuzk.synthesis import ConstraintSystem

__all__ = [
    "JOINSPLIT_BYTES",
    "joinsplit_file_hints",
    "joinsplit_synthetic",
    "read_joinsplit",
    "write_joinsplit",
]

_LEVEL = Struct({"sibling": BYTES32, "is_right": U32})
_SPENT = Struct({"value": U64, "spending_key": BYTES32, "rho": BYTES32, "r": BYTES32, "path": ListOf(_LEVEL)})
_MADE = Struct({"value": U64, "paying_key": BYTES32, "r": BYTES32})
_JOINSPLIT = Struct(
    {
        "value_in": U64,
        "value_out": U64,
        "rt": BYTES32,
        "h_sig": BYTES32,
        "phi": BYTES32,
        "spent": ListOf(_SPENT),
        "made": ListOf(_MADE),
    }
)
_NOTES = 2
#: Every JoinSplit in bincode: values and roots, then the notes, each list behind its length.
JOINSPLIT_BYTES = 16 + 96 + 8 + _NOTES * (8 + 96 + 8 + 36 * TREE_DEPTH) + 8 + _NOTES * (8 + 64)


def read_joinsplit(data: bytes, path: PathName = None) -> JoinSplit:
    """A JoinSplit, bincode or JSON.

    Raises:
        FormatError: It does not parse, or has other numbers of notes or levels.
    """
    value = (codec.from_json if is_json(data) else codec.from_bincode)(_JOINSPLIT, data, path)
    levels = [len(note["path"]) for note in value["spent"]]
    if levels != [TREE_DEPTH] * _NOTES or len(value["made"]) != _NOTES:
        raise FormatError(
            f"{len(levels)} spent notes with paths of {levels} levels and {len(value['made'])} made ones",
            path=path,
            limit=f"{_NOTES} of each, {TREE_DEPTH} levels",
        )
    first, second = (
        SpentNote(**{**note, "path": [(each["sibling"], bool(each["is_right"])) for each in note["path"]]})
        for note in value["spent"]
    )
    one, other = (OutputNote(**note) for note in value["made"])
    return JoinSplit(**{**value, "spent": (first, second), "made": (one, other)})


def write_joinsplit(data: JoinSplit, *, as_json: bool = False) -> bytes:
    """The inverse of read_joinsplit."""
    spent: list[dict[str, Any]] = [
        {
            **vars(note),
            "path": [{"sibling": sibling, "is_right": int(right)} for sibling, right in note.path],
        }
        for note in data.spent
    ]
    value = {**vars(data), "spent": spent, "made": [vars(note) for note in data.made]}
    return codec.to_json(_JOINSPLIT, value).encode() if as_json else codec.to_bincode(_JOINSPLIT, value)


def joinsplit_file_hints(data: bytes, path: PathName = None, partition: int = 0) -> Iterator[int]:
    """The hints of ``sprout`` from a file.

    Raises:
        FormatError: As of read_joinsplit.   ShapeError: A partition other than 0.
    """
    if partition:
        raise ShapeError(f"partition {partition} of a circuit without partitions", limit="0")
    return joinsplit_hints(read_joinsplit(data, path))


def _compress(block: bytes) -> bytes:
    """SHA-256's compression function alone: the gadget on constants, which costs no rows."""
    cs = ConstraintSystem(get_curve("bls12_381"))
    words = sha256_compression(cs, bytes_to_bits(block), sha256_initial_state())
    number = 0
    for word in words:
        for bit in word_to_bits_be(word):
            number = number << 1 | bit
    return number.to_bytes(32, "big")


def joinsplit_synthetic(salt: bytes) -> bytes:
    """A JoinSplit that spends a note of a tree that is there along its path alone, and a note of no value."""

    def value(name: str, index: int = 0) -> bytes:
        return hashlib.sha256(salt + name.encode() + bytes([index])).digest()

    key, rho, r = value("key"), value("rho"), value("r")
    amount = int.from_bytes(value("amount")[:7], "little")
    paying_key = _compress(bytes([0xC0 | key[0] & 0x0F]) + key[1:] + bytes(32))
    root = hashlib.sha256(b"\xb0" + paying_key + amount.to_bytes(8, "little") + rho + r).digest()
    path = [(value("sibling", level), value("side", level)[0] & 1 == 1) for level in range(TREE_DEPTH)]
    for sibling, is_right in path:
        root = _compress(sibling + root if is_right else root + sibling)
    spent = (
        SpentNote(amount, key, rho, r, path),
        SpentNote(0, value("key", 1), value("rho", 1), value("r", 1), path),
    )
    half = amount // 2
    made = (
        OutputNote(half, value("to"), value("made")),
        OutputNote(amount - half, value("to", 1), value("made", 1)),
    )
    data = JoinSplit(0, 0, root, value("h_sig"), value("phi"), spent, made)
    return write_joinsplit(data)
