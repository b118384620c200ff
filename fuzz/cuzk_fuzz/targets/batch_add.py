"""Sums of selected points, all in one or by key, against the exponent oracle."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from cuzk.device import Device
from cuzk.errors import KernelFault
from cuzk.ops.batch_add import batch_add
from cuzk.ops.plan_sums import plan_sums
from cuzk.ops.points import normalize
from cuzk.ops.sums import KeyedPoints, SumBuffers, sum_by_key
from cuzk_fuzz.batch import REJECTED, Batch, Rows, Scope, without_chunks
from cuzk_fuzz.choices import Choices
from cuzk_fuzz.classes import size_ids, sizes
from cuzk_fuzz.subjects import GROUPS, Subject, Term, subject, term_hits
from cuzk_fuzz.targets.msm import draw_terms

_BLOCK, _GRID = 128, 2
_KEYS = 4
_SIGN = 1 << 31


@dataclass(frozen=True)
class Selection:
    """One sum, or one for each of some keys.

    Attributes:
        terms: The bases.
        indices: Of those to add; None for all.
        blocks, threads, rounds: Shape of the launch, planned where None; by key, blocks are the most segments, and
            any number of threads stands for rounds of one block.
        cuts: Where the next key begins, for sums by key.
        signs: By key, the opposite of term i is added where bit i % 32 is set.
    """

    terms: tuple[Term, ...]
    indices: tuple[int, ...] | None
    blocks: int | None
    threads: int | None
    rounds: int | None = None
    cuts: tuple[int, ...] | None = None
    signs: int = 0

    @property
    def summed(self) -> list[Term]:
        """The terms in the order in which they are named; indices beyond the bases name none."""
        if self.indices is None:
            return list(self.terms)
        return [self.terms[i] for i in self.indices if i < len(self.terms)]

    def is_negated(self, place: int) -> bool:
        """Whether the opposite of a term is added."""
        return bool(self.signs >> place % 32 & 1)

    @property
    def sums(self) -> list[list[Term]]:
        """What is added up: the terms of each key, or all."""
        terms = [Term(-t.log, -t.outside) if self.is_negated(i) else t for i, t in enumerate(self.summed)]
        if self.cuts is None:
            return [terms]
        return [terms[a:b] for a, b in itertools.pairwise((0, *self.cuts, len(terms)))]

    @property
    def is_refused(self) -> bool:
        """Whether an index is out of range."""
        return any(i >= len(self.terms) for i in self.indices or ())


def _draw(choices: Choices, s: Subject, scope: Scope, *, by_key: bool) -> Selection:
    largest = 600 if s.curve.name == "toy" or not scope.small else 140
    n = choices.pick_class(sizes(_BLOCK, _GRID, largest))
    terms = draw_terms(choices, s, n)
    kind = choices.below(6)
    indices: tuple[int, ...] | None = None
    if kind == 1:
        indices = tuple(range(0, n, 3))
    elif kind == 2:
        indices = tuple(choices.below(n) for _ in range(choices.below(n + 40))) if n else ()
    elif kind == 3:
        indices = tuple(reversed(range(n)))
    elif kind == 4 and n:
        bad = choices.below(n)
        beyond = choices.pick((n, n + 1, 2**32 - 1))
        indices = tuple(beyond if i == bad else i for i in range(n))
    blocks = choices.between(1, 5) if choices.one_in(3) else None
    threads = choices.pick((32, 64, 96, 128)) if choices.one_in(3) else None
    rounds = choices.below(6) if choices.one_in(2) else None
    one = Selection(terms, indices, blocks, threads, rounds)
    if not by_key:
        return one
    one = replace(one, indices=None) if one.is_refused else one  # only rounds look at indices there
    count = len(one.summed)
    cuts = sorted(choices.between(0, count) for _ in range(_KEYS - 1))
    return replace(one, cuts=tuple(cuts), signs=choices.below(1 << 32))


@dataclass(frozen=True, eq=False)
class BatchAddBatch(Batch):
    """A few sums in one group; a row of answers is the affine result, or one for each key."""

    target: ClassVar[str] = "batch_add"
    subject: str
    selections: tuple[Selection, ...]
    op: str = "batch_add"

    @classmethod
    def decode(cls, choices: Choices, scope: Scope) -> Self:
        """Up to eight sums."""
        names = [name for name in GROUPS if f"batch_add_{name}" in scope.kernels]
        s = subject(choices.pick(names))
        needed = (f"msm_accumulate_{s.name}", f"msm_scatter_{s.curve.name}_fr", f"points_normalize_{s.name}")
        by_key = choices.one_in(3) and all(kernel in scope.kernels for kernel in needed)
        drawn = tuple(_draw(choices, s, scope, by_key=by_key) for _ in choices.several(8))
        return cls(s.name, drawn, "sum_by_key" if by_key else "batch_add")

    @property
    def num_cases(self) -> int:
        """Sums."""
        return len(self.selections)

    @property
    def words_per_element(self) -> int:
        """A base field element."""
        return subject(self.subject).spec.fp.limbs

    def answers(self, device: Device) -> Rows:
        """One operation a sum."""
        s = subject(self.subject)
        return np.stack([_run(device, s, one) for one in self.selections])

    def expected(self) -> Rows:
        """The sum of the logarithms, times the generator."""
        s = subject(self.subject)
        rows = []
        for one in self.selections:
            if one.is_refused:
                rows.append(np.full(s.spec.affine_bytes // 8, REJECTED))
                continue
            totals = [s.total(sum(t.log for t in terms), sum(t.outside for t in terms)) for terms in one.sums]
            rows.append(np.concatenate([s.row(total) for total in totals]))
        return np.stack(rows)

    def classes(self) -> Counter[str]:
        """Ids of sizes and of bases."""
        s = subject(self.subject)
        hits: Counter[str] = Counter()
        for one in self.selections:
            hits.update(size_ids(len(one.terms), _BLOCK, _GRID))
            for terms in one.sums:
                hits.update(term_hits(s, terms))
        return +hits

    def keep(self, indices: Sequence[int]) -> Self:
        """Some sums."""
        return replace(self, selections=tuple(self.selections[i] for i in indices))

    @property
    def size(self) -> tuple[int, ...]:
        """Terms, selected terms, sizes of logarithms, options."""
        terms = [term for one in self.selections for term in one.terms]
        options = [
            x
            for one in self.selections
            for x in (one.indices, one.blocks, one.threads, one.rounds, one.signs or None)
        ]
        return (
            len(terms), sum(len(one.summed) for one in self.selections),
            sum(abs(t.log) + 9 * abs(t.outside) for t in terms), sum(option is not None for option in options),
        )  # fmt: skip

    def smaller(self) -> Iterator[Self]:
        """The selected bases alone and in order; fewer; plainer ones; no options."""
        if self.num_cases != 1:
            return
        (one,) = self.selections
        if one.cuts is not None:
            yield from self._simpler_keys(one)
            return
        if not one.is_refused:
            yield replace(self, selections=(replace(one, terms=tuple(one.summed), indices=None),))
        if one.indices is None:
            for kept in without_chunks(len(one.terms)):
                yield replace(self, selections=(replace(one, terms=tuple(one.terms[i] for i in kept)),))
        else:
            for kept in without_chunks(len(one.indices)):
                yield replace(self, selections=(replace(one, indices=tuple(one.indices[i] for i in kept)),))
        for i, term in enumerate(one.terms):
            for other in (Term(0), Term(1), Term(-1), Term(term.log // 2)):
                changed = (*one.terms[:i], other, *one.terms[i + 1 :])
                yield replace(self, selections=(replace(one, terms=changed),))
        yield replace(self, selections=(replace(one, blocks=None),))
        yield replace(self, selections=(replace(one, threads=None),))
        yield replace(self, selections=(replace(one, rounds=None),))

    def _simpler_keys(self, one: Selection) -> Iterator[Self]:
        """Without signs, all in the last key, half of the terms."""
        half = len(one.summed) // 2
        for simpler in (
            replace(one, signs=0),
            replace(one, cuts=(0,) * (_KEYS - 1)),
            replace(one, terms=tuple(one.summed), indices=None),
            replace(one, terms=tuple(one.summed[:half]), indices=None, cuts=(0,) * (_KEYS - 1)),
            replace(one, blocks=None),
            replace(one, rounds=None),
        ):
            yield replace(self, selections=(simpler,))

    def to_json(self) -> dict[str, Any]:
        """Bases as [log, outside]."""
        sums = [
            {
                "bases": [[t.log, t.outside] for t in one.terms],
                "indices": None if one.indices is None else list(one.indices),
                "blocks": one.blocks, "threads": one.threads, "rounds": one.rounds,
                "cuts": None if one.cuts is None else list(one.cuts), "signs": one.signs,
            }
            for one in self.selections
        ]  # fmt: skip
        return {"target": self.target, "subject": self.subject, "op": self.op, "inputs": {"sums": sums}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of to_json."""
        selections = [
            Selection(
                tuple(Term(log, outside) for log, outside in one["bases"]),
                None if one["indices"] is None else tuple(one["indices"]),
                one["blocks"], one["threads"], one.get("rounds"),
                None if one.get("cuts") is None else tuple(one["cuts"]), one.get("signs", 0),
            )
            for one in data["inputs"]["sums"]
        ]  # fmt: skip
        return cls(data["subject"], tuple(selections), data["op"])


def _by_key(device: Device, s: Subject, one: Selection) -> Rows:
    """The sum of each key, in affine coordinates, one after another."""
    count = len(one.summed)
    if count == 0:
        return np.zeros(_KEYS * s.spec.affine_bytes // 8, np.uint64)
    places = range(len(one.terms)) if one.indices is None else one.indices
    entries = np.array([i | _SIGN * one.is_negated(k) for k, i in enumerate(places)], np.uint32)
    offsets = np.array([0, *(one.cuts or ()), count], np.uint32)
    plan = plan_sums(
        count, _KEYS, s.spec, device.limits, rounds=one.rounds, num_segments=one.blocks, min_segment=1
    )
    plan = replace(plan, pair_grid=1) if one.threads is not None else plan
    sums = device.alloc((_KEYS, s.spec.xyzz_bytes // 8), np.uint64, zero=True)
    keyed = KeyedPoints(device.upload(s.limbs(one.terms)), device.upload(entries), device.upload(offsets))
    sum_by_key(device, s.spec, plan, keyed, SumBuffers.allocate(device, s.spec, [plan]), sums)
    return np.asarray(device.download(normalize(device, s.spec, sums))).reshape(-1)


def _run(device: Device, s: Subject, one: Selection) -> Rows:
    if one.cuts is not None:
        return _by_key(device, s, one)
    indices = None if one.indices is None else device.upload(np.array(one.indices, np.uint32))
    threads = one.threads if device.limits.gpu_like else None
    try:
        result = batch_add(
            device,
            s.spec,
            device.upload(s.limbs(one.terms)),
            indices,
            blocks=one.blocks,
            threads=threads,
            rounds=one.rounds,
        )
    except KernelFault:
        return np.full(s.spec.affine_bytes // 8, REJECTED)
    return result.reshape(-1)
