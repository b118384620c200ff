"""Whose fault a proof that does not verify is (docs/architecture.md, "Self-check")."""

from __future__ import annotations

from cuzk.errors import DeviceError, InputError, ShapeError, UnsatisfiedError
from cuzk.keys import ProvingKey
from cuzk.proof import Proof

__all__ = ["diagnose"]


def diagnose(
    key: ProvingKey, device: str, proof: Proof, again: Proof, reason: str, *, rows_hold: bool
) -> Exception:
    """What to raise for a proof that does not verify.

    Args:
        key: The key.
        device: Name of the device that made the proof.
        proof: What it made.
        again: The same proof from the cpu.
        reason: Why it does not verify.
        rows_hold: Whether every row was checked, with matrix C.
    """
    if again != proof:
        return DeviceError(
            f"{device} computed a wrong proof: the cpu's differs",
            remedy="prove again; if it happens again, run cuzk doctor and do not trust this device",
        )
    if not rows_hold:
        return UnsatisfiedError(
            f"the proof does not verify ({reason}), and the cpu computes the same one: the witness does not "
            "satisfy the circuit, or the key is not this circuit's",
            remedy="compute the witness again; name the circuit (--circuit C.r1cs) to learn which row fails",
        )
    # Every row holds (checked before), so the statement is true and the key cannot prove it.
    try:
        key.check_degenerate()
        key.check_binding_rows()
    except InputError as error:
        return error
    return ShapeError(
        f"the witness satisfies the circuit, but the proof does not verify ({reason}): the key is damaged or "
        "was made for another circuit",
        remedy="run cuzk key check, or make the key again; of a .params that came from a .zkey, say so with "
        "cuzk key convert --file-roots snarkjs",
    )
