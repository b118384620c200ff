"""The plan of memory: what it adds up to, how it moves with the limit, and what it says when nothing fits.

Would catch: a stage left out of the sum, a plan that wants more than the limit, one that streams although all fits,
one that gets worse with more memory, a smallest need that is not enough or not the smallest.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuzk.curves import get_curve
from cuzk.device import Device, get_device
from cuzk.device.base import DeviceLimits
from cuzk.errors import OutOfMemoryError
from cuzk.groth16.key_stream import KeyStream, borders
from cuzk.groth16.residency import (
    NUM_BUFFERS,
    QUERY_ORDER,
    KeyShape,
    plan_residency,
    smallest_limit,
)
from cuzk.groth16.resident import ResidentKey
from tests.prover.support import key, workload

CPU = DeviceLimits(num_sms=4, max_threads=1, warp=1, shared_bytes=1 << 20, memory_bytes=0, gpu_like=False)
GPU = DeviceLimits(
    num_sms=132, max_threads=1024, warp=32, shared_bytes=48 << 10, memory_bytes=0, gpu_like=True
)
GIB = 1 << 30


def shape_of(curve: str, log_domain: int, share: float, entries: int) -> KeyShape:
    """A key with so many variables for each row, and so many matrix entries."""
    rows = 1 << log_domain
    variables = max(2, int(share * rows))
    lengths = {"h": rows, "l": variables - 1, "a": variables, "b_g1": variables, "b_g2": variables}
    return KeyShape(get_curve(curve), log_domain, variables, MappingProxyType(lengths), entries * rows)


def porep(log_domain: int) -> KeyShape:
    """A key of PoRep shape: 0.97 variables and 5.6 matrix entries a row, of 5 bytes, and the rows' offsets."""
    return shape_of("bls12_381", log_domain, 0.97, 5 * 6 + 24)


shapes = st.builds(
    shape_of,
    st.sampled_from(["bls12_381", "bn254", "toy"]),
    st.integers(1, 28),
    st.floats(0.1, 2.0),
    st.integers(0, 200),
)
kinds = st.sampled_from([CPU, GPU])


@settings(max_examples=30, deadline=None)
@given(shapes, kinds, st.floats(1.0, 20.0))
def test_stages_fit_the_limit(shape: KeyShape, kind: DeviceLimits, factor: float) -> None:
    """What a plan says is resident, buffered and at work together stays below the limit, counted here again."""
    limits = replace(kind, memory_bytes=int(smallest_limit(shape, kind) * factor))
    plan = plan_residency(shape, limits)
    assert max(plan.stages.values()) <= limits.memory_bytes
    affine = {name: shape.group(name).affine_bytes for name in QUERY_ORDER}
    key_bytes = sum(shape.lengths[name] * affine[name] for name in plan.resident)
    fixed = key_bytes + shape.matrix_bytes + NUM_BUFFERS * plan.buffer_bytes
    w, v = shape.num_variables * shape.curve.fr.nbytes, shape.curve.fr.nbytes << shape.log_domain
    assert fixed + plan.circuits * (w + 3 * v) <= limits.memory_bytes
    kept = v if plan.rows_apart else 3 * v
    assert fixed + w + kept + plan.msm_h_bytes <= limits.memory_bytes
    lists = 4 * sum(shape.lengths[name] for name in QUERY_ORDER[1:])
    assert fixed + w + lists + plan.commit_bytes <= limits.memory_bytes
    assert (plan.chunk == 0) == (plan.streamed == ())
    assert set(plan.streamed) | plan.resident == set(QUERY_ORDER)
    for name in plan.streamed:
        length = plan.chunk_length(shape.group(name))
        assert length >= 1
        assert length * affine[name] <= plan.buffer_bytes


@settings(max_examples=20, deadline=None)
@given(shapes, kinds)
def test_the_smallest_limit_is_the_smallest(shape: KeyShape, kind: DeviceLimits) -> None:
    least = smallest_limit(shape, kind)
    assert max(plan_residency(shape, replace(kind, memory_bytes=least)).stages.values()) <= least
    with pytest.raises(OutOfMemoryError, match=f"at least {least} bytes") as error:
        plan_residency(shape, replace(kind, memory_bytes=least - 1))
    assert error.value.limit == f"{least - 1} bytes"


@settings(max_examples=20, deadline=None)
@given(shapes, kinds, st.floats(1.0, 10.0), st.floats(1.0, 3.0))
def test_more_memory_is_never_worse(shape: KeyShape, kind: DeviceLimits, factor: float, more: float) -> None:
    """Neither more is copied for every proof, nor is the cost estimate higher."""
    least = smallest_limit(shape, kind)
    small = plan_residency(shape, replace(kind, memory_bytes=int(least * factor)))
    large = plan_residency(shape, replace(kind, memory_bytes=int(least * factor * more)))
    assert large.cost <= small.cost
    assert large.circuits >= small.circuits or large.resident > small.resident
    everything = plan_residency(shape, replace(kind, memory_bytes=1 << 50))
    assert everything.streamed == ()
    assert everything.cost == 0


@pytest.mark.parametrize(
    ("log_domain", "limit", "streamed"),
    [
        (24, 4, QUERY_ORDER),  # none of its queries fits beside the vectors
        (24, 139, ()),
        (26, 14, QUERY_ORDER),
        (26, 139, ()),
        (27, 139, ()),
    ],
)
def test_plans_of_known_sizes(log_domain: int, limit: int, streamed: tuple[str, ...]) -> None:
    """PoRep-shaped keys on cards of 4, 14 and 139 GiB: what is streamed, and in chunks of at least 2^21 bases."""
    plan = plan_residency(porep(log_domain), replace(GPU, memory_bytes=limit * GIB))
    assert plan.streamed == tuple(streamed)
    if streamed:
        assert plan.chunk >= 1 << 21
        assert plan.rows_apart
        assert plan.circuits == 1
    else:
        assert not plan.rows_apart


def test_the_shape_of_a_key() -> None:
    """Counts and bytes are those of the key's arrays."""
    made = key(workload("bits", "bn254", 60))
    shape = KeyShape.of(made, CPU)
    assert shape.num_variables == made.num_variables
    assert {name: shape.query_bytes(name) for name in QUERY_ORDER} == {
        name: getattr(made, f"{name}_query").nbytes for name in QUERY_ORDER
    }
    parts = [
        getattr(matrix, part).nbytes
        for matrix in made.matrices.values()
        for part in ("row_ptr", "col", "coeff", "dictionary")
    ]
    assert sum(parts) <= shape.matrix_bytes <= sum(parts) + 12  # and an empty list of long rows each


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 300))
def test_borders_cut_without_gaps(length: int, chunk: int) -> None:
    """Chunks follow one another, none is longer than asked, and only the last is shorter."""
    cut = borders(length, chunk)
    assert [first for first, _ in cut] == [0] + [last for _, last in cut[:-1]]
    assert cut[-1][1] == length
    assert all(last - first == chunk for first, last in cut[:-1])
    assert length == 0 or 0 < cut[-1][1] - cut[-1][0] <= chunk


def test_b_has_one_mask_in_both_groups() -> None:
    """Its bases in G1 and G2 are infinity at the same variables: what says so is uploaded once."""
    cpu = get_device("cpu")
    whole = ResidentKey.upload(cpu, key(workload("bits", "toy", 60), "odd_lagrange")).queries
    assert whole["b_g1"].skip is whole["b_g2"].skip is not None
    assert whole["a"].skip is not whole["b_g1"].skip


def test_page_locks_take_a_share_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a streamed key: a third of the host's memory at most, and nothing while infinite bases are looked for."""
    asked: list[int] = []

    class Spy(KeyStream):
        def __init__(self, device: Device, queries: Any, buffer_bytes: int, lock_bytes: int) -> None:
            asked.append(lock_bytes)
            super().__init__(device, queries, buffer_bytes, lock_bytes)

    monkeypatch.setattr("cuzk.groth16.resident.KeyStream", Spy)
    monkeypatch.setattr("cuzk.groth16.resident._host_bytes", lambda: 1000)
    made = key(workload("random", "toy", 900), "odd_lagrange")
    least = smallest_limit(KeyShape.of(made, CPU), get_device("cpu").limits)
    ResidentKey.upload(get_device("cpu", memory_limit=-(-least // 512) * 512), made)
    assert set(asked) == {0, 333}
