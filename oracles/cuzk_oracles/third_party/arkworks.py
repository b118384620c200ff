"""py-arkworks-bls12381: arkworks. BLS12-381 only; of one lineage with zksnake and with cuzk's `verify`."""

from collections.abc import Sequence
from typing import Any

from cuzk_oracles.groth16 import G1Point, G2Point
from cuzk_oracles.params import Params
from cuzk_oracles.third_party._base import Adapter, LibraryRejected, same_length

_BYTES = 48


def _encode(*coordinates: int) -> bytes:
    return b"".join(c.to_bytes(_BYTES, "little") for c in coordinates)


def _decode(data: bytes) -> list[int]:
    return [int.from_bytes(data[i : i + _BYTES], "little") for i in range(0, len(data), _BYTES)]


class Arkworks(Adapter):
    """Group operations, sums and the pairing; points travel as x || y, infinity as zeros."""

    module = "py_arkworks_bls12381"

    def _lib(self, params: Params) -> Any:
        if params.name != "bls12_381":
            raise self._unsupported(f"curve {params.name}")
        return self.load()

    def _parse(self, group: Any, data: bytes) -> Any:
        try:
            return group.from_xy_bytes_unchecked_le(data)
        except ValueError as error:
            raise LibraryRejected(f"py-arkworks: {error}") from error

    def _to_g1(self, lib: Any, point: G1Point) -> Any:
        return self._parse(lib.G1Point, _encode(*(point or (0, 0))))

    def _to_g2(self, lib: Any, point: G2Point) -> Any:
        (x0, x1), (y0, y1) = point or ((0, 0), (0, 0))
        return self._parse(lib.G2Point, _encode(x0, x1, y0, y1))

    def _from_g1(self, point: Any) -> G1Point:
        x, y = _decode(bytes(point.to_xy_bytes_le()))
        return None if (x, y) == (0, 0) else (x, y)

    def _from_g2(self, point: Any) -> G2Point:
        x0, x1, y0, y1 = _decode(bytes(point.to_xy_bytes_le()))
        return None if (x0, x1, y0, y1) == (0, 0, 0, 0) else ((x0, x1), (y0, y1))

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
        return self._from_g1(self._to_g1(lib, point) * lib.Scalar(k))

    def g2_mul(self, params: Params, k: int, point: G2Point) -> G2Point:
        """See `Adapter`."""
        lib = self._lib(params)
        return self._from_g2(self._to_g2(lib, point) * lib.Scalar(k))

    def g1_msm(self, params: Params, bases: Sequence[G1Point], scalars: Sequence[int]) -> G1Point:
        """See `Adapter`."""
        same_length(bases, scalars)
        lib = self._lib(params)
        points = [self._to_g1(lib, base) for base in bases]
        return self._from_g1(lib.G1Point.multiexp_unchecked(points, [lib.Scalar(s) for s in scalars]))

    def g2_msm(self, params: Params, bases: Sequence[G2Point], scalars: Sequence[int]) -> G2Point:
        """See `Adapter`."""
        same_length(bases, scalars)
        lib = self._lib(params)
        points = [self._to_g2(lib, base) for base in bases]
        return self._from_g2(lib.G2Point.multiexp_unchecked(points, [lib.Scalar(s) for s in scalars]))

    def pairing_check(self, params: Params, pairs: Sequence[tuple[G1Point, G2Point]]) -> bool:
        """See `Adapter`."""
        lib = self._lib(params)
        left = [self._to_g1(lib, point) for point, _ in pairs]
        right = [self._to_g2(lib, point) for _, point in pairs]
        return bool(lib.GT.pairing_check(left, right))
