"""The closed set of phase names, and where each may stand in the event tree.

A name outside this table is a fault of ours: readers of event files, the performance ledger and the timing
lines all key on it.  Adding a phase means adding a row here, nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from cuzk.errors import InternalError

__all__ = ["PHASES", "UNATTRIBUTED", "PhaseSpec", "phase_spec"]

#: The row that reports show for time of a parent that none of its children explains.  Never recorded.
UNATTRIBUTED = "unattributed"


@dataclass(frozen=True, slots=True)
class PhaseSpec:
    """One row of the phase table.

    Args:
        name: The phase's name, as it appears in every output.
        parents: Names under which it may stand; `*` means any.  Every phase may also stand at the root, since
            each is a function that can be measured alone.
        summary: What the phase does, for reports and `--help` texts.
        on_device: Its work runs in kernels, so it counts towards `gpu_total`.
        is_wait: It is time spent waiting, never booked as work.
    """

    name: str
    parents: tuple[str, ...]
    summary: str
    on_device: bool = False
    is_wait: bool = False

    @property
    def has_line(self) -> bool:
        """Whether it gets a timing line of its own; parts of a phase do not."""
        return self.is_wait or not self.parents or "prove" in self.parents or self.name == "kernel_build"


_IN_ANY_CALL = ("prove", "setup", "verify")
_IN_PROVE = ("prove",)
_IN_SETUP = ("setup",)
_QUERY_PARENTS = ("msm_h", "batch_add", "tail_msm", "b_g2_msm")
_QUERIES = ("query_l", "query_a", "query_b_g1", "query_b_g2")
_ANYWHERE = ("*",)

_ROWS = (
    PhaseSpec("prove", (), "one call of prove or prove_batch"),
    PhaseSpec("setup", (), "generation of a key pair"),
    PhaseSpec("verify", (), "verification of one proof"),
    PhaseSpec("circuit_load", _IN_ANY_CALL, "read and check a circuit"),
    PhaseSpec("tau_columns", _IN_SETUP, "columns of A, B, C at tau", on_device=True),
    PhaseSpec("powers_load", _IN_SETUP, "read powers of tau"),
    PhaseSpec("powers_check", _IN_SETUP, "check every point of the powers of tau"),
    PhaseSpec("powers_lagrange", _IN_SETUP, "powers of tau to Lagrange points"),
    PhaseSpec("points_single", _IN_SETUP, "alpha, beta, gamma, delta and ic", on_device=True),
    PhaseSpec("points_a", _IN_SETUP, "points of the A query", on_device=True),
    PhaseSpec("points_b_g1", _IN_SETUP, "points of the B query in G1", on_device=True),
    PhaseSpec("points_b_g2", _IN_SETUP, "points of the B query in G2", on_device=True),
    PhaseSpec("points_l", _IN_SETUP, "points of the L query", on_device=True),
    PhaseSpec("points_h", _IN_SETUP, "points of the H query", on_device=True),
    PhaseSpec("key_write", _IN_SETUP, "write a key and force it to disk"),
    PhaseSpec("witness_load", _IN_ANY_CALL, "read and check a witness file"),
    PhaseSpec("key_load", _IN_ANY_CALL, "read, check and upload a key"),
    PhaseSpec("kernel_build", _ANYWHERE, "compile or load kernels"),
    PhaseSpec("synthesis", _IN_PROVE, "witness to the vectors a, b, c"),
    PhaseSpec("witness", ("synthesis",), "values of all variables"),
    PhaseSpec("spmv", ("synthesis", "setup"), "sparse products A w, B w, C w", on_device=True),
    PhaseSpec("closures", ("synthesis",), "linear combinations rebuilt and evaluated on the host"),
    PhaseSpec("row_check", ("synthesis",), "find a row that does not hold", on_device=True),
    PhaseSpec("rows_down", ("synthesis",), "a, b, c to the host's memory"),
    PhaseSpec("pin_abc", _IN_PROVE, "page-lock a, b, c"),
    PhaseSpec("prep_msm", _IN_PROVE, "classify scalars, count, compact", on_device=True),
    PhaseSpec("ntt_msm_h", _IN_PROVE, "the quotient and its multi-scalar multiplication"),
    PhaseSpec("ntt_h", ("ntt_msm_h",), "a, b, c to h", on_device=True),
    PhaseSpec("msm_h", ("ntt_msm_h",), "multi-scalar multiplication over the H query", on_device=True),
    PhaseSpec("batch_add", _IN_PROVE, "sum of the bases whose scalar is one", on_device=True),
    PhaseSpec("tail_msm", _IN_PROVE, "L, A and B in G1 over the remaining scalars", on_device=True),
    PhaseSpec("b_g2_msm", _IN_PROVE, "B in G2 over the remaining scalars", on_device=True),
    PhaseSpec("msm_init", (*_QUERY_PARENTS, *_QUERIES), "tables and buffers of an MSM", on_device=True),
    PhaseSpec("query_l", _QUERY_PARENTS, "the part over the L query", on_device=True),
    PhaseSpec("query_a", _QUERY_PARENTS, "the part over the A query", on_device=True),
    PhaseSpec("query_b_g1", _QUERY_PARENTS, "the part over the B query in G1", on_device=True),
    PhaseSpec("query_b_g2", _QUERY_PARENTS, "the part over the B query in G2", on_device=True),
    PhaseSpec("proof_assembly", _IN_PROVE, "blinding and the three proof elements"),
    PhaseSpec("unpin", _IN_PROVE, "give page-locked memory back"),
    PhaseSpec("dealloc", _IN_PROVE, "free large buffers"),
    PhaseSpec("self_check", _IN_PROVE, "verify the proof before it is returned"),
    PhaseSpec("transfer", _ANYWHERE, "a copy to the device beside the kernels"),
    PhaseSpec("wait_device", _ANYWHERE, "wait for the device's lock", is_wait=True),
    PhaseSpec("wait_prep", _ANYWHERE, "wait for prep_msm on another thread", is_wait=True),
    PhaseSpec("wait_b_g2", _ANYWHERE, "wait for b_g2_msm on other threads", is_wait=True),
    PhaseSpec("wait_check", _ANYWHERE, "wait for the checksums of a key", is_wait=True),
    PhaseSpec("wait_transfer", _ANYWHERE, "wait for a copy", is_wait=True),
    PhaseSpec("wait_queue", _ANYWHERE, "wait for a turn in a queue", is_wait=True),
)

#: Every phase by name.
PHASES: Mapping[str, PhaseSpec] = MappingProxyType({row.name: row for row in _ROWS})


def phase_spec(name: str, parent: str = "") -> PhaseSpec:
    """Return the row of a phase and check that it may stand under `parent`.

    Args:
        name: Phase name.
        parent: Name of the enclosing phase, empty at the root.

    Returns:
        The row.

    Raises:
        InternalError: The name is not in the table, or the phase does not belong under this parent.
    """
    spec = PHASES.get(name)
    if spec is None:
        known = ", ".join(PHASES)
        raise InternalError(f"phase {name!r} is not in the phase table", limit=f"known phases: {known}")
    if parent and spec.parents != _ANYWHERE and parent not in spec.parents:
        allowed = ", ".join(spec.parents) or "nothing, it is a root"
        raise InternalError(f"phase {name!r} under {parent!r}", limit=f"it belongs under: {allowed}")
    return spec
