"""A replayable case: what was compared, what differed, and the files that it takes."""

from __future__ import annotations

import json
import shlex
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cuzk.ab.localise import Finding
from cuzk.ab.settings import Setting
from cuzk.ab.workload import Workload
from cuzk.errors import FormatError

__all__ = ["Case", "load_case", "save_case"]

_FORMAT = 1


@dataclass(frozen=True)
class Case:
    """A comparison to run again.

    Args:
        workload: As on the command line.
        circuits: Circuits of a call.
        a: The one setting.
        b: The other.
        device_a: Where the one runs.
        device_b: Where the other runs.
        files: Role -> file, where the workload came from files.
    """

    workload: str
    circuits: int
    a: str
    b: str
    device_a: str
    device_b: str
    files: dict[str, str]

    def settings(self) -> tuple[Setting, Setting]:
        """Both sides."""
        return Setting.parse(self.a, self.device_a), Setting.parse(self.b, self.device_b)


def save_case(
    folder: Path, workload: Workload, settings: tuple[Setting, Setting], finding: Finding
) -> tuple[Path, str]:
    """Write a case into a folder; files of the workload are copied beside it.

    Returns:
        The case's file, and the command that runs it again.
    """
    a, b = settings
    name = "-".join(
        "".join(c if c.isalnum() else "_" for c in part) for part in (finding.at.phase, a.text, b.text)
    )
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for role, path in workload.files.items():
        target = folder / f"{name}-{role}{path.suffix}"
        if path.resolve() != target.resolve():
            shutil.copyfile(path, target)
        files[role] = target.name
    case = Case(
        files.get("circuit", workload.name),
        len(workload.witnesses),
        a.text,
        b.text,
        a.device,
        b.device,
        files,
    )
    path = folder / f"{name}.json"
    command = f"cuzk ab --replay {shlex.quote(str(path))}"
    content: dict[str, Any] = {
        "format": _FORMAT, "case": asdict(case), "found": finding.lines(), "wrong": finding.wrong,
        "at": asdict(finding.at), "replay": command,
        "holds_a_witness": "witness" in files,
    }  # fmt: skip
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return path, command


def load_case(path: Path) -> Case:
    """Read a case.

    Raises:
        FormatError: It is none, or of another format.
    """
    remedy = "pass a file that `cuzk ab` wrote"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != _FORMAT:
            raise FormatError(f"case of format {content['format']!r}", path=path, limit=f"format {_FORMAT}")
        case = Case(**content["case"])
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"not a case: {error}", path=path, remedy=remedy) from error
    texts = (case.workload, case.a, case.b, case.device_a, case.device_b)
    if not all(isinstance(text, str) for text in texts) or not isinstance(case.circuits, int):
        raise FormatError("not a case: a field has another type", path=path, remedy=remedy)
    return case
