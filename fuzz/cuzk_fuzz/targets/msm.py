"""Multi-scalar multiplication against the exponent oracle: bases have known logarithms, so any size is exact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from cuzk_oracles import edge_values, msm

from cuzk.device import Device
from cuzk.errors import KernelFault
from cuzk.limbs import fr_from_ints, ints_to_limbs, limbs_to_ints
from cuzk.ops import msm as ops
from cuzk.ops.plan_msm import MsmPlan, plan_msm
from cuzk_fuzz.batch import REJECTED, Batch, Rows, Scope, ints_as_hex, ints_from_hex, without_chunks
from cuzk_fuzz.choices import Choices
from cuzk_fuzz.classes import by_class, scalar_groups, scalar_hits, size_ids, sizes
from cuzk_fuzz.subjects import GROUPS, Subject, Term, subject, term_groups, term_hits

_BLOCK, _GRID = 128, 4
_LARGEST_WINDOW = 24
#: More entries than two blocks of neighbours hold (msm_pairs.cuh).
_SINGLES, _SINGLES_WINDOW = 1100, 12


@dataclass(frozen=True)
class Sum:
    """One multi-scalar multiplication.

    Attributes:
        terms: The bases.
        scalars: One a base, standard form.
        window_bits, scalar_bits: As for the operation; None for the plan's choice.
        indices: Which terms to sum, or None for all.
        num_segments, min_segment, rounds, chunk: Of the plan, or None.
        raw: Place and number, as it lies in memory, of a scalar that must be refused; or None.
    """

    terms: tuple[Term, ...]
    scalars: tuple[int, ...]
    window_bits: int | None = None
    scalar_bits: int | None = None
    indices: tuple[int, ...] | None = None
    num_segments: int | None = None
    min_segment: int | None = None
    raw: tuple[int, int] | None = None
    rounds: int | None = None
    chunk: int | None = None

    def plan(self, s: Subject, device: Device) -> MsmPlan | None:
        """The plan, where this sum asks for odd segments or for rounds."""
        n = len(self.scalars if self.indices is None else self.indices)
        if (self.num_segments is None and self.rounds is None) or n == 0:
            return None
        return plan_msm(
            n, s.spec, device.limits, window_bits=self.window_bits, scalar_bits=self.scalar_bits,
            num_segments=self.num_segments, min_segment=self.min_segment, rounds=self.rounds, chunk=self.chunk,
        )  # fmt: skip

    @property
    def used(self) -> list[int]:
        """Indices of the terms that are summed."""
        return list(range(len(self.terms))) if self.indices is None else list(self.indices)


def _largest(s: Subject, scope: Scope) -> int:
    """Most bases, by what a batch may cost."""
    if s.curve.name == "toy":
        return 520 if s.spec.degree == 1 else 140
    return {(True, 1): 66, (True, 2): 34, (False, 1): 260, (False, 2): 130}[scope.small, s.spec.degree]


def draw_terms(choices: Choices, s: Subject, n: int) -> tuple[Term, ...]:
    """Bases: one for all, an alternating pair, few, or any mix of classes."""
    groups = term_groups(s)
    kind = choices.below(5)
    if kind == 0:
        return (choices.pick_class(groups),) * n
    if kind == 1:
        first = choices.pick_class(groups)
        pair = (first, Term(-first.log, -first.outside))
        return tuple(pair[i % 2] for i in range(n))
    if kind == 2:
        few = [choices.pick_class(groups) for _ in range(3)]
        return tuple(choices.pick(few) for _ in range(n))
    return tuple(choices.pick_class(groups) for _ in range(n))


def _draw_window(choices: Choices, s: Subject, scope: Scope) -> tuple[int | None, int | None]:
    """(window_bits, scalar_bits): large windows come with scalars of a window or two, as they cost 2^c each."""
    bits = s.curve.r.bit_length()
    affordable = min(9 if scope.small else 11, bits + 1)
    if choices.one_in(6):
        c = choices.between(affordable, min(14 if scope.small else 17, _LARGEST_WINDOW))
        return c, min(bits, choices.between(1, 2 * c))
    c = choices.between(2, affordable)
    if choices.one_in(3):  # scalar bits around a multiple of the window: the top window is full, or one bit
        multiple = c * choices.between(1, max(1, bits // c))
        return c, max(1, min(bits, multiple + choices.between(-1, 1)))
    return (None if choices.one_in(8) else c), (None if choices.one_in(2) else bits)


def draw_scalars(choices: Choices, r: int, n: int, c: int, scalar_bits: int | None) -> list[int]:
    """Class K: one of its distributions, or every scalar of a class of its own."""
    if choices.one_in(3):
        singles = scalar_groups(r, c, scalar_bits)
        return [choices.pick_class(singles) for _ in range(n)]
    seed = choices.below(1 << 32)
    return list(choices.pick_class(by_class(edge_values.scalar_vectors(r, n, c, seed, scalar_bits))))


def _draw_indices(choices: Choices, n: int) -> tuple[int, ...] | None:
    kind = choices.below(6)
    if kind > 2 or n == 0:
        return None
    if kind == 0:
        return tuple(range(0, n, 2))
    if kind == 1:
        return tuple(range(n - 1, -1, -1))
    return tuple(choices.below(n) for _ in range(choices.below(n + 1)))


def _singles(choices: Choices, s: Subject) -> Sum:
    """One long segment in which every entry has a bucket of its own: as many runs as there can be."""
    first = choices.between(1, (1 << _SINGLES_WINDOW - 1) - _SINGLES)
    scalars = tuple(range(first, first + _SINGLES))
    terms = draw_terms(choices, s, _SINGLES)
    return Sum(terms, scalars, _SINGLES_WINDOW, _SINGLES_WINDOW - 1, None, 1, choices.between(1, 5))


def _draw(choices: Choices, s: Subject, scope: Scope) -> Sum:
    r = s.curve.r
    if s.curve.name == "toy" and s.spec.degree == 1 and choices.one_in(32):
        return _singles(choices, s)
    n = choices.pick_class(sizes(_BLOCK, _GRID, _largest(s, scope)))
    c, scalar_bits = _draw_window(choices, s, scope)
    scalars = draw_scalars(choices, r, n, c or 8, scalar_bits)
    segments = choices.between(1, 70) if choices.one_in(4) else None
    terms, indices = draw_terms(choices, s, n), _draw_indices(choices, n)
    raw = None
    if indices is None and n and choices.one_in(5):
        groups = by_class(edge_values.rejected_scalars(r, s.curve.fr.limbs))
        raw = (choices.below(n), choices.pick_class(groups))
    least = choices.between(1, 5) if segments else None
    rounds, chunk = None, None
    if choices.one_in(2):
        rounds, chunk = choices.below(5), choices.pick((1, 2, 3, 64))
    return Sum(terms, tuple(scalars), c, scalar_bits, indices, segments, least, raw, rounds, chunk)


@dataclass(frozen=True, eq=False)
class MsmBatch(Batch):
    """A few sums in one group; a row of answers is the affine result."""

    target: ClassVar[str] = "msm"
    subject: str
    sums: tuple[Sum, ...]
    op: str = "msm"

    @classmethod
    def decode(cls, choices: Choices, scope: Scope) -> Self:
        """Up to four sums; on the emulator mostly on the toy curve, whose points cost a twentieth."""
        names = [name for name in GROUPS if f"msm_bit_sums_{name}" in scope.kernels]
        toy = [name for name in names if name.startswith("toy")]
        s = subject(choices.pick(toy if scope.small and toy and not choices.one_in(8) else names))
        return cls(s.name, tuple(_draw(choices, s, scope) for _ in choices.several(4)))

    @property
    def num_cases(self) -> int:
        """Sums."""
        return len(self.sums)

    @property
    def words_per_element(self) -> int:
        """A base field element."""
        return subject(self.subject).spec.fp.limbs

    def answers(self, device: Device) -> Rows:
        """One operation a sum."""
        s = subject(self.subject)
        return np.stack([_run(device, s, one) for one in self.sums])

    def expected(self) -> Rows:
        """One multiplication of the generator a sum."""
        s = subject(self.subject)
        return np.stack([_expected(s, one) for one in self.sums])

    def classes(self) -> Counter[str]:
        """Ids of sizes, scalars and bases; bases count within sums of one scalar, where they meet in a bucket."""
        s = subject(self.subject)
        hits: Counter[str] = Counter()
        rejected = {v: k for k, v in edge_values.rejected_scalars(s.curve.r, s.curve.fr.limbs)}
        for one in self.sums:
            hits.update(size_ids(len(one.terms), _BLOCK, _GRID))
            hits += scalar_hits(one.scalars, s.curve.r, one.window_bits or 8, one.scalar_bits)
            if one.raw is not None:
                hits[rejected[one.raw[1]]] += 1
            for _, terms in _buckets(one).items():
                hits.update(term_hits(s, terms))
        return +hits

    def keep(self, indices: Sequence[int]) -> Self:
        """Some sums."""
        return replace(self, sums=tuple(self.sums[i] for i in indices))

    @property
    def size(self) -> tuple[int, ...]:
        """Terms, then bits of their scalars, then sizes of logarithms, then what the plan was asked for."""
        options = [
            x
            for o in self.sums
            for x in (o.indices, o.num_segments, o.min_segment, o.scalar_bits, o.raw, o.rounds, o.chunk)
        ]
        return (
            sum(len(one.terms) for one in self.sums),
            sum(x.bit_count() + x.bit_length() for one in self.sums for x in one.scalars),
            sum(abs(t.log) + 9 * abs(t.outside) for one in self.sums for t in one.terms),
            sum(x is not None for x in options),
            sum(one.window_bits or 0 for one in self.sums),
        )

    def smaller(self) -> Iterator[Self]:
        """Fewer terms, then plainer scalars, bases and plans."""
        if self.num_cases != 1:
            return
        (one,) = self.sums
        for kept in without_chunks(len(one.terms)):
            yield replace(self, sums=(_kept(one, kept),))
        for i, scalar in enumerate(one.scalars):
            top = 1 << max(0, scalar.bit_length() - 1)
            for value in (0, 1, scalar >> 32, scalar >> 1, scalar & max(0, scalar - 1), top):
                scalars = (*one.scalars[:i], value, *one.scalars[i + 1 :])
                yield replace(self, sums=(replace(one, scalars=scalars),))
        for i, term in enumerate(one.terms):
            for other in (Term(0), Term(1), Term(-1), Term(term.log // 2)):
                yield replace(self, sums=(replace(one, terms=(*one.terms[:i], other, *one.terms[i + 1 :])),))
        for plainer in (
            {"indices": None},
            {"num_segments": None, "min_segment": None},
            {"rounds": None, "chunk": None},
            {"rounds": one.rounds and one.rounds - 1},
            {"scalar_bits": None},
        ):
            yield replace(self, sums=(replace(one, **plainer),))
        for c in range(2, one.window_bits or 2):
            yield replace(self, sums=(replace(one, window_bits=c),))

    def to_json(self) -> dict[str, Any]:
        """Bases as [log, outside] and as points; scalars in standard form."""
        return {
            "target": self.target, "subject": self.subject, "op": self.op,
            "inputs": {"sums": [_sum_to_json(subject(self.subject), one) for one in self.sums]},
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of to_json."""
        return cls(data["subject"], tuple(_sum_from_json(one) for one in data["inputs"]["sums"]))


def _run(device: Device, s: Subject, one: Sum) -> Rows:
    scalars = fr_from_ints(s.curve, one.scalars)
    if one.raw is not None:
        scalars[one.raw[0]] = ints_to_limbs([one.raw[1]], s.curve.fr.limbs)[0]
    indices = None if one.indices is None else device.upload(np.array(one.indices, np.uint32))
    plan = one.plan(s, device)
    options: dict[str, Any] = {"plan": plan} if plan else {
        "window_bits": one.window_bits, "scalar_bits": one.scalar_bits,
    }  # fmt: skip
    try:
        result = ops.msm(
            device,
            s.spec,
            device.upload(s.limbs(one.terms)),
            device.upload(scalars),
            indices=indices,
            **options,
        )
    except KernelFault:
        return np.full(s.spec.affine_bytes // 8, REJECTED)
    return result.reshape(-1)


def _expected(s: Subject, one: Sum) -> Rows:
    if one.raw is not None:
        return np.full(s.spec.affine_bytes // 8, REJECTED)
    scalars = [one.scalars[i] for i in one.used]
    log = msm.msm_exponent([one.terms[i].log for i in one.used], scalars, s.curve.r)
    outside = sum(k * one.terms[i].outside for k, i in zip(scalars, one.used, strict=True))
    return s.row(s.total(log, outside))


def _buckets(one: Sum) -> dict[int, list[Term]]:
    """Terms that are summed, by scalar: those of one scalar share a bucket in every window."""
    found: dict[int, list[Term]] = {}
    for i in one.used:
        if one.scalars[i]:
            found.setdefault(one.scalars[i], []).append(one.terms[i])
    return found


def _kept(one: Sum, kept: Sequence[int]) -> Sum:
    """The sum over some of its terms."""
    place = {old: new for new, old in enumerate(kept)}
    return replace(
        one,
        terms=tuple(one.terms[i] for i in kept),
        scalars=tuple(one.scalars[i] for i in kept),
        indices=None if one.indices is None else tuple(place[i] for i in one.indices if i in place),
        raw=(place[one.raw[0]], one.raw[1]) if one.raw and one.raw[0] in place else None,
    )


def _sum_to_json(s: Subject, one: Sum) -> dict[str, Any]:
    words, per_point = limbs_to_ints(s.limbs(one.terms).reshape(-1, s.spec.fp.limbs)), 2 * s.spec.degree
    return {
        "bases": [[t.log, t.outside] for t in one.terms],
        "points_in_memory": [ints_as_hex(words[i : i + per_point]) for i in range(0, len(words), per_point)],
        "scalars": ints_as_hex(list(one.scalars)),
        "window_bits": one.window_bits, "scalar_bits": one.scalar_bits,
        "indices": None if one.indices is None else list(one.indices),
        "num_segments": one.num_segments, "min_segment": one.min_segment,
        "raw": None if one.raw is None else [one.raw[0], hex(one.raw[1])],
        "rounds": one.rounds, "chunk": one.chunk,
    }  # fmt: skip


def _sum_from_json(data: Mapping[str, Any]) -> Sum:
    raw, indices = data["raw"], data["indices"]
    return Sum(
        tuple(Term(log, outside) for log, outside in data["bases"]),
        tuple(ints_from_hex(data["scalars"])),
        data["window_bits"], data["scalar_bits"], None if indices is None else tuple(indices),
        data["num_segments"], data["min_segment"], None if raw is None else (raw[0], int(raw[1], 16)),
        data.get("rounds"), data.get("chunk"),  # findings from before there were rounds lack them
    )  # fmt: skip
