"""Booleans: constants, variables that are 0 or 1, and their negations, with the rows that connect them.

A boolean is one int, as in and-inverter graphs: 0 is false, 1 is true, 2(i+1) is auxiliary variable i and
2(i+1)+1 its negation. Negation is ``^ 1`` and costs no row; operations with constants cost none either.

>>> from cuzk.curves import get_curve
>>> cs = ConstraintSystem(get_curve("toy"), with_values=True)
>>> a, b = alloc_bit(cs, 1), alloc_bit(cs, 1)
>>> both, differ = bit_and(cs, a, b), bit_xor(cs, a, bit_not(b))
>>> bit_value(cs, both), bit_value(cs, differ), bit_xor(cs, a, TRUE) == bit_not(a), cs.num_constraints
(1, 1, True, 4)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from cuzk.errors import ShapeError
from cuzk.synthesis import ONE, ConstraintSystem, LinearCombination, Variable

__all__ = [
    "FALSE", "TRUE", "Bit", "alloc_bit", "alloc_bits", "bit_and", "bit_lc", "bit_not", "bit_value", "bit_xor",
    "bits_lc", "bytes_to_bits", "define_choice", "enforce_bit", "is_constant", "sha256_ch", "sha256_maj",
]  # fmt: skip

Bit: TypeAlias = int

FALSE: Bit = 0
TRUE: Bit = 1

_FIRST_VARIABLE = 2


def is_constant(bit: Bit) -> bool:
    """Whether a boolean is no variable."""
    return bit < _FIRST_VARIABLE


def bit_not(bit: Bit) -> Bit:
    """The negation; no row."""
    return bit ^ 1


def bit_value(cs: ConstraintSystem, bit: Bit) -> int | None:
    """0 or 1, or None for a variable where the system keeps no values."""
    if bit < _FIRST_VARIABLE:
        return bit
    return None if cs.aux is None else cs.aux[(bit >> 1) - 1] ^ (bit & 1)


def bit_lc(bit: Bit, factor: int = 1) -> dict[int, int]:
    """The linear combination of factor times a bit; false is the empty one."""
    if bit < _FIRST_VARIABLE:
        return {ONE: factor} if bit else {}
    return {ONE: factor, (bit >> 1) - 1: -factor} if bit & 1 else {(bit >> 1) - 1: factor}


def bits_lc(bits: Sequence[Bit]) -> LinearCombination:
    """The number that bits stand for, least significant first."""
    total = LinearCombination()
    for i, bit in enumerate(bits):
        total.add_scaled(bit_lc(bit, 1 << i))
    return total


def bytes_to_bits(data: bytes) -> list[int]:
    """The bits of bytes, most significant of each byte first, as SHA-256 reads them."""
    return [byte >> i & 1 for byte in data for i in reversed(range(8))]


def enforce_bit(cs: ConstraintSystem, variable: Variable) -> Bit:
    """An auxiliary variable as a boolean; one row, (1 - x) * x = 0.

    Raises:
        ShapeError: It is an input: these have no boolean.
    """
    if variable < 0:
        raise ShapeError(
            f"input {-1 - variable} as a boolean",
            limit="an auxiliary variable",
            remedy="define an auxiliary variable that is equal to it, and expose that",
        )
    cs.enforce({ONE: 1, variable: -1}, {variable: 1}, {})
    return (variable + 1) << 1


def alloc_bit(cs: ConstraintSystem, value: int | None = None) -> Bit:
    """A new variable that is 0 or 1, from outside; one row, as of enforce_bit.

    Args:
        cs: The system.
        value: 0 or 1 instead of the next hint.
    """
    return enforce_bit(cs, cs.alloc(value))


def alloc_bits(cs: ConstraintSystem, count: int, values: Sequence[int] | None = None) -> list[Bit]:
    """As many new bits, with their values or with hints."""
    return [alloc_bit(cs, None if values is None else values[i]) for i in range(count)]


def _flipped(table: int) -> tuple[int, ...]:
    """A truth table of (a, b, c) with operands negated: entry 1 negates a, 2 negates b, 4 negates c."""
    return tuple(sum((table >> (i ^ flips) & 1) << i for i in range(8)) for flips in range(8))


#: Truth tables, bit a + 2b + 4c each, by which operands are negated.
_XOR = 0b0110_0110
_AND = _flipped(0b1000_1000)
_CHOICE = _flipped(0b1101_1000)
_MAJORITY = _flipped(0b1110_1000)


def _operand(bit: Bit) -> tuple[Variable, int]:
    """The variable of a boolean and whether it is negated; a constant is ONE or its negation."""
    return ((bit >> 1) - 1, bit & 1) if bit >= _FIRST_VARIABLE else (ONE, 1 - bit)


def define_choice(cs: ConstraintSystem, a: Bit, b: Bit, c: Bit) -> Variable:
    """A new variable, b where a is true, else c. No row is written: see sha256_ch for one."""
    (x, flip_x), (y, flip_y), (z, flip_z) = _operand(a), _operand(b), _operand(c)
    return cs.define_logic(_CHOICE[flip_x | flip_y << 1 | flip_z << 2], x, y, z)


def bit_xor(cs: ConstraintSystem, a: Bit, b: Bit) -> Bit:
    """Exclusive or; for two variables one new variable c and one row, 2a * b = a + b - c.

    Negations pass through to the result; where one operand is negated, the plain one becomes the left factor.
    """
    if a < _FIRST_VARIABLE or b < _FIRST_VARIABLE:
        return a ^ b  # false changes nothing, true negates
    negated = (a ^ b) & 1
    if negated and a & 1:
        a, b = b, a
    left, right = (a >> 1) - 1, (b >> 1) - 1
    out = cs.define_logic(_XOR, left, right)
    total = {left: 1, right: 1, out: -1} if left != right else {left: 2, out: -1}
    cs.enforce({left: 2}, {right: 1}, total)
    return (out + 1) << 1 | negated


def bit_and(cs: ConstraintSystem, a: Bit, b: Bit) -> Bit:
    """Conjunction; for two variables one new variable c and one row, a * b = c with 1 - x for a negated x.

    Where one operand is negated, the plain one becomes the left factor.
    """
    if a < _FIRST_VARIABLE:
        return b if a else FALSE
    if b < _FIRST_VARIABLE:
        return a if b else FALSE
    if a & 1 and not b & 1:
        a, b = b, a
    out = cs.define_logic(_AND[a & 1 | (b & 1) << 1], (a >> 1) - 1, (b >> 1) - 1)
    cs.enforce(bit_lc(a), bit_lc(b), {out: 1})
    return (out + 1) << 1


def sha256_ch(cs: ConstraintSystem, a: Bit, b: Bit, c: Bit) -> Bit:
    """(a and b) xor (not a and c): b where a is true, else c. One row, (b - c) * a = ch - c, or an AND."""
    if a < _FIRST_VARIABLE and b < _FIRST_VARIABLE and c < _FIRST_VARIABLE:
        return b if a else c
    if a == FALSE:
        return c
    if b == FALSE:
        return bit_and(cs, a ^ 1, c)
    if c == FALSE:
        return bit_and(cs, a, b)
    if c == TRUE:
        return bit_and(cs, a, b ^ 1) ^ 1
    if b == TRUE:
        return bit_and(cs, a ^ 1, c ^ 1) ^ 1
    # A true `a` is not folded: the layout to follow does not fold it either.
    out = define_choice(cs, a, b, c)
    difference, rest = LinearCombination(bit_lc(b)), LinearCombination({out: 1})
    difference.add_scaled(bit_lc(c), -1)
    rest.add_scaled(bit_lc(c), -1)
    cs.enforce(difference, bit_lc(a), rest)
    return (out + 1) << 1


def sha256_maj(cs: ConstraintSystem, a: Bit, b: Bit, c: Bit) -> Bit:
    """What two of three say. One AND for bc and one row, (2bc - b - c) * a = bc - maj, or an AND alone.

    The variable of the result comes before that of bc.
    """
    if a < _FIRST_VARIABLE and b < _FIRST_VARIABLE and c < _FIRST_VARIABLE:
        return (a & b) | (a & c) | (b & c)
    if a == FALSE:
        return bit_and(cs, b, c)
    if b == FALSE:
        return bit_and(cs, a, c)
    if c == FALSE:
        return bit_and(cs, a, b)
    if c == TRUE:
        return bit_and(cs, a ^ 1, b ^ 1) ^ 1
    if b == TRUE:
        return bit_and(cs, a ^ 1, c ^ 1) ^ 1
    if a == TRUE:
        return bit_and(cs, b ^ 1, c ^ 1) ^ 1
    flips = a & 1 | (b & 1) << 1 | (c & 1) << 2
    out = cs.define_logic(_MAJORITY[flips], (a >> 1) - 1, (b >> 1) - 1, (c >> 1) - 1)
    both = bit_and(cs, b, c)
    left, right = LinearCombination(bit_lc(both, 2)), LinearCombination(bit_lc(both))
    left.add_scaled(bit_lc(b), -1)
    left.add_scaled(bit_lc(c), -1)
    right.add_term(out, -1)
    cs.enforce(left, bit_lc(a), right)
    return (out + 1) << 1
