"""Verification: e(A, B) = e(alpha, beta) * e(sum x_i ic_i, gamma) * e(C, delta).

A statement that is false, or a proof whose points are off the curve, outside the subgroup or at infinity, gives
the answer "no" with its reason; only public inputs or keys that are not well-formed raise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from cuzk.curves import Curve
from cuzk.errors import CurveMismatchError, InputError, RangeError, ShapeError
from cuzk.groth16.pairing_bls12_381 import Bls12381Check
from cuzk.groth16.pairing_bn254 import Bn254Check
from cuzk.keys import VerifyingKey
from cuzk.proof import Proof

__all__ = ["PreparedVerifyingKey", "Verdict", "verify"]


@dataclass(frozen=True)
class Verdict:
    """The answer of a verification; true or false in a condition.

    Args:
        valid: Whether the proof holds.
        reason: Empty for a valid proof, else why not.
    """

    valid: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.valid


class _PairingCheck(Protocol):
    """The pairing side of one prepared key."""

    def reason_against(self, public: Sequence[int], proof: Proof) -> str:
        """Why a proof does not hold, or the empty string if it does.  public: each 0 <= x < r."""


_CHECKS: dict[str, Callable[[VerifyingKey], _PairingCheck]] = {"bls12_381": Bls12381Check, "bn254": Bn254Check}


class PreparedVerifyingKey:
    """A verifying key with e(alpha, beta) computed and its points parsed once.

    Args:
        vk: The key.

    Raises:
        RangeError: A degenerate key (infinity in alpha, beta, gamma, delta or ic[0]).
        InputError: A point of the key is off the curve or outside the subgroup; a curve without a pairing.
    """

    def __init__(self, vk: VerifyingKey) -> None:
        if not self.supports(vk.curve):
            raise InputError(
                f"there is no pairing on {vk.curve.name}", limit=f"possible: {', '.join(_CHECKS)}"
            )
        vk.check_degenerate()
        self.vk = vk
        self._check = _CHECKS[vk.curve.name](vk)

    @staticmethod
    def supports(curve: Curve) -> bool:
        """Whether proofs on this curve can be verified (the toy curve has no pairing)."""
        return curve.name in _CHECKS

    def verify(self, public: Sequence[int], proof: Proof) -> Verdict:
        """Check one proof.

        Args:
            public: The public inputs, ONE not included, each 0 <= x < r.
            proof: The proof.

        Raises:
            CurveMismatchError: A proof on another curve.
            ShapeError: Another number of public inputs than the key has.
            RangeError: A public input is negative or >= r (x and x + r would be two names of one statement).

        Cost: three pairings with one final exponentiation; num_public scalar multiplications in G1.
        Checked by: tests/prover/test_verify.py.
        """
        if proof.curve is not self.vk.curve:
            raise CurveMismatchError(f"the proof is on {proof.curve.name}, the key on {self.vk.curve.name}")
        if len(public) != self.vk.num_public:
            raise ShapeError(
                f"{len(public)} public inputs", limit=f"the key has {self.vk.num_public}",
                remedy="give the public.json that belongs to this proof",
            )  # fmt: skip
        for i, value in enumerate(public):
            if not 0 <= value < self.vk.curve.r:
                raise RangeError(
                    f"public input {i} is {value}",
                    where=f"public[{i}]",
                    limit=f"0 <= x < r = {self.vk.curve.r}",
                )
        reason = self._check.reason_against(public, proof)
        return Verdict(not reason, reason)


def verify(vk: VerifyingKey, public: Sequence[int], proof: Proof) -> bool:
    """Whether a proof holds.  For many proofs of one key, prepare it once: PreparedVerifyingKey.

    Raises:
        As PreparedVerifyingKey and its verify().
    """
    return bool(PreparedVerifyingKey(vk).verify(public, proof))
