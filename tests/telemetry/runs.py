"""Runs as events, as the recorder would have written them: a cpu proof, a GPU proof with overlap, a batch of three."""

from __future__ import annotations

import dataclasses

from cuzk.telemetry import Event

S = 1_000_000_000


class Run:
    """Collects events with ids in order of creation."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.events: list[Event] = []

    def add(
        self,
        phase: str,
        start_s: float,
        end_s: float,
        parent: int | None = None,
        *,
        thread: int = 1,
        stream: int | None = None,
        device: str | None = None,
    ) -> int:
        """Add one phase; returns its id."""
        number = len(self.events)
        self.events.append(
            Event(
                id=number, parent=parent, phase=phase, job="run", partition=None, device=device or self.device,
                stream=stream, thread=thread, start_ns=round(start_s * S), end_ns=round(end_s * S), bytes_up=0,
                bytes_down=0, counts={}, variants={}, build_key="k", tags={}, failed=False,
                sm_mhz=1980 if self.device.startswith("cuda") else None, throttle="none",
            )
        )  # fmt: skip
        return number


def cpu_proof() -> list[Event]:
    """Everything in a row on one thread."""
    run = Run("cpu")
    run.add("key_load", 0, 0.2)
    prove = run.add("prove", 0.2, 1.0)
    synthesis = run.add("synthesis", 0.2, 0.25, prove)
    run.add("witness", 0.2, 0.21, synthesis)
    run.add("spmv", 0.21, 0.25, synthesis)
    together = run.add("ntt_msm_h", 0.25, 0.6, prove)
    run.add("ntt_h", 0.25, 0.35, together)
    run.add("msm_h", 0.35, 0.6, together)
    run.add("prep_msm", 0.6, 0.61, prove)
    run.add("batch_add", 0.61, 0.64, prove)
    tail = run.add("tail_msm", 0.64, 0.8, prove)
    run.add("query_l", 0.64, 0.7, tail)
    run.add("b_g2_msm", 0.8, 0.95, prove)
    run.add("proof_assembly", 0.95, 0.97, prove)
    run.add("self_check", 0.97, 1.0, prove)
    return run.events


def gpu_proof(b_g2_s: float = 22.8) -> list[Event]:
    """B in G2 on the host beside the GPU, which takes 27.3 s for the rest; copies run on a stream of their own."""
    run = Run("cuda:0")
    prove = run.add("prove", 0, 31.0)
    synthesis = run.add("synthesis", 0, 1.2, prove)
    run.add("witness", 0, 0.4, synthesis)
    run.add("spmv", 0.4, 1.2, synthesis)
    run.add("prep_msm", 1.2, 2.9, prove, device="cpu")
    run.add("b_g2_msm", 2.9, 2.9 + b_g2_s, prove, thread=2, device="cpu")
    together = run.add("ntt_msm_h", 2.9, 24.3, prove)
    run.add("ntt_h", 2.9, 9.0, together)
    run.add("msm_h", 9.0, 24.3, together)
    run.add("transfer", 1.3, 7.5, prove, stream=1)
    run.add("transfer", 9.0, 13.0, prove, stream=1)
    run.add("batch_add", 24.3, 25.2, prove)
    run.add("tail_msm", 25.2, 28.5, prove)
    end = max(28.5, 2.9 + b_g2_s)
    if end > 28.5:
        run.add("wait_prep", 28.5, end, prove)
    run.add("proof_assembly", end, end + 0.1, prove)
    run.add("self_check", end + 0.1, end + 0.2, prove)
    run.events[prove] = dataclasses.replace(run.events[prove], end_ns=round((end + 0.2) * S))
    return run.events


def batch_of_three() -> list[Event]:
    """Three circuits in one call: each phase over all of them before the next, H one circuit after the other."""
    run = Run("cuda:0")
    prove = run.add("prove", 0, 3.4)
    synthesis = run.add("synthesis", 0, 0.45, prove)
    for i in range(3):
        run.add("witness", 0.15 * i, 0.15 * i + 0.05, synthesis)
        run.add("spmv", 0.15 * i + 0.05, 0.15 * i + 0.15, synthesis)
    together = run.add("ntt_msm_h", 0.45, 1.95, prove)
    for i in range(3):
        run.add("ntt_h", 0.45 + 0.5 * i, 0.6 + 0.5 * i, together)
        run.add("msm_h", 0.6 + 0.5 * i, 0.95 + 0.5 * i, together)
    run.add("prep_msm", 1.95, 2.0, prove)
    for i in range(3):
        run.add("b_g2_msm", 2.0, 2.4 + 0.2 * i, prove, thread=10 + i, device="cpu")
    run.add("batch_add", 2.0, 2.1, prove)
    run.add("tail_msm", 2.1, 3.1, prove)
    run.add("proof_assembly", 3.1, 3.2, prove)
    run.add("self_check", 3.2, 3.4, prove)
    return run.events
