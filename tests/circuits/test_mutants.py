"""The command that changes circuits and counts what the tests see.

Would catch: a command that calls everything caught, or that changes nothing.
"""

from __future__ import annotations

import ast
import random
import subprocess
import sys

import pytest

from tests.circuits.mutants_equivalent import why_equivalent
from tests.circuits.mutants_rows import row_mutants
from tests.circuits.mutants_source import MODULES, mutants_of


@pytest.mark.parametrize("module", MODULES)
def test_changes_are_changes_and_parse(module: str) -> None:
    rng = random.Random(3)
    found = mutants_of(module)
    for mutant in rng.sample(found, min(3, len(found))):
        change, code = mutant.rendered()
        before, _, after = change.partition(" -> ")
        assert before != after
        assert len(ast.parse(code).body) > 1


def test_every_kind_of_change_is_there() -> None:
    functions = ("enforce_equal", "_insert_2", "_bit_variables")
    changes = [mutant.rendered()[0] for mutant in mutants_of("number") if mutant.function in functions]
    assert "1 -> 2" in changes
    assert "None" in {change.partition(" -> ")[2] for change in changes}, "a row is left out"
    assert any(
        change == "pick(cs, position[0], b, a) -> pick(cs, position[0], a, b)" for change in changes
    ), "arguments change places"
    assert why_equivalent("number", "pick", "1 -> 2") is None


def test_changed_rows_are_seen() -> None:
    """Few are seen by the hash alone, such as a carry that no witness at hand has."""
    names = ["poseidon:2", "por:poseidon:8-4-2:64:public", "por:blake2s:4-0-0:4:public"]
    mutants = list(row_mutants(40, random.Random(5), names))
    assert len({mutant.kind for mutant in mutants}) == 6
    assert sum(mutant.is_seen for mutant in mutants) >= 34


@pytest.mark.long
def test_the_command() -> None:
    """Once as it is, and once against tests that see nothing, which it has to report."""
    command = [sys.executable, "-m", "tests.circuits.mutants", "--sample", "2", "--module", "multipack"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 of 2 caught" in done.stdout
    blind = "import tests.circuits.mutants as m; m.first_failure = lambda module: None; raise SystemExit(m.main())"
    command = [sys.executable, "-c", blind, *command[3:]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout.count("not caught: multipack") == 2
