"""What all targets share: a batch of cases, what the device answers, what the oracle expects, the comparison.

A batch holds everything that its run depends on.  It comes from a decoder or from the JSON of a finding, and
decoder and file meet here: replay needs no bytes and no seed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from cuzk.device import Device

#: Answers of a batch. Shape (cases, words) uint64; what a row holds is the target's business.
Rows = npt.NDArray[np.uint64]

#: Every word of the row of a case that the operation must refuse, and does.
REJECTED = np.uint64(2**64 - 1)


@dataclass(frozen=True)
class Scope:
    """What a campaign may draw from.

    Attributes:
        kernels: Kernels that exist where the batches will run.
        small: Keep cases small: the emulator runs hundreds of times slower than the cpu.
        cases: Most cases of one batch of single operations.
        device: Kind of the device; it decides which variants can be chosen.
        log_large: log2 of the longest inputs of checks that are exact at any size.
        heavy: Whether settings that cost seconds a case may be drawn.
    """

    kernels: frozenset[str]
    small: bool = False
    cases: int = 4096
    device: str = "cpu"
    log_large: int = 10
    heavy: bool = False

    @classmethod
    def of(cls, device: Device, *, log_large: int | None = None, heavy: bool = False) -> Scope:
        """The scope that suits a device."""
        cases, usual = {"emu": (512, 8), "cuda": (1 << 16, 18)}.get(device.kind, (4096, 11))
        kernels = frozenset(device.kernels)
        return cls(kernels, device.kind == "emu", cases, device.kind, log_large or usual, heavy)

    def to_json(self) -> dict[str, Any]:
        """For whoever decodes the same bytes elsewhere."""
        return {**asdict(self), "kernels": sorted(self.kernels)}


class Batch(ABC):
    """Cases of one operation on one subject, run together.

    Attributes:
        target: Name of the target.
        subject: Field, curve or group, such as "bn254_g1".
        op: The operation.
    """

    target: ClassVar[str]
    subject: str
    op: str

    @property
    @abstractmethod
    def num_cases(self) -> int:
        """Rows of the answers."""

    @abstractmethod
    def answers(self, device: Device) -> Rows:
        """Run on a device."""

    @abstractmethod
    def expected(self) -> Rows:
        """Ask the oracle."""

    @abstractmethod
    def classes(self) -> Counter[str]:
        """How often each edge class is among the inputs.

        Counted from the inputs that the kernel gets, never from what the decoder meant to draw: a decoder that
        ignores its classes must not look as if it had used them.
        """

    @abstractmethod
    def keep(self, indices: Sequence[int]) -> Self:
        """The batch of some of its cases; itself where its cases cannot be parted."""

    def one(self, index: int) -> Self:
        """The batch of one case alone."""
        return self.keep([index])

    @abstractmethod
    def smaller(self) -> Iterator[Self]:
        """Simpler variants of a batch of one case, the boldest first; none where several cases must go first."""

    @property
    @abstractmethod
    def size(self) -> tuple[int, ...]:
        """How complicated a batch is, apart from the number of its cases; minimising makes this smaller."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Everything, as JSON; numbers of inputs as hexadecimal strings."""

    @classmethod
    @abstractmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of to_json."""

    @property
    def words_per_element(self) -> int:
        """Words of a row that belong to one element, for naming the place of a difference."""
        return 1

    @property
    def variant(self) -> str:
        """Settings of optimisation variants other than the defaults, such as "D4=8"; part of a bucket's name."""
        return ""

    def divergence(self, element: int) -> str:
        """What the first element that differs is: part of a bucket's name, so the same for all inputs."""
        del element
        return ""


def mismatches(answers: Rows, expected: Rows) -> list[int]:
    """Indices of the cases whose rows differ.

    Raises:
        ValueError: The two do not even have the same shape.
    """
    if answers.shape != expected.shape or answers.ndim != 2:
        raise ValueError(f"answers of shape {answers.shape} against expectations of shape {expected.shape}")
    found: list[int] = np.flatnonzero((answers != expected).any(axis=1)).tolist()
    return found


def first_difference(answer: Rows, expected: Rows, words_per_element: int) -> tuple[int, int]:
    """(element, limb) of the first word in which two rows differ."""
    word = int(np.flatnonzero(answer.reshape(-1) != expected.reshape(-1))[0])
    return word // words_per_element, word % words_per_element


def ints_as_hex(values: Iterator[int] | list[int]) -> list[str]:
    """Numbers as JSON holds them."""
    return [f"{value:#x}" for value in values]


def ints_from_hex(texts: list[str]) -> list[int]:
    """The inverse of ints_as_hex."""
    return [int(text, 16) for text in texts]


def without_chunks(length: int) -> Iterator[list[int]]:
    """Index lists that leave out ever smaller chunks: halves first, single elements last."""
    chunk = max(1, length // 2)
    while length:
        for start in range(0, length, chunk):
            kept = [i for i in range(length) if not start <= i < start + chunk]
            if kept:
                yield kept
        if chunk == 1:
            return
        chunk //= 2
