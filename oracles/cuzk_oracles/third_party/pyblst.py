"""pyblst: blst, C and assembly. BLS12-381 only; points travel in the compressed encoding."""

from collections.abc import Sequence
from typing import Any

from cuzk_oracles import encoding
from cuzk_oracles.groth16 import G1Point, G2Point
from cuzk_oracles.params import Params
from cuzk_oracles.third_party._base import Adapter, LibraryRejected


class PyBlst(Adapter):
    """Group operations and the pairing of blst; it refuses points outside the subgroup."""

    module = "pyblst"

    def _lib(self, params: Params) -> Any:
        if params.name != "bls12_381":
            raise self._unsupported(f"curve {params.name}")
        return self.load()

    def _uncompress(self, element: Any, data: bytes) -> Any:
        try:
            return element.uncompress(data)
        except ValueError as error:
            raise LibraryRejected(f"pyblst: {error}") from error

    def _to_g1(self, lib: Any, point: G1Point) -> Any:
        return self._uncompress(lib.BlstP1Element, encoding.compress_g1(point))

    def _to_g2(self, lib: Any, point: G2Point) -> Any:
        return self._uncompress(lib.BlstP2Element, encoding.compress_g2(point))

    def g1_add(self, params: Params, left: G1Point, right: G1Point) -> G1Point:
        """See `Adapter`."""
        lib = self._lib(params)
        return encoding.decompress_g1(bytes((self._to_g1(lib, left) + self._to_g1(lib, right)).compress()))

    def g2_add(self, params: Params, left: G2Point, right: G2Point) -> G2Point:
        """See `Adapter`."""
        lib = self._lib(params)
        return encoding.decompress_g2(bytes((self._to_g2(lib, left) + self._to_g2(lib, right)).compress()))

    def g1_mul(self, params: Params, k: int, point: G1Point) -> G1Point:
        """See `Adapter`."""
        return encoding.decompress_g1(bytes(self._to_g1(self._lib(params), point).scalar_mul(k).compress()))

    def g2_mul(self, params: Params, k: int, point: G2Point) -> G2Point:
        """See `Adapter`."""
        return encoding.decompress_g2(bytes(self._to_g2(self._lib(params), point).scalar_mul(k).compress()))

    def pairing_check(self, params: Params, pairs: Sequence[tuple[G1Point, G2Point]]) -> bool:
        """See `Adapter`."""
        lib = self._lib(params)
        one = lib.miller_loop(lib.BlstP1Element(), self._to_g2(lib, params.g2.generator))
        product = one
        for left, right in pairs:
            product = product * lib.miller_loop(self._to_g1(lib, left), self._to_g2(lib, right))
        return bool(lib.final_verify(product, one))
