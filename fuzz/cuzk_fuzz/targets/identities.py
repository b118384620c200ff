"""Exact and metamorphic checks at sizes that plain oracles don't reach: all of them O(n) on the host.

Sums have bases of known logarithms, so each of a group of related calls is exact by itself, and the relation says where
a fault lies. Transforms are compared at a random point: a wrong output passes with probability < n / r.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from cuzk_oracles import edge_values, msm, params
from cuzk_oracles import ntt as oracle

from cuzk.curves import Curve, get_curve
from cuzk.device import Device
from cuzk.limbs import fr_from_ints, fr_to_ints
from cuzk.ops import msm as msm_ops
from cuzk.ops.ntt import Domain, Order, ntt
from cuzk_fuzz.batch import Batch, Rows, Scope
from cuzk_fuzz.choices import Choices
from cuzk_fuzz.subjects import CURVES, GROUPS, POOL, Subject, Term, subject

SUMS = ("split", "permute", "negate", "merge", "append", "linear", "windows", "repeat")
TRANSFORMS = ("orders", "coset", "inverse", "roundtrip", "shift", "repeat")
INPUTS = ("K.uniform", "K.bits_50", "K.bits_90", "K.small", "K.all_equal", "K.one_bucket", "K.edges")
#: Ids that a campaign must hit: every relation, and both kinds of size.
RELATIONS = (
    *(f"I.msm.{op}" for op in SUMS),
    *(f"I.ntt.{op}" for op in TRANSFORMS),
    "I.power_of_two",
    "I.odd_size",
)

_WINDOW = 8


@dataclass(frozen=True)
class Call:
    """One multi-scalar multiplication of a relation."""

    terms: tuple[Term, ...]
    scalars: tuple[int, ...]
    window_bits: int | None = None


@dataclass(frozen=True, eq=False)
class IdentityBatch(Batch):
    """Related calls on one large input; its row of answers holds every call's result.

    Attributes:
        subject: A group for sums, a curve for transforms.
        op: "msm.X" or "ntt.X".
        size: Length of the input.
        seed: Of the input.
        values: Its distribution, an id of class K.
    """

    target: ClassVar[str] = "identities"
    subject: str
    op: str
    length: int
    seed: int
    values: str

    @classmethod
    def decode(cls, choices: Choices, scope: Scope) -> Self:
        """A relation, then a size up to the scope's largest: powers of two and their neighbours, and any."""
        seed, values = choices.below(1 << 32), choices.pick_class({name: [name] for name in INPUTS})
        relations = {
            f"I.{op}": [op] for op in (*(f"msm.{x}" for x in SUMS), *(f"ntt.{x}" for x in TRANSFORMS))
        }
        op = choices.pick_class(relations)
        if op.startswith("ntt."):
            names = [name for name in CURVES if f"ntt_dif_pass_{name}_fr" in scope.kernels]
            name = choices.pick(names)
            largest = min(scope.log_large, get_curve(name).two_adicity - 1)
            return cls(name, op, 1 << choices.between(3, largest), seed, values)
        names = [name for name in GROUPS if f"msm_accumulate_{name}" in scope.kernels]
        toy = [name for name in names if name.startswith("toy")]
        s = subject(choices.pick(toy if scope.small and toy and not choices.one_in(8) else names))
        cheap = s.curve.name == "toy" or not scope.small
        log_n = choices.between(3, max(3, scope.log_large - (s.spec.degree - 1) - (0 if cheap else 3)))
        length = (1 << log_n) + choices.pick((0, -1, 1, choices.below(1 << log_n)))
        return cls(s.name, op, length, seed, values)

    @property
    def num_cases(self) -> int:
        """One."""
        return 1

    @property
    def relation(self) -> str:
        """The operation without its kind."""
        return self.op.partition(".")[2]

    @property
    def is_sum(self) -> bool:
        """Whether sums are related, or transforms."""
        return self.op.startswith("msm.")

    @property
    def curve(self) -> Curve:
        """The curve."""
        return subject(self.subject).curve if self.is_sum else get_curve(self.subject)

    @property
    def words_per_element(self) -> int:
        """One call's result."""
        s = self.is_sum and subject(self.subject)
        return s.spec.affine_bytes // 8 if s else self.curve.fr.limbs

    def _numbers(self, part: int) -> list[int]:
        """Scalars of the wanted distribution."""
        vectors = edge_values.scalar_vectors(self.curve.r, self.length, _WINDOW, self.seed + part)
        return dict(vectors)[self.values]

    def _calls(self) -> list[Call]:
        rng = random.Random(self.seed)
        r, n = self.curve.r, self.length
        step, first = rng.randrange(1, 2 * POOL + 1), rng.randrange(2 * POOL + 1)
        terms = tuple(Term((first + i * step) % (2 * POOL + 1) - POOL) for i in range(n))
        s = tuple(self._numbers(0))
        whole = Call(terms, s)
        if self.relation == "split":
            cuts = sorted({0, n // 3, n // 2, n})
            return [whole, *(Call(terms[a:b], s[a:b]) for a, b in itertools.pairwise(cuts))]
        if self.relation == "permute":
            order = list(range(n))
            rng.shuffle(order)
            return [whole, Call(tuple(terms[i] for i in order), tuple(s[i] for i in order)),
                    Call(terms[::-1], s[::-1])]  # fmt: skip
        if self.relation == "negate":
            return [whole, Call(tuple(Term(-t.log) for t in terms), tuple(-k % r for k in s))]
        if self.relation == "append":
            more = rng.randrange(1, 70)
            some = tuple(rng.randrange(r) for _ in range(more))
            return [
                whole,
                Call(terms + terms[:1] * more, s + (0,) * more),
                Call(terms + (Term(0),) * more, s + some),
            ]
        if self.relation == "windows":
            return [replace(whole, window_bits=c) for c in sorted({2, 5, rng.randrange(3, 12), 11})]
        if self.relation == "repeat":
            return [whole] * 3
        t, factor = tuple(self._numbers(1)), rng.randrange(r)
        if self.relation == "merge":
            return [
                Call(terms + terms, s + t),
                Call(terms, tuple((x + y) % r for x, y in zip(s, t, strict=True))),
            ]
        mixed = tuple((factor * x + y) % r for x, y in zip(s, t, strict=True))
        return [whole, Call(terms, t), Call(terms, mixed)]

    def answers(self, device: Device) -> Rows:
        """Every call; nothing waits for the device in between where a result is not looked at."""
        rows = self._sums(device) if self.is_sum else self._transforms(device)
        return np.concatenate(rows).reshape(1, -1)

    def _sums(self, device: Device) -> list[Rows]:
        s = subject(self.subject)
        return [_sum(device, s, call) for call in self._calls()]

    def _input(self) -> tuple[Domain, list[int], int]:
        """The domain, the coefficients, and the point at which everything is compared."""
        rng = random.Random(self.seed)
        domain = Domain(self.curve, self.length.bit_length() - 1, rng.choice(("snarkjs", "bellman")))
        return domain, self._numbers(0), rng.randrange(2, self.curve.r)

    def _transforms(self, device: Device) -> list[Rows]:
        domain, numbers, z = self._input()
        curve, n = self.curve, self.length
        r, host = curve.r, fr_from_ints(curve, numbers)
        omega = params.root_of_unity(params.get_params(self.subject), domain.log_n, domain.convention)
        shift = curve.coset_shift("bellman")

        def run(x: Rows, order_in: Order = "nat", order_out: Order = "nat", **options: Any) -> list[int]:
            given = x if order_in == "nat" else x[_reversed(n)]
            done = ntt(
                device, domain, device.upload(given.copy()), order_in=order_in, order_out=order_out, **options
            )
            got = np.asarray(device.download(done))
            return fr_to_ints(curve, got if order_out == "nat" else got[_reversed(n)])

        def at_z(values: Sequence[int], g: int = 1) -> int:
            return oracle.barycentric(values, omega, z, r, g)

        if self.relation == "orders":
            found = [at_z(run(host, i, o)) for i in ("nat", "rev") for o in ("nat", "rev")]
        elif self.relation == "coset":
            found = [at_z(run(host, coset=g), g) for g in (shift, r - 1)]
        elif self.relation == "inverse":
            found = [oracle.horner(run(host, inverse=True), z, r)]
        elif self.relation == "roundtrip":
            there = fr_from_ints(curve, run(host, order_out="rev"))[_reversed(n)]
            back = np.asarray(
                device.download(ntt(device, domain, device.upload(there), inverse=True, order_in="rev"))
            )
            found = [oracle.horner(fr_to_ints(curve, back), z, r)]
        elif self.relation == "shift":  # a(g x) by scaled coefficients is a's coset transform
            scaled = [c * g % r for c, g in zip(numbers, oracle.powers(shift, n, r), strict=True)]
            found = [at_z(run(fr_from_ints(curve, scaled))), at_z(run(host, coset=shift), shift)]
        else:
            found = [at_z(run(host)) for _ in range(3)]
        return [fr_from_ints(curve, [value]).reshape(-1) for value in found]

    def expected(self) -> Rows:
        """Each call by itself."""
        if self.is_sum:
            s, r = subject(self.subject), self.curve.r
            logs = [msm.msm_exponent([t.log for t in call.terms], call.scalars, r) for call in self._calls()]
            return np.concatenate([s.row(s.times_generator(log)) for log in logs]).reshape(1, -1)
        domain, numbers, z = self._input()
        r = self.curve.r
        values = oracle.horner(numbers, z, r)
        count = {"orders": 4, "coset": 2, "repeat": 3}.get(self.relation, 1)
        wanted = [values] * count
        if self.relation == "inverse":
            root = params.root_of_unity(params.get_params(self.subject), domain.log_n, domain.convention)
            wanted = [oracle.barycentric(numbers, root, z, r)]
        if self.relation == "shift":
            wanted = [oracle.horner(numbers, z * self.curve.coset_shift("bellman") % r, r), values]
        return np.concatenate([fr_from_ints(self.curve, [v]).reshape(-1) for v in wanted]).reshape(1, -1)

    def classes(self) -> Counter[str]:
        """Relation, distribution and kind of size."""
        power = self.length & (self.length - 1) == 0
        return Counter({f"I.{self.op}": 1, self.values: 1, "I.power_of_two" if power else "I.odd_size": 1})

    def keep(self, indices: Sequence[int]) -> Self:  # noqa: ARG002 - there is only one
        """Itself."""
        return self

    @property
    def size(self) -> tuple[int, ...]:
        """Elements, then how odd the input is."""
        return self.length, INPUTS.index(self.values)

    def smaller(self) -> Iterator[Self]:
        """Shorter inputs, and simpler ones."""
        lengths = {self.length // 2, self.length // 4}
        if self.is_sum:
            lengths |= {self.length - 1, self.length * 7 // 8, 1}
        for length in sorted(lengths):
            if 1 <= length < self.length:
                yield replace(self, length=length)
        for values in INPUTS[: INPUTS.index(self.values)]:
            yield replace(self, values=values)

    def to_json(self) -> dict[str, Any]:
        """The input by its seed: `cuzk_oracles.edge_values.scalar_vectors` makes it."""
        return {
            "target": self.target, "subject": self.subject, "op": self.op,
            "inputs": {"length": self.length, "seed": self.seed, "values": self.values},
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of to_json."""
        x = data["inputs"]
        return cls(data["subject"], data["op"], x["length"], x["seed"], x["values"])


def _sum(device: Device, s: Subject, call: Call) -> Rows:
    scalars = device.upload(fr_from_ints(s.curve, call.scalars))
    bases = device.upload(s.limbs(call.terms))
    return np.asarray(msm_ops.msm(device, s.spec, bases, scalars, window_bits=call.window_bits)).reshape(-1)


def _reversed(n: int) -> list[int]:
    return oracle.bit_reverse(list(range(n)))
