"""Every kernel has an oracle, edge classes and a test that owns it.

Would catch: a kernel added without its oracle, an oracle whose own check was removed, a kernel that no
operation and no test launches.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cuzk_oracles.registry import FAMILIES, family

from cuzk.device import get_device

#: Family list of a header (the macro `CUZK_<NAME>_KERNELS`) to the oracle registry's family.
ORACLE_FAMILY = {
    "BATCH_ADD": "batch_add",
    "BATCH_INVERSE": "batch_inverse",
    "CLASSIFY": "classify",
    "FIXED_BASE": "fixed_base",
    "FR_VEC": "vec",
    "MSM_ACCUMULATE": "msm",
    "MSM_DIGITS": "digits",
    "MSM_REDUCE": "msm",
    "MSM_SORT": "sort",
    "NTT": "ntt",
    "POINT_OPS": "point",
    "SCAN": "sort",
    "SPMV": "spmv",
}
_LIST = re.compile(r"#define CUZK_(\w+)_KERNELS\(X, \w+\)((?:.*\\\n)*.*\n)")
_EXPORTED = re.compile(r"(\w+?)_(?:bls12_381|bn254|toy)_(?:fr|g1|g2)$")


@pytest.fixture(scope="module")
def declared(root: Path) -> dict[str, str]:
    """Kernel function to the family list that declares it."""
    found = {}
    for header in sorted((root / "cuzk" / "kernels").glob("*.cuh")):
        for name, rows in _LIST.findall(header.read_text(encoding="utf-8")):
            found.update(dict.fromkeys(re.findall(r"\bX\((\w+),", rows), name))
    assert found
    return found


def test_every_exported_kernel_is_declared_in_a_family_list(declared: dict[str, str]) -> None:
    exported = {match[1] for name in get_device("emu").kernels if (match := _EXPORTED.match(name))}
    assert exported == set(declared)


def test_every_family_has_oracles_that_are_checked_and_edge_classes(
    declared: dict[str, str], root: Path
) -> None:
    for name in sorted(set(declared.values())):
        assert name in ORACLE_FAMILY, (
            f"CUZK_{name}_KERNELS has no oracle family; add it here and to the registry"
        )
        entry = family(ORACLE_FAMILY[name])
        assert entry.oracles, name
        assert entry.seconds, f"{name}: nothing checks its oracle"
        assert entry.edge_ids, f"{name}: no edge classes"
        assert (root / "tests" / "oracles" / entry.owner_test).is_file(), name


def test_the_registry_names_its_families_consistently() -> None:
    assert set(ORACLE_FAMILY.values()) <= set(FAMILIES)
    with pytest.raises(KeyError, match="has no oracle"):
        family("no such family")


def test_every_kernel_is_launched_by_a_test(declared: dict[str, str], root: Path) -> None:
    # A kernel is owned by the operation that launches it, and the operation by its test under tests/kernels.
    sources = [*(root / "cuzk" / "ops").glob("*.py"), *(root / "tests" / "kernels").glob("*.py")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    never = [name for name in declared if not re.search(rf"\b{name}\b", text)]
    assert not never
