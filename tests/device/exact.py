"""Exact checks at any size, on the host in O(n): sums of products by the processor's own matrix product.

Numbers are cut into words of 16 bits, which doubles multiply and add exactly while sums stay below 2^53.  Everything
that is checked is linear, so Montgomery form needs no conversion: it only puts a known factor before both sides.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import numpy.typing as npt
from cuzk_oracles import curve as oracle_curve
from cuzk_oracles import params

from cuzk.curves import Curve, GroupSpec
from cuzk.device import Array, Device
from cuzk.limbs import fr_from_ints, ints_to_limbs, limbs_to_ints, points_to_ints
from cuzk.ops.fixed_base import fixed_base_mul
from cuzk.ops.fr_vec import to_mont

U64 = npt.NDArray[np.uint64]

_WORD = 16
#: Terms of a sum of products of two words that stay below 2^53.
_MOST_TERMS = 1 << (53 - 2 * _WORD)
#: Terms that are taken at once: their words fit a core's cache.
_BLOCK = 1 << 13
assert _BLOCK <= _MOST_TERMS


def _words(limbs: U64) -> npt.NDArray[np.float64]:
    """Limbs as words in doubles. Shape (n, 4 * limbs)."""
    return np.ascontiguousarray(limbs).view("<u2").astype(np.float64)


def _joined(products: npt.NDArray[np.float64]) -> int:
    """The number whose words' products these are: the sum of products[i, j] * 2^(16 (i + j))."""
    rows, columns = products.shape
    return sum(int(products[i, j]) << (_WORD * (i + j)) for i in range(rows) for j in range(columns))


def dot(a: U64, b: U64, modulus: int) -> int:
    """The sum of a[i] * b[i] mod the modulus.

    Args:
        a: Shape (n, limbs) uint64, any number below 2^(64 limbs).
        b: As a.
        modulus: Any.
    """
    products = np.zeros((_words(a[:0]).shape[1], _words(b[:0]).shape[1]))
    total = 0
    for first in range(0, len(a), _BLOCK):
        if first % _MOST_TERMS == 0:  # what is summed up so far is exact; more would not be
            total += _joined(products)
            products[...] = 0
        part = slice(first, first + _BLOCK)
        products += _words(a[part]).T @ _words(b[part])
    return (total + _joined(products)) % modulus


def evaluate(coefficients: U64, z: int, modulus: int) -> int:
    """The sum of coefficients[j] * z^j mod the modulus.

    Args:
        coefficients: Shape (n, limbs) uint64, n a power of two.
        z: 0 <= z < modulus.
        modulus: Below 2^(64 limbs).
    """
    n, limbs = coefficients.shape
    size = min(n, _BLOCK)
    powers = [1]
    for _ in range(size - 1):
        powers.append(powers[-1] * z % modulus)
    right = _words(ints_to_limbs(powers, limbs))
    step, total = pow(z, size, modulus), 0
    for first in range(n - size, -1, -size):
        block = _joined(_words(coefficients[first : first + size]).T @ right)
        total = (total * step + block) % modulus
    return total


def random_scalars(curve: Curve, n: int, seed: int) -> U64:
    """Uniform below 2^(bits - 1) < r: take them as Montgomery form. Shape (n, limbs)."""
    limbs = np.random.default_rng(seed).integers(0, 2**64, (n, curve.fr.limbs), np.uint64, endpoint=False)
    limbs[:, -1] &= np.uint64((1 << (curve.fr.bits - 1) % 64) - 1)
    return limbs


#: Kinds of scalars: what random ones never hit.
SCALARS = ("uniform", "sparse", "equal", "awkward")


def scalars_of(curve: Curve, kind: str, n: int, seed: int) -> U64:
    """Scalars of a kind. Shape (n, limbs). Form: Montgomery, < r."""
    rng, r = np.random.default_rng(seed + 1), curve.r
    if kind == "equal":
        return np.ascontiguousarray(np.broadcast_to(fr_from_ints(curve, [r // 3]), (n, curve.fr.limbs)))
    if kind == "awkward":
        edges = [0, 1, r - 1, r - 2, (r - 1) // 2, (r + 1) // 2]
        edges += [s + d for s in (1 << i for i in range(3, r.bit_length() - 1, 8)) for d in (-1, 0, 1)]
        return fr_from_ints(curve, edges)[rng.integers(0, len(edges), n)]
    scalars = random_scalars(curve, n, seed)
    if kind == "sparse":
        draw = rng.random(n)
        scalars[draw < 0.9] = fr_from_ints(curve, [1])[0]
        scalars[draw < 0.6] = 0
    return scalars


#: Kinds of bases: unrelated points, neighbours whose sums meet other bases, few points and their negatives.
BASES = ("unrelated", "consecutive", "few")


class KnownBases:
    """Bases whose discrete logarithms are known, on a device.

    Args:
        device: Where.
        group: Of which group.
        kind: One of BASES.
        n: How many.
        seed: Of the logarithms.

    Attributes:
        points: On the device. Shape (n, *affine_shape).
        logs: Shape (n, limbs). Form: Montgomery.
    """

    def __init__(self, device: Device, group: GroupSpec, kind: str, n: int, seed: int) -> None:
        curve = group.curve
        if kind == "unrelated":
            self.logs = random_scalars(curve, n, seed)
        elif kind == "few":
            few = fr_from_ints(curve, [1, curve.r - 1, 2, curve.r - 2, 7, 0])
            self.logs = few[np.random.default_rng(seed).integers(0, len(few), n)]
        else:
            standard = np.zeros((n, curve.fr.limbs), np.uint64)
            standard[:, 0] = 1 + np.arange(n) % min(n, curve.r - 1)
            self.logs = device.download(to_mont(device, curve, device.upload(standard)))
        self.group = group
        self.points: Array = fixed_base_mul(device, group, device.upload(self.logs))
        self._check_some(device, random.Random(seed))

    def _check_some(self, device: Device, rng: random.Random) -> None:
        """A few points against plain integers."""
        for i in {0, len(self.logs) - 1, rng.randrange(len(self.logs))}:
            log = limbs_to_ints(self.logs[i])[0] * self.group.curve.fr.mont_r_inv % self.group.curve.r
            got = points_to_ints(self.group, device.download(self.points[i : i + 1]))[0]
            assert got == multiple(self.group, log), f"base {i} of {self.group.full_name}"

    def expected(self, scalars: U64, first: int = 0) -> Any:
        """The sum of scalars[i] * points[first + i] as an affine int point. scalars: Form: Montgomery."""
        fr = self.group.curve.fr
        total = dot(scalars, self.logs[first : first + len(scalars)], fr.modulus)
        return multiple(self.group, total * fr.mont_r_inv**2 % fr.modulus)


def multiple(group: GroupSpec, k: int) -> Any:
    """[k]G by plain integers."""
    oracle = getattr(params.get_params(group.curve.name), group.name)
    return oracle_curve.mul(oracle, k, oracle.generator)
