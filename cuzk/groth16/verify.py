"""Verification: e(A, B) = e(alpha, beta) * e(sum x_i ic_i, gamma) * e(C, delta).

A statement that is false, or a proof whose points are off the curve, outside the subgroup or at infinity, gives
the answer "no" with its reason; only public inputs or keys that are not well-formed raise.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from cuzk.curves import Curve
from cuzk.errors import CurveMismatchError, InputError, InternalError, RangeError, ShapeError
from cuzk.groth16.pairing_bls12_381 import Bls12381Check
from cuzk.groth16.pairing_bn254 import Bn254Check
from cuzk.keys import VerifyingKey
from cuzk.proof import Proof

__all__ = ["PreparedStatement", "PreparedVerifyingKey", "Verdict", "verify", "verify_batch"]

#: Bits of the random weights of a batch: the chance that a wrong batch passes is at most 2^-128.
_WEIGHT_BITS = 128


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

    def inputs(self, public: Sequence[int]) -> Any:
        """The sum over ic that the public inputs choose, in the pairing's own form.  Each 0 <= x < r."""

    def reason_against(self, inputs: Any, proof: Proof) -> str:
        """Why a proof does not hold, or the empty string if it does."""

    def reason_against_batch(
        self, statements: Sequence[Sequence[int]], proofs: Sequence[Proof], weights: Sequence[int]
    ) -> str:
        """As reason_against, for the sum of the equations times the weights, each 0 < weight < r."""


_CHECKS: dict[str, Callable[[VerifyingKey], _PairingCheck]] = {
    "bls12_381": Bls12381Check,
    "bn254": Bn254Check,
}


@dataclass(frozen=True, eq=False)
class PreparedStatement:
    """Public inputs, as a prepared key takes them.

    Args:
        prepared: The key that made it.
        inputs: Their sum over ic.
    """

    prepared: PreparedVerifyingKey
    inputs: Any


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
                f"there is no pairing on {vk.curve.name}", limit=f"possible: {', '.join(_CHECKS)}",
                remedy="use a key over one of these curves",
            )  # fmt: skip
        vk.check_degenerate()
        self.vk = vk
        self._check = _CHECKS[vk.curve.name](vk)

    @staticmethod
    def supports(curve: Curve) -> bool:
        """Whether proofs on this curve can be verified (the toy curve has no pairing)."""
        return curve.name in _CHECKS

    def statement(self, public: Sequence[int]) -> PreparedStatement:
        """The part of a verification that needs no proof: with many public inputs, most of it.

        Args:
            public: The public inputs, ONE not included, each 0 <= x < r.

        Raises:
            ShapeError, RangeError: As verify().

        Cost: num_public scalar multiplications in G1.
        """
        return PreparedStatement(self, self._check.inputs(self._checked_public(public)))

    def verify(self, public: Sequence[int] | PreparedStatement, proof: Proof) -> Verdict:
        """Check one proof.

        Args:
            public: The public inputs, ONE not included, each 0 <= x < r; or what statement() made of them.
            proof: The proof.

        Raises:
            CurveMismatchError: A proof on another curve.
            ShapeError: Another number of public inputs than the key has.
            RangeError: A public input is negative or >= r (x and x + r would be two names of one statement).

        Cost: three pairings with one final exponentiation; num_public scalar multiplications in G1.
        Checked by: tests/prover/test_verify.py.
        """
        self._check_curve(proof)
        statement = public if isinstance(public, PreparedStatement) else self.statement(public)
        if statement.prepared is not self:
            raise InternalError("a statement was prepared with another key")
        reason = self._check.reason_against(statement.inputs, proof)
        return Verdict(not reason, reason)

    def verify_batch(self, statements: Sequence[Sequence[int]], proofs: Sequence[Proof]) -> Verdict:
        """Check several proofs at once: whether all of them hold.

        The equations are added up with random weights, drawn anew for each call from the operating system after
        every input is there, so that errors of two proofs cannot be chosen to cancel.

        Args:
            statements: The public inputs of each proof.
            proofs: At least one.

        Returns:
            For a false batch the reason, but where all points are valid not which proof is wrong: verify() says.

        Raises:
            ShapeError: No proofs, or not one statement per proof.
            As verify() otherwise.

        Cost: one pairing a proof and three more, one final exponentiation; two multiplications in G1 a proof.
        Source: Bellare, Garay, Rabin 1998, doi:10.1007/BFb0054130, the small exponents test.
        Checked by: tests/regressions/test_VER_verifier.py.
        """
        if not proofs or len(statements) != len(proofs):
            raise ShapeError(
                f"{len(proofs)} proofs with {len(statements)} statements", limit="one each, at least one",
                remedy="give the public inputs of each proof",
            )  # fmt: skip
        checked = [self._checked(public, proof) for public, proof in zip(statements, proofs, strict=True)]
        top = min(self.vk.curve.r - 1, 1 << _WEIGHT_BITS)
        weights = [1 + secrets.randbelow(top) for _ in proofs]
        reason = self._check.reason_against_batch(checked, proofs, weights)
        return Verdict(not reason, reason)

    def _checked(self, public: Sequence[Any], proof: Proof) -> list[int]:
        """The public inputs as ints, after the checks that verify() promises."""
        self._check_curve(proof)
        return self._checked_public(public)

    def _check_curve(self, proof: Proof) -> None:
        if proof.curve is not self.vk.curve:
            raise CurveMismatchError(
                f"the proof is on {proof.curve.name}, the key on {self.vk.curve.name}",
                remedy="verify with the key of the circuit that was proved",
            )

    def _checked_public(self, public: Sequence[Any]) -> list[int]:
        if len(public) != self.vk.num_public:
            raise ShapeError(
                f"{len(public)} public inputs", limit=f"the key has {self.vk.num_public}",
                remedy="give the public.json that belongs to this proof",
            )  # fmt: skip
        for i, value in enumerate(public):
            # True is 1 to Python, and no way to write a statement.
            is_number = isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))
            if not is_number or not 0 <= value < self.vk.curve.r:
                raise RangeError(
                    f"public input {i} is {value!r}",
                    where=f"public[{i}]",
                    limit=f"an integer with 0 <= x < r = {self.vk.curve.r}",
                    remedy="give it reduced mod r, as an int",
                )
        return [int(value) for value in public]


def verify(vk: VerifyingKey, public: Sequence[int], proof: Proof) -> bool:
    """Whether a proof holds.  For many proofs of one key, prepare it once: PreparedVerifyingKey.

    Raises:
        As PreparedVerifyingKey and its verify().
    """
    return bool(PreparedVerifyingKey(vk).verify(public, proof))


def verify_batch(vk: VerifyingKey, statements: Sequence[Sequence[int]], proofs: Sequence[Proof]) -> bool:
    """Whether all proofs hold.  One call costs less than as many calls of verify().

    Raises:
        As PreparedVerifyingKey and its verify_batch().
    """
    return bool(PreparedVerifyingKey(vk).verify_batch(statements, proofs))
