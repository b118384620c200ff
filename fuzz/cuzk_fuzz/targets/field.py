"""Fields and their quadratic extensions: every operation of the kernels that expose them, element by element."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from cuzk_oracles import edge_values, fields, fp2

from cuzk.curves import FIELDS, FieldSpec
from cuzk.device import Device
from cuzk.limbs import ints_to_limbs, limbs_to_ints
from cuzk_fuzz.batch import Batch, Rows, Scope, ints_as_hex, ints_from_hex
from cuzk_fuzz.choices import Choices
from cuzk_fuzz.classes import field_classes, tally
from cuzk_fuzz.targets import carries
from cuzk_fuzz.targets.draw import PAIR_BYTES, U64, draw_pairs

#: In the order of FieldOpcode in field_ops.cuh, with the operands that count.
OPS: dict[str, int] = {
    "add": 2, "sub": 2, "neg": 1, "dbl": 1, "mul": 2, "sqr": 1, "inverse": 1, "to_mont": 1, "from_mont": 1,
    "cneg": 2, "mul_add2": 4, "is_reduced": 1, "equal": 2,
}  # fmt: skip

#: What a launch may do with its buffers; partial overlaps are refused above the kernels (target `vec`).
ALIASES = ("A.disjoint", "A.out_is_a", "A.out_is_b", "A.a_is_b", "A.all_same")


@dataclass(frozen=True)
class _Constants:
    """Modulus, 1/R and R^2, from the oracle's own definition of R."""

    p: int
    r_inv: int
    r2: int

    @classmethod
    @functools.cache
    def of(cls, spec: FieldSpec) -> _Constants:
        p = spec.modulus
        r_mod = fields.mont_r(p, spec.words, spec.word_bits)
        return cls(p, fields.from_mont(1, p, spec.words, spec.word_bits), fields.mul(r_mod, r_mod, p))


_F = _Constants
#: What each operation does to numbers in memory (Montgomery form, except where an operation changes it).
_FIELD_ORACLE: dict[str, Callable[[_F, int, int, int, int], int]] = {
    "add": lambda k, a, b, c, d: fields.add(a, b, k.p),
    "sub": lambda k, a, b, c, d: fields.sub(a, b, k.p),
    "neg": lambda k, a, b, c, d: fields.neg(a, k.p),
    "dbl": lambda k, a, b, c, d: fields.dbl(a, k.p),
    "mul": lambda k, a, b, c, d: fields.mul(a * b, k.r_inv, k.p),
    "sqr": lambda k, a, b, c, d: fields.mul(a * a, k.r_inv, k.p),
    "inverse": lambda k, a, b, c, d: fields.mul(fields.inv(a, k.p), k.r2, k.p),
    "to_mont": lambda k, a, b, c, d: fields.mul(a * k.r2, k.r_inv, k.p),
    "from_mont": lambda k, a, b, c, d: fields.mul(a, k.r_inv, k.p),
    "cneg": lambda k, a, b, c, d: fields.neg(a, k.p) if b else a,
    "mul_add2": lambda k, a, b, c, d: fields.mul(a * b + c * d, k.r_inv, k.p),
    "is_reduced": lambda k, a, b, c, d: int(a < k.p),
    "equal": lambda k, a, b, c, d: int(a == b),
}

_E = fp2.Fp2Element


def _scaled(k: _F, a: _E, factor: int) -> _E:
    return fields.mul(a[0], factor, k.p), fields.mul(a[1], factor, k.p)


_FP2_ORACLE: dict[str, Callable[[_F, _E, _E, _E, _E], _E]] = {
    "add": lambda k, a, b, c, d: fp2.add(a, b, k.p),
    "sub": lambda k, a, b, c, d: fp2.sub(a, b, k.p),
    "neg": lambda k, a, b, c, d: fp2.neg(a, k.p),
    "dbl": lambda k, a, b, c, d: fp2.dbl(a, k.p),
    "mul": lambda k, a, b, c, d: _scaled(k, fp2.mul(a, b, k.p), k.r_inv),
    "sqr": lambda k, a, b, c, d: _scaled(k, fp2.sqr(a, k.p), k.r_inv),
    "inverse": lambda k, a, b, c, d: _scaled(k, fp2.inv(a, k.p), k.r2),
    "to_mont": lambda k, a, b, c, d: _scaled(k, a, fields.mul(k.r2, k.r_inv, k.p)),
    "from_mont": lambda k, a, b, c, d: _scaled(k, a, k.r_inv),
    "cneg": lambda k, a, b, c, d: fp2.neg(a, k.p) if b != (0, 0) else a,
    "mul_add2": lambda k, a, b, c, d: _scaled(
        k, fp2.add(fp2.mul(a, b, k.p), fp2.mul(c, d, k.p), k.p), k.r_inv
    ),
    "is_reduced": lambda k, a, b, c, d: (int(a[0] < k.p and a[1] < k.p), 0),
    "equal": lambda k, a, b, c, d: (int(a == b), 0),
}


def _invertible(spec: FieldSpec) -> bool:
    """Whether -1 is no square, so that the extension is a field and every norm but that of 0 has an inverse."""
    return spec.modulus % 4 == 3


@dataclass(frozen=True, eq=False)
class FieldBatch(Batch):
    """Elements of one field under one operation.

    Attributes:
        subject: Name of the field.
        op: A key of OPS.
        alias: How the launch's buffers coincide, an id of class A.
        operands: a, b, c, d. Shape (4, cases, degree, limbs) uint64; numbers as they lie in memory.
    """

    target: ClassVar[str] = "field"
    degree: ClassVar[int] = 1
    subject: str
    op: str
    alias: str
    operands: U64

    @property
    def spec(self) -> FieldSpec:
        """The field."""
        return FIELDS[self.subject]

    @classmethod
    def decode(cls, choices: Choices, scope: Scope) -> Self:
        """One operation on as many elements as the scope and the bytes allow."""
        kernel = "field_op_" if cls.degree == 1 else "fp2_op_"
        names = [name for name in FIELDS if kernel + name in scope.kernels]
        spec = FIELDS[choices.pick(names)]
        ops = [op for op in OPS if op != "inverse" or cls.degree == 1 or _invertible(spec)]
        op, alias = choices.pick(ops), choices.pick_class({name: [name] for name in ALIASES})
        per_case = 2 * cls.degree
        count = max(1, min(scope.cases, choices.left // (per_case * PAIR_BYTES)))
        drawn = draw_pairs(choices, spec, count * per_case).reshape(count, 4, cls.degree, spec.limbs)
        operands = np.ascontiguousarray(drawn.transpose(1, 0, 2, 3))
        if cls.degree == 1:
            carries.mix(choices, spec, operands)
        if op == "is_reduced":
            operands[0] = _maybe_unreduced(choices, spec, operands[0])
        if alias in ("A.a_is_b", "A.all_same"):
            operands[1] = operands[0]
        return cls(spec.name, op, alias, operands)

    @property
    def num_cases(self) -> int:
        """Elements."""
        return len(self.operands[0])

    @property
    def words_per_element(self) -> int:
        """A coordinate."""
        return self.spec.limbs

    def answers(self, device: Device) -> Rows:
        """One launch."""
        n = self.num_cases
        a, b, c, d = (device.upload(np.array(x).reshape(-1, self.spec.limbs)) for x in self.operands)
        if self.alias in ("A.a_is_b", "A.all_same"):
            b = a
        out = {"A.out_is_a": a, "A.all_same": a, "A.out_is_b": b}.get(self.alias)
        if out is None:
            out = device.alloc((n * self.degree, self.spec.limbs))
        kernel = f"{'field' if self.degree == 1 else 'fp2'}_op_{self.subject}"
        device.launch(
            kernel, grid=3, block=min(32, device.limits.max_threads),
            a=a, b=b, c=c, d=d, dst=out, op=list(OPS).index(self.op), n=n,
        )  # fmt: skip
        return np.asarray(device.download(out)).reshape(n, -1)

    def _ints(self, operand: int) -> list[Any]:
        flat = limbs_to_ints(self.operands[operand].reshape(-1, self.spec.limbs))
        return flat if self.degree == 1 else list(zip(flat[::2], flat[1::2], strict=True))

    def expected(self) -> Rows:
        """The same from the oracle of the field, or of its extension."""
        k = _Constants.of(self.spec)
        a = self._ints(0)
        used = OPS[self.op]
        b = self._ints(1) if used > 1 else a
        c, d = (self._ints(2), self._ints(3)) if used > 2 else (a, a)
        quads = zip(a, b, c, d, strict=True)
        if self.degree == 1:
            apply = _FIELD_ORACLE[self.op]
            values = [apply(k, *quad) for quad in quads]
        else:
            apply2 = _FP2_ORACLE[self.op]
            values = [part for quad in quads for part in apply2(k, *quad)]
        return ints_to_limbs(values, self.spec.limbs).reshape(self.num_cases, -1)

    def classes(self) -> Counter[str]:
        """Ids of the operands that count, alone and in pairs."""
        known = field_classes(self.spec)
        hits = Counter({self.alias: self.num_cases})
        used = OPS[self.op]
        flat = [limbs_to_ints(self.operands[i].reshape(-1, self.spec.limbs)) for i in range(used)]
        for values in flat:
            hits += tally(map(known.values.get, values))
        couples = [] if self.degree == 1 else [zip(v[::2], v[1::2], strict=True) for v in flat]
        couples += [zip(x, y, strict=True) for x, y in zip(flat[::2], flat[1::2], strict=False)]
        for pairs in couples:
            hits += tally(map(known.pairs.get, pairs))
        if self.degree == 1:
            ones, quotient = set(carries.word_ones(self.spec)), set(carries.quotient_one(self.spec))
            for x, y in zip(flat[::2], flat[1::2], strict=False):
                hits[carries.WORD_ONES] += sum(pair in ones for pair in zip(x, y, strict=True))
            hits[carries.QUOTIENT_ONE] += sum(value in quotient for value in flat[0])
        if self.op == "is_reduced":
            lazy = {value: (edge_id,) for edge_id, value in edge_values.lazy_values(self.spec.modulus)}
            hits += tally(map(lazy.get, flat[0]))
        return hits

    def keep(self, indices: Sequence[int]) -> Self:
        """Some elements."""
        return replace(self, operands=self.operands[:, list(indices)])

    @property
    def size(self) -> tuple[int, ...]:
        """Bits set in all operands."""
        return (sum(v.bit_count() for v in limbs_to_ints(self.operands.reshape(-1, self.spec.limbs))),)

    def smaller(self) -> Iterator[Self]:
        """Operands replaced by 0, cut to fewer limbs, halved."""
        for i in range(4):
            for limb in range(self.operands.shape[3] - 1, -1, -1):
                for change in (_cleared, _halved):
                    changed = self.operands.copy()
                    change(changed[i, ..., limb])
                    if self.alias in ("A.a_is_b", "A.all_same"):
                        changed[1] = changed[0]
                    yield replace(self, operands=changed)

    def to_json(self) -> dict[str, Any]:
        """Operands as numbers in memory."""
        flat = self.operands.reshape(4, -1, self.spec.limbs)
        inputs = {name: ints_as_hex(limbs_to_ints(x)) for name, x in zip("abcd", flat, strict=True)}
        return {
            "target": self.target, "subject": self.subject, "op": self.op, "alias": self.alias,
            "form": "numbers in memory", "inputs": inputs,
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of to_json."""
        limbs = FIELDS[data["subject"]].limbs
        columns: Sequence[U64] = [
            ints_to_limbs(ints_from_hex(data["inputs"][name]), limbs) for name in "abcd"
        ]
        operands = np.stack(columns).reshape(4, -1, cls.degree, limbs)
        return cls(data["subject"], data["op"], data["alias"], operands)


@dataclass(frozen=True, eq=False)
class Fp2Batch(FieldBatch):
    """Elements of F_p[u] / (u^2 + 1) under one operation."""

    target: ClassVar[str] = "fp2"
    degree: ClassVar[int] = 2


def _cleared(limb: U64) -> None:
    limb[...] = 0


def _halved(limb: U64) -> None:
    limb >>= np.uint64(1)


def _maybe_unreduced(choices: Choices, spec: FieldSpec, values: U64) -> U64:
    """Numbers for the one operation that accepts any: a third at and above the modulus, a third of any bits."""
    p, capacity = spec.modulus, 1 << spec.mont_bits
    around = [v for _, v in edge_values.lazy_values(p)] + [
        p - 1,
        p + (1 << (p.bit_length() // 2)),
        capacity - 1,
    ]
    table = ints_to_limbs([v for v in around if v < capacity], spec.limbs)
    flat = values.reshape(-1, spec.limbs)
    pick = np.frombuffer(choices.take(2 * len(flat)), "<u2").astype(np.int64)
    edges = table[(pick >> 2) % len(table)]
    noise = flat ^ np.roll(flat, 1, axis=0) << np.uint64(1)
    noise[:, -1] &= np.uint64((1 << (spec.mont_bits - 64 * (spec.limbs - 1))) - 1)
    kind = (pick % 3)[:, None]
    return np.where(kind == 0, edges, np.where(kind == 1, noise, flat)).reshape(values.shape)
