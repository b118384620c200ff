"""The circuit that a command about keys is given: a file, or the name of one that is built in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from cuzk.cli.circuits import is_built_in, load_compiled
from cuzk.errors import InputError

if TYPE_CHECKING:
    from cuzk.keys import ProvingKey
    from cuzk.pieces import CompiledCircuit
    from cuzk.relation import R1CS

__all__ = ["KeyCircuit"]

#: Rows up to which a built-in circuit is written out as matrices: 200 bytes each.
_MOST_ROWS = 1 << 25


@dataclass
class KeyCircuit:
    """A circuit by its file or name.

    Args:
        text: As the command was given it.

    Raises:
        InputError: It is neither a file that is there nor a name.
    """

    text: str

    def __post_init__(self) -> None:
        self.is_built_in = is_built_in(self.text)

    @property
    def path(self) -> Path | None:
        """The file, if it is one."""
        return None if self.is_built_in else Path(self.text)

    @cached_property
    def compiled(self) -> CompiledCircuit:
        """The pieces of a built-in one."""
        return load_compiled(self.text)

    @cached_property
    def matrices(self) -> R1CS:
        """All rows.

        Raises:
            InputError: There are too many of them.
        """
        from cuzk.formats import load_r1cs
        from cuzk.synthesis.expand import expand

        if not self.is_built_in:
            return load_r1cs(Path(self.text))
        if self.compiled.num_rows > _MOST_ROWS:
            raise InputError(
                f"the {self.compiled.num_rows} rows of {self.text} are too many to be written out as matrices",
                limit=f"{_MOST_ROWS} rows",
                remedy="use the key as it is: proving, checking, .params, .vk and verification keys need no matrices",
            )
        return expand(self.compiled)

    def check(self, key: ProvingKey) -> None:
        """Check that a key was made for this circuit.

        Raises:
            InputError: It was not, or this cannot tell.
        """
        from cuzk.groth16.row_forms import check_compiled

        if key.compiled is None:
            key.check_circuit(self.matrices)
        elif self.is_built_in:
            check_compiled(key, self.compiled)
        else:
            raise key.compiled.no_matrices()

    def complete(self, key: ProvingKey) -> ProvingKey:
        """The key with all matrices, after check(); one whose circuit is too large for that stays as it is."""
        if key.compiled is None:
            return key.with_circuit(self.matrices)
        self.check(key)
        return key if self.compiled.num_rows > _MOST_ROWS else key.expanded(self.matrices)
