"""The verification equation on BN254, with the compiled pairing of this package."""

from __future__ import annotations

from collections.abc import Sequence

from cuzk.keys import VerifyingKey
from cuzk.proof import Proof

__all__ = ["Bn254Check"]


class Bn254Check:
    def __init__(self, vk: VerifyingKey) -> None:
        self.vk = vk

    def reason_against(self, public: Sequence[int], proof: Proof) -> str:
        raise NotImplementedError
