"""A pytest plugin that runs one part of the tests: `-p tests.harness.gates.sharding --shard 2/3`.

Test files are dealt out whole, the heaviest first, always to the part that has least; every part computes the same
deal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest

#: What a test marked `long` weighs; another weighs 1.
_LONG = 20


def parse(text: str) -> tuple[int, int]:
    """(part, parts) of "2/3".

    Raises:
        ValueError: It is not of this form, or there is no such part.
    """
    part, slash, parts = text.partition("/")
    if not (slash and part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise ValueError(f"a part is written as 1/3, 2/3 or 3/3, not {text!r}")
    return int(part), int(parts)


def deal(weights: Mapping[str, int], parts: int) -> list[set[str]]:
    """Files of every part."""
    loads, dealt = [0] * parts, [set[str]() for _ in range(parts)]
    for name, weight in sorted(weights.items(), key=lambda item: (-item[1], item[0])):
        least = min(range(parts), key=lambda i: (loads[i], i))
        loads[least] += weight
        dealt[least].add(name)
    return dealt


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.addoption("--shard", default="1/1", metavar="I/N", help="run part I of N")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of this part."""
    part, parts = parse(config.getoption("--shard"))
    weights: Counter[str] = Counter()
    for item in items:
        weights[item.nodeid.partition("::")[0]] += _LONG if item.get_closest_marker("long") else 1
    mine = deal(weights, parts)[part - 1]
    others = [item for item in items if item.nodeid.partition("::")[0] not in mine]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item.nodeid.partition("::")[0] in mine]
