"""The hash over all rows of each kind of circuit, recorded when counts, values and witnesses were right.

Would catch: any change of a row, a variable or a coefficient. Other files have those of SHA-256, Poseidon and Sprout.
"""

from __future__ import annotations

import pytest

from cuzk.circuits.catalogue import compiled_circuit
from cuzk.synthesis import circuit_hash

#: Name -> hash.
PINS = {
    "por:poseidon:8-4-2:64:public": "fe5384d6efee0e57ee991d870ff177f6733dcd71a6f52cbe46ed1523a003a6e5",
    "por:sha256:2-0-0:4:private": "045828e02390a32e4f840c05d04bedc9d76282f3ef1ffc4259ebb9fead4a55d0",
    "por:blake2s:8-2-0:16:public": "5f2a923bdcc22627276abc3d286fbf70a761f47b02f351dd372f40ca9e958c59",
    "create-label": "b15d79346695f71328be7ee3e5a524ab65f860829e301a65b931764372943d8c",
    "window-post:2KiB": "14279e1c38053fa35eab6f56dbf1c5ef337b533f2c42fd3d7b4e7a116796b331",
    "winning-post:2KiB": "ce8079a9875ac8fafc46902e0e2368fa997e7f2ffb2065d2666ef92bc3ca2f67",
    "stacked:8-0-0:8n:2l:1c": "b9e22ee377bc73c4e08f679252c4f87948f5812be8c95358a6bf87a7279a785f",
}
_LARGE = ("stacked:8-0-0:8n:2l:1c",)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if name in _LARGE else []) for name in PINS]
)
def test_rows_do_not_change(name: str) -> None:
    assert circuit_hash(compiled_circuit(name)) == PINS[name]
