"""Start and header of our own key file: parsing and layout checks. See cuzk_key for the whole format."""

from __future__ import annotations

from dataclasses import dataclass

from cuzk.curves import Curve, get_curve
from cuzk.formats.array_file import ArrayFile, Section
from cuzk.formats.atomic import PathLike
from cuzk.formats.container import ByteArray
from cuzk.formats.strict_json import Fields, parse_json

REMEDY = "the file is damaged; fetch or make the key again"
KEY_FILE = ArrayFile(b"cuzk-key", 1, "a cuzk key", "key", REMEDY, frozenset({"u8", "i8", "u4", "u2", "u1"}))
MAX_COUNT = 1 << 32

_COUNTS = ("num_public", "num_variables", "num_constraints", "log_domain")
_TEXTS = ("curve", "h_form", "root_convention", "circuit_digest")


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
    text = KEY_FILE.header(path, data)
    fields = Fields(parse_json(text, path), path, frozenset({*_COUNTS, *_TEXTS, "sections"}))
    sections = KEY_FILE.sections(path, fields, len(text), len(data))
    return KeyHeader(
        curve=get_curve(fields.text("curve")),
        num_public=fields.count("num_public", MAX_COUNT),
        num_variables=fields.count("num_variables", MAX_COUNT),
        num_constraints=fields.count("num_constraints", MAX_COUNT),
        log_domain=fields.count("log_domain", 64),
        h_form=fields.text("h_form"),
        root_convention=fields.text("root_convention"),
        circuit_digest=fields.text("circuit_digest"),
        sections=sections,
    )
