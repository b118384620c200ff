"""Faults as patches of kernel headers, and the kernels that are made from a patched copy."""

from __future__ import annotations

import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path

from cuzk_fuzz.mutation.build import KERNELS
from cuzk_fuzz.mutation.plans import Plan

PATCHES = Path(__file__).parent / "patches"


@dataclass(frozen=True)
class Patch:
    """One fault.

    Attributes:
        id: Short name.
        what: In words.
        target: The fuzz target that has to find it.
        header: The header that is changed.
        old, new: Text that stands in it exactly once, and what takes its place.
        kinds: Names that the kernels to compile go by in KERNEL_LISTS.
        finds: What must be reported; a wrong answer where empty.
        source: Where it was published, if it was.
        platform: "emu" or "cpu".
    """

    id: str
    what: str
    target: str
    header: str
    old: str
    new: str
    kinds: tuple[str, ...]
    finds: str = ""
    source: str = ""
    platform: str = "emu"

    def apply(self, tree: Path) -> None:
        """Change the header in a copy of the kernel sources.

        Raises:
            ValueError: The header has the text not at all, or several times.
        """
        path = tree / self.header
        text = path.read_text()
        if text.count(self.old) != 1:
            raise ValueError(f"{self.id}: {self.header} has {text.count(self.old)} times the text to change")
        path.write_text(text.replace(self.old, self.new))


def load(name: str) -> list[Patch]:
    """The patches of a file in the folder `patches`."""
    entries = tomllib.loads((PATCHES / f"{name}.toml").read_text())["patch"]
    return [Patch(**{**entry, "kinds": tuple(entry["kinds"])}) for entry in entries]


def copy_of_kernels(folder: Path) -> Path:
    """A copy of the kernel sources."""
    tree = folder / "tree"
    shutil.copytree(KERNELS, tree, ignore=shutil.ignore_patterns("__pycache__"))
    return tree


_GROUP_LISTS = frozenset({"MSM_HALVE", "MSM_ACCUMULATE", "MSM_REDUCE", "BATCH_ADD", "POINTS", "FIXED_BASE"})
_HEADERS = {
    "SPMV": "spmv.cuh", "CLASSIFY": "classify.cuh", "SCAN": "scan.cuh", "NTT": "ntt.cuh", "FR_VEC": "fr_vec.cuh",
    "BATCH_INVERSE": "field_ops.cuh", "MSM_DIGITS": "msm_digits.cuh", "MSM_SORT": "msm_sort.cuh",
    "MSM_HALVE": "msm_halve.cuh", "MSM_ACCUMULATE": "msm_accumulate.cuh", "MSM_REDUCE": "msm_reduce.cuh",
    "BATCH_ADD": "batch_add.cuh", "POINTS": "points.cuh", "FIXED_BASE": "fixed_base.cuh",
    "point_op": "point_ops.cuh", "field_op": "field_ops.cuh",
}  # fmt: skip


def plan_of(patch: Patch) -> Plan:
    """The kernels to compile, over the toy curve alone: small is quick.  "field_op:bn254_fp" names another field."""
    lists, kernels, includes = [], [], ["curve.cuh"]
    for kind in patch.kinds:
        name, _, subject = kind.partition(":")
        includes.append(_HEADERS[name])
        if name == "field_op":
            kernels.append(("field_op", f"FieldOpArgs<{subject}>", subject))
        elif name == "point_op":
            kernels += [
                ("point_op", f"PointOpArgs<Curve_toy::{g}>", f"toy_{g.lower()}") for g in ("G1", "G2")
            ]
        elif name in _GROUP_LISTS:
            lists.append((f"CUZK_{name}_KERNELS", "Curve_toy::G1", "toy_g1"))
        else:
            lists.append((f"CUZK_{name}_KERNELS", "Curve_toy::Fr", "toy_fr"))
    return Plan(
        tuple(dict.fromkeys(includes)), (patch.platform,), ((patch.target, 1),), tuple(kernels), tuple(lists)
    )
