"""The section container that .r1cs, .wtns, .zkey and .ptau files share.

Layout, all little-endian: 4 bytes magic, u32 version, u32 number of sections, then per section u32 id, u64
size and size bytes. Sections come in any order and are found by id. Nothing is allocated by a count that has
not been compared with the bytes that are there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cuzk.curves import FieldSpec, GroupSpec
from cuzk.errors import FormatError, InputError
from cuzk.formats.atomic import PathLike
from cuzk.formats.kinds import start_in_words
from cuzk.limbs import U64Array, first_not_below

ByteArray = NDArray[np.uint8]

_DAMAGED = "the file is damaged or not complete; make or fetch it again"


def map_file(path: PathLike) -> ByteArray:
    """The bytes of a file, memory-mapped read-only.

    Raises:
        InputError: It cannot be read.
    """
    place = Path(path)
    try:
        if place.stat().st_size == 0:
            return np.zeros(0, dtype=np.uint8)
        return np.memmap(place, dtype=np.uint8, mode="r")
    except OSError as error:
        raise InputError(
            f"cannot read: {error.strerror}", where=str(place), remedy="check the name and the permissions"
        ) from error


@contextlib.contextmanager
def naming_file(path: PathLike) -> Iterator[None]:
    """Add the file's name to errors raised within by checks that know only arrays."""
    try:
        yield
    except InputError as error:
        if str(path) not in (error.where or ""):
            error.where = f"{path}: {error.where}" if error.where else str(path)
        raise


@dataclass(frozen=True)
class Container:
    """A file split into sections.

    Args:
        path: The file, for messages.
        data: All bytes.
        version: The container's version field.
        spans: Section id -> (offset of its first byte, size in bytes).
    """

    path: str
    data: ByteArray
    version: int
    spans: dict[int, tuple[int, int]]

    def section(self, section_id: int) -> SectionReader:
        """A reader at the start of a section.

        Raises:
            FormatError: The section is missing.
        """
        if section_id not in self.spans:
            raise FormatError(
                f"section {section_id} is missing",
                path=self.path,
                limit=f"sections present: {', '.join(map(str, sorted(self.spans))) or 'none'}",
                remedy=_DAMAGED,
            )
        offset, size = self.spans[section_id]
        return SectionReader(self.path, self.data, section_id, offset, offset + size)


def read_container(path: PathLike, magic: bytes, version: int, known: frozenset[int]) -> Container:
    """Split a file into sections.

    Args:
        path: The file.
        magic: Expected first four bytes.
        version: Expected version.
        known: Section ids that the format has.

    Raises:
        FormatError: Wrong magic or version, a section beyond the end, twice or unknown, or bytes after the
            last.
        InputError: The file cannot be read.
    """
    data, name = map_file(path), str(path)
    if data[:4].tobytes() != magic:
        raise FormatError(
            f"not a .{magic.decode()} file, but {start_in_words(data[:64].tobytes())}",
            path=name,
            offset=0,
            limit=f"the first bytes are {magic!r}",
            remedy=f"name the .{magic.decode()} file; two arguments may have changed places",
        )
    reader = SectionReader(name, data, "header", 4, len(data))
    found = reader.u32("version")
    if found != version:
        raise FormatError(
            f"version {found} of the .{magic.decode()} format is not supported",
            path=name,
            offset=4,
            limit=f"version {version}",
            remedy="write it again with current circom and snarkjs; a damaged file also shows this",
        )
    count = reader.u32("number of sections")
    spans: dict[int, tuple[int, int]] = {}
    for _ in range(count):
        at = reader.offset
        section_id, size = reader.u32("section id"), reader.u64("section size")
        if section_id in spans or section_id not in known:
            problem = "appears twice" if section_id in spans else "is not known to this format"
            raise FormatError(
                f"section {section_id} {problem}",
                path=name,
                offset=at,
                limit=f"sections {', '.join(map(str, sorted(known)))}, each once",
                remedy=_DAMAGED,
            )
        if size > reader.left:
            raise FormatError(
                f"section {section_id} of {size} bytes ends after the file",
                path=name,
                offset=at,
                limit=f"{reader.left} bytes are left",
                remedy=_DAMAGED,
            )
        spans[section_id] = (reader.offset, size)
        reader.offset += size
    reader.expect_end()
    return Container(name, data, found, spans)


@dataclass
class SectionReader:
    """A cursor over a section; every read is checked against the section's end.

    Args:
        path: The file, for messages.
        data: All bytes of the file.
        section: Section id, or "header".
        offset: Next byte to read, from the start of the file.
        end: First byte after the section.
    """

    path: str
    data: ByteArray
    section: int | str
    offset: int
    end: int

    @property
    def left(self) -> int:
        """Bytes that have not been read."""
        return self.end - self.offset

    def error(self, what: str, *, offset: int | None = None, **parts: Any) -> FormatError:
        """A FormatError at this place."""
        at = self.offset if offset is None else offset
        parts.setdefault("remedy", _DAMAGED)
        return FormatError(what, path=self.path, section=self.section, offset=at, **parts)

    def take(self, size: int, what: str) -> ByteArray:
        """The next size bytes, as a view.

        Raises:
            FormatError: Fewer are left.
        """
        if size > self.left:
            raise self.error(
                f"the file ends within the {what}, which needs {size} bytes",
                limit=f"{self.left} bytes are left",
                remedy=_DAMAGED,
            )
        view = self.data[self.offset : self.offset + size]
        self.offset += size
        return view

    def u32(self, what: str) -> int:
        """The next u32."""
        return int.from_bytes(self.take(4, what).tobytes(), "little")

    def u64(self, what: str) -> int:
        """The next u64."""
        return int.from_bytes(self.take(8, what).tobytes(), "little")

    def integer(self, nbytes: int, what: str) -> int:
        """The next nbytes bytes as a little-endian int."""
        return int.from_bytes(self.take(nbytes, what).tobytes(), "little")

    def expect_end(self) -> None:
        """Check that everything was read.

        Raises:
            FormatError: Bytes are left.
        """
        if self.left:
            raise self.error(f"{self.left} bytes follow the last item", limit="0 bytes", remedy=_DAMAGED)

    def field_array(self, spec: FieldSpec, count: int, what: str) -> U64Array:
        """Read field elements and check that each is below the modulus.

        Args:
            spec: The field.
            count: How many.
            what: For messages.

        Returns:
            Shape (count, limbs) uint64, in the form the file has them.

        Raises:
            FormatError: Too few bytes, or an element is >= the modulus.
        """
        start = self.offset
        raw = self.take(count * spec.nbytes, what)
        array = np.array(raw).view("<u8").reshape(count, spec.limbs)
        bad = first_not_below(array, spec.modulus)
        if bad is not None:
            raise self.error(
                f"element {bad} of the {what} is not below the modulus of {spec.name}",
                offset=start + bad * spec.nbytes,
                index=bad,
                limit=f"modulus {spec.modulus}",
                remedy=_DAMAGED,
            )
        return array

    def points(self, group: GroupSpec, count: int, what: str) -> U64Array:
        """Read uncompressed affine points in Montgomery form, x then y, c0 before c1.

        Returns:
            Shape (count, *affine_shape) uint64. Form: Montgomery, < p. Infinity is all zero. Whether points
            are on the curve is not checked here.

        Raises:
            FormatError: Too few bytes, or a coordinate is >= p.
        """
        coords = self.field_array(group.fp, count * 2 * group.degree, f"{what} coordinates")
        return coords.reshape(count, *group.affine_shape)

    def point(self, group: GroupSpec, what: str) -> U64Array:
        """Read one point. Shape affine_shape; else as ``points``."""
        return self.points(group, 1, what).reshape(group.affine_shape)


def write_container(magic: bytes, version: int, sections: list[tuple[int, bytes]]) -> bytes:
    """The bytes of a container with these (id, content) sections, in this order."""
    parts = [magic, version.to_bytes(4, "little"), len(sections).to_bytes(4, "little")]
    for section_id, content in sections:
        parts += [section_id.to_bytes(4, "little"), len(content).to_bytes(8, "little"), content]
    return b"".join(parts)
