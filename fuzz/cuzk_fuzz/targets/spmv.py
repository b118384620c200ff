"""Sparse products: a matrix of class M rows, a row an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from cuzk_oracles import edge_values
from cuzk_oracles import spmv as oracle

from cuzk.csr import CsrMatrix
from cuzk.curves import Curve, get_curve
from cuzk.device import Device
from cuzk.limbs import fr_from_ints
from cuzk.ops.spmv import DeviceMatrix, spmv
from cuzk_fuzz.batch import Batch, Rows, Scope, without_chunks
from cuzk_fuzz.choices import Choices
from cuzk_fuzz.classes import by_class, field_classes, row_ids, size_ids, sizes, tally
from cuzk_fuzz.subjects import CURVES

_BLOCK, _GRID = 256, 16

Row = tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class SpmvBatch(Batch):
    """One matrix times one vector.

    Attributes:
        subject: The curve.
        rows: (column, coefficient) entries of every row; columns may repeat.
        w: The vector, standard form.
        long_row: Entries above which a row gets a block of its own, or None for the plan's.
        padding: Zero rows asked for after the matrix.
        code_bytes: Bytes of a coefficient's index, if so few suffice: 1, 2 or 4.
    """

    target: ClassVar[str] = "spmv"
    subject: str
    rows: tuple[Row, ...]
    w: tuple[int, ...]
    long_row: int | None = None
    padding: int = 0
    code_bytes: int = 1
    op: str = "spmv"

    @classmethod
    def decode(cls, choices: Choices, scope: Scope) -> Self:
        """Up to some hundred rows over a few dozen columns."""
        curve = get_curve(choices.pick([n for n in CURVES if f"spmv_rows_{n}_fr" in scope.kernels]))
        r, columns = curve.r, choices.between(2, 40)
        seed = choices.below(1 << 16)
        known = field_classes(curve.fr).groups
        numbers = {"K.0": [0], "K.1": [1], "K.r-1": [r - 1]}
        numbers |= {name: [curve.fr.from_mont(v) for v in values] for name, values in known.items()}
        w = tuple(choices.pick_class(numbers) for _ in range(columns))
        pool = [by_class(edge_values.matrix_rows(columns, r, seed + i)) for i in range(4)]
        n = choices.pick_class(sizes(_BLOCK, _GRID, 600))
        long_row = choices.between(0, columns) if choices.one_in(2) else None
        padding, code_bytes = choices.below(5), choices.pick((1, 2, 4))
        rows = []
        for _ in range(n):
            if choices.one_in(3):
                count = choices.below(6)
                rows.append(
                    tuple((choices.below(columns), choices.pick_class(numbers)) for _ in range(count))
                )
            else:
                rows.append(tuple(choices.pick_class(pool[choices.below(4)])))
        if rows and choices.one_in(4):  # more entries than a block has threads
            many = choices.between(_BLOCK // 4, 2 * _BLOCK)
            entries = [(choices.below(columns), choices.pick_class(numbers)) for _ in range(many)]
            rows[choices.below(len(rows))] = tuple(entries)
        return cls(curve.name, tuple(rows), w, long_row, padding, code_bytes)

    @property
    def curve(self) -> Curve:
        """The curve."""
        return get_curve(self.subject)

    @property
    def num_cases(self) -> int:
        """Rows, the padding included."""
        return len(self.rows) + self.padding

    @property
    def words_per_element(self) -> int:
        """A scalar."""
        return self.curve.fr.limbs

    def answers(self, device: Device) -> Rows:
        """One product."""
        curve = self.curve
        row_ptr, columns, codes, dictionary = oracle.csr_from_rows([list(row) for row in self.rows])
        kind = {1: np.uint8, 2: np.uint16, 4: np.uint32}[max(self.code_bytes, 1 + (len(dictionary) > 256))]
        matrix = CsrMatrix(
            curve, len(self.w), np.array(row_ptr, np.int64), np.array(columns, np.uint32),
            np.array(codes, kind), fr_from_ints(curve, dictionary),
        )  # fmt: skip
        uploaded = DeviceMatrix.upload(device, matrix, long_row=self.long_row)
        w = device.upload(fr_from_ints(curve, self.w))
        return np.asarray(device.download(spmv(device, curve, uploaded, w, self.num_cases)))

    def expected(self) -> Rows:
        """Row by row on ints."""
        values = oracle.spmv([list(row) for row in self.rows], self.w, self.curve.r)
        return fr_from_ints(self.curve, values + [0] * self.padding)

    def classes(self) -> Counter[str]:
        """Ids of rows, of vector elements, and of the number of rows."""
        mont = self.curve.fr.to_mont
        hits = tally(row_ids(row, len(self.w), self.curve.r) for row in self.rows)
        hits += tally(field_classes(self.curve.fr).values.get(mont(v)) for v in self.w)
        hits.update(size_ids(len(self.rows), _BLOCK, _GRID))
        return hits

    def keep(self, indices: Sequence[int]) -> Self:
        """Some rows; those beyond the matrix are padding."""
        rows = tuple(self.rows[i] for i in indices if i < len(self.rows))
        return replace(self, rows=rows, padding=len(indices) - len(rows))

    @property
    def size(self) -> tuple[int, ...]:
        """Entries, columns, bits set."""
        numbers = [v for row in self.rows for _, v in row] + list(self.w)
        return sum(map(len, self.rows)), len(self.w), sum(v.bit_count() for v in numbers)

    def smaller(self) -> Iterator[Self]:
        """Fewer entries, and zeros and ones in the vector."""
        for row in self.rows if self.num_cases == 1 else ():
            for kept in without_chunks(len(row)):
                yield replace(self, rows=(tuple(row[i] for i in kept),))
            for i, (column, _) in enumerate(row):
                yield replace(self, rows=((*row[:i], (column, 1), *row[i + 1 :]),))
        for i, value in enumerate(self.w):
            for other in {0, 1} - {value}:
                yield replace(self, w=(*self.w[:i], other, *self.w[i + 1 :]))

    def to_json(self) -> dict[str, Any]:
        """Numbers in standard form."""
        return {
            "target": self.target, "subject": self.subject, "op": self.op, "form": "standard",
            "long_row": self.long_row, "padding": self.padding, "code_bytes": self.code_bytes,
            "inputs": {
                "rows": [[[column, hex(value)] for column, value in row] for row in self.rows],
                "w": [hex(v) for v in self.w],
            },
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of to_json."""
        rows = tuple(tuple((c, int(v, 16)) for c, v in row) for row in data["inputs"]["rows"])
        w = tuple(int(v, 16) for v in data["inputs"]["w"])
        return cls(data["subject"], rows, w, data["long_row"], data["padding"], data["code_bytes"])
