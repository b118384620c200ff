"""Which key files passed ``cuzk key check``: remembered by content, so that a changed file is never trusted.

An entry is a small file in the user's cache folder whose name is the size and the BLAKE2b-256 of the key file. To
recall a key its whole file is hashed again; where no file of this size was ever checked, not even that. Whoever can
write into the cache folder could write the key as well, so entries are not signed.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from cuzk import __version__
from cuzk.errors import InputError

__all__ = ["Checked", "content_digest", "folder", "recall", "remember"]

#: Raise this when ``cuzk key check`` learns to find more: what was checked before counts no longer.
_ENTRY_VERSION = 1
_CHUNK = 1 << 24
_PERSON = b"cuzk-checked-key"


@dataclass(frozen=True)
class Checked:
    """A full check that was done before.

    Args:
        digest: BLAKE2b-256 of the key file, hexadecimal.
        when: Date and time, UTC, ISO 8601.
        by: The cuzk that checked.
        points: How many points were checked.
    """

    digest: str
    when: str
    by: str
    points: int


def folder() -> Path:
    """Where entries lie, in the user's cache folder."""
    from cuzk.device.builder import cache_dir

    return cache_dir().parent / "checked_keys"


def content_digest(path: Path) -> str:
    """Hash of a whole file, 64 hexadecimal digits.  Cost: about a second for each gigabyte."""
    from cuzk.formats.container import map_file

    digest = hashlib.blake2b(digest_size=32, person=_PERSON)
    data = map_file(path)
    for start in range(0, len(data), _CHUNK):
        digest.update(data[start : start + _CHUNK].data)
    return digest.hexdigest()


def recall(path: Path) -> Checked | None:
    """The check that this very content passed before, or None."""
    size = path.stat().st_size
    try:
        if not any(folder().glob(f"{size}-*.json")):
            return None
        digest = content_digest(path)
        return _read(_entry(size, digest), digest)
    except (OSError, RuntimeError):  # a cache that cannot be read, or a user without a home, has no entries
        return None


def remember(path: Path, digest: str, points: int) -> str:
    """Note that a key file passed the full check.

    Args:
        path: The key file.
        digest: Its content_digest from before the check; compared with the content now.
        points: How many points were checked.

    Returns:
        Why it could not be noted; empty where it was.

    Raises:
        InputError: The file was changed while it was checked.
    """
    from cuzk.formats import atomic_write

    if content_digest(path) != digest:
        raise InputError(
            "the file was changed while it was checked",
            where=str(path),
            remedy="wait until nothing writes to it, and check again",
        )
    text = {
        "version": _ENTRY_VERSION,
        "digest": digest,
        "when": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "by": f"cuzk {__version__}",
        "points": points,
    }
    try:
        target = _entry(path.stat().st_size, digest)
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with atomic_write(target, private=True) as file:
            file.write(json.dumps(text, indent=1).encode())
    except (OSError, RuntimeError, InputError) as error:
        return str(error)
    return ""


def _entry(size: int, digest: str) -> Path:
    return folder() / f"{size}-{digest}.json"


def _read(entry: Path, digest: str) -> Checked | None:
    """An entry, or None where it is missing, damaged or of another version."""
    from cuzk.formats.strict_json import Fields, read_json

    try:
        fields = Fields(read_json(entry), entry, frozenset({"version", "digest", "when", "by", "points"}))
        found = Checked(
            fields.text("digest"), fields.text("when"), fields.text("by"), fields.count("points", 1 << 40)
        )
        is_current = fields.count("version", 1 << 20) == _ENTRY_VERSION
    except InputError:
        return None
    return found if is_current and found.digest == digest else None
