"""Vectors of scalars: elementwise operations, powers, batch inversion and classification, with every aliasing."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from cuzk_oracles import edge_values, fields, vec
from numpy.typing import NDArray

from cuzk.curves import Curve, get_curve
from cuzk.device import Array, Device
from cuzk.errors import KernelFault, ShapeError
from cuzk.limbs import fr_from_ints, fr_to_ints, ints_to_limbs, limbs_to_ints
from cuzk.ops import fr_vec
from cuzk.ops.classify import classify
from cuzk.ops.scan import exclusive_scan, scan_shape
from cuzk_fuzz.batch import REJECTED, Batch, Rows, Scope, ints_as_hex, ints_from_hex
from cuzk_fuzz.choices import Choices
from cuzk_fuzz.classes import by_class, field_classes, scalar_hits, size_ids, sizes, tally
from cuzk_fuzz.subjects import CURVES
from cuzk_fuzz.targets import vec_places
from cuzk_fuzz.targets.draw import U64, draw_pairs
from cuzk_fuzz.targets.msm import draw_scalars
from cuzk_fuzz.targets.vec_places import PLACED

_BLOCK, _GRID = 256, 16
_WINDOW = 8  # of class K; nothing here has windows

#: Operations of two vectors, which may share memory.
_BINARY: dict[str, Callable[..., Array]] = {
    "fr_add": fr_vec.fr_add, "fr_sub": fr_vec.fr_sub, "fr_mul": fr_vec.fr_mul,
}  # fmt: skip
OPS = (
    *_BINARY,
    "fr_mul_sub",
    "fr_scale",
    "fr_scale_powers",
    "batch_inverse",
    "to_mont",
    "from_mont",
    "classify",
    "first_mismatch",
    "exclusive_scan",
    *PLACED,
)
#: Operations whose answer is a small number for each element.
_CODES = ("classify", "first_mismatch", "exclusive_scan")
#: Operations that look at every element and refuse those that are not reduced.
_CHECKED = ("to_mont", "from_mont")


@dataclass(frozen=True, eq=False)
class VecBatch(Batch):
    """Vectors under one operation; a row of answers is an element, or the class of one.

    Attributes:
        subject: The curve.
        op: One of OPS.
        values: a, b, c. Shape (3, n, limbs) uint64; numbers as they lie in memory.
        alias: Id and offsets of a, b and the result in one buffer, for binary operations; else disjoint.
        factor: Of fr_scale, fr_mul_sub and powers, standard form; else it chooses tiles, lengths and places.
    """

    target: ClassVar[str] = "vec"
    subject: str
    op: str
    values: U64
    alias: tuple[str, int, int, int]
    factor: int

    @classmethod
    def decode(cls, choices: Choices, scope: Scope) -> Self:
        """One operation on a class S number of elements."""
        curve = get_curve(choices.pick([n for n in CURVES if f"fr_mul_{n}_fr" in scope.kernels]))
        fr, op = curve.fr, choices.pick(OPS)
        largest = 600 if scope.small and op != "classify" else 4200  # a chunk of classification has 1024
        n = choices.pick_class(sizes(_BLOCK, _GRID, largest))
        alias = ("A.disjoint", 0, n, 2 * n)
        if op in _BINARY and n > 1:
            places = by_class((name, (name, x.a, x.b, x.out)) for name, x in edge_values.aliasing(n))
            alias = choices.pick_class(places)
        factor = fr.from_mont(choices.pick_class(field_classes(fr).groups))
        drawn = draw_pairs(choices, fr, 2 * n).reshape(n, 4, fr.limbs)
        values = np.ascontiguousarray(drawn.transpose(1, 0, 2)[:3])
        if op == "classify":
            values[0] = fr_from_ints(curve, draw_scalars(choices, curve.r, n, _WINDOW, None))
        if op == "first_mismatch":
            factors = fr_to_ints(curve, values[0]), fr_to_ints(curve, values[1])
            values[2] = fr_from_ints(curve, vec.vec_mul(*factors, curve.r))
            for _ in range(choices.below(3) if n else 0):
                values[2, choices.below(n)] = ints_to_limbs([choices.pick((0, 1, curve.r - 1))], fr.limbs)[0]
        if op in _CHECKED and n and choices.one_in(6):
            lazy = [v for _, v in edge_values.lazy_values(curve.r) if v < 1 << fr.mont_bits]
            values[0, choices.below(n)] = ints_to_limbs([choices.pick(lazy)], fr.limbs)[0]
        return cls(curve.name, op, values, alias, factor)

    @property
    def curve(self) -> Curve:
        """The curve."""
        return get_curve(self.subject)

    @property
    def num_cases(self) -> int:
        """Elements."""
        return len(self.values[0])

    @property
    def words_per_element(self) -> int:
        """A scalar."""
        return self.curve.fr.limbs

    @property
    def refused(self) -> bool:
        """Whether the operation must refuse this batch."""
        if self.op in _CHECKED:
            return any(v >= self.curve.r for v in limbs_to_ints(self.values[0]))
        if self.op in PLACED:
            return vec_places.is_refused(self.op, self.values, self.factor)
        return self.alias[0] in ("A.overlap_a", "A.overlap_b")

    def answers(self, device: Device) -> Rows:
        """One call; a refusal is an answer too."""
        try:
            return np.asarray(self._run(device)).astype(np.uint64)
        except (KernelFault, ShapeError):
            return np.full((self.num_cases, self._width), REJECTED)

    @property
    def _width(self) -> int:
        return 1 if self.op in _CODES else self.curve.fr.limbs

    def _run(self, device: Device) -> Rows:
        curve = self.curve
        if self.op in _BINARY:
            return self._run_aliased(device)
        if self.op in PLACED:
            return np.asarray(vec_places.run(self.op, device, curve, self.values, self.factor))
        a, b, c = (device.upload(x.copy()) for x in self.values)
        if self.op == "classify":
            return self._codes(device, a)
        if self.op == "first_mismatch":
            return self._place(fr_vec.first_mismatch(device, curve, a, b, c))
        if self.op == "exclusive_scan":
            return self._scanned(device)
        calls: dict[str, Callable[[], Array]] = {
            "fr_mul_sub": lambda: fr_vec.fr_mul_sub(device, curve, a, b, c, factor=self.factor),
            "fr_scale": lambda: fr_vec.fr_scale(device, curve, a, self.factor),
            "fr_scale_powers": lambda: self._powers(device),
            "batch_inverse": lambda: fr_vec.batch_inverse(device, curve, a),
            "to_mont": lambda: fr_vec.to_mont(device, curve, a),
            "from_mont": lambda: fr_vec.from_mont(device, curve, a),
        }
        return np.asarray(device.download(calls[self.op]()))

    def _codes(self, device: Device, a: Array) -> Rows:
        """1 for a one, 2 for another, 0 for a zero; more where a list is not ascending, or the count of zeros off."""
        found = classify(device, self.curve, a)
        rows = np.zeros((self.num_cases, 1), np.uint64)
        for code, places in ((1, device.download(found.ones)), (2, device.download(found.others))):
            inside = places[places < self.num_cases]
            rows[inside] += np.uint64(code)
            if len(inside) < len(places) or (np.diff(places.astype(np.int64)) <= 0).any():
                rows += np.uint64(200)
        return rows if found.num_zeros == int((rows == 0).sum()) else rows + np.uint64(100)

    @property
    def _counters(self) -> NDArray[np.uint32]:
        """What is summed up: the low words of the elements."""
        return self.values[0, :, 0].astype(np.uint32)

    def _scanned(self, device: Device) -> Rows:
        """Sums in tiles of one to three elements a thread, so that there are several of them."""
        counters = device.upload(self._counters)
        block, _ = scan_shape(self.num_cases, device.limits)
        exclusive_scan(device, self.curve, counters, tile=max(2, (1 + self.factor % 3) * block))
        return np.asarray(device.download(counters)).reshape(-1, 1)

    def _place(self, index: int | None) -> Rows:
        """1 in the row of the place that was found; in every row where there is no such place in the vectors."""
        rows = np.zeros((self.num_cases, 1), np.uint64)
        if index is not None:
            rows[index if index < self.num_cases else slice(None)] = 1
        return rows

    def _powers(self, device: Device) -> Array:
        """Elements times powers of the factor: of a whole vector, which has a power of two elements."""
        n, limbs = self.num_cases, self.curve.fr.limbs
        padded = np.zeros((1 << max(0, n - 1).bit_length(), limbs), np.uint64)
        padded[:n] = self.values[0]
        return fr_vec.fr_scale_powers(device, self.curve, device.upload(padded), self.factor)[:n]

    def _run_aliased(self, device: Device) -> Rows:
        n = self.num_cases
        places = self.alias[1:]
        buffer = np.zeros((3 * n + 1, self.curve.fr.limbs), np.uint64)
        for place, values in reversed(list(zip(places[:2], self.values, strict=False))):
            buffer[place : place + n] = values
        whole = device.upload(buffer)
        a, b, out = (whole[place : place + n] for place in places)
        return np.asarray(device.download(_BINARY[self.op](device, self.curve, a, b, out=out)))

    def expected(self) -> Rows:
        """The oracle on standard forms."""
        curve, r, n = self.curve, self.curve.r, self.num_cases
        if self.refused:
            return np.full((n, self._width), REJECTED)
        if self.op in PLACED:
            return vec_places.expected(self.op, curve, self.values, self.factor)
        a, b, c = (fr_to_ints(curve, x) for x in self.values)
        if self.alias[0] in ("A.a_is_b", "A.all_same"):
            b = a
        if self.op == "classify":
            classes = vec.classify(a)
            codes = dict.fromkeys(classes.one, 1) | dict.fromkeys(classes.other, 2)
            return np.array([codes.get(i, 0) for i in range(n)], np.uint64).reshape(n, 1)
        if self.op == "first_mismatch":
            return self._place(next((i for i in range(n) if (a[i] * b[i] - c[i]) % r), None))
        if self.op == "exclusive_scan":
            sums = itertools.accumulate(self._counters.tolist(), initial=0)
            return np.array([v % (1 << 32) for v in sums][:n], np.uint64).reshape(n, 1)
        if self.op in _CHECKED:
            convert = fields.to_mont if self.op == "to_mont" else fields.from_mont
            return ints_to_limbs(
                [convert(v, r, curve.fr.limbs) for v in limbs_to_ints(self.values[0])], curve.fr.limbs
            )
        results: dict[str, Callable[[], list[int]]] = {
            "fr_add": lambda: vec.vec_add(a, b, r),
            "fr_sub": lambda: vec.vec_sub(a, b, r),
            "fr_mul": lambda: vec.vec_mul(a, b, r),
            "fr_mul_sub": lambda: vec.vec_scale(vec.vec_mul_sub(a, b, c, r), self.factor, r),
            "fr_scale": lambda: vec.vec_scale(a, self.factor, r),
            "fr_scale_powers": lambda: vec.vec_powers_scale(a, self.factor, r),
            "batch_inverse": lambda: [fields.inv(v, r) for v in a],
        }
        return fr_from_ints(curve, results[self.op]())

    def classes(self) -> Counter[str]:
        """Ids of elements, of pairs, of the number of elements, and of the aliasing."""
        n, r = self.num_cases, self.curve.r
        hits = Counter(size_ids(n, _BLOCK, _GRID))
        hits[self.alias[0]] += self.op in _BINARY
        a, b = (limbs_to_ints(self.values[i]) for i in (0, 1))
        if self.op == "classify":
            return hits + scalar_hits(fr_to_ints(self.curve, self.values[0]), r, _WINDOW)
        known = field_classes(self.curve.fr)
        hits += tally(map(known.values.get, a))
        if self.op in _BINARY:
            hits += tally(map(known.pairs.get, zip(a, b, strict=True)))
        if self.op in _CHECKED:
            lazy = {value: (edge_id,) for edge_id, value in edge_values.lazy_values(r)}
            hits += tally(map(lazy.get, a))
        return +hits

    def keep(self, indices: Sequence[int]) -> Self:
        """Some elements with the same aliasing; a refused batch stays whole, and so does what goes by places."""
        if self.refused or self.op in ("fr_scale_powers", *PLACED):
            return self
        name, n = self.alias[0], len(indices)
        place = next((x.a, x.b, x.out) for other, x in edge_values.aliasing(n) if other == name)
        return replace(self, values=self.values[:, list(indices)], alias=(name, *place))

    @property
    def size(self) -> tuple[int, ...]:
        """Elements, bits set."""
        return self.num_cases, sum(
            v.bit_count() for v in limbs_to_ints(self.values.reshape(-1, self.values.shape[2]))
        )

    def smaller(self) -> Iterator[Self]:
        """Fewer elements at either end, and zeros."""
        n = self.num_cases
        if self.alias[0] == "A.disjoint":
            for half in (slice(0, n // 2), slice(n // 2, n), slice(1, n), slice(0, n - 1)):
                values = self.values[:, half]
                count = values.shape[1]
                if 0 < count < n:
                    yield replace(self, values=values, alias=("A.disjoint", 0, count, 2 * count))
        for operand in range(3):
            for i in range(min(n, 32)):
                values = self.values.copy()
                values[operand, i] = 0
                yield replace(self, values=values)

    def to_json(self) -> dict[str, Any]:
        """Elements as numbers in memory."""
        inputs = {name: ints_as_hex(limbs_to_ints(x)) for name, x in zip("abc", self.values, strict=True)}
        return {
            "target": self.target, "subject": self.subject, "op": self.op, "alias": list(self.alias),
            "factor": hex(self.factor), "form": "numbers in memory", "inputs": inputs,
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of to_json."""
        limbs = get_curve(data["subject"]).fr.limbs
        values = np.stack([ints_to_limbs(ints_from_hex(data["inputs"][name]), limbs) for name in "abc"])
        name, a, b, out = data["alias"]
        return cls(data["subject"], data["op"], values, (name, a, b, out), int(data["factor"], 16))
