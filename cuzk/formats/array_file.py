"""Files of our own that are mapped: a fixed start, a header in JSON, arrays as they lie in memory.

The start has 64 bytes: magic, version, length and BLAKE2b-256 of the header. Each array begins at a multiple of 4096
bytes and has its checksum in the header. Every byte is covered by a checksum or checked to be zero. What the header
says besides is for each kind of file.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from cuzk.errors import FormatError
from cuzk.formats.atomic import PathLike
from cuzk.formats.container import ByteArray
from cuzk.formats.kinds import start_in_words
from cuzk.formats.strict_json import Fields

__all__ = ["ArrayFile", "Section", "aligned", "array_digest", "entries", "head_bytes", "write_arrays"]

_ALIGNMENT = 4096
_START_BYTES = 64
_MAX_HEADER_BYTES = 1 << 20
_MAX_AXES = 4


@dataclass(frozen=True)
class Section:
    """One array of the file.

    Args:
        name: Such as "a_query" or "B.col".
        dtype: Such as "u8": kind and bytes, little-endian.
        shape: Shape of the array.
        offset: First byte, a multiple of _ALIGNMENT.
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
        size = np.dtype(f"<{self.dtype}").itemsize
        for length in self.shape:
            size *= length
        return size


def aligned(offset: int) -> int:
    """The next multiple of _ALIGNMENT."""
    return -(-offset // _ALIGNMENT) * _ALIGNMENT


def array_digest(array: NDArray[Any]) -> str:
    """BLAKE2b-256 of an array's bytes, hexadecimal."""
    return hashlib.blake2b(array.reshape(-1).view(np.uint8).data, digest_size=32).hexdigest()


@dataclass(frozen=True)
class ArrayFile:
    """One kind of such files, and how it is read.

    Args:
        magic: First 8 bytes.
        version: What is written and read.
        what: A file of this kind, in words.
        noun: What it is the format of.
        remedy: What to do about a damaged file.
        dtypes: Types that arrays may have.
        others: Further versions that there are, for messages.
    """

    magic: bytes
    version: int
    what: str
    noun: str
    remedy: str
    dtypes: frozenset[str]
    others: tuple[int, ...] = ()

    def header(self, path: PathLike, data: ByteArray) -> bytes:
        """The text of the header.

        Args:
            path: For messages.
            data: All bytes of the file.

        Raises:
            FormatError: Another kind of file, another version, a wrong checksum.
        """

        def error(what: str, offset: int, limit: str) -> FormatError:
            return FormatError(
                what, path=path, section="header", offset=offset, limit=limit, remedy=self.remedy
            )

        start = data[:_START_BYTES].tobytes()
        if start[:8] != self.magic or len(start) < _START_BYTES:
            limit = f"{_START_BYTES} bytes, the first {self.magic!r}"
            raise error(f"not {self.what}, but {start_in_words(start)}", 0, limit)
        version, length = int.from_bytes(start[8:12], "little"), int.from_bytes(start[12:16], "little")
        if version != self.version:
            known = " or ".join(map(str, sorted((self.version, *self.others))))
            raise error(f"version {version} of the {self.noun} format", 8, f"version {known}")
        if any(start[48:]):
            raise error("reserved bytes are set", 48, "16 zero bytes")
        room = min(_MAX_HEADER_BYTES, len(data) - _START_BYTES)
        if length > room:
            raise error(f"a header of {length} bytes", 12, f"{room} bytes")
        text = data[_START_BYTES : _START_BYTES + length].tobytes()
        found = hashlib.blake2b(text, digest_size=32).digest()
        if found != start[16:48]:
            raise error(f"the header has the checksum {found.hex()}", _START_BYTES, start[16:48].hex())
        if data[_START_BYTES + length : aligned(_START_BYTES + length)].any():
            raise error("the padding after the header is not zero", _START_BYTES + length, "zero bytes")
        return text

    def sections(
        self, path: PathLike, fields: Fields, header_bytes: int, file_bytes: int
    ) -> dict[str, Section]:
        """The arrays that the header lists, which must follow one another to the end of the file.

        Args:
            path: For messages.
            fields: The header, with the key "sections".
            header_bytes: Length of its text.
            file_bytes: Size of the file.

        Raises:
            FormatError: Sections that overlap, leave the file or do not fill it.
        """
        found: dict[str, Section] = {}
        base = expected = aligned(_START_BYTES + header_bytes)
        for i, value in enumerate(fields.array(fields.values["sections"], "sections")):
            entry = Fields(value, path, frozenset({"name", "dtype", "shape", "offset", "blake2b"}))
            name, dtype = entry.text("name"), entry.text("dtype")
            lengths = entry.array(entry.values["shape"], f"shape of {name}")
            if name in found or dtype not in self.dtypes or len(lengths) > _MAX_AXES:
                raise fields.error(
                    f"entry {i} is a duplicate, or of unknown type or with too many axes", place=name
                )
            shape = tuple(
                Fields({"length": length}, path, frozenset({"length"})).count("length", file_bytes)
                for length in lengths
            )
            offset = base + entry.count("offset", file_bytes)
            section = Section(name, dtype, shape, offset, entry.text("blake2b"))
            if section.offset != expected or section.offset + section.nbytes > file_bytes:
                raise FormatError(
                    f"the array of {section.nbytes} bytes is misplaced or ends after the file",
                    path=path,
                    section=name,
                    offset=section.offset,
                    limit=f"it must start at {expected}; the file has {file_bytes} bytes",
                    remedy=self.remedy,
                )
            expected = aligned(section.offset + section.nbytes)
            found[name] = section
        if file_bytes != expected:
            raise FormatError(
                f"the file has {file_bytes} bytes",
                path=path,
                offset=min(expected, file_bytes),
                limit=f"{expected} bytes",
                remedy=self.remedy,
            )
        return found

    def array(self, path: PathLike, data: ByteArray, section: Section) -> NDArray[Any]:
        """An array, a view of the file.

        Raises:
            FormatError: What follows it is not zero.
        """
        end = section.offset + section.nbytes
        if data[end : aligned(end)].any():
            raise FormatError(
                "the padding after the array is not zero",
                path=path,
                section=section.name,
                offset=end,
                remedy=self.remedy,
            )
        raw = data[section.offset : end]
        return raw.view(np.dtype(f"<{section.dtype}")).reshape(section.shape)

    def check_digest(self, path: PathLike, section: Section, array: NDArray[Any]) -> None:
        """Compare an array with its checksum.

        Raises:
            FormatError: They differ.
        """
        found = array_digest(array)
        if found != section.digest:
            raise FormatError(
                f"the array does not match its checksum: found {found}",
                path=path,
                section=section.name,
                offset=section.offset,
                limit=f"blake2b {section.digest}",
                remedy=self.remedy,
            )


def write_arrays(
    file: BinaryIO, kind: ArrayFile, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write a file.

    Args:
        file: Open for writing, at its start.
        kind: Which.
        facts: What the header says besides the list of arrays.
        arrays: Name -> array, in the order of the file.
    """
    plain = {
        name: np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        for name, array in arrays.items()
    }
    listed = entries({name: (array.dtype, array.shape) for name, array in plain.items()})
    for entry, array in zip(listed, plain.values(), strict=True):
        entry["blake2b"] = array_digest(array)
    head = head_bytes(kind, facts, listed)
    file.write(head)
    written = len(head)
    for array in plain.values():
        file.write(bytes(-written % _ALIGNMENT))
        file.write(array.reshape(-1).view(np.uint8).data)
        written = aligned(written) + array.nbytes
    file.write(bytes(-written % _ALIGNMENT))


def entries(shapes: Mapping[str, tuple[Any, tuple[int, ...]]]) -> list[dict[str, Any]]:
    """What a header says of arrays, but for their checksums.

    Args:
        shapes: Name -> dtype and shape, in the order of the file.
    """
    found, offset = [], 0  # relative to the first array, so that the header's own length does not matter
    for name, (dtype, shape) in shapes.items():
        word = f"{np.dtype(dtype).kind}{np.dtype(dtype).itemsize}"
        found.append({"name": name, "dtype": word, "shape": list(shape), "offset": offset, "blake2b": ""})
        offset = aligned(offset + math.prod(shape) * np.dtype(dtype).itemsize)
    return found


def head_bytes(kind: ArrayFile, facts: Mapping[str, Any], listed: list[dict[str, Any]]) -> bytes:
    """Start and header of a file; entries are as of entries(), with checksums."""
    header = json.dumps({**facts, "sections": listed}, separators=(",", ":")).encode()
    start = kind.magic + kind.version.to_bytes(4, "little") + len(header).to_bytes(4, "little")
    return start + hashlib.blake2b(header, digest_size=32).digest() + bytes(16) + header
