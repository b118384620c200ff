"""What a set-up takes, before it begins: memory of the device and of the host, and room for the key's file.

Bounds from counts, phase by phase, as cuzk/groth16/setup.py and cuzk/ops/piece_columns.py allocate. They decide nothing
but whether a set-up is begun.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from cuzk.compiled_rows import variables_in
from cuzk.curves import Curve, GroupSpec
from cuzk.device.base import DeviceLimits
from cuzk.groth16.setup import PIECE, PIECE_GPU, default_h_form
from cuzk.key_checks import query_counts
from cuzk.ops.piece_columns import COLUMNS_AT_A_TIME
from cuzk.ops.plan_msm import plan_fixed_base
from cuzk.pieces import CompiledCircuit
from cuzk.relation import R1CS, domain_log2

__all__ = ["SetupNeed", "setup_need"]

#: Room for small arrays, and for what rounding to whole pages takes of a file.
_SPARE, _PAGE, _ARRAYS = 1 << 20, 4096, 32
#: Of a compiled circuit's tables on a device: bytes a term, a row or variable of a piece, and an instance.
_TERM, _LINE, _INSTANCE = 8, 28, 96
#: Of matrices on the host while one is transposed: bytes a term, beside what the circuit holds.
_TRANSPOSED_TERM = 32


@dataclass(frozen=True)
class SetupNeed:
    """Bytes that a set-up takes at most.

    Args:
        device: Of the device's memory, all phases considered.
        host: Of the host's, beside the circuit; where the device computes in the host's memory, that included.
        file: Of the disk, for the proving key.
        device_parts: What the device's sum is made of in the phase that takes most: words -> bytes.
        host_parts: The same of the host's.
    """

    device: int
    host: int
    file: int
    device_parts: Mapping[str, int]
    host_parts: Mapping[str, int]


@dataclass(frozen=True)
class _Counts:
    """Sizes of a circuit in either form; margins, table_bytes and num_b are of a compiled one."""

    curve: Curve
    variables: int
    public: int
    rows: int
    terms: int
    margins: int
    table_bytes: int
    num_b: int | None

    @property
    def log_n(self) -> int:
        """log2 of the domain."""
        return domain_log2(self.rows, self.public)


def _counts(circuit: R1CS | CompiledCircuit) -> _Counts:
    if isinstance(circuit, R1CS):
        terms = sum(matrix.nnz for matrix in circuit.matrices.values())
        public, rows = circuit.num_public, circuit.num_constraints
        return _Counts(circuit.curve, circuit.num_variables, public, rows, terms, 0, 0, None)
    margins = terms = lines = instances = 0
    for piece in circuit.pieces:
        width = 1 + piece.num_inputs + piece.num_bound
        margins += width * len(piece.instances)
        terms += sum(len(rows.var) for rows in piece.rows)
        lines += width + piece.num_aux + piece.num_rows
        instances += len(piece.instances)
    tables = _TERM * terms + _LINE * lines + _INSTANCE * instances + circuit.dictionary.nbytes
    return _Counts(
        circuit.curve, circuit.num_variables, circuit.num_inputs - 1, circuit.num_rows, terms, margins, tables,
        int(np.count_nonzero(variables_in(circuit, 1))),
    )  # fmt: skip


def setup_need(circuit: R1CS | CompiledCircuit, limits: DeviceLimits, *, on_host: bool) -> SetupNeed:
    """What a set-up takes.

    Args:
        circuit: The circuit; a compiled one's key is written while it is made and holds no matrices.
        limits: Of the device.
        on_host: Whether the device's memory is the host's.

    Cost: 10 nanoseconds a variable of a compiled circuit.
    """
    counts = _counts(circuit)
    phases = _phases(counts, limits)
    device_parts = max(phases, key=lambda parts: sum(parts.values()))
    device = sum(device_parts.values()) + _SPARE
    file = _file_bytes(counts)
    host_parts = dict(_host_parts(counts, limits, file))
    if on_host:
        host_parts["arrays of the device"] = device
    return SetupNeed(
        device, sum(host_parts.values()) + _SPARE, file, MappingProxyType(device_parts), MappingProxyType(host_parts)
    )  # fmt: skip


def _phases(counts: _Counts, limits: DeviceLimits) -> list[dict[str, int]]:
    """The device's bytes in each phase that may be the largest."""
    element, n, variables = counts.curve.fr.nbytes, 1 << counts.log_n, counts.variables
    g1, g2 = counts.curve.g1, counts.curve.g2
    whole = variables + counts.margins
    plans = {g1: plan_fixed_base(3 * variables + n, g1, limits), g2: plan_fixed_base(variables, g2, limits)}
    table = {
        group: plan.num_windows * (1 << (plan.window_bits - 1)) * group.affine_bytes
        for group, plan in plans.items()
    }
    piece = PIECE_GPU if limits.gpu_like else PIECE

    def product(group: GroupSpec, count: int) -> int:
        """Bytes of a piece of multiples: points, and sums with what normalises them."""
        made = min(count, piece)
        return made * group.affine_bytes + 2 * min(made, plans[group].chunk) * group.xyzz_bytes

    rows_on_device = counts.table_bytes
    if counts.margins:
        rows_on_device += counts.margins * 5 + (9 + element) * min(variables, COLUMNS_AT_A_TIME)
    elif counts.terms:
        rows_on_device = counts.terms * 8 + 9 * variables
    vectors = f"vectors over {variables} variables"
    tables = "tables of multiples"
    both = table[g1] + table[g2]
    made = max(3 * table[g1], table[g1] + 3 * table[g2])  # first in projective form, of twice the size
    return [
        {"Lagrange basis with its inverses": 4 * n * element},
        {"Lagrange basis": n * element, f"3 {vectors}": 3 * whole * element, "rows": rows_on_device},
        {f"5 {vectors}": (3 * whole + 2 * variables) * element},
        {f"4 {vectors}": (2 * whole + 2 * variables) * element, tables: made},
        {
            f"4 {vectors}": (2 * whole + 2 * variables) * element,
            tables: both,
            "points": product(g2, variables),
        },
        {f"2 vectors over {n} rows": 4 * n * element, tables: both, "points": product(g1, n)},
    ]


def _file_bytes(counts: _Counts) -> int:
    """Of a cuzk key: points, and matrices where the circuit is given by them."""
    g1, g2 = counts.curve.g1.affine_bytes, counts.curve.g2.affine_bytes
    form = default_h_form(counts.curve, counts.log_n)
    lengths = query_counts(counts.public, counts.variables, counts.log_n, form, counts.num_b)
    size = sum(length * (g2 if name == "b_g2_query" else g1) for name, length in lengths.items())
    size += 3 * (g1 + g2) + _ARRAYS * _PAGE
    if counts.num_b is not None:
        return size + 4 * counts.num_b
    return size + 8 * counts.terms + 24 * (counts.rows + counts.public + 2)


def _host_parts(counts: _Counts, limits: DeviceLimits, file: int) -> Mapping[str, int]:
    """Of the host: words -> bytes. A compiled circuit's key is in its file, whose pages need no memory of their own."""
    piece = min(PIECE_GPU if limits.gpu_like else PIECE, counts.variables) * counts.curve.g2.affine_bytes
    if counts.num_b is not None:
        rows = 3 * counts.table_bytes + 32 * counts.margins + 6 * counts.variables
        return {"the pieces' tables, turned": rows, "points on their way": 2 * piece}
    return {
        "the key": file, "one matrix, turned": _TRANSPOSED_TERM * counts.terms, "points on their way": 2 * piece,
    }  # fmt: skip
