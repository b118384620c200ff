"""JSON without the freedoms that let one value have many spellings.

Refused: duplicate and unknown keys, NaN, numbers outside strings where a field element is meant, signs,
leading zeros, blanks, exponents, hexadecimal, values at or above the modulus.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from cuzk.errors import FormatError, InputError
from cuzk.formats.atomic import PathLike

_DECIMAL = re.compile(r"0|[1-9][0-9]*", re.ASCII)
# An unterminated string reaches to the end, so that no later quote is tried as a beginning: linear time.
_STRING = re.compile(rb'"(?:\\.|[^"\\])*(?:"|\\?\Z)', re.DOTALL)
_BRACKET = re.compile(rb"[\[{}\]]")
_MAX_DEPTH = 64  # snarkjs files have 5 levels
_MAX_DIGITS = 160  # more than any 512-bit number has; keeps int() cheap on hostile text


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in pairs:
        if key in out:
            raise FormatError(f"the key {key!r} appears twice", limit="each key once")
        out[key] = value
    return out


def _refuse_constant(name: str) -> Any:
    raise FormatError(f"{name} is not a JSON value", limit="finite numbers")


def _refuse_depth(text: bytes) -> None:
    """Refuse text whose brackets nest too deeply, before the parser recurses into them.

    The parser's own guard is the recursion limit, and a library in the same process may have raised that
    beyond what the stack holds (py_ecc does): the process would die instead of raising.
    """
    depth = 0
    for bracket in _BRACKET.finditer(_STRING.sub(b"", text)):
        depth += 1 if bracket[0] in b"[{" else -1
        if depth > _MAX_DEPTH:
            raise FormatError("nested too deeply", limit=f"{_MAX_DEPTH} levels; snarkjs files have 5")


def parse_json(text: bytes, path: PathLike | None = None) -> Any:
    """Parse JSON text strictly.

    Args:
        text: UTF-8.
        path: For messages.

    Raises:
        FormatError: Not UTF-8, not JSON, a duplicate key, or nested too deeply.
    """
    try:
        _refuse_depth(text)
        return json.loads(
            text.decode("utf-8"), object_pairs_hook=_refuse_duplicates, parse_constant=_refuse_constant
        )
    except FormatError as error:
        raise FormatError(error.what, path=path, limit=error.limit) from None
    except UnicodeDecodeError as error:
        raise FormatError(
            "not UTF-8 text", path=path, offset=error.start, remedy="give a JSON file"
        ) from None
    except json.JSONDecodeError as error:
        raise FormatError(
            f"not JSON: {error.msg}",
            path=path,
            section=f"line {error.lineno} column {error.colno}",
            offset=len(error.doc[: error.pos].encode()),
            remedy="give a JSON file as snarkjs writes it",
        ) from None
    except ValueError as error:  # an integer literal of thousands of digits
        raise FormatError(f"not JSON that can be used: {error}", path=path) from None


def read_json(path: PathLike) -> Any:
    """Parse a JSON file strictly.

    Raises:
        InputError: The file cannot be read.
        FormatError: As parse_json.
    """
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        raise InputError(
            f"cannot read: {error.strerror}", where=str(path), remedy="check the name and the permissions"
        ) from error
    return parse_json(text, path)


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
        return FormatError(
            what, path=self.path, section=place, limit=limit, remedy="give the file as snarkjs writes it"
        )

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
