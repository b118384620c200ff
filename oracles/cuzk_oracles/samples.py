"""Random constraint systems with a witness that satisfies them, seeded and full of edge rows.

Every row is satisfied by construction: A and B rows are drawn, then C gets an entry on ONE that makes up the
difference. The rows contain the edge class M; the witness mixes zeros, ones and full-width values; some
variables are in no row at all.
"""

import random

from cuzk_oracles import edge_values
from cuzk_oracles.qap import R1CS
from cuzk_oracles.spmv import Row, spmv


def random_witness(rng: random.Random, r: int, num_variables: int) -> list[int]:
    """ONE, then a third each of zeros, ones and uniform values, in random order."""
    kinds = (lambda: 0, lambda: 1, lambda: rng.randrange(r))
    return [1] + [rng.choice(kinds)() for _ in range(num_variables - 1)]


def random_row(rng: random.Random, r: int, num_variables: int) -> Row:
    """An edge row of class M or a short row with coefficients 1, r - 1 or uniform."""
    if rng.random() < 0.3:
        columns = min(num_variables, 24)  # bounds the dense rows
        return rng.choice(edge_values.matrix_rows(columns, r, rng.getrandbits(32)))[1]
    used = max(1, num_variables * 3 // 4)  # the last quarter of the variables stays rare
    coefficients = (lambda: 1, lambda: r - 1, lambda: rng.randrange(r))
    return [(rng.randrange(used), rng.choice(coefficients)()) for _ in range(rng.randint(1, 4))]


def random_r1cs(
    seed: int, r: int, num_constraints: int, num_public: int, num_private: int
) -> tuple[R1CS, list[int]]:
    """A constraint system over 1 + num_public + num_private variables, and a witness for it.

    Args:
        seed: The same seed gives the same system.
        r: The modulus.
        num_constraints: Rows, 0 or more.
        num_public: Public variables.
        num_private: The rest; num_public + num_private >= 1.

    Returns:
        The system and w with w[0] = 1.
    """
    rng = random.Random(seed)
    num_variables = 1 + num_public + num_private
    w = random_witness(rng, r, num_variables)
    a = [random_row(rng, r, num_variables) for _ in range(num_constraints)]
    b = [random_row(rng, r, num_variables) for _ in range(num_constraints)]
    c = [random_row(rng, r, num_variables) for _ in range(num_constraints)]
    for i, (x, y, z) in enumerate(zip(spmv(a, w, r), spmv(b, w, r), spmv(c, w, r), strict=True)):
        if x * y % r != z:
            c[i] = [*c[i], (0, (x * y - z) % r)]
    return R1CS(num_variables, num_public, a, b, c), w


def random_secret(seed: int, r: int, count: int) -> list[int]:
    """`count` seeded values in 2..r-1, for the secrets of a test set-up and for blinding."""
    rng = random.Random(seed)
    return [rng.randrange(2, r) for _ in range(count)]
