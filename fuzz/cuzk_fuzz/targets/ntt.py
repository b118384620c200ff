"""Transforms of several vectors at once: every direction, order, coset, radix split and table size."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from cuzk_oracles import ntt as oracle
from cuzk_oracles import params

from cuzk.curves import Curve, get_curve
from cuzk.device import Device
from cuzk.limbs import ints_to_limbs, limbs_to_ints
from cuzk.ops.ntt import Domain, Order, ntt
from cuzk.ops.plan_fr import NttPlan, plan_ntt
from cuzk_fuzz.batch import Batch, Rows, Scope, ints_as_hex, ints_from_hex, without_chunks
from cuzk_fuzz.choices import Choices
from cuzk_fuzz.classes import field_classes, size_ids, sizes, tally
from cuzk_fuzz.subjects import CURVES
from cuzk_fuzz.targets.draw import U64, draw_pairs

_BLOCK, _GRID = 32, 2
_USUAL = 8
#: Up to this size a transform is checked against its definition, above it against a plain fast transform.
_BY_DEFINITION = 3


@dataclass(frozen=True)
class Kind:
    """Everything about a transform but its input.

    Attributes:
        log_n: log2 of the length.
        convention: Whose roots of unity.
        inverse, coset, order_in, order_out: As for the operation.
        radices: log2 of each pass's radix, or None for the plan's.
        log_tile: log2 of a tile, or None.
        table_bits: log2 of the inner power tables, or None.
        few_blocks: A third of the blocks for the planned passes, so that each takes several tiles.
    """

    log_n: int
    convention: Literal["snarkjs", "bellman"] = "snarkjs"
    inverse: bool = False
    coset: int | None = None
    order_in: Order = "nat"
    order_out: Order = "nat"
    radices: tuple[int, ...] | None = None
    log_tile: int | None = None
    table_bits: int | None = None
    few_blocks: bool = False


@functools.cache
def _domain(curve: Curve, log_n: int, convention: Literal["snarkjs", "bellman"]) -> Domain:
    return Domain(curve, log_n, convention)


def _draw_radices(choices: Choices, log_n: int, log_tile: int) -> tuple[int, ...]:
    radices: list[int] = []
    while (rest := log_n - sum(radices)) > 0:
        radices.append(choices.between(1, min(rest, log_tile)))
    return tuple(radices) or (0,)


def _draw_kind(choices: Choices, curve: Curve, largest: int) -> Kind:
    r = curve.r
    # Half of those that may be long are: a tile of 2^10 elements is all that shared memory holds.
    largest = min(largest, curve.two_adicity)
    log_n = largest if largest > 9 and choices.one_in(2) else choices.between(0, largest)
    shifts: dict[str, list[int | None]] = {
        "none": [None],
        "minus_one": [r - 1],
        "one": [1],
        "odd": [curve.root_of_unity(min(log_n + 1, curve.two_adicity), "snarkjs")],
        "usual": [curve.coset_shift("bellman")],
        "any": [2, 3, r // 2, r - 2],
    }
    log_tile = choices.between(1, 6) if choices.one_in(2) else None
    return Kind(
        log_n,
        choices.pick(("snarkjs", "bellman")),
        choices.one_in(2),
        choices.pick_class(shifts) if choices.one_in(2) else None,
        choices.pick(("nat", "rev")),
        choices.pick(("nat", "rev")),
        _draw_radices(choices, log_n, log_tile) if log_tile else None,
        log_tile,
        choices.between(0, log_n) if choices.one_in(3) else None,
        log_tile is not None and choices.one_in(3),
    )


def _with_few_blocks(plan: NttPlan) -> NttPlan:
    shapes = [replace(step.shape, grid=max(1, step.shape.grid // 3)) for step in plan.passes]
    passes = [replace(step, shape=shape) for step, shape in zip(plan.passes, shapes, strict=True)]
    return replace(plan, passes=tuple(passes))


@dataclass(frozen=True, eq=False)
class NttBatch(Batch):
    """Vectors under one transform; a row of answers is a transformed vector.

    Attributes:
        subject: The curve.
        kind: The transform.
        values: Shape (vectors, n, limbs) uint64. Form: Montgomery, < r.
    """

    target: ClassVar[str] = "ntt"
    subject: str
    kind: Kind
    values: U64

    @property
    def op(self) -> str:  # type: ignore[override]
        """Direction and orders."""
        kind = self.kind
        name = f"{'coset_' if kind.coset is not None else ''}{'intt' if kind.inverse else 'ntt'}"
        return f"{name}_{kind.order_in}_{kind.order_out}"

    @classmethod
    def decode(cls, choices: Choices, scope: Scope) -> Self:
        """One transform of a class S number of vectors, at most some thousand elements in all."""
        names = [name for name in CURVES if f"ntt_dif_pass_{name}_fr" in scope.kernels]
        curve = get_curve(choices.pick(names))
        room = 1024 if scope.small else 2048
        largest = (_USUAL if scope.small else 9) if not choices.one_in(8) else room.bit_length() - 1
        kind = _draw_kind(choices, curve, largest)
        vectors = choices.pick_class(sizes(_BLOCK, _GRID, min(140, max(1, room >> kind.log_n))))
        n = 1 << kind.log_n
        style = choices.below(5)
        drawn = draw_pairs(choices, curve.fr, (vectors * n + 1) // 2).reshape(-1, curve.fr.limbs)[
            : vectors * n
        ]
        values = drawn.reshape(vectors, n, curve.fr.limbs).copy()
        if style == 0:  # one element a vector
            for i in range(vectors):
                keep = choices.below(n)
                values[i, :keep] = 0
                values[i, keep + 1 :] = 0
        elif style == 1:  # all elements of a vector equal
            values[:] = values[:, :1]
        return cls(curve.name, kind, values)

    @property
    def curve(self) -> Curve:
        """The curve."""
        return get_curve(self.subject)

    @property
    def num_cases(self) -> int:
        """Vectors."""
        return len(self.values)

    @property
    def words_per_element(self) -> int:
        """A scalar."""
        return self.curve.fr.limbs

    def answers(self, device: Device) -> Rows:
        """One call for all vectors."""
        kind, curve = self.kind, self.curve
        domain = _domain(curve, kind.log_n, kind.convention)
        plan = None
        if kind.radices is not None:
            plan = plan_ntt(
                kind.log_n, self.num_cases, curve, device.limits, radices=kind.radices,
                log_tile=max(kind.log_tile or 0, *kind.radices),
            )  # fmt: skip
            plan = _with_few_blocks(plan) if kind.few_blocks else plan
        result = ntt(
            device, domain, device.upload(self.values.copy()), inverse=kind.inverse, coset=kind.coset,
            order_in=kind.order_in, order_out=kind.order_out, plan=plan, table_bits=kind.table_bits,
        )  # fmt: skip
        return np.asarray(device.download(result)).reshape(self.num_cases, curve.fr.limbs << kind.log_n)

    def expected(self) -> Rows:
        """The definition for short vectors, a plain recursive transform for longer ones."""
        kind, r = self.kind, self.curve.r
        omega = params.root_of_unity(params.get_params(self.subject), kind.log_n, kind.convention)
        n = 1 << kind.log_n
        flat: list[int] = []
        # A transform is linear: numbers in memory, x R, go in and come out as they are.
        for vector in self.values:
            x = limbs_to_ints(vector)
            x = oracle.bit_reverse(x) if kind.order_in == "rev" else x
            x = _transform(x, omega, kind.coset, kind.inverse, r, by_definition=kind.log_n <= _BY_DEFINITION)
            flat += oracle.bit_reverse(x) if kind.order_out == "rev" else x
        return ints_to_limbs(flat, self.curve.fr.limbs).reshape(self.num_cases, n * self.curve.fr.limbs)

    def classes(self) -> Counter[str]:
        """Ids of the elements, of the number of vectors and of their length."""
        hits = tally(map(field_classes(self.curve.fr).values.get, limbs_to_ints(self.values)))
        hits.update(size_ids(self.num_cases, _BLOCK, _GRID))
        hits.update(
            edge_id for edge_id in size_ids(1 << self.kind.log_n, _BLOCK, _GRID) if edge_id == "S.2^k"
        )
        return hits

    def keep(self, indices: Sequence[int]) -> Self:
        """Some vectors."""
        return replace(self, values=self.values[list(indices)])

    @property
    def size(self) -> tuple[int, ...]:
        """Elements that are not zero, length, bits set, options."""
        values = limbs_to_ints(self.values)
        kind = self.kind
        options = (kind.coset, kind.radices, kind.log_tile, kind.table_bits, kind.few_blocks or None)
        return (
            sum(v != 0 for v in values), kind.log_n, sum(v.bit_count() for v in values),
            sum(option is not None for option in options),
        )  # fmt: skip

    def smaller(self) -> Iterator[Self]:
        """Fewer elements that are not zero, shorter vectors, plainer elements and plans."""
        if self.num_cases != 1:
            return
        places = np.flatnonzero(self.values[0].any(axis=1))
        for kept in without_chunks(len(places)):
            values = np.zeros_like(self.values)
            values[0, places[kept]] = self.values[0, places[kept]]
            yield replace(self, values=values)
        if self.kind.log_n:
            for half in np.split(self.values, 2, axis=1):
                kind = replace(
                    self.kind, log_n=self.kind.log_n - 1, radices=None, table_bits=None, few_blocks=False
                )
                yield replace(self, kind=kind, values=half)
        one = ints_to_limbs([self.curve.fr.mont_r, 1], self.curve.fr.limbs)
        for place in places:
            for value in one:
                values = self.values.copy()
                values[0, place] = value
                yield replace(self, values=values)
        yield replace(self, kind=replace(self.kind, radices=None, log_tile=None, few_blocks=False))
        yield replace(self, kind=replace(self.kind, few_blocks=False))
        yield replace(self, kind=replace(self.kind, table_bits=None))
        yield replace(self, kind=replace(self.kind, coset=None))

    def to_json(self) -> dict[str, Any]:
        """Elements as numbers in memory."""
        kind = self.kind
        return {
            "target": self.target, "subject": self.subject, "op": self.op, "form": "numbers in memory",
            "log_n": kind.log_n, "convention": kind.convention, "inverse": kind.inverse,
            "coset": None if kind.coset is None else hex(kind.coset),
            "order_in": kind.order_in, "order_out": kind.order_out,
            "radices": None if kind.radices is None else list(kind.radices),
            "log_tile": kind.log_tile, "table_bits": kind.table_bits, "few_blocks": kind.few_blocks,
            "inputs": {"vectors": [ints_as_hex(limbs_to_ints(vector)) for vector in self.values]},
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of to_json."""
        coset, radices = data["coset"], data["radices"]
        kind = Kind(
            data["log_n"], data["convention"], data["inverse"], None if coset is None else int(coset, 16),
            data["order_in"], data["order_out"], None if radices is None else tuple(radices),
            data["log_tile"], data["table_bits"], data.get("few_blocks", False),
        )  # fmt: skip
        limbs = get_curve(data["subject"]).fr.limbs
        vectors = data["inputs"]["vectors"]
        flat = ints_to_limbs([v for texts in vectors for v in ints_from_hex(texts)], limbs)
        return cls(data["subject"], kind, flat.reshape(len(vectors), 1 << kind.log_n, limbs))


def _transform(
    x: list[int], omega: int, coset: int | None, inverse: bool, r: int, *, by_definition: bool
) -> list[int]:
    if by_definition and not inverse:
        return oracle.coset_ntt_definition(x, omega, 1 if coset is None else coset, r)
    if by_definition:
        values = oracle.intt_definition(x, omega, r)
        unshift = oracle.powers(pow(1 if coset is None else coset, -1, r), len(x), r)
        return [v * g % r for v, g in zip(values, unshift, strict=True)]
    if coset is None:
        return oracle.ifft(x, omega, r) if inverse else oracle.fft(x, omega, r)
    return oracle.coset_intt(x, omega, coset, r) if inverse else oracle.coset_ntt(x, omega, coset, r)
