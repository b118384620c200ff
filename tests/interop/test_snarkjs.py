"""cuzk and snarkjs accept each other's proofs, for every folder of tests/data.

Would catch: a wrong byte order, root of unity, H form or blinding term that our own verifier is blind to,
JSON that only we can read, and a verifier of ours that accepts anything. Runs in `tox -e interop`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.cases import CHECKS, Case, applies, find_folders

pytestmark = pytest.mark.interop

_NOWHERE = Path()
PAIRS = [
    (folder, check)
    for folder in find_folders(Path(__file__).parents[1] / "data")
    for check in CHECKS
    if applies(check, Case(folder, _NOWHERE, _NOWHERE))
]


@pytest.mark.parametrize(
    ("folder", "check"), PAIRS, ids=[f"{folder.parent.name}-{folder.name}-{check}" for folder, check in PAIRS]
)
def test_interop(folder: Path, check: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    snarkjs = request.config.getoption("--snarkjs")
    assert snarkjs, "say where snarkjs is: --snarkjs PATH"
    CHECKS[check](Case(folder, tmp_path, Path(snarkjs).resolve()))
