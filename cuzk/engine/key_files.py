"""Where the key of a circuit is on the disk."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from cuzk.errors import InputError

__all__ = ["KeyFiles"]

_SUFFIXES = (".cuzk", ".zkey")


class KeyFiles:
    """Which file holds the key of a circuit.

    Args:
        folder: Holds NAME.cuzk or NAME.zkey, with "-" for ":" in NAME; may be empty.
        files: Circuit -> file, before the folder.
    """

    def __init__(self, folder: str, files: Mapping[str, str]) -> None:
        self._folder = folder
        self._files = files

    def check_folder(self) -> None:
        """Raise InputError where the folder is configured and cannot be read."""
        if self._folder:
            try:
                with os.scandir(self._folder):
                    pass
            except OSError as error:
                raise InputError(
                    f"the folder of keys cannot be read: {error.strerror}",
                    where=self._folder,
                    remedy="set keys.folder, or --keys, to a folder that is there",
                ) from error

    def find(self, circuit: str) -> Path:
        """The file of a circuit's key.

        Raises:
            InputError: There is none; the message says where it was looked for.
        """
        if circuit in self._files:
            candidates = [Path(self._files[circuit])]
        else:
            stem = circuit.replace(":", "-")
            if not stem or "/" in stem or stem.startswith("."):
                raise InputError(
                    f"{circuit!r:.80} is no name of a circuit", limit="no path, and not empty",
                    remedy="name it as its key's file is named in the folder of keys",
                )  # fmt: skip
            folders = [Path(self._folder)] if self._folder else []
            candidates = [folder / f"{stem}{suffix}" for folder in folders for suffix in _SUFFIXES]
        for path in candidates:
            try:
                if path.is_file():
                    return path
            except OSError as error:
                raise InputError(
                    f"the key of {circuit!r:.80} cannot be read: {error.strerror}",
                    remedy="check its permissions",
                ) from error
        looked = ", ".join(map(os.fspath, candidates)) or "no folder of keys is configured"
        raise InputError(
            f"there is no key of {circuit!r:.80}",
            limit=looked,
            remedy=f"make one: cuzk setup {circuit} --key {candidates[0] if candidates else 'KEY'}",
        )
