"""py_ecc: pure Python, slow, and the most independent of all. Both curves."""

import sys
from collections.abc import Sequence
from typing import Any

from cuzk_oracles.groth16 import G1Point, G2Point
from cuzk_oracles.params import Params
from cuzk_oracles.third_party._base import Adapter

_MODULES = {"bls12_381": "optimized_bls12_381", "bn254": "optimized_bn128"}


class PyEcc(Adapter):
    """Field, group and pairing arithmetic of py_ecc's projective ("optimized") modules."""

    module = "py_ecc"

    def load(self, submodule: str = "") -> Any:
        """Import, and undo what the import does to the whole process: py_ecc raises the recursion limit."""
        limit = sys.getrecursionlimit()
        try:
            return super().load(submodule)
        finally:
            sys.setrecursionlimit(limit)

    def _curve(self, params: Params) -> Any:
        if params.name not in _MODULES:
            raise self._unsupported(f"curve {params.name}")
        return self.load(_MODULES[params.name])

    def _to_g1(self, lib: Any, point: G1Point) -> Any:
        if point is None:
            return lib.Z1
        return lib.FQ(point[0]), lib.FQ(point[1]), lib.FQ.one()

    def _to_g2(self, lib: Any, point: G2Point) -> Any:
        if point is None:
            return lib.Z2
        return lib.FQ2(point[0]), lib.FQ2(point[1]), lib.FQ2.one()

    def _from_g1(self, lib: Any, point: Any) -> G1Point:
        if lib.is_inf(point):
            return None
        x, y = lib.normalize(point)
        return int(x.n), int(y.n)

    def _from_g2(self, lib: Any, point: Any) -> G2Point:
        if lib.is_inf(point):
            return None
        x, y = ((int(c.coeffs[0]), int(c.coeffs[1])) for c in lib.normalize(point))
        return x, y

    def fp2_mul(self, params: Params, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        """See `Adapter`."""
        lib = self._curve(params)
        c0, c1 = (lib.FQ2(a) * lib.FQ2(b)).coeffs
        return int(c0), int(c1)

    def fp2_inv(self, params: Params, a: tuple[int, int]) -> tuple[int, int]:
        """See `Adapter`."""
        c0, c1 = self._curve(params).FQ2(a).inv().coeffs
        return int(c0), int(c1)

    def g1_add(self, params: Params, left: G1Point, right: G1Point) -> G1Point:
        """See `Adapter`."""
        lib = self._curve(params)
        return self._from_g1(lib, lib.add(self._to_g1(lib, left), self._to_g1(lib, right)))

    def g2_add(self, params: Params, left: G2Point, right: G2Point) -> G2Point:
        """See `Adapter`."""
        lib = self._curve(params)
        return self._from_g2(lib, lib.add(self._to_g2(lib, left), self._to_g2(lib, right)))

    def g1_mul(self, params: Params, k: int, point: G1Point) -> G1Point:
        """See `Adapter`."""
        lib = self._curve(params)
        return self._from_g1(lib, lib.multiply(self._to_g1(lib, point), k))

    def g2_mul(self, params: Params, k: int, point: G2Point) -> G2Point:
        """See `Adapter`."""
        lib = self._curve(params)
        return self._from_g2(lib, lib.multiply(self._to_g2(lib, point), k))

    def pairing_check(self, params: Params, pairs: Sequence[tuple[G1Point, G2Point]]) -> bool:
        """See `Adapter`."""
        lib = self._curve(params)
        product = lib.FQ12.one()
        for left, right in pairs:
            miller = lib.pairing(self._to_g2(lib, right), self._to_g1(lib, left), final_exponentiate=False)
            product = product * miller
        return bool(lib.final_exponentiate(product) == lib.FQ12.one())
