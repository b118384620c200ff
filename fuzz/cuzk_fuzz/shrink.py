"""Minimising a finding: greedily, as long as a simpler case still shows a disagreement."""

from __future__ import annotations

import time
from collections.abc import Iterator

from cuzk.device import Device
from cuzk.errors import CuzkError
from cuzk_fuzz.batch import Batch, without_chunks
from cuzk_fuzz.findings import Finding, again, check, run_case


def _size(batch: Batch) -> tuple[int, ...]:
    return batch.num_cases, *batch.size


def _candidates(batch: Batch) -> Iterator[Batch]:
    """Fewer cases first, then a simpler one."""
    if batch.num_cases > 1:
        for kept in without_chunks(batch.num_cases):
            yield batch.keep(kept)
    yield from batch.smaller()


def minimise(finding: Finding, *, seconds: float = 60.0, device: Device | None = None) -> Finding:
    """The simplest case found within the time that still fails the same way.

    Args:
        finding: The start.
        seconds: When to stop.
        device: Where to run, instead of the finding's own device.

    Raises:
        ValueError: The finding does not show a disagreement (any more).
    """
    deadline = time.monotonic() + seconds
    device = device or finding.device.open()
    outcome = check(finding, device)
    if outcome.agrees:
        raise ValueError("device and oracle agree on this case: nothing to minimise")
    best = again(finding, finding.batch, outcome)
    is_error = outcome.error is not None
    improved = True
    while improved and time.monotonic() < deadline:
        improved = False
        for batch in _candidates(best.batch):
            if time.monotonic() >= deadline:
                break
            if _size(batch) >= _size(best.batch):
                continue
            try:
                outcome = run_case(batch, device)
            except (CuzkError, ValueError, ArithmeticError, LookupError):
                continue  # the simpler case is not a case at all
            if not outcome.agrees and (outcome.error is not None) == is_error:
                best, improved = again(finding, batch, outcome), True
                break
    return best
