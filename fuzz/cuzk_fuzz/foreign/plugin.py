"""The pytest plugin: the fixture `differential`. It is installed with the package and does nothing until it is used."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from cuzk_fuzz.foreign import Implementation, Verdict


class Differential:
    """Checks implementations against the oracles within a test.

    Args:
        seconds: A check, unless it says otherwise.
        seed: Of all checks.
        out: Folder for cases that differ.
    """

    def __init__(self, seconds: float, seed: int, out: Path) -> None:
        self.seconds, self.seed, self.out = seconds, seed, out

    def check(self, kind: str, subject: str, implementation: Implementation, **options: Any) -> Verdict:
        """Run a check and return what it came to; see `cuzk_fuzz.foreign.check`."""
        from cuzk_fuzz.foreign import check

        settings = {"seconds": self.seconds, "seed": self.seed} | options
        return check(kind, subject, implementation, **settings)

    def __call__(self, kind: str, subject: str, implementation: Implementation, **options: Any) -> Verdict:
        """The same; the test fails where the implementation differs from the oracle, or nothing was compared."""
        __tracebackhide__ = True
        verdict = self.check(kind, subject, implementation, **options)
        if not verdict.agrees:
            path = verdict.save(self.out)
            pytest.fail(verdict.describe() + (f"\nkept in {path}" if path else ""), pytrace=False)
        return verdict


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the fixture."""
    group = parser.getgroup("cuzk differential")
    group.addoption("--differential-seconds", type=float, default=5.0, help="time of each check (default: 5)")
    group.addoption("--differential-seed", type=int, default=0, help="seed of the cases (default: 0)")
    group.addoption(
        "--differential-out", default="fuzz-out", help="folder for cases that differ (default: fuzz-out)"
    )


@pytest.fixture
def differential(request: pytest.FixtureRequest) -> Differential:
    """Checks implementations of your own: `differential("msm", "bn254_g1", msm_of_ints(function))` in a test."""
    option = request.config.getoption
    return Differential(
        option("--differential-seconds"),
        option("--differential-seed"),
        Path(str(option("--differential-out"))),
    )
