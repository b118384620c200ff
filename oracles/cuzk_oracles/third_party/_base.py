"""What every adapter shares."""
# ruff: noqa: ARG002  the defaults of the interface refuse, whatever the arguments

import importlib
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from cuzk_oracles.groth16 import G1Point, G2Point
from cuzk_oracles.lineages import LIBRARIES
from cuzk_oracles.params import Params


class MissingLibrary(ImportError):
    """The library behind an adapter is not installed."""


class Unsupported(NotImplementedError):
    """The library has no such operation, or not on this curve."""


class LibraryRejected(ValueError):
    """The library refused its input, for instance a point off the curve."""


class Adapter:
    """One library. Sub-classes override what their library can do."""

    module = ""

    def load(self, submodule: str = "") -> Any:
        """Import the library, or one of its modules.

        Raises:
            MissingLibrary: with the command that installs it.
        """
        name = self.module + (f".{submodule}" if submodule else "")
        try:
            return importlib.import_module(name)
        except ImportError as error:
            package = LIBRARIES[self.module].distribution
            raise MissingLibrary(f"the oracle needs {package}: pip install {package}") from error

    def is_installed(self) -> bool:
        """Whether the library can be found."""
        return find_spec(self.module) is not None

    @property
    def lineage(self) -> str:
        """The code that the library descends from."""
        return LIBRARIES[self.module].lineage

    def supports(self, operation: str, params: Params | None = None) -> bool:
        """Whether the library offers an operation ("point", "msm", "ntt", ...) on a curve."""
        library = LIBRARIES[self.module]
        return operation in library.offers and (
            params is None or not library.curves or params.name in library.curves
        )

    def _unsupported(self, what: str) -> Unsupported:
        return Unsupported(f"{self.module} has no {what}")

    def fp_mul(self, a: int, b: int, p: int) -> int:
        """Compute a * b mod p."""
        raise self._unsupported("fp_mul")

    def fp_inv(self, a: int, p: int) -> int:
        """1/a mod p, a != 0."""
        raise self._unsupported("fp_inv")

    def fp2_mul(self, params: Params, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        """Compute a * b in Fp2."""
        raise self._unsupported("fp2_mul")

    def fp2_inv(self, params: Params, a: tuple[int, int]) -> tuple[int, int]:
        """1/a in Fp2, a != 0."""
        raise self._unsupported("fp2_inv")

    def g1_add(self, params: Params, left: G1Point, right: G1Point) -> G1Point:
        """P + Q in G1."""
        raise self._unsupported("g1_add")

    def g2_add(self, params: Params, left: G2Point, right: G2Point) -> G2Point:
        """P + Q in G2."""
        raise self._unsupported("g2_add")

    def g1_mul(self, params: Params, k: int, point: G1Point) -> G1Point:
        """[k]P in G1, 0 <= k < r, P in the subgroup."""
        raise self._unsupported("g1_mul")

    def g2_mul(self, params: Params, k: int, point: G2Point) -> G2Point:
        """[k]P in G2, 0 <= k < r, P in the subgroup."""
        raise self._unsupported("g2_mul")

    def g1_msm(self, params: Params, bases: Sequence[G1Point], scalars: Sequence[int]) -> G1Point:
        """Compute sum [s_i]P_i in G1."""
        raise self._unsupported("g1_msm")

    def g2_msm(self, params: Params, bases: Sequence[G2Point], scalars: Sequence[int]) -> G2Point:
        """Compute sum [s_i]P_i in G2."""
        raise self._unsupported("g2_msm")

    def ntt(self, params: Params, coeffs: Sequence[int], omega: int) -> list[int]:
        """Values at the powers of omega, natural order; the length is a power of two."""
        raise self._unsupported("ntt")

    def pairing_check(self, params: Params, pairs: Sequence[tuple[G1Point, G2Point]]) -> bool:
        """Whether the product of all e(P_i, Q_i) is one; points on the curve and in the subgroups."""
        raise self._unsupported("pairing_check")


def same_length(bases: Sequence[Any], scalars: Sequence[int]) -> None:
    """Refuse what some libraries truncate in silence."""
    if len(bases) != len(scalars):
        raise ValueError(f"{len(bases)} bases but {len(scalars)} scalars")
