"""Powers of a scalar as two small tables: g^i = outer[i >> bits] * inner[i mod 2^bits].

A table of all n powers would cost as much memory traffic as the vector it is for; two of about sqrt(n)
entries stay in cache and cost one product a lookup. The host computes short ones in plain ints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from cuzk.curves import Curve
from cuzk.device.base import Array, Device
from cuzk.limbs import fr_from_ints
from cuzk.ops.fr_common import launch
from cuzk.ops.plan_fr import plan_elementwise, table_bits

Order = Literal["nat", "rev"]

_LONGEST_OF_INTS = 10  # log2 of entries; they take a microsecond each


@dataclass(frozen=True)
class PowerTables:
    """first * base^e(i) = outer[i >> bits] * inner[i mod 2^bits], with e(i) = i, or its bit reversal.

    Attributes:
        outer: Shape (2^(log_n - bits), limbs) uint64. Form: Montgomery.
        inner: Shape (2^bits, limbs) uint64. Form: Montgomery.
        bits: log2 of the inner table's length.
    """

    outer: Array
    inner: Array
    bits: int

    def arguments(self) -> dict[str, Any]:
        """The kernel arguments of the same names."""
        return {"outer": self.outer, "inner": self.inner, "inner_bits": self.bits}


def _reverse(i: int, bits: int) -> int:
    return int(f"{i:0{bits}b}"[::-1], 2) if bits else 0


def _int_powers(base: int, count: int, first: int, r: int) -> list[int]:
    values, value = [], first % r
    for _ in range(count):
        values.append(value)
        value = value * base % r
    return values


def power_tables(
    device: Device,
    curve: Curve,
    base: int,
    log_n: int,
    *,
    first: int = 1,
    order: Order = "nat",
    bits: int | None = None,
) -> PowerTables:
    """Tables for the powers of base with exponents below 2^log_n.

    Args:
        device: Where the tables are needed.
        curve: Whose Fr.
        base: Standard form.
        log_n: log2 of the number of exponents.
        first: Factor of every power, standard form.
        order: "rev": entry i belongs to the exponent rev(i), the bit reversal over log_n bits.
        bits: log2 of the inner table's length; by default the plan's.
    Returns:
        The tables, on the device.
    Cost: 2^bits + 2^(log_n - bits) products, in plain ints for up to 2^10 of a table; two uploads a table.
    """
    bits = min(log_n, table_bits(log_n) if bits is None else bits)
    rest = log_n - bits
    if order == "nat":
        inner, outer = (base, 1, bits), (pow(base, 1 << bits, curve.r), first, rest)
    else:
        # rev(i) = rev(low bits of i) * 2^(log_n - bits) + rev(high bits of i)
        inner, outer = (pow(base, 1 << rest, curve.r), 1, bits), (base, first, rest)
    tables = [_table(device, curve, *of, order) for of in (outer, inner)]
    return PowerTables(tables[0], tables[1], bits)


def _table(device: Device, curve: Curve, base: int, first: int, log_n: int, order: Order) -> Array:
    """All 2^log_n powers in one table: a long one is the product of two short ones, made on the device."""
    if log_n <= _LONGEST_OF_INTS:
        values = _int_powers(base, 1 << log_n, first, curve.r)
        if order == "rev":
            values = [values[_reverse(i, log_n)] for i in range(1 << log_n)]
        return device.upload(fr_from_ints(curve, values))
    parts = power_tables(device, curve, base, log_n, first=first, order=order, bits=log_n // 2)
    table = device.alloc((1 << log_n, curve.fr.limbs), np.uint64)
    shape = plan_elementwise(1 << log_n, device.limits)
    launch(device, curve, "fr_powers", shape, **parts.arguments(), out=table, n=1 << log_n)
    return table
