"""One-call proving: load the key on a device, prove, let it go.  For many proofs of one key keep a ``Prover``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cuzk.device import Device, get_device
from cuzk.groth16 import Blinding, Prover
from cuzk.groth16.job import Assignment
from cuzk.keys import ProvingKey
from cuzk.pieces import CompiledCircuit
from cuzk.proof import Proof
from cuzk.relation import R1CS

__all__ = ["prove", "prove_batch"]


def prove(
    key: ProvingKey,
    witness: Assignment,
    *,
    device: Device | str = "auto",
    variants: Mapping[str, str] | None = None,
    circuit: R1CS | CompiledCircuit | None = None,
    blinding: Blinding | None = None,
    self_check: bool = True,
) -> Proof:
    """Prove one witness; prove_batch of one, with its arguments and errors."""
    blindings = None if blinding is None else [blinding]
    return prove_batch(
        key,
        [witness],
        device=device,
        variants=variants,
        circuit=circuit,
        blindings=blindings,
        self_check=self_check,
    )[0]


def prove_batch(
    key: ProvingKey,
    witnesses: Sequence[Assignment],
    *,
    device: Device | str = "auto",
    variants: Mapping[str, str] | None = None,
    circuit: R1CS | CompiledCircuit | None = None,
    blindings: Sequence[Blinding] | None = None,
    self_check: bool = True,
) -> list[Proof]:
    """Prove several witnesses of one circuit.

    Args:
        key: The proving key.
        witnesses: One per proof; hints instead where the circuit is a compiled one.
        device: A device, or its name: "auto", "cpu", "emu", "cuda", "cuda:N".
        variants: Variant id -> value; the rest stay at their defaults.
        circuit: The circuit, where at hand: an unsatisfied witness is then reported with its row. A compiled one
            makes witnesses of hints.
        blindings: One per proof; drawn from the operating system where None.
        self_check: Verify each proof before it is returned.

    Raises:
        As Prover and Prover.prove_batch.
    """
    where = get_device(device) if isinstance(device, str) else device
    prover = Prover(key, where, variants=variants, circuit=circuit)
    return prover.prove_batch(witnesses, blindings=blindings, self_check=self_check)
