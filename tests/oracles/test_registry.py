"""The registry: every family has a reference, an independent second one, edge classes and an owner test.

Would catch: a family whose oracle checks itself, a class or library that does not exist, an owner test that
was renamed, an oracle function that no family uses.
"""

import ast
import subprocess
import sys
from pathlib import Path

import cuzk_oracles
import pytest
from cuzk_oracles import lineages, registry, third_party
from cuzk_oracles.edge_values import IDS
from cuzk_oracles.registry import FAMILIES, Family

WANTED = (
    *("word", "field", "fp2", "point", "batch_inverse", "vec", "ntt", "spmv", "digits", "sort", "msm"),
    *("batch_add", "classify", "fixed_base", "witness", "piece_spmv", "groth16", "formats"),
)
PACKAGE = Path(cuzk_oracles.__file__).parent

each_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=list(FAMILIES))


def test_all_families_are_there() -> None:
    assert set(FAMILIES) == set(WANTED)
    assert registry.family("msm") is FAMILIES["msm"]
    with pytest.raises(KeyError, match="'pippenger' has no oracle"):
        registry.family("pippenger")


@each_family
def test_family_is_complete(family: Family) -> None:
    assert family.oracles
    assert family.seconds
    assert not set(family.oracles) & set(family.seconds)
    assert all(callable(function) for function in family.oracles + family.seconds)
    assert set(family.libraries) <= set(third_party.ADAPTERS)
    assert set(family.edge_classes) <= set(IDS)
    assert family.edge_classes or family.name == "formats"  # bytes have no classes of numbers
    assert len(family.edge_ids) == sum(len(IDS[letter]) for letter in family.edge_classes)


@each_family
def test_owner_test_uses_the_oracles(family: Family) -> None:
    """The test file names every reference and second function of its family, or another file here does."""
    folder = Path(__file__).parent
    assert (folder / family.owner_test).is_file()
    used = {
        node.attr
        for path in folder.glob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
    }
    named = {function.__name__ for function in family.oracles + family.seconds}
    assert named - used - {"Classes"} == set()


def test_adapters_and_lineages_match() -> None:
    assert set(third_party.ADAPTERS) == set(lineages.LIBRARIES)
    assert lineages.are_independent("zksnake", "pyblst")
    assert not lineages.are_independent("zksnake", "py_arkworks_bls12381")
    for adapter in third_party.ADAPTERS.values():
        assert adapter.lineage == lineages.lineage(adapter.module)


def test_import_needs_the_standard_library_only() -> None:
    """Loading everything pulls in no library that an adapter wraps, nor NumPy, nor the project itself."""
    code = (
        "import sys, cuzk_oracles.registry, cuzk_oracles.samples, cuzk_oracles.edge_points\n"
        "roots = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(roots & {'numpy', 'cuzk', 'cuzk_fuzz', 'py_ecc', 'pyblst', 'pymcl', 'zksnake',\n"
        "                      'py_arkworks_bls12381', 'flint', 'gmpy2', 'tests'}))"
    )
    command = [sys.executable, "-S", "-c", code]
    result = subprocess.run(
        command, env={"PYTHONPATH": str(PACKAGE.parent)}, capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def test_every_module_has_a_docstring() -> None:
    for path in PACKAGE.rglob("*.py"):
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path
