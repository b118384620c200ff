"""Single rows of the Filecoin circuits that counts, densities and values do not tell from others.

Would catch: the sides of an equality exchanged. Values are the same, and so are all sizes, but a key made by other
provers from the same circuit would not fit.
"""

from __future__ import annotations

import pytest

from cuzk.circuits.catalogue import compiled_circuit
from cuzk.csr import CsrMatrix
from cuzk.limbs import fr_to_ints
from cuzk.synthesis.expand import matrix_chunks

#: Circuit -> auxiliary variable that is comm_r, and the row that says it is the hash of comm_c and comm_r_last.
EQUALITIES = {
    "fallback-post:8-0-0:1s:1c": (2, 312),  # comm_r_last, comm_c, comm_r; exposed, 311 rows of hash
    "stacked:8-0-0:8n:2l:1c": (257, 570),  # replica id, its bits, comm_d; 259 rows, 311 of hash
}
#: The hash is the last variable of its 311.
_HASH_AFTER_COMM_R = {"fallback-post:8-0-0:1s:1c": 311, "stacked:8-0-0:8n:2l:1c": 2 + 311}


def terms(matrix: CsrMatrix, row: int) -> dict[int, int]:
    """Column -> coefficient."""
    values = fr_to_ints(matrix.curve, matrix.dictionary)
    span = slice(int(matrix.row_ptr[row]), int(matrix.row_ptr[row + 1]))
    return {
        int(column): values[code]
        for column, code in zip(matrix.col[span], matrix.coeff[span].tolist(), strict=True)
    }


@pytest.mark.parametrize("name", EQUALITIES)
def test_comm_r_stands_left_of_its_hash(name: str) -> None:
    """rust-fil-proofs demands comm_r * 1 = hash, so that A's query has comm_r and not the hash."""
    aux, row = EQUALITIES[name]
    circuit = compiled_circuit(name)
    a, b, c = next(matrix_chunks(circuit))
    comm_r = circuit.num_inputs + aux
    assert terms(a, row) == {comm_r: 1}
    assert terms(b, row) == {0: 1}
    assert terms(c, row) == {comm_r + _HASH_AFTER_COMM_R[name]: 1}
