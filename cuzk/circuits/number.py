"""Field elements as variables: equality, choice, insertion into a list, bits.

>>> from cuzk.curves import get_curve
>>> cs = ConstraintSystem(get_curve("bls12_381"), with_values=True)
>>> x, position = cs.alloc(7), [enforce_bit(cs, cs.alloc(bit)) for bit in (1, 0)]
>>> [cs.value({v: 1}) for v in insert(cs, x, position, [cs.alloc(n) for n in (1, 2, 3)])]
[1, 7, 2, 3]
"""

from __future__ import annotations

from collections.abc import Sequence

from cuzk.circuits.boolean import FALSE, Bit, bit_and, bit_lc, bit_not, enforce_bit
from cuzk.circuits.template import call_variable_template
from cuzk.errors import ShapeError
from cuzk.synthesis import ONE, ConstraintSystem, LinearCombination, Variable

__all__ = ["enforce_equal", "expose", "insert", "number_to_bits", "pick", "reversed_in_bytes"]

_BYTE_BITS = 8


def enforce_equal(cs: ConstraintSystem, a: Variable, b: Variable) -> None:
    """One row, a * 1 = b."""
    cs.enforce({a: 1}, {ONE: 1}, {b: 1})


def expose(cs: ConstraintSystem, variable: Variable) -> Variable:
    """A new input equal to a variable; one row, input * 1 = variable."""
    number = cs.define_linear({variable: 1}, is_input=True)
    cs.enforce({number: 1}, {ONE: 1}, {variable: 1})
    return number


def pick(cs: ConstraintSystem, condition: Bit, a: Variable, b: Variable) -> Variable:
    """A new variable c that is a where a condition holds, else b; one row, (b - a) * condition = b - c."""
    difference = LinearCombination({b: 1})
    difference.add_term(a, -1)
    return cs.define_product(difference, bit_lc(condition), {b: 1}, sign=-1)


def insert(
    cs: ConstraintSystem, element: Variable, position: Sequence[Bit], others: Sequence[Variable]
) -> list[Variable]:
    """The others in order with one element among them; 2, 8 or 22 rows for 1, 3 or 7 others.

    Args:
        cs: The system.
        element: What to insert.
        position: Where, 1, 2 or 3 booleans, least significant first.
        others: 1, 3 or 7 variables.

    Raises:
        ShapeError: Other numbers of booleans or variables.
    """
    if len(position) not in _INSERTIONS or len(others) + 1 != 1 << len(position):
        raise ShapeError(
            f"insertion into {len(others)} variables at a position of {len(position)} bits",
            limit="1, 3 or 7 variables, 1, 2 or 3 bits",
        )
    return _INSERTIONS[len(position)](cs, [element, *others], position)


def _insert_2(cs: ConstraintSystem, elements: Sequence[Variable], position: Sequence[Bit]) -> list[Variable]:
    """Each place is a's or that of the only other."""
    a, b = elements
    return [pick(cs, position[0], b, a), pick(cs, position[0], a, b)]


def _insert_4(cs: ConstraintSystem, elements: Sequence[Variable], position: Sequence[Bit]) -> list[Variable]:
    """Each place first as the low bit says, then as the high one."""
    low, high = position
    a, b, c, d = elements
    place_0 = pick(cs, high, b, pick(cs, low, b, a))
    place_1 = pick(cs, high, c, pick(cs, low, a, b))
    place_2 = pick(cs, high, pick(cs, low, d, a), c)
    place_3 = pick(cs, high, pick(cs, low, a, d), d)
    return [place_0, place_1, place_2, place_3]


def _insert_8(cs: ConstraintSystem, elements: Sequence[Variable], position: Sequence[Bit]) -> list[Variable]:
    """As _insert_4; two places of each half see of the low bits only whether all are 0, or all 1."""
    low, middle, high = position
    a, b, c, d, e, f, g, h = elements
    none = bit_and(cs, bit_not(low), bit_not(middle))
    both = bit_and(cs, low, middle)
    place_0 = pick(cs, high, b, pick(cs, none, a, b))
    place_1 = pick(cs, high, c, pick(cs, middle, c, pick(cs, low, a, b)))
    place_2 = pick(cs, high, d, pick(cs, middle, pick(cs, low, d, a), c))
    place_3 = pick(cs, high, e, pick(cs, both, a, d))
    place_4 = pick(cs, high, pick(cs, none, a, f), e)
    place_5 = pick(cs, high, pick(cs, middle, g, pick(cs, low, a, f)), f)
    place_6 = pick(cs, high, pick(cs, middle, pick(cs, low, h, a), g), g)
    place_7 = pick(cs, high, pick(cs, both, a, h), h)
    return [place_0, place_1, place_2, place_3, place_4, place_5, place_6, place_7]


#: Bits of the position -> how to insert.
_INSERTIONS = {1: _insert_2, 2: _insert_4, 3: _insert_8}


def _bit_variables(cs: ConstraintSystem, operands: Sequence[Variable]) -> list[Variable]:
    """The bits of one variable, as variables."""
    (number,) = operands
    size = cs.curve.r.bit_length()
    first = cs.define_bits(number, size)
    variables = list(range(first, first + size))
    for variable in variables:
        enforce_bit(cs, variable)
    total = LinearCombination({variable: 1 << i for i, variable in enumerate(variables)})
    total.add_term(number, -1)
    cs.enforce({}, {}, total)
    return variables


def number_to_bits(cs: ConstraintSystem, number: Variable) -> list[Bit]:
    """The bits of a variable, least significant first, as many as the modulus has: 255 on BLS12-381.

    One row for each and one more, 0 * 0 = sum - number. It does not say that the bits are a number below the modulus,
    so small numbers have two decompositions: as in the circuits that this follows.
    """
    return [(variable + 1) << 1 for variable in call_variable_template(cs, _bit_variables, [number])]


def reversed_in_bytes(bits: Sequence[Bit]) -> list[Bit]:
    """Bits with each byte turned round, filled up with false to whole bytes."""
    padded = [*bits, *[FALSE] * (-len(bits) % _BYTE_BITS)]
    return [
        bit for first in range(0, len(padded), _BYTE_BITS) for bit in padded[first : first + _BYTE_BITS][::-1]
    ]
