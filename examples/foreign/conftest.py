"""The one option of these examples."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.addoption("--node-modules", default="node_modules", help="folder in which npm installed snarkjs")
