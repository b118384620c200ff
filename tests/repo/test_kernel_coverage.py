"""Every kernel has an oracle that is itself checked, edge classes, and a test or operation that launches it.

Would catch: a kernel added without its oracle, an oracle whose own check was removed, a kernel that no
operation and no test launches.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from cuzk_fuzz.catalogue import KERNEL_FAMILY
from cuzk_oracles.registry import FAMILIES, family

from cuzk.cli.perf_gather import ARCHS
from cuzk.device import get_device
from cuzk.telemetry import PHASES

#: What follows a kernel's own name in an exported one: curve and module, a field, or a word type.
_SUFFIX = re.compile(r"_(?:(?:bls12_381|bn254|toy|secp256k1)_(?:fr|fp|g1|g2)|tiny_\d+|u8|u32|u64)$")


@pytest.fixture(scope="module")
def kernels() -> list[str]:
    """Every kernel by its own name, without curve and field."""
    exported = list(get_device("emu").kernels)
    assert set(exported) == set(get_device("cpu").kernels)
    names = {_SUFFIX.sub("", name) for name in exported}
    assert len(names) < len(exported)
    return sorted(names)


def test_every_kernel_has_checked_oracles_and_edge_classes(kernels: list[str], root: Path) -> None:
    for name in kernels:
        starts = [start for start in KERNEL_FAMILY if name.startswith(start)]
        assert starts, (
            f"kernel {name} has no oracle family; add it to cuzk_fuzz.catalogue and cuzk_oracles.registry"
        )
        entry = family(KERNEL_FAMILY[max(starts, key=len)])
        assert entry.oracles, name
        assert entry.seconds, f"{name}: nothing checks its oracle"
        assert entry.edge_ids, f"{name}: no edge classes"
        assert (root / "tests" / "oracles" / entry.owner_test).is_file(), (
            f"{name}: {entry.owner_test} is gone"
        )


def test_no_family_is_left_over(kernels: list[str]) -> None:
    unused = [start for start in KERNEL_FAMILY if not any(name.startswith(start) for name in kernels)]
    assert not unused
    assert set(KERNEL_FAMILY.values()) <= set(FAMILIES)


def test_every_kernel_is_launched_by_an_operation_or_a_test(kernels: list[str], root: Path) -> None:
    sources = [*(root / "cuzk" / "ops").glob("*.py"), *(root / "tests" / "kernels").glob("*.py")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    never = [name for name in kernels if not re.search(rf"\b{name}(?:_\w*)?\b", text)]
    assert not never


def test_every_kernel_of_a_real_curve_has_ledger_rows(root: Path) -> None:
    kernels = set(get_device("emu").kernels)
    exported = {name for name in kernels if "bls12_381" in name or "bn254" in name}
    for path in (root / "perf_baselines" / f"T0-sm_{arch}.json" for arch in ARCHS):
        rows = set(json.loads(path.read_text(encoding="utf-8"))["figures"])
        assert exported - rows == set(), f"{path.name} lacks them: cuzk perf record --reason WHY"
        assert rows - kernels == set(), f"{path.name} has rows of kernels that are gone"


def test_every_computing_phase_has_ledger_rows(root: Path) -> None:
    rows: set[str] = set()
    for path in (root / "perf_baselines").glob("T1-*.json"):
        rows |= set(json.loads(path.read_text(encoding="utf-8"))["figures"])
    on_device = {name for name, spec in PHASES.items() if spec.on_device}
    # The ledger keeps leaves: these two are the sum of their queries, and tables are part of the MSM's own row.
    assert on_device - rows == {"batch_add", "tail_msm", "msm_init"}
