"""The multi-scalar multiplications: phases ``prep_msm``, ``msm_h``, ``batch_add``, ``tail_msm``, ``b_g2_msm``.

Witness scalars are mostly 0 and 1 in circuits made of bits. With M2 = split they are classified on the device;
bases of scalar one are summed up, the rest goes through the MSM by index list, so no base is copied.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cuzk.device.base import Array
from cuzk.groth16.commitments import Commitments
from cuzk.groth16.resident import Query, ResidentKey
from cuzk.limbs import U64Array
from cuzk.ops.batch_add import batch_add
from cuzk.ops.classify import Classified, classify
from cuzk.ops.msm import msm
from cuzk.ops.points import add
from cuzk.telemetry import Recorder

__all__ = ["Commitments", "commit_h", "commit_witness"]


def _window_bits(variants: Mapping[str, str]) -> int | None:
    return None if variants["D4"] == "auto" else int(variants["D4"])


def commit_h(resident: ResidentKey, h: Array, variants: Mapping[str, str], recorder: Recorder) -> U64Array:
    """The sum of h[i] * h_query[i].

    Args:
        resident: The key.
        h: What quotient() returned.
        variants: Every variant's value; D4 acts here.
        recorder: Where the phase is booked.

    Returns:
        Shape affine_shape of G1 uint64, on the host. Form: affine, Montgomery.

    Checked by: tests/prover/test_phases.py.
    """
    query = resident.queries["h"]
    with recorder.phase("msm_h", D4=variants["D4"]):
        return msm(resident.device, query.group, query.bases, h, window_bits=_window_bits(variants))


def commit_witness(
    resident: ResidentKey, w: Array, variants: Mapping[str, str], recorder: Recorder
) -> Commitments:
    """The sums over the A, B (G1 and G2) and L queries.

    Args:
        resident: The key.
        w: Shape (num_variables, limbs) uint64, on the device. Form: Montgomery.
        variants: Every variant's value; D4 and M2 act here.
        recorder: Where the phases are booked.

    Checked by: tests/prover/test_phases.py.
    """
    queries = [resident.queries[name] for name in ("l", "a", "b_g1", "b_g2")]
    with recorder.phase("prep_msm", M2=variants["M2"]):
        classes = _classes(resident, queries, w) if variants["M2"] == "split" else {}
    ones: dict[str, U64Array] = {}
    with recorder.phase("batch_add", M2=variants["M2"]):
        for query in queries:
            if query.name in classes and classes[query.name].num_ones:
                with recorder.phase(f"query_{query.name}"):
                    ones[query.name] = batch_add(
                        resident.device, query.group, query.bases, classes[query.name].ones
                    )
    result = Commitments()
    with recorder.phase("tail_msm", D4=variants["D4"], M2=variants["M2"]):
        for query in queries[:3]:
            with recorder.phase(f"query_{query.name}"):
                result.points[query.name] = _rest(resident, query, w, classes, ones, variants)
    with recorder.phase("b_g2_msm", D4=variants["D4"], M2=variants["M2"]):
        query = queries[3]
        result.points[query.name] = _rest(resident, query, w, classes, ones, variants)
    return result


def _classes(resident: ResidentKey, queries: list[Query], w: Array) -> dict[str, Classified]:
    """Classify the scalars of each query; queries that skip the same bases share one classification."""
    by_skip: dict[tuple[int, int], Classified] = {}
    for query in queries:
        key = (query.first, id(query.skip))
        if key not in by_skip:
            by_skip[key] = classify(resident.device, resident.curve, w[query.first :], skip=query.skip)
    return {query.name: by_skip[query.first, id(query.skip)] for query in queries}


def _rest(
    resident: ResidentKey,
    query: Query,
    w: Array,
    classes: Mapping[str, Classified],
    ones: Mapping[str, U64Array],
    variants: Mapping[str, str],
) -> U64Array:
    """The MSM of what batch_add did not take, plus what it did."""
    device = resident.device
    indices = classes[query.name].others if query.name in classes else None
    total = msm(
        device,
        query.group,
        query.bases,
        w[query.first :],
        indices=indices,
        window_bits=_window_bits(variants),
    )
    if query.name not in ones:
        return total
    host = device.host
    pair = [host.upload(np.ascontiguousarray(point[None])) for point in (total, ones[query.name])]
    return np.asarray(host.download(add(host, query.group, pair[0], pair[1]))[0])
