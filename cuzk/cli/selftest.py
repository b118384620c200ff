"""A small proof, made and verified: what ``cuzk doctor`` asks of every device."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from cuzk.errors import DeviceError

if TYPE_CHECKING:
    from cuzk.curves import Curve
    from cuzk.device import Device
    from cuzk.relation import R1CS
    from cuzk.witness import Witness

__all__ = ["self_test", "small_circuit"]

_BITS = 4
_REMEDY = "do not prove on it: use another device (--device), and report this with the output of `cuzk doctor --json`"


def small_circuit(curve: Curve, secret: int = 11) -> tuple[R1CS, Witness]:
    """A circuit that says "I know a number of four bits whose fifth power is y", and a witness for it.

    It has scalars of every class (0, 1, other), a public value and a linear row.

    Args:
        curve: Over whose Fr.
        secret: 0 <= secret < 16.
    """
    from cuzk.relation import R1CS
    from cuzk.witness import Witness

    one, y, x, first_bit = 0, 1, 2, 3
    x2, x4 = first_bit + _BITS, first_bit + _BITS + 1
    bits = range(first_bit, first_bit + _BITS)
    rows: list[tuple[dict[int, int], dict[int, int], dict[int, int]]] = [
        ({bit: 1}, {bit: 1, one: -1}, {}) for bit in bits
    ]
    rows += [
        ({bit: 1 << i for i, bit in enumerate(bits)}, {one: 1}, {x: 1}),
        ({x: 1}, {x: 1}, {x2: 1}),
        ({x2: 1}, {x2: 1}, {x4: 1}),
        ({x4: 1}, {x: 1}, {y: 1}),
    ]
    values = [1, secret**5, secret, *((secret >> i) & 1 for i in range(_BITS)), secret**2, secret**4]
    return R1CS.from_rows(curve, len(values), 1, rows), Witness.from_ints(curve, values)


def self_test(device: Device, curve: Curve) -> float:
    """Set up, prove and verify the small circuit; also check that a wrong statement is refused.

    Args:
        device: Where to compute.
        curve: One with a pairing.

    Returns:
        Seconds it took.

    Raises:
        DeviceError: The proof does not hold, or a wrong statement does.
    """
    from cuzk.groth16 import PreparedVerifyingKey, Prover, setup

    start = time.perf_counter()
    circuit, witness = small_circuit(curve)
    key = setup(circuit, device)
    proof = Prover(key, device).prove(witness, self_check=False)
    prepared = PreparedVerifyingKey(key.verifying_key())
    (y,) = witness.public(1)
    verdict = prepared.verify([y], proof)
    if not verdict:
        raise DeviceError(
            f"the self-test's proof on {curve.name} does not hold: {verdict.reason}", remedy=_REMEDY
        )
    if prepared.verify([y + 1], proof):
        raise DeviceError(f"the verifier accepts a wrong statement on {curve.name}", remedy=_REMEDY)
    return time.perf_counter() - start
