"""A Merkle path over a MiMC-like hash, as a circuit: the prover knows a leaf under a public root.

The permutation is x -> (x + key + constant_i)^5, round after round; 5 is coprime to r - 1 on BLS12-381 and on
BN254, so every round is a bijection. Two values are hashed by two steps of h -> E_h(m) + h + m (Miyaguchi and
Preneel) from h = 0. The constants are SHA-256 digests of a label and a counter. The construction is here
because it makes circuits of any size with full-width values; nobody has studied this instance, so use it for
nothing else.
"""

from __future__ import annotations

import hashlib
import random
from functools import cache

from cuzk_examples.circuit import ONE, Circuit, Row

# 5^110 > 2^255: the degree of the permutation exceeds the field.
NUM_ROUNDS = 110
# A level of the path: the direction bit, the swap, and three rows a round for each of two values.
ROWS_PER_LEVEL = 2 + 2 * 3 * NUM_ROUNDS


@cache
def round_constants(modulus: int) -> tuple[int, ...]:
    """The constants of all rounds; the first is zero, as adding the key comes first anyway."""
    digests = [hashlib.sha256(b"cuzk example, mimc round %d" % i).digest() for i in range(1, NUM_ROUNDS)]
    return (0, *(int.from_bytes(digest, "little") % modulus for digest in digests))


def absorb(h: int, message: int, modulus: int) -> int:
    """One step of the hash outside a circuit: E_h(message) + h + message."""
    x = message
    for constant in round_constants(modulus):
        x = pow(x + h + constant, 5, modulus)
    return (x + 2 * h + message) % modulus


def hash_pair(left: int, right: int, modulus: int) -> int:
    """The hash of two values outside a circuit."""
    return absorb(absorb(0, left, modulus), right, modulus)


def absorb_in_circuit(circuit: Circuit, h: Row, message: Row, *, into: int | None = None) -> int:
    """The rows of ``absorb``; h and message are linear combinations, the result is a variable.

    The last row of the last round adds 2h + message on its right side, so that the sum costs no row.
    """
    constants = round_constants(circuit.modulus)
    state = message
    out = ONE
    for i, constant in enumerate(constants):
        last = i == len(constants) - 1
        base = [*state, *h, (ONE, constant)] if constant else [*state, *h]
        square = circuit.multiply(base, base)
        fourth = circuit.multiply([(square, 1)], [(square, 1)])
        minus = None
        if last:
            r = circuit.modulus
            minus = [(v, -2 * k % r) for v, k in h] + [(v, -k % r) for v, k in message]
        out = circuit.multiply([(fourth, 1)], base, minus=minus, into=into if last else None)
        state = [(out, 1)]
    return out


def merkle_path(modulus: int, depth: int, *, seed: int = 1) -> Circuit:
    """The circuit of a Merkle path, solved for a leaf and siblings drawn from a seed.

    Args:
        modulus: r of the curve; r - 1 must not be a multiple of 5.
        depth: Levels, at least 1; each is ROWS_PER_LEVEL rows.
        seed: Where leaf, siblings and directions come from.

    Returns:
        A circuit with one public value, the root.
    """
    if depth < 1:
        raise ValueError(f"a path needs at least one level, not {depth}")
    source = random.Random(seed)
    circuit = Circuit(modulus, num_public=1)
    minus_one = modulus - 1
    node = circuit.variable(source.randrange(modulus))
    for level in range(depth):
        sibling = circuit.variable(source.randrange(modulus))
        is_right = circuit.variable(source.randrange(2))
        circuit.constrain([(is_right, 1)], [(is_right, 1), (ONE, minus_one)], [])
        # left = node + is_right * (sibling - node); what is not on the left is on the right.
        left = circuit.multiply([(is_right, 1)], [(sibling, 1), (node, minus_one)], minus=[(node, minus_one)])
        right = [(node, 1), (sibling, 1), (left, minus_one)]
        h = absorb_in_circuit(circuit, [], [(left, 1)])
        node = absorb_in_circuit(circuit, [(h, 1)], right, into=1 if level == depth - 1 else None)
    return circuit


def depth_for(num_constraints: int) -> int:
    """The depth whose circuit comes closest to a number of rows from below, at least 1."""
    return max(1, num_constraints // ROWS_PER_LEVEL)
