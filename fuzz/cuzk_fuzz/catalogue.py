"""What there is to check and what checks it, enumerated from the code's own registries.

Kernels come from the devices' tables, their headers from the kernel lists of the sources, oracles and edge classes
from the oracle registry, settings from the registry of variants, targets and exemptions from this package's, headers
that are mutated from the mutation plans. ``gaps`` names every hole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cuzk_oracles.registry import FAMILIES

import cuzk
from cuzk.device import get_device
from cuzk.variants import VARIANTS
from cuzk_fuzz.mutation.plans import PLANS
from cuzk_fuzz.registry import TARGETS
from cuzk_fuzz.settings import is_heavy, setting_id

#: Start of a kernel's name to the family of the oracle registry that checks it; the longest start counts.
KERNEL_FAMILY: Mapping[str, str] = {
    "batch_add": "batch_add",
    "batch_inverse": "batch_inverse",
    "classify_": "classify",
    "field_op": "field",
    "fixed_base_": "fixed_base",
    "fp2_op": "fp2",
    "fr_": "vec",
    "msm_": "msm",
    "msm_digits": "digits",
    "msm_scatter": "sort",
    "ntt_": "ntt",
    "piece_": "piece_spmv",
    "point_op": "point",
    "points_": "point",
    "scan_": "sort",
    "spmv_": "spmv",
    "witness_": "witness",
    "word_op": "word",
}

#: Headers with kernels and without a mutation plan of their own, and why.
NOT_MUTATED: Mapping[str, str] = {
    "field_ops.cuh": "exposes single operations to tests; what they do is in word.cuh, field.cuh and fp2.cuh",
    "point_ops.cuh": "exposes single operations to tests; what they do is in point.cuh",
    "points.cuh": "checks and conversions at the edges of set-up; planted faults of fixed_base and msm cover it",
    "fixed_base.cuh": "additions of point.cuh through a table; planted faults of fixed_base cover it",
}

#: What follows a kernel's own name in an exported one: curve and module, a field, or a word type.
_SUFFIX = re.compile(r"_(?:(?:bls12_381|bn254|toy|secp256k1)_(?:fr|fp|g1|g2)|tiny_\d+|u8|u32|u64)$")
_LISTED = re.compile(r"\bX\((\w+),")
DEVICES = ("cpu", "emu", "cuda")


@dataclass(frozen=True)
class Kernel:
    """One kernel.

    Attributes:
        name: Its own name, without curve and field.
        family: Of the oracle registry, or None.
        devices: Kinds of device that have it.
        header: File that lists it, or None.
    """

    name: str
    family: str | None
    devices: tuple[str, ...]
    header: str | None

    @property
    def mutated(self) -> bool:
        """Whether mutants of its header are judged, or somebody said why not."""
        return self.header in PLANS or self.header in NOT_MUTATED


@dataclass(frozen=True)
class FamilyRow:
    """A family of kernels (or of readers) with everything that checks it."""

    name: str
    kernels: tuple[Kernel, ...]
    devices: tuple[str, ...]
    targets: tuple[str, ...]
    oracles: tuple[str, ...]
    checked_by: tuple[str, ...]
    edge_ids: tuple[str, ...]
    headers: tuple[str, ...]


@dataclass(frozen=True)
class VariantRow:
    """One value of a variant."""

    id: str
    variant: str
    value: str
    devices: tuple[str, ...]
    targets: tuple[str, ...]
    oracles: tuple[str, ...]
    heavy: bool


def family_of(kernel: str) -> str | None:
    """The family that checks a kernel."""
    starts = [start for start in KERNEL_FAMILY if kernel.startswith(start)]
    return KERNEL_FAMILY[max(starts, key=len)] if starts else None


def own_name(exported: str) -> str:
    """A kernel's name without curve, field and word type."""
    return _SUFFIX.sub("", exported)


@cache
def headers() -> dict[str, str]:
    """The header that lists each kernel, by the kernel's own name."""
    folder = Path(cuzk.__file__).parent / "kernels"
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*.cuh")):
        for name in _LISTED.findall(path.read_text(encoding="utf-8")):
            found.setdefault(name, path.name)
    return found


@cache
def kernels() -> tuple[Kernel, ...]:
    """Every kernel of every device. A GPU has those of the emulator that are not for tests on the host only."""
    by_device: dict[str, set[str]] = {}
    for kind in ("cpu", "emu"):
        by_device[kind] = {own_name(name) for name in get_device(kind).kernels}
    by_device["cuda"] = by_device["emu"]
    names = sorted(set().union(*by_device.values()))
    return tuple(
        Kernel(name, family_of(name), tuple(k for k in DEVICES if name in by_device[k]), headers().get(name))
        for name in names
    )


def _names(functions: Iterable[Any]) -> tuple[str, ...]:
    return tuple(f"{f.__module__.rpartition('.')[2]}.{getattr(f, '__qualname__', f)}" for f in functions)


@cache
def family_rows() -> tuple[FamilyRow, ...]:
    """Every family."""
    rows = []
    for name, family in FAMILIES.items():
        mine = tuple(kernel for kernel in kernels() if kernel.family == name)
        targets = tuple(target.name for target in TARGETS.values() if name in target.families)
        needs_device = any(TARGETS[target].needs_device for target in targets)
        devices = tuple(kind for kind in DEVICES if any(kind in kernel.devices for kernel in mine))
        own = tuple(edge_id for target in targets for edge_id in TARGETS[target].own_ids)
        rows.append(FamilyRow(
            name, mine, devices or (DEVICES if needs_device else ("cpu",)), targets, _names(family.oracles),
            (*_names(family.seconds), *family.libraries), tuple(dict.fromkeys((*family.edge_ids, *own))),
            tuple(sorted({kernel.header for kernel in mine if kernel.header})),
        ))  # fmt: skip
    return tuple(rows)


def variant_rows() -> tuple[VariantRow, ...]:
    """Every value of every variant."""
    rows = []
    for variant in VARIANTS.values():
        for value in variant.values:
            edge_id = setting_id(variant.id, value)
            targets = tuple(target.name for target in TARGETS.values() if edge_id in target.own_ids)
            oracles = tuple(dict.fromkeys(
                name for target in targets for family in TARGETS[target].families
                for name in _names(FAMILIES[family].oracles)
            ))  # fmt: skip
            rows.append(
                VariantRow(edge_id, variant.id, value, variant.devices, targets, oracles, is_heavy(edge_id))
            )
    return tuple(rows)


def gaps() -> list[str]:
    """Everything that lacks something: kernels, families, values of variants, stale exceptions."""
    found = []
    for kernel in kernels():
        if kernel.family not in FAMILIES:
            found.append(f"kernel {kernel.name} has no family of oracles")
        if kernel.header is None:
            found.append(f"kernel {kernel.name} is in no list of a header")
        elif not kernel.mutated:
            found.append(f"kernel {kernel.name}: nobody mutates {kernel.header}")
    for row in family_rows():
        if not row.oracles or not row.checked_by:
            found.append(f"family {row.name} has no oracle, or nothing checks it")
        if not row.targets:
            found.append(f"family {row.name} has no target")
        if not row.edge_ids:
            found.append(f"family {row.name} has no edge classes")
    for value in variant_rows():
        if not value.targets or not value.oracles:
            found.append(f"{value.id} is drawn by no target, or has no oracle")
    used = {kernel.header for kernel in kernels()}
    found += [f"{name} is excused from mutants and needs no excuse" for name in NOT_MUTATED
              if name in PLANS or name not in used]  # fmt: skip
    return found
