"""Cases for implementations that are not ours: drawn as the targets draw them, without plans and devices."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from cuzk_oracles import fields, msm, ntt

from cuzk.curves import FIELDS, get_curve
from cuzk.device import Device
from cuzk_fuzz.batch import Batch, Rows, ints_as_hex, ints_from_hex, without_chunks
from cuzk_fuzz.choices import Choices
from cuzk_fuzz.classes import field_classes, scalar_hits, size_ids, sizes, tally
from cuzk_fuzz.foreign.adapters import Implementation
from cuzk_fuzz.subjects import Term, subject, term_hits
from cuzk_fuzz.targets.msm import draw_scalars, draw_terms

_BLOCK, _GRID, _WINDOW = 128, 2, 8
FIELD_OPS = ("add", "sub", "mul", "inverse")


@dataclass(frozen=True)
class Limits:
    """What an implementation promises to take.

    Attributes:
        largest: Most terms of a sum, elements of a transform.
        smallest: Fewest.
        outside_subgroup: Whether bases may lie outside the prime-order subgroup.
        infinity: Whether bases may be infinity.
    """

    largest: int = 70
    smallest: int = 0
    outside_subgroup: bool = False
    infinity: bool = True


class ForeignBatch(Batch):
    """Cases for an implementation; an answer is compared as Python values, so a row holds only a verdict."""

    target: ClassVar[str] = "foreign"

    def answers(self, device: Device) -> Rows:
        """Not on a device: see `verdict`."""
        raise TypeError(f"cases of {self.target} run in an implementation, not on {device}")

    def expected(self) -> Rows:
        """Agreement."""
        return np.ones((1, 1), np.uint64)

    def keep(self, indices: Sequence[int]) -> Self:  # noqa: ARG002 - there is only one
        """Itself."""
        return self

    @property
    def num_cases(self) -> int:
        """One."""
        return 1

    @abstractmethod
    def wanted(self) -> Any:
        """The oracle's answer, as Python values."""

    @abstractmethod
    def given(self, implementation: Implementation) -> Any:
        """The implementation's answer."""


@dataclass(frozen=True, eq=False)
class ForeignMsm(ForeignBatch):
    """One sum."""

    subject: str
    terms: tuple[Term, ...]
    scalars: tuple[int, ...]
    limits: Limits = Limits()
    op: str = "msm"

    @classmethod
    def draw(cls, choices: Choices, name: str, limits: Limits) -> Self:
        """Sizes of class S, bases of class P and scalars of class K."""
        s = subject(name)
        allowed = {
            k: [n for n in v if n >= limits.smallest] for k, v in sizes(_BLOCK, _GRID, limits.largest).items()
        }
        n = choices.pick_class({k: v for k, v in allowed.items() if v} or {"S.any": [limits.smallest]})
        terms = tuple(_allowed(term, limits) for term in draw_terms(choices, s, n))
        return cls(name, terms, tuple(draw_scalars(choices, s.curve.r, n, _WINDOW, None)), limits)

    def wanted(self) -> Any:
        """[sum of logarithms times scalars] G."""
        s = subject(self.subject)
        log = msm.msm_exponent([t.log for t in self.terms], self.scalars, s.curve.r)
        outside = sum(k * t.outside for k, t in zip(self.scalars, self.terms, strict=True))
        return s.total(log, outside)

    def given(self, implementation: Implementation) -> Any:
        """Of the affine points."""
        s = subject(self.subject)
        return implementation.run(s.spec, [s.point(term) for term in self.terms], list(self.scalars))

    def classes(self) -> Counter[str]:
        """Ids of size, bases and scalars."""
        s = subject(self.subject)
        hits = scalar_hits(self.scalars, s.curve.r, _WINDOW)
        hits.update(size_ids(len(self.terms), _BLOCK, _GRID))
        hits.update(term_hits(s, self.terms))
        return +hits

    @property
    def size(self) -> tuple[int, ...]:
        """Terms, bits of scalars, sizes of logarithms."""
        bits = sum(k.bit_count() + k.bit_length() for k in self.scalars)
        return len(self.terms), bits, sum(abs(t.log) + 9 * abs(t.outside) for t in self.terms)

    def smaller(self) -> Iterator[Self]:
        """Fewer terms, then plainer ones."""
        for kept in without_chunks(len(self.terms)):
            if len(kept) >= self.limits.smallest:
                terms = tuple(self.terms[i] for i in kept)
                yield replace(self, terms=terms, scalars=tuple(self.scalars[i] for i in kept))
        for i, k in enumerate(self.scalars):
            for value in (0, 1, k >> 32, k >> 1, k & max(0, k - 1), 1 << max(0, k.bit_length() - 1)):
                yield replace(self, scalars=(*self.scalars[:i], value, *self.scalars[i + 1 :]))
        for i, term in enumerate(self.terms):
            for other in (Term(1), Term(-1), Term(term.log // 2)):
                yield replace(self, terms=(*self.terms[:i], other, *self.terms[i + 1 :]))

    def to_json(self) -> dict[str, Any]:
        """Bases as [log, outside] and as affine points in standard form."""
        s = subject(self.subject)
        points = [None if (p := s.point(t)) is None else _hex_of(p) for t in self.terms]
        return {
            "target": self.target, "subject": self.subject, "op": self.op, "limits": dataclasses.asdict(self.limits),
            "inputs": {
                "bases": [[t.log, t.outside] for t in self.terms], "points": points,
                "scalars": ints_as_hex(list(self.scalars)),
            },
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of to_json."""
        x = data["inputs"]
        terms = tuple(Term(log, outside) for log, outside in x["bases"])
        return cls(data["subject"], terms, tuple(ints_from_hex(x["scalars"])), Limits(**data["limits"]))


@dataclass(frozen=True, eq=False)
class ForeignNtt(ForeignBatch):
    """One transform of a scalar field, natural order in and out."""

    subject: str
    values: tuple[int, ...]
    inverse: bool
    op: str = "ntt"

    @classmethod
    def draw(cls, choices: Choices, name: str, limits: Limits) -> Self:
        """Every power of two up to the largest, elements of class F."""
        fr = get_curve(name).fr
        groups = {k: [fr.from_mont(v) for v in vs] for k, vs in field_classes(fr).groups.items()}
        low = max(0, (max(1, limits.smallest) - 1).bit_length())
        n = 1 << choices.between(low, max(low, limits.largest.bit_length() - 1))
        values = tuple(
            choices.pick_class(groups) if choices.one_in(2) else choices.below(fr.modulus) for _ in range(n)
        )
        return cls(name, values, choices.one_in(2))

    @property
    def _omega(self) -> int:
        return get_curve(self.subject).root_of_unity(len(self.values).bit_length() - 1, "snarkjs")

    def wanted(self) -> Any:
        """By the definition up to 64 elements, a plain recursive transform above."""
        r, n = get_curve(self.subject).r, len(self.values)
        forward, back = (ntt.ntt_definition, ntt.intt_definition) if n <= 64 else (ntt.fft, ntt.ifft)
        return (back if self.inverse else forward)(list(self.values), self._omega, r)

    def given(self, implementation: Implementation) -> Any:
        """With the root of the definition."""
        field = get_curve(self.subject).fr
        return list(implementation.run(field, self._omega, list(self.values), self.inverse))

    def classes(self) -> Counter[str]:
        """Ids of the elements and of their number."""
        fr = get_curve(self.subject).fr
        hits = tally(field_classes(fr).values.get(fr.to_mont(v)) for v in self.values)
        hits.update(size_ids(len(self.values), _BLOCK, _GRID))
        return hits

    @property
    def size(self) -> tuple[int, ...]:
        """Length, elements that are not zero, their bits."""
        return len(self.values), sum(v != 0 for v in self.values), sum(v.bit_count() for v in self.values)

    def smaller(self) -> Iterator[Self]:
        """Half the length, zeros, ones."""
        half = len(self.values) // 2
        if half:
            yield replace(self, values=self.values[:half])
            yield replace(self, values=self.values[half:])
        for i, value in enumerate(self.values):
            for other in {0, 1, value >> 1} - {value}:
                yield replace(self, values=(*self.values[:i], other, *self.values[i + 1 :]))

    def to_json(self) -> dict[str, Any]:
        """Elements in standard form."""
        return {
            "target": self.target, "subject": self.subject, "op": self.op, "inverse": self.inverse,
            "inputs": {"omega": hex(self._omega), "values": ints_as_hex(list(self.values))},
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of to_json."""
        return cls(data["subject"], tuple(ints_from_hex(data["inputs"]["values"])), data["inverse"])


@dataclass(frozen=True, eq=False)
class ForeignField(ForeignBatch):
    """One operation on two elements."""

    subject: str
    op: str
    a: int
    b: int

    @classmethod
    def draw(cls, choices: Choices, name: str, limits: Limits) -> Self:
        """Pairs of class F, single values of it, uniform ones."""
        del limits
        spec = FIELDS[name]
        classes = field_classes(spec)
        op = choices.pick(FIELD_OPS)
        if choices.one_in(2):
            a, b = choices.pick_class(classes.pair_groups)
        else:
            a, b = (choices.pick_class(classes.groups) if choices.one_in(2) else choices.below(spec.modulus)
                    for _ in range(2))  # fmt: skip
        return cls(name, op, spec.from_mont(a), spec.from_mont(b))

    def wanted(self) -> Any:
        """On ints."""
        p = FIELDS[self.subject].modulus
        if self.op == "inverse":
            return fields.inv(self.a, p)
        return {"add": fields.add, "sub": fields.sub, "mul": fields.mul}[self.op](self.a, self.b, p)

    def given(self, implementation: Implementation) -> Any:
        """On ints too."""
        return implementation.run(FIELDS[self.subject], self.op, self.a, self.b)

    def classes(self) -> Counter[str]:
        """Ids of the operands, alone and together."""
        spec = FIELDS[self.subject]
        known, pair = field_classes(spec), (spec.to_mont(self.a), spec.to_mont(self.b))
        return tally([*map(known.values.get, pair), known.pairs.get(pair)])

    @property
    def size(self) -> tuple[int, ...]:
        """Bits."""
        return self.a.bit_length() + self.b.bit_length(), self.a.bit_count() + self.b.bit_count()

    def smaller(self) -> Iterator[Self]:
        """Fewer bits."""
        for name in ("a", "b"):
            value: int = getattr(self, name)
            for other in (0, 1, value >> 32, value >> 1, value & max(0, value - 1)):
                yield replace(self, a=other) if name == "a" else replace(self, b=other)

    def to_json(self) -> dict[str, Any]:
        """Operands in standard form."""
        return {"target": self.target, "subject": self.subject, "op": self.op,
                "inputs": {"a": hex(self.a), "b": hex(self.b)}}  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of to_json."""
        x = data["inputs"]
        return cls(data["subject"], data["op"], int(x["a"], 16), int(x["b"], 16))


KINDS: Mapping[str, type[Any]] = {"msm": ForeignMsm, "ntt": ForeignNtt, "field": ForeignField}


def _allowed(term: Term, limits: Limits) -> Term:
    """The term, or the nearest one that the implementation takes."""
    if term.outside and not limits.outside_subgroup:
        return Term(2)
    if not limits.infinity and term == Term(0):
        return Term(1)
    return term


def _hex_of(point: Any) -> Any:
    return [hex(c) if isinstance(c, int) else [hex(part) for part in c] for c in point]


__all__ = ["FIELD_OPS", "KINDS", "ForeignBatch", "ForeignField", "ForeignMsm", "ForeignNtt", "Limits"]
