"""Start and header of our own key file: parsing and layout checks. See cuzk_key for the whole format."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from cuzk.curves import Curve, get_curve
from cuzk.errors import FormatError
from cuzk.formats.atomic import PathLike
from cuzk.formats.container import ByteArray
from cuzk.formats.kinds import start_in_words
from cuzk.formats.strict_json import Fields, parse_json

MAGIC, VERSION = b"cuzk-key", 1
ALIGNMENT = 4096
START_BYTES = 64
MAX_HEADER_BYTES = 1 << 20
MAX_COUNT = 1 << 32
MAX_AXES = 4
DTYPES = {name: np.dtype(f"<{name}") for name in ("u8", "i8", "u4", "u2", "u1")}
REMEDY = "the file is damaged; fetch or make the key again"

_COUNTS = ("num_public", "num_variables", "num_constraints", "log_domain")
_TEXTS = ("curve", "h_form", "root_convention", "circuit_digest")


@dataclass(frozen=True)
class Section:
    """One array of the file.

    Args:
        name: Such as "a_query" or "B.col".
        dtype: "u8", "i8", "u4", "u2" or "u1": kind and bytes, little-endian.
        shape: Shape of the array.
        offset: First byte, a multiple of ALIGNMENT.
        digest: BLAKE2b-256 of the array's bytes, hexadecimal.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    digest: str

    @property
    def nbytes(self) -> int:
        """Bytes of the array, padding not included."""
        size = DTYPES[self.dtype].itemsize
        for length in self.shape:
            size *= length
        return size


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


def aligned(offset: int) -> int:
    """The next multiple of ALIGNMENT."""
    return -(-offset // ALIGNMENT) * ALIGNMENT


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

    def error(what: str, offset: int, limit: str) -> FormatError:
        return FormatError(what, path=path, section="header", offset=offset, limit=limit, remedy=REMEDY)

    start = data[:START_BYTES].tobytes()
    if start[:8] != MAGIC or len(start) < START_BYTES:
        raise error(
            f"not a cuzk key, but {start_in_words(start)}", 0, f"{START_BYTES} bytes, the first {MAGIC!r}"
        )
    version, length = int.from_bytes(start[8:12], "little"), int.from_bytes(start[12:16], "little")
    if version != VERSION:
        raise error(f"version {version} of the key format", 8, f"version {VERSION}")
    if any(start[48:]):
        raise error("reserved bytes are set", 48, "16 zero bytes")
    room = min(MAX_HEADER_BYTES, len(data) - START_BYTES)
    if length > room:
        raise error(f"a header of {length} bytes", 12, f"{room} bytes")
    text = data[START_BYTES : START_BYTES + length].tobytes()
    found = hashlib.blake2b(text, digest_size=32).digest()
    if found != start[16:48]:
        raise error(f"the header has the checksum {found.hex()}", START_BYTES, start[16:48].hex())
    if data[START_BYTES + length : aligned(START_BYTES + length)].any():
        raise error("the padding after the header is not zero", START_BYTES + length, "zero bytes")
    return _parse_header(path, text, len(data))


def _parse_header(path: PathLike, text: bytes, file_bytes: int) -> KeyHeader:
    fields = Fields(parse_json(text, path), path, frozenset({*_COUNTS, *_TEXTS, "sections"}))
    sections: dict[str, Section] = {}
    base = expected = aligned(START_BYTES + len(text))
    for i, value in enumerate(fields.array(fields.values["sections"], "sections")):
        entry = Fields(value, path, frozenset({"name", "dtype", "shape", "offset", "blake2b"}))
        name, dtype = entry.text("name"), entry.text("dtype")
        lengths = entry.array(entry.values["shape"], f"shape of {name}")
        if name in sections or dtype not in DTYPES or len(lengths) > MAX_AXES:
            raise fields.error(
                f"entry {i} is a duplicate, or of unknown type or with too many axes", place=name
            )
        shape = tuple(
            Fields({"length": length}, path, frozenset({"length"})).count("length", file_bytes)
            for length in lengths
        )
        section = Section(name, dtype, shape, base + entry.count("offset", file_bytes), entry.text("blake2b"))
        if section.offset != expected or section.offset + section.nbytes > file_bytes:
            raise FormatError(
                f"the array of {section.nbytes} bytes is misplaced or ends after the file",
                path=path,
                section=name,
                offset=section.offset,
                limit=f"it must start at {expected}; the file has {file_bytes} bytes",
                remedy=REMEDY,
            )
        expected = aligned(section.offset + section.nbytes)
        sections[name] = section
    if file_bytes != expected:
        raise FormatError(
            f"the file has {file_bytes} bytes",
            path=path,
            offset=min(expected, file_bytes),
            limit=f"{expected} bytes",
            remedy=REMEDY,
        )
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
