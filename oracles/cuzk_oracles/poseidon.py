"""Poseidon over the scalar field of BLS12-381 by its definition: constants, permutation, hash.

A state of t = arity + 1 elements starts as (2^arity - 1, preimage). Every round adds constants, raises to the
fifth power (all elements in the first and last R_F / 2 rounds, else element 0) and multiplies by the Cauchy
matrix 1 / (x_i + y_j) with x_i = i, y_j = t + j. The hash is element 1.

Source: Grassi et al., https://eprint.iacr.org/2019/458; parameters of the Filecoin instances.
"""

from collections.abc import Iterator, Sequence

from cuzk_oracles.params import BLS12_381_R as R

#: R_P by arity; R_F is 8 in each.
PARTIAL_ROUNDS = {2: 55, 4: 56, 8: 57, 11: 57, 16: 59, 24: 59, 36: 60}
FULL_ROUNDS = 8
FIELD_BITS = 255


def lfsr_start(t: int, full_rounds: int, partial_rounds: int) -> list[int]:
    """The 80 bits that the generator starts with, b_0 first."""
    text = (
        "01" + "0001" + f"{FIELD_BITS:012b}" + f"{t:012b}" + f"{full_rounds:010b}" + f"{partial_rounds:010b}"
    )
    return [int(bit) for bit in text + "1" * 30]


def lfsr_bits(bits: list[int]) -> Iterator[int]:
    """The register's output: b_(i+80) = b_(i+62) + b_(i+51) + b_(i+38) + b_(i+23) + b_(i+13) + b_i."""
    register = list(bits)
    while True:
        new = (register[62] + register[51] + register[38] + register[23] + register[13] + register[0]) % 2
        register = [*register[1:], new]
        yield new


def kept_bits(stream: Iterator[int]) -> Iterator[int]:
    """Drop 160 bits; then of every pair keep the second where the first is 1."""
    for _ in range(160):
        next(stream)
    while True:
        first, second = next(stream), next(stream)
        if first == 1:
            yield second


def round_constants(arity: int) -> list[list[int]]:
    """One row of t constants for each round; candidates that are not below r are left out."""
    t = arity + 1
    stream = kept_bits(lfsr_bits(lfsr_start(t, FULL_ROUNDS, PARTIAL_ROUNDS[arity])))
    constants: list[int] = []
    while len(constants) < t * (FULL_ROUNDS + PARTIAL_ROUNDS[arity]):
        candidate = int("".join(str(next(stream)) for _ in range(FIELD_BITS)), 2)
        if candidate < R:
            constants.append(candidate)
    return [constants[i : i + t] for i in range(0, len(constants), t)]


def cauchy_matrix(t: int) -> list[list[int]]:
    """1 / (i + t + j), inverses by Fermat."""
    return [[pow(i + t + j, R - 2, R) for j in range(t)] for i in range(t)]


def permutation(
    state: Sequence[int], constants: Sequence[Sequence[int]], matrix: Sequence[Sequence[int]]
) -> list[int]:
    """All rounds."""
    current = list(state)
    t, rounds = len(current), len(constants)
    for i_round in range(rounds):
        current = [(current[i] + constants[i_round][i]) % R for i in range(t)]
        is_full = i_round < FULL_ROUNDS // 2 or i_round >= rounds - FULL_ROUNDS // 2
        current = [pow(x, 5, R) if is_full or i == 0 else x for i, x in enumerate(current)]
        current = [sum(current[i] * matrix[i][j] for i in range(t)) % R for j in range(t)]
    return current


def poseidon(preimage: Sequence[int]) -> int:
    """The hash of as many elements as PARTIAL_ROUNDS has arities."""
    arity = len(preimage)
    state = [2**arity - 1, *preimage]
    return permutation(state, round_constants(arity), cauchy_matrix(arity + 1))[1]
