"""Result files on the command line of ``cuzk perf``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cuzk.cli.perf_gather import Origin
    from cuzk.perf import Baseline

__all__ = ["read_json", "read_results"]

#: What `--environment` may set beside the fingerprint itself: what was measured, and when.
_ORIGIN = ("commit", "date", "sequence")


def read_json(path: Path) -> Any:
    """Parse a file.

    Raises:
        FormatError: It is no JSON object.
    """
    from cuzk.errors import FormatError

    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FormatError(f"not JSON: {error}", path=path) from error
    if not isinstance(data, dict):
        raise FormatError("it holds no object", path=path)
    return data


def read_results(paths: list[Path], settings: list[str], reason: str, here: Origin) -> list[Baseline]:
    """Figures of result files.

    Args:
        paths: Files of the device suite or of pytest-benchmark.
        settings: KEY=TEXT; commit, date and sequence say what was measured, the rest is the fingerprint.
        reason: Stored with the figures.
        here: Commit and day where neither files nor settings say.
    """
    from cuzk.errors import FormatError, InputError
    from cuzk.perf.sources import baselines_of

    pairs = [text.partition("=") for text in settings]
    if bad := [key for key, equals, value in pairs if not (key and equals and value)]:
        raise InputError(f"{bad[0]!r} has no value", where="--environment", remedy="write KEY=TEXT")
    told = {key: value for key, _, value in pairs}
    environment = {key: value for key, value in told.items() if key not in _ORIGIN}
    found: list[Baseline] = []
    for path in paths:
        data = read_json(path)
        tree = data.get("tree")
        commit = told.get("commit") or (f"tree-{tree}" if tree else here.commit)
        date, sequence = told.get("date", here.date), int(told.get("sequence", here.sequence))
        try:
            found += baselines_of(
                data, environment | data.get("environment", {}), reason, commit, date, sequence
            )
        except FormatError as error:
            raise FormatError(error.what, path=path, remedy=error.remedy) from error
    return found
