"""Checks of paths before work starts, and output files that appear together or not at all."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path

from cuzk.errors import InputError

__all__ = ["check_inputs", "check_outputs", "write_together"]


def check_inputs(inputs: Mapping[str, Path | None]) -> None:
    """Check that files to read are there, before anything slow starts.

    Args:
        inputs: Option name -> file, None where the option was not given.

    Raises:
        InputError: A file is missing, a directory, or not readable.
    """
    for option, path in inputs.items():
        problem, remedy = ("", "") if path is None else _problem_of_source(path)
        if problem:
            raise InputError(f"{option}: {problem}", where=str(path), remedy=remedy)


def _problem_of_source(path: Path) -> tuple[str, str]:
    """What is wrong with a file to read, and what to do about it; empty if nothing is."""
    if not path.exists():
        similar = difflib.get_close_matches(path.name, _names_in(path.parent), n=3)
        hint = f"; there is {', '.join(similar)}" if similar else ""
        return "there is no such file", f"check the path{hint}"
    if path.is_dir():
        return "this is a directory, not a file", "name a file in it"
    if not path.is_file():
        return "this is a device or pipe; inputs are mapped into memory", "write it to a file first"
    if not os.access(path, os.R_OK):
        return "no permission to read it", "ask its owner, or change it with chmod"
    return "", ""


def _names_in(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except OSError:
        return []


def check_outputs(
    outputs: Mapping[str, Path | None], inputs: Mapping[str, Path | None], *, overwrite: bool = True
) -> None:
    """Check that files can be written and that none would destroy an input or another output.

    Args:
        outputs: Option name -> file to write, None where the option was not given.
        inputs: Option name -> file to read.
        overwrite: Whether existing files may be replaced.

    Raises:
        InputError: One of these does not hold.
    """
    taken = {_identity(path): option for option, path in inputs.items() if path is not None}
    for option, path in outputs.items():
        if path is None:
            continue
        problem, remedy = _problem_of_target(path, overwrite)
        same = taken.get(_identity(path))
        if same is not None:
            problem, remedy = f"{same} names the same file", "choose another name"
        if problem:
            raise InputError(f"{option}: {problem}", where=str(path), remedy=remedy)
        taken[_identity(path)] = option


def _identity(path: Path) -> Path:
    return path.resolve()


def _problem_of_target(path: Path, overwrite: bool) -> tuple[str, str]:
    """What is wrong with a file to write, and what to do about it; empty if nothing is."""
    folder = path.parent
    if path.is_dir():
        return "this is a directory, not a file", "add a file name"
    if path.exists() and not path.is_file():
        return "this is a device or pipe; outputs replace a file in one step", "name a file"
    if not folder.is_dir():
        return f"there is no directory {folder}", "make it first"
    if not os.access(folder, os.W_OK):
        return f"no permission to write into {folder}", "choose another directory"
    if os.path.lexists(path) and not overwrite:
        return "the file exists and would be overwritten", "choose another name, or add --force"
    return "", ""


def write_together(files: Mapping[Path, bytes]) -> None:
    """Write several files; each appears complete, and none before all are on disk.

    Args:
        files: Target -> content, in the order in which they appear. Existing targets are replaced.

    Raises:
        InputError: A target cannot be written; then none of those not yet in place appears.
    """
    from cuzk.formats.atomic import atomic_files

    with atomic_files(*files) as opened:
        for file, content in zip(opened, files.values(), strict=True):
            file.write(content)
