"""Bits first: which intermediates of two runs differ, and the first place in the order of the phases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from cuzk.ab.runner import Trace
from cuzk.limbs import U64Array

__all__ = ["Bits", "Difference", "compare_bits", "first_difference", "phase_of"]

#: Intermediates in the order in which they arise, and the phase of each; `h_` stands for every form of h.
_PHASES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("a", "b", "c"), "spmv"),
        "h_": "ntt_h",
        "sum_h": "msm_h",
        **dict.fromkeys(("ones_l", "ones_a", "ones_b_g1", "ones_b_g2"), "batch_add"),
        **dict.fromkeys(("sum_l", "sum_a", "sum_b_g1"), "tail_msm"),
        "sum_b_g2": "b_g2_msm",
        "sum_h_and_l": "msm_h or tail_msm",
        **dict.fromkeys(("proof_a", "proof_b", "proof_c"), "proof_assembly"),
    }
)
_ORDER = tuple(_PHASES)


@dataclass(frozen=True)
class Bits:
    """One intermediate of two runs.

    Args:
        name: Which.
        state: "same", "differs", "only in A" or "only in B".
    """

    name: str
    state: str


@dataclass(frozen=True)
class Difference:
    """The first word in which two runs differ.

    Args:
        name: The intermediate.
        phase: The phase that computes it.
        circuit: Which circuit of the call.
        index: Element: row of a vector; 0 for a point.
        word: Word within the element, 64 bits each.
        a: That word of the one run.
        b: That word of the other.
    """

    name: str
    phase: str
    circuit: int
    index: int
    word: int
    a: int
    b: int


def _stem(name: str) -> str:
    """The name by which the table of phases knows an intermediate."""
    return "h_" if name.startswith("h_") else name.removesuffix("_folded")


def _key(name: str) -> tuple[int, str]:
    stem = _stem(name)
    return (_ORDER.index(stem) if stem in _ORDER else len(_ORDER)), name


def phase_of(name: str, trace: Trace) -> str:
    """The phase that computes an intermediate, in this run."""
    if name in ("a", "b", "c") and "closures" in trace.phases:
        return "closures"
    return _PHASES[_stem(name)]


def compare_bits(a: Trace, b: Trace) -> list[Bits]:
    """Compare every intermediate, in order.  Of forms that only one run computes nothing can be said."""
    found = []
    for name in sorted({*a.values, *b.values}, key=_key):
        if name not in a.values or name not in b.values:
            found.append(Bits(name, f"only in {'A' if name in a.values else 'B'}"))
        else:
            found.append(Bits(name, "same" if _same(a, b, name) else "differs"))
    return found


def _same(a: Trace, b: Trace, name: str) -> bool:
    mine, others = a.values[name], b.values[name]
    return len(mine) == len(others) and all(map(np.array_equal, mine, others))


def first_difference(a: Trace, b: Trace) -> Difference | None:
    """The first place in which two runs differ, or None."""
    for name in (bits.name for bits in compare_bits(a, b) if bits.state == "differs"):
        for circuit, (mine, other) in enumerate(zip(a.values[name], b.values[name], strict=False)):
            if mine.shape == other.shape and np.array_equal(mine, other):
                continue
            rows, others = _elements(name, mine), _elements(name, other)
            common = min(rows.size, others.size)
            words = np.flatnonzero(rows.reshape(-1)[:common] != others.reshape(-1)[:common])
            at = int(words[0]) if len(words) else common - 1
            index, word = divmod(at, rows.shape[1])
            where = int(rows.reshape(-1)[at]), int(others.reshape(-1)[at])
            return Difference(name, phase_of(name, b), circuit, index, word, *where)
        return Difference(name, phase_of(name, b), 0, 0, 0, len(a.values[name]), len(b.values[name]))
    return None


def _elements(name: str, array: U64Array) -> U64Array:
    """An array as rows of words: elements of a vector, or one point."""
    is_point = name.startswith(("sum_", "ones_", "proof_"))
    return np.ascontiguousarray(array).reshape(1, -1) if is_point else array.reshape(-1, array.shape[-1])
