"""Where a key's parts live while proofs are made: a plan of memory, computed before anything is allocated.

A proof needs the matrices, the witness w and the rows' values a, b, c at once, then h and one query after the other.
Queries that find no room beside that are streamed: their bases pass through two buffers in chunks, a chunk being
copied while the one before is worked on. The plan is a pure function of counts and of the device's limits; it changes
time and memory, never a result.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from cuzk.curves import GroupSpec
from cuzk.device.base import DeviceLimits
from cuzk.errors import OutOfMemoryError
from cuzk.groth16.key_shape import QUERY_ORDER, WITNESS_QUERIES, KeyShape
from cuzk.ops.msm_memory import border_bytes, pair_bytes
from cuzk.ops.plan_fr import MAX_LOG_RADIX, PLACED_MEMORY_SHARE, plan_ntt, table_bits
from cuzk.ops.plan_msm import MAX_WINDOW_BITS

__all__ = [
    "MOST_PENDING",
    "NUM_BUFFERS",
    "QUERY_ORDER",
    "WITNESS_QUERIES",
    "KeyShape",
    "ResidencyPlan",
    "plan_residency",
    "smallest_limit",
]

#: Two buffers: one is filled while the other is read.
NUM_BUFFERS = 2
#: Bases in G1 of a chunk, log2: a chunk in G2 has half as many.
_LOG_CHUNKS = range(6, 24)
#: Bytes a term of a multi-scalar multiplication should have for lists and buckets (two windows with their halves,
#: plan_msm), and must have: an index and a digit, beside a scalar that is gathered; and the least for buckets of small
#: windows.
_GOOD_WORKSPACE, _LEAST_WORKSPACE, _LEAST_BUCKETS = 240, 40, 128 << 10
#: Multi-scalar multiplications whose sums wait on the device to be collected together: each takes memory, and each
#: collection is a wait.
MOST_PENDING = 8
#: Memory left to small arrays: partial sums, counters, constants.
_RESERVE_BYTES, _RESERVE_SHARE, _MOST_RESERVE = 256 << 10, 32, 512 << 20

# The cost that a plan minimises, in nanoseconds, with rates of the order of an H200's.
_COPY_BYTES_A_NS = 50.0
_TERM_NS = 6.0
_CHUNK_NS = 1.5e6
#: Copies of the H query hide behind its dense multiplication.
_HIDDEN_COPY = 0.25


@dataclass(frozen=True)
class ResidencyPlan:
    """Which parts of a key stay on the device, and the bytes that each stage of a proof takes there.

    Attributes:
        resident: Queries whose bases stay on the device.
        chunk: Bases in G1 of a chunk of a streamed query; 0 where every query is resident.
        buffer_bytes: Bytes of each of the two buffers that chunks pass through.
        rows_apart: a, b and c are three arrays, so that two of them can be let go before the multi-scalar
            multiplications; else they are one, and transformed together.
        circuits: Witnesses that fit the device at once.
        circuit_bytes: Bytes that each but the first of them takes.
        msm_h_bytes: Bytes left to lists and buckets over the H query.
        commit_bytes: The same over the other queries.
        stages: Stage -> planned bytes, workspace and reserve included. The greatest is at most the limit.
        cost: Estimated time that a proof takes beyond one with memory for everything, nanoseconds.
    """

    resident: frozenset[str]
    chunk: int
    buffer_bytes: int
    rows_apart: bool
    circuits: int
    msm_h_bytes: int
    commit_bytes: int
    stages: Mapping[str, int]
    cost: float = 0.0
    circuit_bytes: int = 0

    @property
    def streamed(self) -> tuple[str, ...]:
        """Streamed queries in the order in which a proof takes them."""
        return tuple(name for name in QUERY_ORDER if name not in self.resident)

    def chunk_length(self, group: GroupSpec) -> int:
        """Bases of a chunk in a group: as many as fill a buffer."""
        return self.chunk // group.degree


@dataclass(frozen=True)
class _Bytes:
    """The bytes of a choice (which queries, which chunk), stage by stage, without workspace."""

    synthesis: int
    msm_h: int
    commit: int


def _table_bytes(shape: KeyShape, limits: DeviceLimits) -> int:
    """Bound on the bytes of the transforms' tables (ops/domain.py)."""
    log_n, element = shape.log_domain, shape.curve.fr.nbytes
    bits = table_bits(log_n)
    powers = ((1 << bits) + (1 << (log_n - bits))) * element
    roots = element << min(log_n, MAX_LOG_RADIX)
    if limits.warp == 1:
        return 5 * powers + 2 * roots
    # Fixed factors are two elements each, beside the plain tables they are made from; both directions.
    placed = sum(
        min(2 * element << step.log_l, limits.memory_bytes // PLACED_MEMORY_SHARE)
        for step in plan_ntt(log_n, 1, shape.curve, limits).passes
    )
    return 5 * 3 * powers + 2 * 3 * roots + 2 * placed


def _bytes(
    shape: KeyShape, limits: DeviceLimits, resident: frozenset[str], chunk: int, rows_apart: bool
) -> _Bytes:
    """Bytes of every stage."""
    masks = sum(shape.lengths[name] for name in WITNESS_QUERIES)
    persistent = shape.matrix_bytes + masks + _table_bytes(shape, limits)
    persistent += _RESERVE_BYTES + min(limits.memory_bytes // _RESERVE_SHARE, _MOST_RESERVE)
    persistent += sum(shape.query_bytes(name) for name in resident)
    persistent += 4 * shape.gathered
    # A sum for each bit of a scalar, and of the last window beyond it.
    persistent += MOST_PENDING * (shape.curve.fr.bits + MAX_WINDOW_BITS) * shape.curve.g2.xyzz_bytes
    persistent += NUM_BUFFERS * chunk * shape.curve.g1.affine_bytes
    persistent += (shape.circuits - 1) * shape.circuit_bytes
    w, v = shape.witness_bytes, shape.row_bytes
    return _Bytes(
        # One witness more, where it can't be brought into Montgomery form in place.
        synthesis=persistent + w + max(3 * v, w),
        msm_h=persistent + w + (v if rows_apart else 3 * v),
        commit=persistent + w + shape.list_bytes,
    )


def _workspace(terms: int, shape: KeyShape, limits: DeviceLimits, *, good: bool) -> int:
    """Bytes that a multi-scalar multiplication of so many terms should have, or must have (ops/msm_memory.py)."""
    groups = (shape.curve.g1, shape.curve.g2)
    borders = max(border_bytes(shape.curve.fr.bits * terms, group, limits) for group in groups)
    if not good:
        return borders + _LEAST_WORKSPACE * terms + _LEAST_BUCKETS
    pairs = max(pair_bytes(group, limits) for group in groups) if limits.gpu_like else 0
    return borders + min(pairs, _GOOD_WORKSPACE * terms) + _GOOD_WORKSPACE * terms


def _largest_terms(shape: KeyShape, resident: frozenset[str], chunk: int) -> tuple[int, int]:
    """Terms of the largest multiplication: over the H query, and over the others."""

    def terms(name: str) -> int:
        return shape.lengths[name] if name in resident else min(shape.lengths[name], chunk)

    return terms("h"), max(terms(name) for name in WITNESS_QUERIES)


def _plan(
    shape: KeyShape, limits: DeviceLimits, resident: frozenset[str], chunk: int
) -> ResidencyPlan | None:
    """The plan for a choice, or None where it does not fit."""
    limit = limits.memory_bytes
    terms_h, terms = _largest_terms(shape, resident, chunk)
    rows_apart = chunk > 0
    need = _bytes(shape, limits, resident, chunk, rows_apart)
    good_h, good = (_workspace(count, shape, limits, good=True) for count in (terms_h, terms))
    if not rows_apart and limit - need.msm_h < good_h:
        rows_apart = True
        need = _bytes(shape, limits, resident, chunk, rows_apart)
    msm_h, commit = limit - need.msm_h, limit - need.commit
    least_h, least = (_workspace(count, shape, limits, good=False) for count in (terms_h, terms))
    if need.synthesis > limit or msm_h < least_h or commit < least:
        return None
    spare = min(limit - need.synthesis, limit - need.msm_h - least_h, limit - need.commit - least)
    stages = {
        "synthesis": need.synthesis, "ntt_h": need.synthesis,
        "msm_h": limit, "commit": limit,
    }  # fmt: skip
    plan = ResidencyPlan(
        resident=resident, chunk=chunk, buffer_bytes=chunk * shape.curve.g1.affine_bytes, rows_apart=rows_apart,
        circuits=shape.circuits + (0 if chunk else max(0, spare) // shape.circuit_bytes),
        # The workspace of one circuit: those of a batch share what the others' vectors leave.
        msm_h_bytes=msm_h + (shape.circuits - 1) * shape.circuit_bytes,
        commit_bytes=commit + (shape.circuits - 1) * shape.circuit_bytes,
        stages=MappingProxyType(stages), circuit_bytes=shape.circuit_bytes,
    )  # fmt: skip
    shortage = ((terms_h, good_h / max(msm_h, 1)), (terms, good / max(commit, 1)))
    return replace(plan, cost=_cost(shape, plan, shortage))


def _cost(shape: KeyShape, plan: ResidencyPlan, shortage: Sequence[tuple[int, float]]) -> float:
    """Nanoseconds that a proof takes beyond one with all memory: copies, cuts into chunks, small workspaces.

    Args:
        shape: Of the key.
        plan: What is streamed, and how.
        shortage: Terms of a multiplication, and how often its workspace would fit a good one.
    """
    total = 0.0
    for name in plan.streamed:
        hidden = _HIDDEN_COPY if name == "h" else 1.0
        total += hidden * shape.query_bytes(name) / _COPY_BYTES_A_NS
        total += _CHUNK_NS * -(-shape.lengths[name] // plan.chunk_length(shape.group(name)))
    for terms, times in shortage:
        total += 0.1 * _TERM_NS * terms * max(0.0, times - 1)
    return total


def _choices(shape: KeyShape) -> Iterator[tuple[frozenset[str], int]]:
    """Every set of resident queries with every length of a chunk."""
    longest = max(shape.query_bytes(name) for name in QUERY_ORDER) // shape.curve.g1.affine_bytes
    yield frozenset(QUERY_ORDER), 0
    for count in range(len(QUERY_ORDER) - 1, -1, -1):
        for names in itertools.combinations(QUERY_ORDER, count):
            for log_chunk in _LOG_CHUNKS:
                yield frozenset(names), 1 << log_chunk
                if 1 << log_chunk >= longest:
                    break


def _best(shape: KeyShape, limits: DeviceLimits) -> ResidencyPlan | None:
    best = None
    for resident, chunk in _choices(shape):
        plan = _plan(shape, limits, resident, chunk)
        if plan is not None and (best is None or plan.cost < best.cost):
            best = plan
            if plan.cost == 0:  # none is cheaper: most keys are done with the first choice
                break
    return best


def _fits(shape: KeyShape, limits: DeviceLimits) -> bool:
    """Whether anything fits: all streamed in the smallest chunks, or all resident, which takes no buffers."""
    least = (frozenset[str](), 1 << _LOG_CHUNKS[0]), (frozenset(QUERY_ORDER), 0)
    return any(_plan(shape, limits, *choice) is not None for choice in least)


def smallest_limit(shape: KeyShape, limits: DeviceLimits) -> int:
    """The least memory_bytes with which a proof of this shape can be made.

    Args:
        shape: Of the key.
        limits: Of the device; its memory_bytes does not matter.
    """
    low, high = 0, 1 << 20
    while not _fits(shape, replace(limits, memory_bytes=high)):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _fits(shape, replace(limits, memory_bytes=middle)) else (middle, high)
    return high


def plan_residency(shape: KeyShape, limits: DeviceLimits, circuits: int = 1) -> ResidencyPlan:
    """Decide what stays on the device.

    Args:
        shape: Of the key.
        limits: Of the device: memory_bytes is what all arrays together may take.
        circuits: Witnesses that are best proved together: as many of them as make a proof cheapest. What is
            streamed passes once for all of them.

    Raises:
        OutOfMemoryError: Not even two small buffers fit beside one proof's vectors.

    Checked by: tests/prover/test_residency.py.
    """
    best = None
    while circuits > 1:
        plan = _best(replace(shape, circuits=circuits), limits)
        if plan is not None and (best is None or plan.cost / plan.circuits < best.cost / best.circuits):
            best = plan
        circuits //= 2
    plan = _best(shape, limits)
    if plan is not None and best is not None and best.cost / best.circuits <= plan.cost:
        return best
    if plan is None:
        raise OutOfMemoryError(
            f"a proof over 2^{shape.log_domain} rows with {shape.num_variables} variables needs at least "
            f"{smallest_limit(shape, limits)} bytes of device memory, whatever is streamed",
            limit=f"{limits.memory_bytes} bytes",
            remedy="allow more memory, free the device, or prove a smaller circuit",
        )
    return plan
