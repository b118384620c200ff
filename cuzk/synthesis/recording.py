"""What has been recorded of a circuit, or of a template, so far: finished pieces, and the one that is being written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cuzk.curves import Curve
from cuzk.errors import RangeError, ShapeError
from cuzk.synthesis.program import Operations
from cuzk.synthesis.recorder import Block, InstanceTables, Position, Recorder, check_variables
from cuzk.synthesis.terms import Rows, Variable

__all__ = ["Recording"]

#: Variables are numbers of 32 bits with a sign.
_MOST_VARIABLES = _MOST_ROWS = (1 << 31) - 1


class Recording:
    """Rows and operations, cut into pieces where asked.

    Args:
        curve: Whose Fr.
        recorder: What is shared with templates.
        num_bound: The first auxiliary variables are bound from outside; how many.
        is_recording: Whether pieces are made; otherwise rows alone are kept, all together.
        with_templates: Whether others may record sub-circuits once.

    Attributes:
        curve: Whose Fr.
        templates: What is recorded of sub-circuits, by whoever inserts them; None where they are not to be.
    """

    __slots__ = (
        "_index_of",
        "_is_recording",
        "_num_aux",
        "_num_bound",
        "_num_hints",
        "_num_inputs",
        "_operations",
        "_recorder",
        "_rows_before",
        "_sides",
        "_start",
        "_tables",
        "curve",
        "templates",
    )

    def __init__(
        self,
        curve: Curve,
        recorder: Recorder,
        *,
        num_bound: int = 0,
        is_recording: bool = True,
        with_templates: bool = True,
    ) -> None:
        self.curve = curve
        self.templates = recorder.templates if is_recording and with_templates else None
        self._recorder, self._is_recording = recorder, is_recording
        self._index_of = recorder.coefficients.__getitem__
        self._num_bound = self._num_aux = num_bound
        self._num_inputs = 1
        self._num_hints = self._rows_before = 0
        self._tables = InstanceTables()
        self._sides, self._operations = (Rows(), Rows(), Rows()), Operations()
        self._start = self.position

    @property
    def num_inputs(self) -> int:
        """Inputs so far, ONE included."""
        return self._num_inputs

    @property
    def num_aux(self) -> int:
        """Auxiliary variables so far."""
        return self._num_aux

    @property
    def num_constraints(self) -> int:
        """Rows so far."""
        return self._rows_before + len(self._sides[0].lengths)

    @property
    def position(self) -> Position:
        """All sizes so far."""
        return Position(self.num_constraints, self._num_aux, self._num_inputs, self._num_hints)

    def enforce(
        self, a: Mapping[Variable, int], b: Mapping[Variable, int], c: Mapping[Variable, int]
    ) -> None:
        """Add the row a * b = c; each side is variable -> coefficient. Variables are checked by r1cs()."""
        index_of = self._index_of
        for rows, terms in zip(self._sides, (a, b, c), strict=True):
            rows.columns.extend(terms)
            rows.indices.extend(map(index_of, terms.values()))
            rows.lengths.append(len(terms))

    def cut(self) -> None:
        """End a piece here, so that what follows can run before what precedes; rows stay as they are."""
        here = self.position
        if not self._is_recording or here == self._start:
            return
        start = self._start
        number, bindings = self._recorder.piece(self._sides, self._operations, start, here)
        bases = np.array([[start.rows, start.aux, start.inputs, start.hints]], dtype=np.int64)
        self._tables.add(number, bases, bindings[None])
        self._start, self._rows_before = here, here.rows
        self._sides, self._operations = (Rows(), Rows(), Rows()), Operations()

    def block(self) -> Block:
        """All that is recorded so far, for another system.

        Raises:
            ShapeError: The system keeps values, or a row uses a variable that was never allocated.
        """
        if not self._is_recording:
            raise ShapeError("a system that keeps values records no pieces", remedy="make one without values")
        self.cut()
        tables = self._tables.merged()
        check_variables(tables, self.position)
        return Block(self.position, self._num_bound, tables)

    def insert(self, block: Block, operands: Sequence[Variable]) -> tuple[int, int]:
        """Append what another system has recorded.

        Args:
            block: Of a child of this system or of another one with the same recorder.
            operands: Variables of this system, none twice, for those that the block leaves open.

        Returns:
            What to add to an own auxiliary variable of the block, and to one of its inputs, to get that of this system.

        Raises:
            ShapeError: This system keeps values, or there are more or fewer operands than open variables.
            RangeError: The circuit gets larger than a compiled one can be.
        """
        if not self._is_recording or len(operands) != block.num_bound:
            raise ShapeError(
                "a block of rows cannot be inserted",
                limit=f"a system without values, {block.num_bound} operands",
                remedy="run the code of the sub-circuit instead",
            )
        self.cut()
        here, size = self.position, block.end
        _check_sizes(here, size)
        self._tables.insert(block, here, operands)
        self._rows_before += size.rows
        self._num_aux += size.aux - block.num_bound
        self._num_inputs += size.inputs - 1
        self._num_hints += size.hints
        self._start = self.position
        return here.aux - block.num_bound, 1 - here.inputs


def _check_sizes(here: Position, more: Position) -> None:
    """Raise a RangeError where a circuit would outgrow the tables, before it takes time and memory."""
    for what, number, limit in (
        ("auxiliary variables", here.aux + more.aux, _MOST_VARIABLES),
        ("inputs", here.inputs + more.inputs, _MOST_VARIABLES),
        ("rows", here.rows + more.rows, _MOST_ROWS),
    ):
        if number > limit:
            raise RangeError(
                f"the circuit has more than {limit} {what}",
                limit=f"{limit} {what}",
                remedy="take a smaller circuit, or split the statement over several proofs",
            )
