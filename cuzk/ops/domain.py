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

import numpy as np

from cuzk.curves import Curve, RootConvention
from cuzk.device.base import Array, Device
from cuzk.limbs import fr_from_ints
from cuzk.ops.fr_common import constant, launch
from cuzk.ops.plan_fr import MAX_LOG_RADIX, NttPass, plan_elementwise, twist_is_placed
from cuzk.ops.power_tables import Order, PowerTables, power_tables

_T = TypeVar("_T")

#: twist_bits of a table in the order of a sub-transform's addresses (kernels/ntt.cuh).
_PLACED = 64
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

    def ntt_roots(self, device: Device, *, inverse: bool) -> Array:
        """inner_roots in the form that the transform's kernels take on this device.

        Returns:
            Shape (entries, limbs) uint64 on ``cpu``. Elsewhere (entries, 2, limbs) uint64: fixed factors, value in
            standard form and quotient (kernels/ntt_factor.cuh).
        """
        roots = self.inner_roots(device, inverse=inverse)
        if device.limits.warp == 1:
            return roots
        return self._cached(device, ("ntt_roots", inverse), lambda: self._fixed(device, roots))

    def ntt_twist(
        self, device: Device, step: NttPass, *, inverse: bool, scaled: bool, bits: int | None = None
    ) -> PowerTables:
        """The factors between a pass and the next, in the form that the kernels take on this device.

        Args:
            device: Where the tables are needed.
            step: The pass.
            inverse: Powers of omega^-1.
            scaled: Every factor times 1/n.
            bits: log2 of the inner table's length, instead of the plan's choice of table.
        Returns:
            The tables. Elsewhere than on ``cpu`` each entry is a fixed factor, and small sub-transforms have one
            table in the order of their addresses.
        """
        tables = self.twist_tables(device, inverse=inverse, scaled=scaled, bits=bits)
        if device.limits.warp == 1:
            return tables
        if (
            bits is None
            and step.log_l > step.log_r
            and twist_is_placed(step.log_l, self.curve, device.limits)
        ):
            shape = (step.log_l, step.log_r)
            return self._cached(
                device,
                ("placed", inverse, scaled, *shape),
                lambda: PowerTables(tables.outer, self._placed(device, tables, *shape), _PLACED),
            )
        return self._cached(
            device,
            ("fixed", inverse, scaled, bits),
            lambda: PowerTables(
                self._fixed(device, tables.outer), self._fixed(device, tables.inner), tables.bits
            ),
        )

    def coset_tables(
        self, device: Device, shift: int, *, inverse: bool, order: Order, bits: int | None = None
    ) -> PowerTables:
        """shift^i, or shift^-i / n for the way back, element i lying where `order` says."""
        r = self.curve.r

        def build() -> PowerTables:
            base, first = (pow(shift, -1, r), self.size_inv) if inverse else (shift, 1)
            return power_tables(device, self.curve, base, self.log_n, first=first, order=order, bits=bits)

        return self._cached(device, ("coset", shift % r, inverse, order, bits), build)

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

    def _fixed(self, device: Device, table: Array) -> Array:
        """The entries of a table as fixed factors."""
        return self._factors(device, constant(device, self.curve, 1), table, 63, int(table.shape[0]))

    def _placed(self, device: Device, tables: PowerTables, log_l: int, log_r: int) -> Array:
        """Twist factors of a pass in the order of a sub-transform's addresses, as fixed factors."""
        inner = tables.inner
        outer = constant(device, self.curve, 1) if tables.bits >= self.log_n else tables.outer
        return self._factors(device, outer, inner, tables.bits, 1 << log_l, log_l, log_r)

    def _factors(
        self, device: Device, outer: Array, inner: Array, bits: int, n: int, log_l: int = 0, log_r: int = 0
    ) -> Array:
        out = device.alloc((n, 2, self.curve.fr.limbs), np.uint64)
        launch(
            device, self.curve, "ntt_factors", plan_elementwise(n, device.limits), outer=outer, inner=inner,
            bits=bits, log_n=self.log_n, log_l=log_l, log_r=log_r, out=out, n=n,
        )  # fmt: skip
        return out

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
