"""A witness: the value of every variable of a circuit, in standard form.

Standard form (not Montgomery) is what witness files hold and what multi-scalar multiplications consume;
conversion to Montgomery form for the sparse product happens on the device.

>>> from cuzk.curves import get_curve
>>> Witness.from_ints(get_curve("toy"), [1, 33, 3, 11]).public(1)
[33]
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cuzk.curves import Curve
from cuzk.errors import RangeError, ShapeError
from cuzk.limbs import U64Array, first_not_below, ints_to_limbs, limbs_to_ints


@dataclass(frozen=True, eq=False)
class Witness:
    """Values of all variables, ONE first.

    Args:
        curve: Whose Fr the values are in.
        values: Shape (num_variables, limbs) uint64. Form: standard, < r. values[0] = 1.

    Raises:
        ShapeError: Wrong shape, or the first value is not 1.
        RangeError: A value is >= r.
    """

    curve: Curve
    values: U64Array

    def __post_init__(self) -> None:
        limbs = self.curve.fr.limbs
        if self.values.ndim != 2 or self.values.shape[1] != limbs or len(self.values) == 0:
            raise ShapeError(
                f"witness of shape {self.values.shape}",
                limit=f"(num_variables, {limbs}), at least the constant 1",
                remedy="use Witness.from_ints, or load_witness",
            )
        bad = first_not_below(self.values, self.curve.r)
        if bad is not None:
            raise RangeError(
                f"witness value {bad} is not below the modulus of {self.curve.name}",
                where=f"variable {bad}",
                limit=f"r = {self.curve.r}",
                remedy="give values reduced mod r; a file made for another curve also shows this",
            )
        if limbs_to_ints(self.values[0]) != [1]:
            raise ShapeError(
                "the first witness value is not 1", where="variable 0", limit="the constant ONE",
                remedy="put the constant before the circuit's own variables",
            )  # fmt: skip

    @classmethod
    def from_ints(cls, curve: Curve, values: Iterable[int]) -> Witness:
        """Build from ints, each 0 <= value < r.

        Raises:
            RangeError: A value is negative or >= r.
            ShapeError: The first value is not 1, or there is none.
        """
        return cls(curve, ints_to_limbs(values, curve.fr.limbs))

    @property
    def num_variables(self) -> int:
        """Number of values, ONE included."""
        return len(self.values)

    def to_ints(self) -> list[int]:
        """All values as ints, standard form."""
        return limbs_to_ints(self.values)

    def public(self, num_public: int) -> list[int]:
        """The public values, ONE not included.

        Raises:
            ShapeError: The witness has fewer values.
        """
        if not 0 <= num_public < self.num_variables:
            raise ShapeError(
                f"{num_public} public values of a witness of {self.num_variables}",
                limit="num_public < length",
                remedy="use the witness of this circuit",
            )
        return limbs_to_ints(self.values[1 : num_public + 1]) if num_public else []


@dataclass(frozen=True, eq=False)
class Hints:
    """What a compiled circuit's programs make a witness of: the values that come from outside.

    Args:
        curve: Whose Fr the values are in.
        values: Shape (num_hints, limbs) uint64. Form: standard, < r. In the order in which the circuit asks for them.
        inputs: Shape (num_inputs, limbs) uint64. Form: standard, < r. The public inputs, ONE not included, for
            circuits some of whose inputs no program makes; else None.

    Raises:
        ShapeError: Wrong shape.
        RangeError: A value is >= r.
    """

    curve: Curve
    values: U64Array
    inputs: U64Array | None = None

    def __post_init__(self) -> None:
        limbs = self.curve.fr.limbs
        for name, array in (("hint", self.values), ("input", self.inputs)):
            if array is None:
                continue
            if array.ndim != 2 or array.shape[1] != limbs:
                raise ShapeError(
                    f"{name}s of shape {array.shape}", limit=f"(n, {limbs})", remedy="use Hints.from_ints"
                )
            bad = first_not_below(array, self.curve.r)
            if bad is not None:
                raise RangeError(
                    f"{name} {bad} is not below the modulus of {self.curve.name}",
                    where=f"{name} {bad}",
                    limit=f"r = {self.curve.r}",
                    remedy="give values reduced mod r",
                )

    @classmethod
    def from_ints(cls, curve: Curve, values: Iterable[int], inputs: Iterable[int] | None = None) -> Hints:
        """Build from ints, each 0 <= value < r.

        Raises:
            RangeError: A value is negative or >= r.
        """
        limbs = curve.fr.limbs
        given = None if inputs is None else ints_to_limbs(inputs, limbs)
        return cls(curve, ints_to_limbs(values, limbs), given)
