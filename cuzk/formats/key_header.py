"""Start and header of our own key file: parsing and layout checks. See cuzk_key for the whole format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cuzk.compiled_rows import CompiledRows
from cuzk.curves import Curve, get_curve
from cuzk.formats.array_file import ArrayFile, Section
from cuzk.formats.atomic import PathLike
from cuzk.formats.container import ByteArray
from cuzk.formats.strict_json import Fields, parse_json
from cuzk.keys import ProvingKey

REMEDY = "the file is damaged; fetch or make the key again"
_MAGIC, _WHAT = b"cuzk-key", "a cuzk key"
#: With the circuit's matrices.
KEY_FILE = ArrayFile(_MAGIC, 1, _WHAT, "key", REMEDY, frozenset({"u8", "i8", "u4", "u2", "u1"}), others=(2,))
#: Of a compiled circuit: points alone.
COMPILED_KEY_FILE = ArrayFile(_MAGIC, 2, _WHAT, "key", REMEDY, frozenset({"u8", "u4"}), others=(1,))
MAX_COUNT = 1 << 32

_COUNTS = ("num_public", "num_variables", "num_constraints", "log_domain")
_TEXTS = ("curve", "h_form", "root_convention", "circuit_digest")
#: What the header of a compiled circuit's key says besides.
_COMPILED = ("circuit", "num_entries")
_MAX_ENTRIES = 1 << 40
_VERSION = slice(8, 12)


@dataclass(frozen=True)
class KeyHeader:
    """The JSON header of a key file."""

    curve: Curve
    num_public: int
    num_variables: int
    num_constraints: int
    log_domain: int
    h_form: str
    root_convention: str
    circuit_digest: str
    sections: dict[str, Section]
    compiled: CompiledRows | None = None


def key_file(compiled: bool) -> ArrayFile:
    """Which kind of file holds a key, with matrices or of a compiled circuit."""
    return COMPILED_KEY_FILE if compiled else KEY_FILE


def key_facts(key: ProvingKey) -> dict[str, Any]:
    """What the header of a key says besides the list of arrays."""
    facts = {
        "curve": key.curve.name,
        "h_form": key.h_form,
        "root_convention": key.root_convention,
        "circuit_digest": key.circuit_digest,
        "num_public": key.num_public,
        "num_variables": key.num_variables,
        "num_constraints": key.num_constraints,
        "log_domain": key.log_domain,
    }
    if key.compiled is None:
        return facts
    return facts | {"circuit": key.compiled.circuit, "num_entries": key.compiled.num_entries}


def read_header(path: PathLike, data: ByteArray) -> KeyHeader:
    """Parse and check start and header.

    Args:
        path: For messages.
        data: All bytes of the file.

    Raises:
        FormatError: Not a key file, another version, a wrong checksum, or sections that overlap, leave the
            file or do not fill it.
        CurveMismatchError: Unknown curve.
    """
    is_compiled = data[_VERSION].tobytes() == COMPILED_KEY_FILE.version.to_bytes(4, "little")
    kind = key_file(is_compiled)
    text = kind.header(path, data)
    more = _COMPILED if is_compiled else ()
    fields = Fields(parse_json(text, path), path, frozenset({*_COUNTS, *_TEXTS, *more, "sections"}))
    sections = kind.sections(path, fields, len(text), len(data))
    digest, compiled = fields.text("circuit_digest"), None
    if is_compiled:
        compiled = CompiledRows(fields.text("circuit"), digest, fields.count("num_entries", _MAX_ENTRIES))
    return KeyHeader(
        curve=get_curve(fields.text("curve")),
        num_public=fields.count("num_public", MAX_COUNT),
        num_variables=fields.count("num_variables", MAX_COUNT),
        num_constraints=fields.count("num_constraints", MAX_COUNT),
        log_domain=fields.count("log_domain", 64),
        h_form=fields.text("h_form"),
        root_convention=fields.text("root_convention"),
        circuit_digest=digest,
        sections=sections,
        compiled=compiled,
    )
