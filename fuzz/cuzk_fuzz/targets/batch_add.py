"""Sums of selected points against the exponent oracle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from cuzk.device import Device
from cuzk.errors import KernelFault
from cuzk.ops.batch_add import batch_add
from cuzk_fuzz.batch import REJECTED, Batch, Rows, Scope, without_chunks
from cuzk_fuzz.choices import Choices
from cuzk_fuzz.classes import size_ids, sizes
from cuzk_fuzz.subjects import GROUPS, Subject, Term, subject, term_hits
from cuzk_fuzz.targets.msm import draw_terms

_BLOCK, _GRID = 128, 2


@dataclass(frozen=True)
class Selection:
    """One sum: the bases, the indices of those to add (None: all), and the shape of the launch (None: planned)."""

    terms: tuple[Term, ...]
    indices: tuple[int, ...] | None
    blocks: int | None
    threads: int | None
    rounds: int | None = None

    @property
    def summed(self) -> list[Term]:
        """The terms in the order in which they are named; indices beyond the bases name none."""
        if self.indices is None:
            return list(self.terms)
        return [self.terms[i] for i in self.indices if i < len(self.terms)]

    @property
    def is_refused(self) -> bool:
        """Whether an index is out of range."""
        return any(i >= len(self.terms) for i in self.indices or ())


def _draw(choices: Choices, s: Subject, scope: Scope) -> Selection:
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
    return Selection(terms, indices, blocks, threads, rounds)


@dataclass(frozen=True, eq=False)
class BatchAddBatch(Batch):
    """A few sums in one group; a row of answers is the affine result."""

    target: ClassVar[str] = "batch_add"
    subject: str
    selections: tuple[Selection, ...]
    op: str = "batch_add"

    @classmethod
    def decode(cls, choices: Choices, scope: Scope) -> Self:
        """Up to eight sums."""
        names = [name for name in GROUPS if f"batch_add_{name}" in scope.kernels]
        s = subject(choices.pick(names))
        return cls(s.name, tuple(_draw(choices, s, scope) for _ in choices.several(8)))

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
            log, outside = (sum(getattr(t, part) for t in one.summed) for part in ("log", "outside"))
            rows.append(s.row(s.total(log, outside)))
        return np.stack(rows)

    def classes(self) -> Counter[str]:
        """Ids of sizes and of bases."""
        s = subject(self.subject)
        hits: Counter[str] = Counter()
        for one in self.selections:
            hits.update(size_ids(len(one.terms), _BLOCK, _GRID))
            hits.update(term_hits(s, one.summed))
        return +hits

    def keep(self, indices: Sequence[int]) -> Self:
        """Some sums."""
        return replace(self, selections=tuple(self.selections[i] for i in indices))

    @property
    def size(self) -> tuple[int, ...]:
        """Terms, selected terms, sizes of logarithms, options."""
        terms = [term for one in self.selections for term in one.terms]
        options = [x for one in self.selections for x in (one.indices, one.blocks, one.threads, one.rounds)]
        return (
            len(terms), sum(len(one.summed) for one in self.selections),
            sum(abs(t.log) + 9 * abs(t.outside) for t in terms), sum(option is not None for option in options),
        )  # fmt: skip

    def smaller(self) -> Iterator[Self]:
        """The selected bases alone and in order; fewer; plainer ones; no options."""
        if self.num_cases != 1:
            return
        (one,) = self.selections
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

    def to_json(self) -> dict[str, Any]:
        """Bases as [log, outside]."""
        sums = [
            {
                "bases": [[t.log, t.outside] for t in one.terms],
                "indices": None if one.indices is None else list(one.indices),
                "blocks": one.blocks, "threads": one.threads, "rounds": one.rounds,
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
            )
            for one in data["inputs"]["sums"]
        ]  # fmt: skip
        return cls(data["subject"], tuple(selections))


def _run(device: Device, s: Subject, one: Selection) -> Rows:
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
