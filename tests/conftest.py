"""What every test shares: Hypothesis profiles, options, and which tests need a machine of their own."""

from __future__ import annotations

import random
import zlib

import pytest
from hypothesis import HealthCheck, settings

# One example may launch kernels on the emulator, which takes as long as it takes: no deadline.
_SHARED = settings(deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])

# A merge must not depend on luck: `ci` draws the same examples on every run; campaigns use `deep`.
settings.register_profile("ci", _SHARED, max_examples=50, derandomize=True, database=None)
settings.register_profile("quick", _SHARED, max_examples=10, derandomize=True, database=None)
settings.register_profile("deep", _SHARED, max_examples=2000)
settings.load_profile("ci")

#: Tests with these markers run only where `-m` names the marker: they need a GPU, or node and snarkjs.
_ON_REQUEST = ("device", "interop")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the project's own options."""
    group = parser.getgroup("cuzk")
    group.addoption("--snarkjs", help="path of the snarkjs command, for tests marked `interop`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests that need more than this machine, unless the marker expression asks for them."""
    expression = str(config.getoption("-m") or "")
    unwanted = {marker for marker in _ON_REQUEST if marker not in expression}
    left_out = [item for item in items if any(mark.name in unwanted for mark in item.iter_markers())]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> random.Random:
    """A generator seeded by the test's own name: the same values on every run, others in every test."""
    return random.Random(zlib.crc32(request.node.nodeid.encode()))
