"""A small compiled circuit, and its file."""

from __future__ import annotations

from pathlib import Path

from cuzk.curves import get_curve
from cuzk.formats import PceInfo, save_pce
from cuzk.pieces import CompiledCircuit
from cuzk.synthesis import ONE, ConstraintSystem

INFO = PceInfo("an example", "5a" * 32)


def small_circuit(curve: str = "toy") -> CompiledCircuit:
    """Hints, bits, sums, products and an input; one piece occurs three times."""
    cs = ConstraintSystem(get_curve(curve))
    x, a, b = cs.alloc(), cs.alloc(), cs.alloc()
    low = cs.define_bits(x, 4)
    both = cs.define_logic(0b1000_1000, a, b)
    total = cs.define_sum([a, 0, b, 1 | 1 << 8, both, 2], 3, 4)
    cs.enforce({total: 1, total + 1: 2}, {low: 1}, {a: 5})
    cs.define_linear({x: 7, ONE: 2}, is_input=True)
    cs.enforce({a: 1}, {b: 1}, {both: 1})
    cs.enforce({a: 1}, {ONE: 1, a: -1}, {})
    cs.enforce({}, {}, {})
    for _ in range(3):
        cs.cut()
        x = cs.define_product({x: 1}, {x: 1, both: 3}, {a: 2}, sign=-1)
    return cs.compile()


def saved_pce(directory: Path) -> Path:
    """Its file in a directory."""
    path = directory / "example.pce"
    save_pce(path, small_circuit(), INFO)
    return path
