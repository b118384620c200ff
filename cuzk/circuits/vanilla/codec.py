"""Typed data as bincode and as JSON: one description of a file's types serves four directions.

In bincode there are no names: integers of fixed width, little-endian; a list is its length (64 bits) and its items;
a variant is its number (32 bits) and its content. In JSON a struct is an object, a list an array, a variant an object
with one key; 32 bytes are an array of numbers.

>>> point = Struct({"x": U32, "y": ListOf(U64)})
>>> to_bincode(point, {"x": 1, "y": [2]}).hex()
'0100000001000000000000000200000000000000'
>>> from_bincode(point, bytes.fromhex("010000000000000000000000"))
{'x': 1, 'y': []}
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cuzk.circuits.vanilla.domain import NODE_BYTES
from cuzk.circuits.vanilla.poseidon_constants import MODULUS
from cuzk.errors import FormatError

__all__ = [
    "BYTES32",
    "NODE",
    "TEXT",
    "U32",
    "U64",
    "UNIT",
    "Fixed",
    "ListOf",
    "OneOf",
    "Schema",
    "Struct",
    "all_from_bincode",
    "from_bincode",
    "from_json",
    "to_bincode",
    "to_json",
]


@dataclass(frozen=True)
class Fixed:
    """A simple value: "int", "node" (field element, an int here), "bytes", "unit" (None, no bytes), or "text".

    Attributes:
        kind: Which of them.
        num_bytes: Its bytes in bincode; of a text those of its length, which come first.
    """

    kind: str
    num_bytes: int


@dataclass(frozen=True)
class ListOf:
    """Any number of values of one type."""

    item: Schema


@dataclass(frozen=True)
class Struct:
    """Named values, in this order."""

    fields: Mapping[str, Schema]


@dataclass(frozen=True)
class OneOf:
    """Named alternatives; here a value is the pair (name, content)."""

    variants: Mapping[str, Schema]


_MAX_DEPTH = 64  # a vanilla proof has 9 levels
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|\[[\d,\s]*\]|[\[\]{}]', re.DOTALL)
_REMEDY = "make or fetch the file of vanilla proofs again"

Schema = Fixed | ListOf | Struct | OneOf

U32, U64 = Fixed("int", 4), Fixed("int", 8)
NODE, BYTES32 = Fixed("node", NODE_BYTES), Fixed("bytes", NODE_BYTES)
#: A marker without content: nothing in bincode, null in JSON.
UNIT = Fixed("unit", 0)
TEXT = Fixed("text", 8)


def _least_bytes(schema: Schema) -> int:
    """The fewest bytes a value can have in bincode."""
    if isinstance(schema, Fixed):
        return schema.num_bytes
    if isinstance(schema, ListOf):
        return 8
    if isinstance(schema, Struct):
        return sum(map(_least_bytes, schema.fields.values()))
    return 4 + min(map(_least_bytes, schema.variants.values()))


@dataclass
class _Bincode:
    """Bytes and how far they are read."""

    data: bytes
    path: str | os.PathLike[str] | None
    offset: int = 0
    place: list[str] = field(default_factory=list)

    def fault(self, what: str, limit: str | None = None) -> FormatError:
        """An error at the current place."""
        name = "".join(self.place).removeprefix(".") or None
        return FormatError(
            what, path=self.path, section=name, offset=self.offset, limit=limit, remedy=_REMEDY
        )

    def take(self, num_bytes: int) -> bytes:
        """The next bytes."""
        part = self.data[self.offset : self.offset + num_bytes]
        if len(part) < num_bytes:
            raise self.fault(f"the file ends before {num_bytes} bytes", f"{len(part)} bytes are left")
        self.offset += num_bytes
        return part

    def read(self, schema: Schema) -> Any:
        """The next value."""
        if isinstance(schema, Fixed):
            return self._fixed(schema)
        if isinstance(schema, ListOf):
            return self._list(schema)
        if isinstance(schema, Struct):
            return {name: self.inside(f".{name}", item) for name, item in schema.fields.items()}
        number = int.from_bytes(self.take(4), "little")
        if number >= len(schema.variants):
            self.offset -= 4
            raise self.fault(f"variant {number} is unknown", f"0 to {len(schema.variants) - 1}")
        name = list(schema.variants)[number]
        return name, self.inside(f".{name}", schema.variants[name])

    def inside(self, name: str, schema: Schema) -> Any:
        """The next value, called `name` in errors."""
        self.place.append(name)
        value = self.read(schema)
        self.place.pop()
        return value

    def _fixed(self, schema: Fixed) -> Any:
        data = self.take(schema.num_bytes)
        if schema.kind == "unit":
            return None
        if schema.kind == "bytes":
            return data
        value = int.from_bytes(data, "little")
        if schema.kind == "text":
            try:
                return self.take(value).decode()
            except UnicodeDecodeError as error:
                raise self.fault(f"no text: {error}") from error
        if schema.kind == "node" and value >= MODULUS:
            self.offset -= schema.num_bytes
            raise self.fault("a node is no field element", f"below {MODULUS:#x}")
        return value

    def _list(self, schema: ListOf) -> list[Any]:
        count = int.from_bytes(self.take(8), "little")
        left = len(self.data) - self.offset
        if count * max(1, _least_bytes(schema.item)) > left:
            self.offset -= 8
            raise self.fault(f"a list of {count} items does not fit", f"{left} bytes are left")
        if schema.item == NODE and (nodes := self._nodes(count)) is not None:
            return nodes
        return [self.inside(f"[{i}]", schema.item) for i in range(count)]

    def _nodes(self, count: int) -> list[int] | None:
        """So many nodes, which are most of a file; None, with nothing read, where one is no field element."""
        end, data = self.offset + count * NODE_BYTES, self.data
        starts = range(self.offset, end, NODE_BYTES)
        found = [int.from_bytes(data[i : i + NODE_BYTES], "little") for i in starts]
        if max(found, default=0) >= MODULUS:
            return None
        self.offset = end
        return found


def from_bincode(schema: Schema, data: bytes, path: str | os.PathLike[str] | None = None) -> Any:
    """Read a whole file.

    Raises:
        FormatError: It ends early or goes on after its end, a count or variant is impossible, a node is >= r; the error
            names byte and field.
    Checked by: tests/circuits/test_vproof_files.py.
    """
    reader = _Bincode(data, path)
    value = reader.read(schema)
    if reader.offset != len(data):
        raise reader.fault("the file goes on after its end", f"{len(data)} bytes in the file")
    return value


def all_from_bincode(schema: Schema, data: bytes, path: str | os.PathLike[str] | None = None) -> list[Any]:
    """Read a file of values one after the other, at least one; as `from_bincode`."""
    reader = _Bincode(data, path)
    values = [reader.inside("[0]", schema)]
    while reader.offset < len(data):
        values.append(reader.inside(f"[{len(values)}]", schema))
    return values


def to_bincode(schema: Schema, value: Any) -> bytes:
    """Write a value; the inverse of `from_bincode`."""
    if isinstance(schema, Fixed):
        if schema.kind in {"int", "node"}:
            return int(value).to_bytes(schema.num_bytes, "little")
        if schema.kind == "text":
            data: bytes = value.encode()
            return len(data).to_bytes(8, "little") + data
        return b"" if schema.kind == "unit" else bytes(value)
    if isinstance(schema, ListOf):
        return len(value).to_bytes(8, "little") + b"".join(to_bincode(schema.item, item) for item in value)
    if isinstance(schema, Struct):
        return b"".join(to_bincode(item, value[name]) for name, item in schema.fields.items())
    name, content = value
    return list(schema.variants).index(name).to_bytes(4, "little") + to_bincode(
        schema.variants[name], content
    )


@dataclass(frozen=True)
class _Json:
    """Where parsed JSON came from, for errors."""

    path: str | os.PathLike[str] | None

    def fault(self, what: str, place: str, limit: str | None = None) -> FormatError:
        """An error at a place such as `sectors[0].comm_c`."""
        return FormatError(
            what, path=self.path, section=place.removeprefix(".") or None, limit=limit, remedy=_REMEDY
        )

    def read(self, schema: Schema, value: object, place: str = "") -> Any:
        """The value that a part of the JSON stands for."""
        if isinstance(schema, Fixed):
            return self._fixed(schema, value, place)
        if isinstance(schema, ListOf):
            if not isinstance(value, list):
                raise self.fault("not an array", place)
            return [self.read(schema.item, item, f"{place}[{i}]") for i, item in enumerate(value)]
        if not isinstance(value, dict):
            raise self.fault("not an object", place)
        if isinstance(schema, OneOf):
            if len(value) != 1 or (name := next(iter(value))) not in schema.variants:
                raise self.fault("not one known variant", place, f"one of {', '.join(schema.variants)}")
            return name, self.read(schema.variants[name], value[name], f"{place}.{name}")
        # Markers without content may be left out.
        for name, item in schema.fields.items():
            if name not in value and item != UNIT:
                raise self.fault(f"{name!r} is missing", place)
        if unknown := sorted(set(value) - set(schema.fields)):
            raise self.fault(f"{unknown[0]!r} is unknown", place, f"known are {', '.join(schema.fields)}")
        return {
            name: self.read(item, value.get(name), f"{place}.{name}") for name, item in schema.fields.items()
        }

    def _fixed(self, schema: Fixed, value: object, place: str) -> Any:
        if schema.kind == "unit":
            if value is not None:
                raise self.fault("not null", place)
            return None
        if schema.kind == "text":
            if not isinstance(value, str):
                raise self.fault("not a string", place)
            return value
        if schema.kind == "int":
            # bool is a subclass of int, and true is no number.
            if type(value) is not int or not 0 <= value < 1 << 8 * schema.num_bytes:
                raise self.fault("not a number in range", place, f"0 to 2^{8 * schema.num_bytes} - 1")
            return value
        if (
            not isinstance(value, list)
            or len(value) != schema.num_bytes
            or set(map(type, value)) != {int}
            or not 0 <= min(value) <= max(value) < 256
        ):
            raise self.fault(f"not an array of {schema.num_bytes} bytes", place)
        number = int.from_bytes(value, "little")
        if schema.kind == "node" and number >= MODULUS:
            raise self.fault("a node is no field element", place, f"below {MODULUS:#x}")
        return number if schema.kind == "node" else bytes(value)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key twice in one object")
    return found


def _refuse_deep(text: bytes) -> None:
    """Refuse nesting that no vanilla proof has.

    The parser's own guard is the recursion limit, and a library in the same process may have raised that beyond what
    the stack holds: the process would die instead of raising.
    """
    depth = 0
    for token in _TOKEN.finditer(text):
        first, last = text[token.start()], text[token.end() - 1]
        if first in b"[{":
            depth += 1
            if depth > _MAX_DEPTH:
                raise ValueError(f"nested deeper than {_MAX_DEPTH} levels")
        if last in b"]}" and first != ord('"'):
            depth -= 1


def from_json(schema: Schema, text: str | bytes, path: str | os.PathLike[str] | None = None) -> Any:
    """Read a whole file of JSON.

    Raises:
        FormatError: No JSON, a missing, unknown or repeated key, a value of another type or out of range; the error
            names the field.
    """
    try:
        _refuse_deep(text.encode() if isinstance(text, str) else text)
        value = json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"no JSON: {error}", path=path, remedy=_REMEDY) from error
    return _Json(path).read(schema, value)


def _plain(schema: Schema, value: Any) -> object:
    """What JSON writes for a value."""
    if isinstance(schema, Fixed):
        if schema.kind == "node":
            return list(value.to_bytes(schema.num_bytes, "little"))
        return list(value) if schema.kind == "bytes" else value
    if isinstance(schema, ListOf):
        return [_plain(schema.item, item) for item in value]
    if isinstance(schema, Struct):
        return {name: _plain(item, value[name]) for name, item in schema.fields.items()}
    name, content = value
    return {name: _plain(schema.variants[name], content)}


def to_json(schema: Schema, value: Any) -> str:
    """Write a value as JSON; the inverse of `from_json`."""
    return json.dumps(_plain(schema, value), separators=(",", ":"))
