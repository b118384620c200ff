"""pymcl: herumi's mcl, C++ and run-time assembly. BLS12-381 only; points travel as decimal strings."""

from collections.abc import Sequence
from typing import Any

from cuzk_oracles.groth16 import G1Point, G2Point
from cuzk_oracles.params import Params
from cuzk_oracles.third_party._base import Adapter, LibraryRejected


class PyMcl(Adapter):
    """Group operations and the pairing of mcl."""

    module = "pymcl"

    def _lib(self, params: Params) -> Any:
        if params.name != "bls12_381":
            raise self._unsupported(f"curve {params.name}")
        return self.load()

    def _parse(self, group: Any, text: str) -> Any:
        try:
            return group(text)
        except RuntimeError as error:
            raise LibraryRejected(f"pymcl: {error}") from error

    def _to_g1(self, lib: Any, point: G1Point) -> Any:
        return self._parse(lib.G1, "0" if point is None else f"1 {point[0]} {point[1]}")

    def _to_g2(self, lib: Any, point: G2Point) -> Any:
        if point is None:
            return self._parse(lib.G2, "0")
        (x0, x1), (y0, y1) = point
        return self._parse(lib.G2, f"1 {x0} {x1} {y0} {y1}")

    def _from_g1(self, point: Any) -> G1Point:
        if point.isZero():
            return None
        _, x, y = (int(number) for number in str(point).split())
        return x, y

    def _from_g2(self, point: Any) -> G2Point:
        if point.isZero():
            return None
        _, x0, x1, y0, y1 = (int(number) for number in str(point).split())
        return (x0, x1), (y0, y1)

    def g1_add(self, params: Params, left: G1Point, right: G1Point) -> G1Point:
        """See `Adapter`."""
        lib = self._lib(params)
        return self._from_g1(self._to_g1(lib, left) + self._to_g1(lib, right))

    def g2_add(self, params: Params, left: G2Point, right: G2Point) -> G2Point:
        """See `Adapter`."""
        lib = self._lib(params)
        return self._from_g2(self._to_g2(lib, left) + self._to_g2(lib, right))

    def g1_mul(self, params: Params, k: int, point: G1Point) -> G1Point:
        """See `Adapter`."""
        lib = self._lib(params)
        return self._from_g1(self._to_g1(lib, point) * lib.Fr(str(k)))

    def g2_mul(self, params: Params, k: int, point: G2Point) -> G2Point:
        """See `Adapter`."""
        lib = self._lib(params)
        return self._from_g2(self._to_g2(lib, point) * lib.Fr(str(k)))

    def pairing_check(self, params: Params, pairs: Sequence[tuple[G1Point, G2Point]]) -> bool:
        """See `Adapter`."""
        lib = self._lib(params)
        product = lib.GT()
        for left, right in pairs:
            product = product * lib.pairing(self._to_g1(lib, left), self._to_g2(lib, right))
        return bool(product.isOne())
