"""What is known of a circuit as a whole: the sizes that other provers print, and the hash of its rows.

Inputs count ONE. A prover appends one row per input, input * 0 = 0, to bind it; sizes say whether they include
these rows.

>>> from cuzk.curves import get_curve
>>> r1cs = R1CS.from_rows(get_curve("bls12_381"), 4, 1, [({2: 1}, {3: 1}, {1: 1})])
>>> circuit_sizes(r1cs)["nnz_a"], circuit_hash(r1cs)[:16]
(3, '09d72f06a0f88ed5')
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from cuzk.compiled_rows import variables_in
from cuzk.csr import CsrMatrix, IntArray
from cuzk.limbs import fr_to_ints
from cuzk.pieces import CompiledCircuit
from cuzk.relation import R1CS, domain_log2
from cuzk.synthesis.expand import matrix_chunks

__all__ = ["circuit_hash", "circuit_sizes"]

_COUNT = np.dtype(">u8")
_COUNT_BYTES = _COUNT.itemsize
_COEFFICIENT_BYTES = 32
#: A term as it is hashed: 41 bytes.
_TERM = np.dtype([("kind", "u1"), ("number", _COUNT), ("coefficient", f"V{_COEFFICIENT_BYTES}")])
#: The same as plain bytes, which NumPy copies at a third of the cost.
_PLAIN = np.dtype(f"V{_TERM.itemsize}")
_ROWS_AT_A_TIME = 1 << 14


def circuit_sizes(circuit: R1CS | CompiledCircuit) -> dict[str, int]:
    """Variables, rows, terms and densities.

    Args:
        circuit: Matrices, which are canonical (no zero, no repeated column) as all constructors make them, or pieces,
            which are not written out for it.

    Returns:
        num_inputs, num_aux, num_constraints (without the row per input), nnz_a, nnz_b, nnz_c (with it),
        density_a_aux, density_b_aux, density_b_inputs (variables with a nonzero coefficient in that matrix, which
        is how many terms the prover's sums over the key have), domain_log2.

    Cost: of pieces, a byte per variable and 10 nanoseconds per variable of a piece and instance.
    """
    if isinstance(circuit, CompiledCircuit):
        num_inputs, num_rows = circuit.num_inputs, circuit.num_rows
        terms = [sum(len(p.instances) * len(p.rows[side].var) for p in circuit.pieces) for side in range(3)]
        in_a, in_b = (variables_in(circuit, side) for side in (0, 1))
    else:
        num_inputs, num_rows = circuit.num_public + 1, circuit.num_constraints
        terms = [matrix.nnz for matrix in circuit.matrices.values()]
        in_a, in_b = (
            np.bincount(matrix.col, minlength=circuit.num_variables) > 0 for matrix in (circuit.a, circuit.b)
        )
    return {
        "num_inputs": num_inputs,
        "num_aux": circuit.num_variables - num_inputs,
        "num_constraints": num_rows,
        "nnz_a": terms[0] + num_inputs,
        "nnz_b": terms[1],
        "nnz_c": terms[2],
        "density_a_aux": int(in_a[num_inputs:].sum()),
        "density_b_aux": int(in_b[num_inputs:].sum()),
        "density_b_inputs": int(in_b[:num_inputs].sum()),
        "domain_log2": domain_log2(num_rows, num_inputs - 1),
    }


def circuit_hash(
    circuit: R1CS | CompiledCircuit, on_share: Callable[[float], object] = lambda _: None
) -> str:
    """The hash of bellman's and bellperson's TestConstraintSystem, by which circuits are compared across programs.

    BLAKE2s-256 over: numbers of inputs, auxiliary variables and rows; then for each row its sides A, B and C, each as
    the number of terms and per term ``I`` or ``A``, the number of the variable among inputs or auxiliary variables,
    and the coefficient in 32 bytes, standard form. Numbers are 64-bit; everything is big-endian.

    Args:
        circuit: Matrices, canonical, without the row per input; or pieces, which are written out some rows at a time.
        on_share: Called with the share of the rows that is hashed, 0 to 1, every some thousand rows.

    Returns:
        64 hex digits.

    Cost: 41 bytes per term through BLAKE2s, 70 nanoseconds, which no two threads can share; and 50 nanoseconds to
        write them, on another thread. Memory for some 16,000 rows.
    """
    chunks: Iterable[tuple[CsrMatrix, ...]]
    if isinstance(circuit, CompiledCircuit):
        num_inputs, num_rows = circuit.num_inputs, circuit.num_rows
        chunks = matrix_chunks(circuit)
    else:
        num_inputs, num_rows = circuit.num_public + 1, circuit.num_constraints
        chunks = [(circuit.a, circuit.b, circuit.c)]
    counts = [num_inputs, circuit.num_variables - num_inputs, num_rows]
    digest = hashlib.blake2s(np.array(counts, dtype=">u8").tobytes())
    hashed, waiting = 0, 0  # rows
    pending: Future[None] | None = None
    with ThreadPoolExecutor(1, thread_name_prefix="cuzk-hash") as beside:
        for rows, encoded in _encoded(chunks, num_inputs):
            if pending is not None:
                pending.result()
                hashed += waiting
                on_share(hashed / num_rows)
            pending, waiting = beside.submit(digest.update, encoded.data), rows
    on_share(1.0)
    return digest.hexdigest()


def _encoded(chunks: Iterable[tuple[CsrMatrix, ...]], num_inputs: int) -> Iterator[tuple[int, IntArray]]:
    """Some rows after the other: how many, and what circuit_hash takes of them."""
    known: list[tuple[IntArray, IntArray]] = []  # dictionaries, and their terms
    for matrices in chunks:
        if not known or any(m.dictionary is not old for m, (old, _) in zip(matrices, known, strict=True)):
            known = [(matrix.dictionary, _dictionary_terms(matrix)) for matrix in matrices]
        pairs = [(matrix, terms) for matrix, (_, terms) in zip(matrices, known, strict=True)]
        for first in range(0, matrices[0].num_rows, _ROWS_AT_A_TIME):
            last = min(first + _ROWS_AT_A_TIME, matrices[0].num_rows)
            yield last - first, _encoded_rows(pairs, first, last, num_inputs)


def _dictionary_terms(matrix: CsrMatrix) -> IntArray:
    """A term of auxiliary variable 0 with each coefficient of a matrix. Shape (d,) _TERM."""
    values = fr_to_ints(matrix.curve, matrix.dictionary)
    joined = b"".join(value.to_bytes(_COEFFICIENT_BYTES, "big") for value in values)
    terms = np.zeros(len(values), dtype=_TERM)
    terms["kind"] = ord("A")
    terms["coefficient"] = np.frombuffer(joined, dtype=f"V{_COEFFICIENT_BYTES}")
    return terms


def _encoded_rows(
    matrices: list[tuple[CsrMatrix, IntArray]], first: int, last: int, num_inputs: int
) -> IntArray:
    """Rows first .. last-1 as circuit_hash takes them. Shape (bytes,) uint8."""
    lengths = np.stack([np.diff(matrix.row_ptr[first : last + 1]) for matrix, _ in matrices], axis=1)
    ends = np.cumsum(_COUNT_BYTES + _TERM.itemsize * lengths.reshape(-1))
    starts = np.concatenate([[0], ends[:-1]]).reshape(lengths.shape)
    out = np.empty(int(ends[-1]), dtype=np.uint8)
    _at_every_byte(out, _COUNT)[starts] = lengths
    for i, (matrix, of_dictionary) in enumerate(matrices):
        span = slice(int(matrix.row_ptr[first]), int(matrix.row_ptr[last]))
        if span.start == span.stop:
            continue
        column = matrix.col[span]
        # Where the row's share starts, less what the terms before the row would take.
        base = starts[:, i] + _COUNT_BYTES - _TERM.itemsize * matrix.row_ptr[first:last]
        start = np.repeat(base, lengths[:, i]) + _TERM.itemsize * np.arange(span.start, span.stop)
        terms = np.take(of_dictionary.view(_PLAIN), matrix.coeff[span]).view(_TERM)
        terms["number"] = column - np.uint32(num_inputs)  # wraps around for inputs
        inputs = np.flatnonzero(column < num_inputs)
        terms["kind"][inputs] = ord("I")
        terms["number"][inputs] = column[inputs]
        _at_every_byte(out, _PLAIN)[start] = terms.view(_PLAIN)
    return out


def _at_every_byte(data: IntArray, dtype: np.dtype[Any]) -> IntArray:
    """A view in which entry i is what begins at byte i: entries overlap. Shape (bytes that one can begin at,)."""
    return np.ndarray((max(0, len(data) - dtype.itemsize + 1),), dtype=dtype, buffer=data, strides=(1,))
