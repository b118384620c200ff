"""The ten primitives that carry chains are made of, word by word, with both carries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from cuzk_oracles import edge_values, fields

from cuzk.device import Device
from cuzk_fuzz.batch import Batch, Rows, Scope, ints_as_hex, ints_from_hex
from cuzk_fuzz.choices import Choices
from cuzk_fuzz.classes import by_class, tally

#: In the order of WordOpcode in field_ops.cuh.
OPS = (
    "add_cc",
    "addc_cc",
    "addc",
    "sub_cc",
    "subc_cc",
    "subc",
    "mad_lo_cc",
    "madc_lo_cc",
    "madc_hi_cc",
    "madc_hi",
)
BITS = (8, 32, 64)

#: a, b, d and the carry or borrow that comes in.
Operands = tuple[int, int, int, int]


@dataclass(frozen=True, eq=False)
class WordBatch(Batch):
    """Words under one primitive; a row of answers is the word and the carry that goes out.

    Attributes:
        subject: "u8", "u32" or "u64".
        op: One of OPS.
        cases: The operands.
    """

    target: ClassVar[str] = "word"
    subject: str
    op: str
    cases: tuple[Operands, ...]

    @classmethod
    def decode(cls, choices: Choices, scope: Scope) -> Self:
        """One primitive on words of class W and on uniform ones."""
        bits = choices.pick([bits for bits in BITS if f"word_op_u{bits}" in scope.kernels])
        op = choices.pick(OPS)
        edges = by_class(edge_values.words(bits))
        edges["any"] = [0]
        cases: list[Operands] = []
        for _ in choices.several(scope.cases):
            a, b, d = (_word(choices, edges, bits) for _ in range(3))
            cases.append((a, b, d, choices.below(2)))
        return cls(f"u{bits}", op, tuple(cases))

    @property
    def bits(self) -> int:
        """Of a word."""
        return int(self.subject[1:])

    @property
    def num_cases(self) -> int:
        """Words."""
        return len(self.cases)

    def answers(self, device: Device) -> Rows:
        """One launch."""
        n = self.num_cases
        a, b, d, carry = (device.upload(np.array(x, np.uint64)) for x in zip(*self.cases, strict=True))
        dst, out = device.alloc((n,)), device.alloc((n,))
        device.launch(
            f"word_op_{self.subject}", grid=2, block=min(32, device.limits.max_threads),
            a=a, b=b, d=d, carry_in=carry, dst=dst, carry_out=out, op=OPS.index(self.op), n=n,
        )  # fmt: skip
        return np.column_stack([device.download(dst), device.download(out)])

    def expected(self) -> Rows:
        """By the PTX manual, on ints."""
        rows = [_oracle(self.op, *case, self.bits) for case in self.cases]
        return np.array(rows, np.uint64).reshape(self.num_cases, 2)

    def classes(self) -> Counter[str]:
        """Ids of the words that are read."""
        known: dict[int, list[str]] = {}
        for edge_id, value in edge_values.words(self.bits):
            known.setdefault(value, []).append(edge_id)
        used = 3 if self.op.startswith("mad") else 2
        ids = {value: tuple(dict.fromkeys(names)) for value, names in known.items()}
        return tally(ids.get(word) for case in self.cases for word in case[:used])

    def keep(self, indices: Sequence[int]) -> Self:
        """Some words."""
        return replace(self, cases=tuple(self.cases[i] for i in indices))

    @property
    def size(self) -> tuple[int, ...]:
        """Bits set."""
        return (sum(word.bit_count() for case in self.cases for word in case),)

    def smaller(self) -> Iterator[Self]:
        """Operands without their top bit, halved, or 0."""
        for number, case in enumerate(self.cases):
            for i, word in enumerate(case):
                for other in (0, word >> 1, word & (word - 1) if word else 0):
                    changed: Any = (*case[:i], other, *case[i + 1 :])
                    yield replace(self, cases=(*self.cases[:number], changed, *self.cases[number + 1 :]))

    def to_json(self) -> dict[str, Any]:
        """Operands as numbers."""
        inputs = [ints_as_hex(list(case)) for case in self.cases]
        return {"target": self.target, "subject": self.subject, "op": self.op, "inputs": {"words": inputs}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of to_json."""
        cases: list[Any] = [tuple(ints_from_hex(texts)) for texts in data["inputs"]["words"]]
        return cls(data["subject"], data["op"], tuple(cases))


def _word(choices: Choices, edges: Mapping[str, Sequence[int]], bits: int) -> int:
    if choices.one_in(3):
        return int.from_bytes(choices.take(bits // 8), "little")
    return choices.pick_class(edges)


def _oracle(op: str, a: int, b: int, d: int, carry: int, bits: int) -> tuple[int, int]:
    """(word, carry out); primitives that start a chain take no carry, those that end one give none."""
    kind, takes, gives = op.partition("_")[0], "c" in op.partition("_")[0][3:], op.endswith("_cc")
    carry = carry if takes else 0
    if kind.startswith("add"):
        value, out = fields.word_add(a, b, carry, bits)
    elif kind.startswith("sub"):
        value, out = fields.word_sub(a, b, carry, bits)
    elif "_lo" in op:
        value, out = fields.word_mad_lo(a, b, d, carry, bits)
    else:
        value, out = fields.word_mad_hi(a, b, d, carry, bits)
    return value, out if gives else 0
