"""Powers of a scalar as two small tables: g^i = outer[i >> bits] * inner[i mod 2^bits].

A table of all n powers would cost as much memory traffic as the vector it is for; two of about sqrt(n)
entries stay in cache and cost one product a lookup. The host computes them in plain ints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from cuzk.curves import Curve
from cuzk.device.base import Array, Device
from cuzk.limbs import fr_from_ints
from cuzk.ops.plan_fr import table_bits

Order = Literal["nat", "rev"]


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
    Cost: about 2^(log_n/2 + 1) products in plain ints; one upload.
    """
    r = curve.r
    bits = min(log_n, table_bits(log_n) if bits is None else bits)
    if order == "nat":
        inner = _int_powers(base, 1 << bits, 1, r)
        outer = _int_powers(pow(base, 1 << bits, r), 1 << (log_n - bits), first, r)
    else:
        # rev(i) = rev(low bits of i) * 2^(log_n - bits) + rev(high bits of i)
        by_low = _int_powers(pow(base, 1 << (log_n - bits), r), 1 << bits, 1, r)
        by_high = _int_powers(base, 1 << (log_n - bits), first, r)
        inner = [by_low[_reverse(i, bits)] for i in range(1 << bits)]
        outer = [by_high[_reverse(i, log_n - bits)] for i in range(1 << (log_n - bits))]
    return PowerTables(
        device.upload(fr_from_ints(curve, outer)), device.upload(fr_from_ints(curve, inner)), bits
    )
