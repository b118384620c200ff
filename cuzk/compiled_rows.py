"""What a key of a compiled circuit knows of its rows: which circuit has them, and no matrix.

The full partition of a 32 GiB sector has 130 million rows with 720 million terms, 26 GB as matrices; its pieces take a
hundredth of that. A key made from pieces holds points alone, and says by name and digest which circuit it is for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cuzk.csr import CsrMatrix, IntArray
from cuzk.curves import Curve
from cuzk.errors import InputError
from cuzk.pieces import CompiledCircuit, LocalRows

__all__ = ["CompiledRows", "UnwrittenMatrix", "compiled_digest", "variables_in"]

#: Variables of instances that are marked at a time.
_VARIABLES_AT_A_TIME = 1 << 22
_ENTRIES = frozenset({"row_ptr", "col", "coeff", "dictionary"})


@dataclass(frozen=True)
class CompiledRows:
    """Which compiled circuit has a key's rows.

    Args:
        circuit: Its name, as commands take it; may be empty.
        digest: compiled_digest of it.
        num_entries: Entries of A, B and C, binding rows included.
    """

    circuit: str
    digest: str
    num_entries: int

    @classmethod
    def of(cls, circuit: CompiledCircuit, name: str = "") -> CompiledRows:
        """The facts of a circuit."""
        entries = sum(
            len(piece.instances) * sum(len(rows.var) for rows in piece.rows) for piece in circuit.pieces
        )
        return cls(name, compiled_digest(circuit), entries + circuit.num_inputs)

    def no_matrices(self) -> InputError:
        """What to raise where matrices are needed."""
        name = self.circuit or "CIRCUIT"
        return InputError(
            f"this key holds no matrices: it was made from the compiled circuit {self.circuit}".rstrip(),
            limit="its rows come from the circuit's pieces (variant P5 = template)",
            remedy=f"name the circuit (--circuit {name}), or where matrices themselves are needed, make a key that "
            f"holds them: cuzk setup {name} --matrices",
        )


class UnwrittenMatrix(CsrMatrix):
    """A matrix of which only the shape is there; asking for its entries is an InputError.

    Args:
        curve: Whose Fr.
        shape: Rows and columns.
        rows: Who has them.
    """

    def __init__(self, curve: Curve, shape: tuple[int, int], rows: CompiledRows) -> None:
        for name, value in (
            ("curve", curve),
            ("num_cols", shape[1]),
            ("_num_rows", shape[0]),
            ("_rows", rows),
        ):
            object.__setattr__(self, name, value)

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        found: int = self.__dict__["_num_rows"]
        return found

    def __repr__(self) -> str:
        return f"UnwrittenMatrix({self.curve.name}, {self.num_rows} x {self.num_cols})"

    def __getattr__(self, name: str) -> Any:
        if name in _ENTRIES:
            raise self.__dict__["_rows"].no_matrices()
        raise AttributeError(name)


def variables_in(circuit: CompiledCircuit, side: int) -> NDArray[np.bool_]:
    """Which variables stand in a matrix of the circuit, without its binding rows. Shape (num_variables,).

    Cost: a byte per variable and 10 nanoseconds per variable of a piece and instance.
    """
    marked = np.zeros(circuit.num_variables, dtype=bool)
    for piece in circuit.pieces:
        var, at = np.unique(piece.rows[side].var).astype(np.int64), piece.instances
        own = var[var >= piece.num_bound] - piece.num_bound + circuit.num_inputs
        inputs, bound = -2 - var[var < -1], var[(var >= 0) & (var < piece.num_bound)]
        marked[0] |= len(at) > 0 and bool((var == -1).any())
        step = max(1, _VARIABLES_AT_A_TIME // max(1, len(var)))
        for first in range(0, len(at), step):
            some = slice(first, first + step)
            marked[at.aux_base[some].astype(np.int64)[:, None] + own] = True
            marked[at.input_base[some].astype(np.int64)[:, None] + inputs] = True
            found = at.bindings[some][:, bound].astype(np.int64)
            marked[np.where(found < 0, -1 - found, found + circuit.num_inputs)] = True
    return marked


def compiled_digest(circuit: CompiledCircuit) -> str:
    """Hash of a compiled circuit's rows: of pieces and where they occur, not of how witnesses are made.

    Two ways of cutting the same rows into pieces have two digests.

    Returns:
        64 hex digits (BLAKE2b-256).
    """
    digest = hashlib.blake2b(digest_size=32, person=b"cuzk-pieces")
    sizes = (circuit.num_inputs, circuit.num_aux, circuit.num_rows, len(circuit.pieces))
    digest.update(f"{circuit.curve.name},{sizes}".encode())
    for array, dtype in _content(circuit):
        digest.update(str(array.shape).encode())
        digest.update(np.ascontiguousarray(array, dtype).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _content(circuit: CompiledCircuit) -> Iterator[tuple[IntArray, str]]:
    yield circuit.dictionary, "<u8"
    for piece in circuit.pieces:
        yield np.array([piece.num_bound, piece.num_inputs, piece.num_aux]), "<u8"
        for rows in piece.rows:
            yield from _row_tables(rows)
        at = piece.instances
        for base in (at.row_base, at.aux_base, at.input_base):
            yield base, "<u8"
        yield at.bindings, "<i4"


def _row_tables(rows: LocalRows) -> Iterator[tuple[IntArray, str]]:
    yield rows.row_ptr, "<u4"
    yield rows.var, "<i4"
    yield rows.coeff, "<u4"
