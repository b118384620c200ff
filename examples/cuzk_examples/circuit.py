"""A rank-1 constraint system that is built and solved at the same time, in plain ints.

Row i says <a[i], w> * <b[i], w> = <c[i], w> mod r, where w holds the constant 1, then the public values, then
the rest, and a linear combination is a list of (variable, coefficient) entries.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Row = list[tuple[int, int]]

ONE = 0


@dataclass
class Circuit:
    """Rows and the values that satisfy them.

    Args:
        modulus: r, the order of the scalar field.
        num_public: Public variables, the constant 1 left out. They get the indices 1..num_public at once, and
            their values through ``set_public`` or as outputs of ``multiply``.

    Attributes:
        a, b, c: One linear combination per row. Coefficients in standard form, 0 <= x < r.
        values: w in standard form; index 0 is the constant 1.
    """

    modulus: int
    num_public: int
    a: list[Row] = field(default_factory=list)
    b: list[Row] = field(default_factory=list)
    c: list[Row] = field(default_factory=list)
    values: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.values = [1] + [0] * self.num_public

    @property
    def num_constraints(self) -> int:
        """Rows so far."""
        return len(self.a)

    @property
    def num_variables(self) -> int:
        """Variables so far, the constant 1 and the public ones included."""
        return len(self.values)

    @property
    def public(self) -> list[int]:
        """The public values, without the constant 1."""
        return self.values[1 : self.num_public + 1]

    def variable(self, value: int) -> int:
        """A new private variable with this value (taken mod r); returns its index."""
        self.values.append(value % self.modulus)
        return len(self.values) - 1

    def set_public(self, index: int, value: int) -> None:
        """Give the public variable with this index (1..num_public) its value."""
        if not 1 <= index <= self.num_public:
            raise IndexError(f"public variables have the indices 1..{self.num_public}, not {index}")
        self.values[index] = value % self.modulus

    def evaluate(self, row: Row) -> int:
        """<row, w> mod r."""
        values = self.values
        return sum(coefficient * values[variable] for variable, coefficient in row) % self.modulus

    def constrain(self, a: Row, b: Row, c: Row) -> None:
        """Add the row a * b = c as it is; nothing checks here that the values satisfy it."""
        self.a.append(a)
        self.b.append(b)
        self.c.append(c)

    def multiply(self, a: Row, b: Row, *, minus: Row | None = None, into: int | None = None) -> int:
        """Add the row a * b = out + minus, and give out the value that satisfies it.

        Args:
            a: One factor.
            b: The other.
            minus: What else stands on the right side.
            into: A public variable that is to be ``out``; by default a new private one.

        Returns:
            The index of ``out``.
        """
        rest = minus or []
        value = (self.evaluate(a) * self.evaluate(b) - self.evaluate(rest)) % self.modulus
        if into is None:
            out = self.variable(value)
        else:
            out = into
            self.set_public(into, value)
        self.constrain(a, b, [(out, 1), *rest])
        return out

    def first_violation(self) -> int | None:
        """The first row that the values do not satisfy, or None. Cost: one pass over all entries."""
        for i, (a, b, c) in enumerate(zip(self.a, self.b, self.c, strict=True)):
            if (self.evaluate(a) * self.evaluate(b) - self.evaluate(c)) % self.modulus:
                return i
        return None
