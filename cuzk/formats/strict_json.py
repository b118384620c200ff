"""JSON without the freedoms that let one value have many spellings.

Refused: duplicate and unknown keys, NaN, numbers outside strings where a field element is meant, signs,
leading zeros, blanks, exponents, hexadecimal, values at or above the modulus, escapes, text that is not ASCII,
and text whose values would take several times its size in memory.
"""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from cuzk.errors import FormatError
from cuzk.formats.atomic import PathLike
from cuzk.formats.container import ByteArray, map_file
from cuzk.formats.kinds import BYTE_ORDER_MARK, start_in_words

_DECIMAL = re.compile(r"0|[1-9][0-9]*", re.ASCII)
_MAX_DEPTH = 64  # snarkjs files have 5 levels
_MAX_DIGITS = 160  # more than any 512-bit number has; keeps int() cheap on hostile text
_CHUNK = 1 << 16
_REMEDY = "give the JSON file as snarkjs writes it"
_OPENING, _CLOSING, _NUMBER = (np.frombuffer(text, np.uint8) for text in (b"[{", b"]}", b"0123456789.eE+-"))

# What the parser takes for a value beyond its text, in bytes (CPython 3.11 to 3.13, rounded up): a string's header,
# a place in a list or a number, a list or object, a key with its entry.
_STRING_BYTES, _ITEM_BYTES, _BRACKET_BYTES, _KEY_BYTES = 49, 9, 72, 170
_NUMBER_BYTES = 32
_FREE_BYTES = 12 << 20  # values that small take no part in the comparison with the text


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in pairs:
        if key in out:
            raise FormatError(f"the key {key!r} appears twice", limit="each key once")
        out[key] = value
    return out


def _refuse_constant(name: str) -> Any:
    raise FormatError(f"{name} is not a JSON value", limit="finite numbers")


def _refuse_before_parsing(text: ByteArray) -> None:
    """Refuse text that the parser should not see, in linear time and constant memory.

    The parser's own guard against nesting is the recursion limit, and a library in the same process may have
    raised that beyond what the stack holds (py_ecc does): the process would die instead of raising. Many small
    values take twenty times the memory of their text. Without escapes a quote always begins or ends a string.
    """
    depth, in_string, before, values = 0, 0, 0, 0
    for start in range(0, len(text), _CHUNK):
        chunk = np.asarray(text[start : start + _CHUNK])
        _refuse_bytes(chunk, start)
        quotes = chunk == ord('"')
        inside = (np.cumsum(quotes) + in_string) & 1
        outside = np.where((inside == 1) | quotes, np.uint8(0), chunk)
        steps = np.isin(outside, _OPENING).astype(np.int64) - np.isin(outside, _CLOSING)
        depths = depth + np.cumsum(steps)
        if depths.max() > _MAX_DEPTH:
            raise FormatError("nested too deeply", limit=f"{_MAX_DEPTH} levels; snarkjs files have 5")
        in_number = np.isin(outside, _NUMBER)
        starts = in_number & ~np.concatenate(([bool(before)], in_number[:-1]))
        values += int(
            quotes.sum() * _STRING_BYTES // 2
            + starts.sum() * _NUMBER_BYTES
            + (outside == ord(",")).sum() * _ITEM_BYTES
            + (steps > 0).sum() * _BRACKET_BYTES
            + (outside == ord(":")).sum() * _KEY_BYTES
            + (inside == 1).sum()
        )
        depth, in_string, before = int(depths[-1]), int(inside[-1]), int(in_number[-1])
    if values > _FREE_BYTES + 5 * len(text) // 2:
        raise FormatError(
            f"too many small values: they take {values} bytes of memory, the text has {len(text)}",
            limit="5/2 times the text and 12 MiB",
            remedy="see which tool wrote it; no key, proof or list of inputs in use is like this",
        )


def _refuse_other_kinds(start: bytes) -> None:
    """Say what a text is that cannot be JSON by its first bytes."""
    if start.startswith(BYTE_ORDER_MARK):
        raise FormatError(
            "the text begins with a byte order mark",
            offset=0,
            limit="plain ASCII",
            remedy="save it without one (an editor calls it UTF-8 without BOM)",
        )
    if start.lstrip(b" \t\r\n")[:1] not in (b"{", b"["):
        raise FormatError(
            f"no JSON object or list, but {start_in_words(start)}",
            offset=0,
            limit="an object or a list",
            remedy="name the JSON file; two arguments may have changed places",
        )


def _refuse_bytes(chunk: ByteArray, start: int) -> None:
    """Refuse what is not ASCII, and escapes, which give a text several spellings."""
    bad = np.flatnonzero((chunk >= 128) | (chunk == ord("\\")))
    if len(bad):
        at, value = int(bad[0]), int(chunk[bad[0]])
        name = "a backslash" if value == ord("\\") else f"the byte 0x{value:02x}"
        raise FormatError(
            f"{name} in a JSON text",
            offset=start + at,
            limit="ASCII without escapes",
            remedy="give the JSON file as snarkjs writes it, saved as plain text",
        )


def parse_json(text: bytes | ByteArray, path: PathLike | None = None) -> Any:
    """Parse JSON text strictly.

    Args:
        text: ASCII.
        path: For messages.

    Raises:
        FormatError: Not ASCII, an escape, not JSON, a duplicate key, nested too deeply, or values that take
            far more memory than the text.
    """
    data = np.frombuffer(text, np.uint8)
    try:
        _refuse_other_kinds(data[:64].tobytes())
        _refuse_before_parsing(data)
        return json.loads(
            str(data.data, "ascii"),
            object_pairs_hook=_refuse_duplicates,
            parse_constant=_refuse_constant,
        )
    except FormatError as error:
        raise FormatError(
            error.what, path=path, offset=error.offset, limit=error.limit, remedy=error.remedy or _REMEDY
        ) from None
    except json.JSONDecodeError as error:
        raise FormatError(
            f"not JSON: {error.msg}",
            path=path,
            section=f"line {error.lineno} column {error.colno}",
            offset=error.pos,
            remedy=_REMEDY,
        ) from None
    except ValueError:  # an integer literal of thousands of digits
        raise FormatError(
            "a number of thousands of digits", path=path, limit="field elements, as strings", remedy=_REMEDY
        ) from None


def read_json(path: PathLike) -> Any:
    """Parse a JSON file strictly.

    Raises:
        InputError: The file cannot be read.
        FormatError: As parse_json.
    """
    return parse_json(map_file(path), path)


class Fields:
    """A JSON object whose keys are checked and whose values are taken by type.

    Args:
        value: The parsed value; must be an object.
        path: For messages.
        required: Keys that must be there.
        optional: Keys that may be there.

    Raises:
        FormatError: Not an object, a required key is missing, or a key is unknown.
    """

    def __init__(
        self,
        value: Any,
        path: PathLike | None,
        required: frozenset[str],
        optional: frozenset[str] = frozenset(),
    ) -> None:
        self.path = path
        if not isinstance(value, dict):
            raise self.error(f"expected a JSON object, found {_kind(value)}")
        self.values: dict[str, Any] = value
        for key in sorted(required - value.keys()):
            raise self.error(f"the key {key!r} is missing", limit=f"keys {', '.join(sorted(required))}")
        for key in sorted(value.keys() - required - optional):
            raise self.error(
                f"the key {key!r} is unknown", limit=f"keys {', '.join(sorted(required | optional))}"
            )

    def error(self, what: str, *, place: str | None = None, limit: str | None = None) -> FormatError:
        """A FormatError at a key."""
        return FormatError(what, path=self.path, section=place, limit=limit, remedy=_REMEDY)

    def text(self, key: str) -> str:
        """A string value."""
        value = self.values[key]
        if not isinstance(value, str):
            raise self.error(f"expected a string, found {_kind(value)}", place=key)
        return value

    def count(self, key: str, maximum: int) -> int:
        """An integer value with 0 <= value <= maximum."""
        value = self.values[key]
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= maximum:
            raise self.error(
                f"expected a count, found {_kind(value)} {value!r:.40}", place=key, limit=f"0 .. {maximum}"
            )
        return value

    def array(self, value: Any, place: str, length: int | None = None) -> list[Any]:
        """A list, of a fixed length if one is given."""
        if not isinstance(value, list) or (length is not None and len(value) != length):
            size = f" of length {len(value)}" if isinstance(value, list) else ""
            wanted = "a list" if length is None else f"a list of length {length}"
            raise self.error(f"found {_kind(value)}{size}", place=place, limit=wanted)
        return value

    def element(self, value: Any, modulus: int, place: str) -> int:
        """A decimal string below the modulus."""
        if not isinstance(value, str):
            raise self.error(
                f"expected a decimal string, found {_kind(value)}", place=place, limit='such as "12"'
            )
        if len(value) > _MAX_DIGITS or not _DECIMAL.fullmatch(value):
            raise self.error(
                f"{value!r:.60} is not a plain decimal number",
                place=place,
                limit="digits only: no sign, blank, exponent, prefix or leading zero",
            )
        number = int(value)
        if number >= modulus:
            raise self.error(f"{number} is not reduced", place=place, limit=f"0 <= value < {modulus}")
        return number


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
