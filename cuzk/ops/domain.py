"""Evaluation domains: the powers of a root of unity, and the tables that transforms over them need.

A domain is H = {omega^k : 0 <= k < 2^log_n}; with a shift g, the coset g*H. Which omega depends on the
convention of the key's origin (curves/derive.py). Tables are built when first used on a device and kept with
the domain.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from cuzk.curves import Curve, RootConvention
from cuzk.device.base import Array, Device
from cuzk.limbs import fr_from_ints
from cuzk.ops.plan_fr import MAX_LOG_RADIX
from cuzk.ops.power_tables import Order, PowerTables, power_tables

_T = TypeVar("_T")

#: Coset tables kept per device: those of one proof (shift in, shift out) in both orders.
_MAX_SCALE_TABLES = 8


class Domain:
    """The 2^log_n-th roots of unity of a curve's scalar field.

    Args:
        curve: Whose Fr.
        log_n: 0 <= log_n <= two-adicity of r - 1.
        convention: "snarkjs" or "bellman": whose primitive root.
    Raises:
        RangeError: There is no such root.

    Attributes:
        size: n = 2^log_n.
        omega: The primitive n-th root, standard form.
        size_inv: 1/n mod r, standard form.

    Safe to use from several threads.
    """

    def __init__(self, curve: Curve, log_n: int, convention: RootConvention = "snarkjs") -> None:
        self.curve = curve
        self.log_n = log_n
        self.convention: RootConvention = convention
        self.omega = curve.root_of_unity(log_n, convention)
        self.size = 1 << log_n
        self.size_inv = pow(self.size, -1, curve.r)
        self._lock = threading.Lock()
        self._cache: WeakKeyDictionary[Device, dict[Any, Any]] = WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"Domain({self.curve.name}, 2^{self.log_n}, {self.convention})"

    def root(self, *, inverse: bool = False) -> int:
        """omega, or its inverse, standard form."""
        return pow(self.omega, -1, self.curve.r) if inverse else self.omega

    def inner_roots(self, device: Device, *, inverse: bool) -> Array:
        """The roots of all small sizes as a heap: entry h + i is w_(2h)^i for h = 1, 2, 4, ... and i < h.

        Returns:
            Shape (max(2, min(n, 2^MAX_LOG_RADIX)), limbs) uint64. Form: Montgomery. Entry 0 is 0 and unused.
        """
        key = ("roots", inverse)
        return self._cached(device, key, lambda: self._build_roots(device, inverse))

    def twist_tables(
        self, device: Device, *, inverse: bool, scaled: bool, bits: int | None = None
    ) -> PowerTables:
        """Powers of the root for the factors between passes.

        Args:
            device: Where the tables are needed.
            inverse: Powers of omega^-1.
            scaled: Every power times 1/n.
            bits: log2 of the inner table's length, instead of the plan's.
        """
        key = ("twist", inverse, scaled, bits)
        return self._cached(device, key, lambda: self._build_twist(device, inverse, scaled, bits))

    def coset_tables(
        self, device: Device, shift: int, *, inverse: bool, order: Order, bits: int | None = None
    ) -> PowerTables:
        """shift^i, or shift^-i / n for the way back, element i lying where `order` says."""
        r = self.curve.r
        base, first = (pow(shift, -1, r), self.size_inv) if inverse else (shift, 1)
        key = ("coset", shift % r, inverse, order, bits)
        return self._cached(
            device,
            key,
            lambda: power_tables(device, self.curve, base, self.log_n, first=first, order=order, bits=bits),
        )

    def size_inverse(self, device: Device) -> PowerTables:
        """1/n as tables with one entry each: a constant in place of a sequence."""

        def build() -> PowerTables:
            value = device.upload(fr_from_ints(self.curve, [self.size_inv]))
            return PowerTables(value, value, 0)

        return self._cached(device, ("size_inverse",), build)

    def _cached(self, device: Device, key: tuple[Any, ...], build: Callable[[], _T]) -> _T:
        with self._lock:
            tables = self._cache.setdefault(device, {})
            if key not in tables:
                stale = [k for k in tables if k[0] == "coset"]
                if key[0] == "coset" and len(stale) >= _MAX_SCALE_TABLES:
                    del tables[stale[0]]
                tables[key] = build()
            result: _T = tables[key]
            return result

    def _build_roots(self, device: Device, inverse: bool) -> Array:
        r = self.curve.r
        levels = min(self.log_n, MAX_LOG_RADIX)
        values = [0] * max(2, 1 << levels)
        for level in range(1, levels + 1):
            h = 1 << (level - 1)
            w = pow(self.root(inverse=inverse), 1 << (self.log_n - level), r)
            value = 1
            for i in range(h):
                values[h + i] = value
                value = value * w % r
        return device.upload(fr_from_ints(self.curve, values))

    def _build_twist(self, device: Device, inverse: bool, scaled: bool, bits: int | None) -> PowerTables:
        root = self.root(inverse=inverse)
        first = self.size_inv if scaled else 1
        tables = power_tables(device, self.curve, root, self.log_n, first=first, bits=bits)
        if scaled and tables.bits >= self.log_n:
            # The kernel uses the inner table alone when it covers everything: the factor belongs there then.
            return replace(
                tables, inner=power_tables(device, self.curve, root, self.log_n, bits=0, first=first).outer
            )
        return tables
