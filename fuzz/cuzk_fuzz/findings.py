"""A finding: one case on which a device and an oracle disagree, complete enough to be replayed anywhere."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import Any, Self

import numpy as np

from cuzk.device import Device
from cuzk.errors import CuzkError
from cuzk_fuzz.batch import Batch, Rows, first_difference, mismatches
from cuzk_fuzz.devices import DeviceChoice
from cuzk_fuzz.registry import get_target

FORMAT = 1

_PYTEST = '''"""Found by fuzzing: {bucket}."""

import json

from cuzk_fuzz.findings import Finding, check

FINDING = json.loads(r"""
{text}
""")


def test_{name}() -> None:
    outcome = check(Finding.from_json(FINDING))
    assert outcome.agrees, outcome.describe()
'''


@dataclass(frozen=True)
class Outcome:
    """What one run of one case came to.

    Attributes:
        answer: The device's row, or None where it raised an error.
        expected: The oracle's row.
        error: The error in words, or None.
        place: (element, limb) of the first difference, or None.
    """

    answer: Rows | None
    expected: Rows
    error: str | None = None
    place: tuple[int, int] | None = None

    @property
    def agrees(self) -> bool:
        """Whether the device was right."""
        return self.error is None and self.place is None

    def describe(self) -> str:
        """One line."""
        if self.agrees:
            return "device and oracle agree"
        if self.error is not None:
            return f"the device raised {self.error}"
        assert self.place is not None
        return f"device and oracle differ, first in element {self.place[0]}, limb {self.place[1]}"


def run_case(batch: Batch, device: Device) -> Outcome:
    """Run a batch of one case and compare."""
    expected = batch.expected()
    try:
        answers = batch.answers(device)
    except (CuzkError, ValueError, RuntimeError) as error:
        return Outcome(None, expected, f"{type(error).__name__}: {error}")
    bad = mismatches(answers, expected)
    if not bad:
        return Outcome(answers, expected)
    place = first_difference(answers[bad[0]], expected[bad[0]], batch.words_per_element)
    return Outcome(answers, expected, None, place)


@dataclass(frozen=True)
class Finding:
    """A case with what happened.

    Attributes:
        batch: The case.
        device: Where it happened.
        build_key: Content key of the kernels there.
        outcome: Both answers.
        origin: Engine, seed and number of the batch, for the record.
    """

    batch: Batch
    device: DeviceChoice
    build_key: str
    outcome: Outcome
    origin: Mapping[str, Any] = field(default_factory=dict)

    @property
    def bucket(self) -> str:
        """Where duplicates of this finding gather, the same for all its inputs.

        Target, operation and subject (which make the kernels), kind of device, settings of variants where they are not
        the defaults, kind of failure, and for a difference what differs first, where the target can tell.
        """
        batch, outcome = self.batch, self.outcome
        parts = [batch.target, batch.op, batch.subject, self.device.spec.partition(":")[0], batch.variant]
        if outcome.error:
            parts.append(outcome.error.partition(":")[0])
        else:
            parts += ["difference", batch.divergence(outcome.place[0]) if outcome.place else ""]
        return "-".join(part for part in parts if part)

    @property
    def name(self) -> str:
        """Bucket and a hash of the case: the stem of its files."""
        case = json.dumps(self.batch.to_json(), sort_keys=True)
        return f"{self.bucket}-{hashlib.sha256(case.encode()).hexdigest()[:8]}"

    def to_json(self, path: str = "FINDING.json") -> dict[str, Any]:
        """Everything; `path` is what the replay command names."""
        outcome = self.outcome
        return {
            "format": FORMAT, "bucket": self.bucket, "what": outcome.describe(), "case": self.batch.to_json(),
            "classes": dict(sorted(self.batch.classes().items())), "device": self.device.to_json(),
            "build_key": self.build_key, "version": _version(), "origin": dict(self.origin),
            "answer": None if outcome.answer is None else _hex(outcome.answer), "expected": _hex(outcome.expected),
            "error": outcome.error,
            "first_difference": outcome.place and {"element": outcome.place[0], "limb": outcome.place[1]},
            "replay": f"python -m cuzk_fuzz replay {shlex.quote(path)}",
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """A finding to run again; its answers are those of the file.

        Raises:
            ValueError: It is not a finding of this format.
        """
        try:
            if data["format"] != FORMAT:
                raise ValueError(f"finding of format {data['format']!r}; this version reads {FORMAT}")
            batch = get_target(data["case"]["target"]).batch.from_json(data["case"])
            place = data["first_difference"]
            outcome = Outcome(
                None if data["answer"] is None else _rows(data["answer"]), _rows(data["expected"]), data["error"],
                None if place is None else (place["element"], place["limb"]),
            )  # fmt: skip
            return cls(batch, DeviceChoice(**data["device"]), data["build_key"], outcome, data["origin"])
        except (KeyError, TypeError, IndexError) as error:
            raise ValueError(f"not a finding: {type(error).__name__} {error}") from error

    def save(self, folder: Path) -> Path:
        """Write the finding and a pytest file beside it; return the finding's path."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.json"
        text = json.dumps(self.to_json(str(path)), indent=1)
        path.write_text(text + "\n")
        name = "".join(c if c.isalnum() else "_" for c in self.name)
        path.with_name(f"test_{name}.py").write_text(_PYTEST.format(bucket=self.bucket, text=text, name=name))
        return path


def load(path: Path) -> Finding:
    """Read a finding.

    Raises:
        ValueError: The file is none.
        OSError: It cannot be read.
    """
    try:
        data = json.loads(path.read_text())
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    if not isinstance(data, dict):
        raise ValueError(f"{path} is not a finding")  # noqa: TRY004 - bad content, not a bad argument
    return Finding.from_json(data)


def check(finding: Finding, device: Device | None = None) -> Outcome:
    """Run a finding again, on its own device or on another."""
    return run_case(finding.batch, device or finding.device.open())


def again(finding: Finding, batch: Batch, outcome: Outcome) -> Finding:
    """The finding with another case."""
    return replace(finding, batch=batch, outcome=outcome)


def _version() -> str:
    """The installed version, or the word for a checkout that is not installed."""
    try:
        return metadata.version("cuzk")
    except metadata.PackageNotFoundError:
        return "not installed"


def _hex(rows: Rows) -> list[list[str]]:
    return [[f"{int(word):#018x}" for word in row] for row in rows]


def _rows(texts: list[list[str]]) -> Rows:
    return np.array([[int(word, 16) for word in row] for row in texts], np.uint64).reshape(len(texts), -1)
