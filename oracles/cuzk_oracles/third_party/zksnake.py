"""zksnake's compiled algebra: arkworks 0.4. Both curves; the fast oracle for transforms and large sums."""

from collections.abc import Callable, Sequence
from typing import Any

from cuzk_oracles import ntt
from cuzk_oracles.groth16 import G1Point, G2Point
from cuzk_oracles.params import Params, root_of_unity
from cuzk_oracles.third_party._base import Adapter, LibraryRejected, same_length


def _guarded(call: Callable[..., Any], *args: Any) -> Any:
    """Call into Rust; a Rust panic arrives as a BaseException that `except Exception` would miss."""
    try:
        return call(*args)
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise LibraryRejected(f"zksnake: {error}") from None


class ZkSnake(Adapter):
    """Group operations, sums, transforms and the pairing."""

    module = "zksnake"

    def _part(self, part: str, params: Params) -> Any:
        if params.name not in ("bls12_381", "bn254"):
            raise self._unsupported(f"curve {params.name}")
        return getattr(self.load("_algebra"), f"{part}_{params.name}")

    def _to_g1(self, lib: Any, point: G1Point) -> Any:
        if point is None:
            return lib.PointG1.identity()
        return _guarded(lib.PointG1, *point)

    def _to_g2(self, lib: Any, point: G2Point) -> Any:
        if point is None:
            return lib.g2() * 0
        return _guarded(lib.PointG2, *point[0], *point[1])

    def _from_g1(self, point: Any) -> G1Point:
        return None if point.is_zero() else (int(point.x), int(point.y))

    def _from_g2(self, point: Any) -> G2Point:
        if point.is_zero():
            return None
        x, y = ((int(c[0]), int(c[1])) for c in (point.x, point.y))
        return x, y

    def g1_add(self, params: Params, left: G1Point, right: G1Point) -> G1Point:
        """See `Adapter`."""
        lib = self._part("ec", params)
        return self._from_g1(self._to_g1(lib, left) + self._to_g1(lib, right))

    def g2_add(self, params: Params, left: G2Point, right: G2Point) -> G2Point:
        """See `Adapter`."""
        lib = self._part("ec", params)
        return self._from_g2(self._to_g2(lib, left) + self._to_g2(lib, right))

    def g1_mul(self, params: Params, k: int, point: G1Point) -> G1Point:
        """See `Adapter`."""
        return self._from_g1(self._to_g1(self._part("ec", params), point) * k)

    def g2_mul(self, params: Params, k: int, point: G2Point) -> G2Point:
        """See `Adapter`."""
        return self._from_g2(self._to_g2(self._part("ec", params), point) * k)

    def g1_msm(self, params: Params, bases: Sequence[G1Point], scalars: Sequence[int]) -> G1Point:
        """See `Adapter`."""
        same_length(bases, scalars)
        lib = self._part("ec", params)
        points = [self._to_g1(lib, base) for base in bases]
        return self._from_g1(_guarded(lib.multiscalar_mul_g1, points, list(scalars)))

    def g2_msm(self, params: Params, bases: Sequence[G2Point], scalars: Sequence[int]) -> G2Point:
        """See `Adapter`."""
        same_length(bases, scalars)
        lib = self._part("ec", params)
        points = [self._to_g2(lib, base) for base in bases]
        return self._from_g2(_guarded(lib.multiscalar_mul_g2, points, list(scalars)))

    def ntt(self, params: Params, coeffs: Sequence[int], omega: int) -> list[int]:
        """See `Adapter`. The library knows the "bellman" root only; other roots permute its output."""
        n = len(coeffs)
        own_root = root_of_unity(params, ntt.log2_exact(n), "bellman")
        values = _guarded(self._part("polynomial", params).fft, list(coeffs), n)
        value_at = dict(zip(ntt.powers(own_root, n, params.r), values, strict=True))
        return [int(value_at[point]) for point in ntt.powers(omega, n, params.r)]

    def pairing_check(self, params: Params, pairs: Sequence[tuple[G1Point, G2Point]]) -> bool:
        """See `Adapter`."""
        lib = self._part("ec", params)
        left = [self._to_g1(lib, point) for point, _ in pairs]
        right = [self._to_g2(lib, point) for _, point in pairs]
        one = lib.pairing(lib.PointG1.identity(), lib.g2())
        return bool(_guarded(lib.multi_pairing, left, right) == one)
