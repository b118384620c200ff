"""The targets: what each covers, which edge classes it must hit, and which it need not, with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from cuzk_oracles.registry import family

from cuzk_fuzz.batch import Batch, Scope
from cuzk_fuzz.choices import Choices
from cuzk_fuzz.settings import HEAVY, device_only, impossible_on, setting_ids
from cuzk_fuzz.targets.batch_add import BatchAddBatch
from cuzk_fuzz.targets.carries import QUOTIENT_ONE, WORD_ONES
from cuzk_fuzz.targets.digits import DigitsBatch
from cuzk_fuzz.targets.field import FieldBatch, Fp2Batch
from cuzk_fuzz.targets.fixed_base import FixedBaseBatch
from cuzk_fuzz.targets.groth16 import ProofBatch
from cuzk_fuzz.targets.identities import INPUTS, RELATIONS, IdentityBatch
from cuzk_fuzz.targets.msm import MsmBatch
from cuzk_fuzz.targets.ntt import NttBatch
from cuzk_fuzz.targets.pieces import PiecesBatch
from cuzk_fuzz.targets.point import PointBatch
from cuzk_fuzz.targets.readers import DAMAGES, ReadersBatch
from cuzk_fuzz.targets.spmv import SpmvBatch
from cuzk_fuzz.targets.vec import VecBatch
from cuzk_fuzz.targets.word import WordBatch


@dataclass(frozen=True)
class Target:
    """One target.

    Attributes:
        name: What the command line calls it.
        batch: The class of its batches.
        families: Kernel families of the oracle registry that it covers.
        exempt: Patterns of ids that it does not draw, each with the reason.
        own_ids: Further ids that it must hit.
        needs_device: Whether it runs kernels at all.
    """

    name: str
    batch: type[Any]
    families: tuple[str, ...]
    exempt: Mapping[str, str] = field(default_factory=dict)
    own_ids: tuple[str, ...] = ()
    needs_device: bool = True

    def decode(self, choices: Choices, scope: Scope) -> Batch:
        """A batch from choices."""
        batch: Batch = self.batch.decode(choices, scope)
        return batch

    @property
    def all_ids(self) -> frozenset[str]:
        """Every id of its families, and its own."""
        return frozenset(self.own_ids).union(*(family(name).edge_ids for name in self.families))

    @property
    def required(self) -> frozenset[str]:
        """Ids that a campaign over all subjects must hit."""
        return frozenset(
            edge_id
            for edge_id in self.all_ids
            if not any(fnmatchcase(edge_id, pattern) for pattern in self.exempt)
        )

    def required_on(self, kinds: Iterable[str]) -> frozenset[str]:
        """Ids that a campaign on these kinds of devices must hit: settings are those that one of them can take.

        Args:
            kinds: Such as ("cpu", "emu") or ("cuda",).
        """
        kinds = tuple(kinds)
        possible_there = device_only() & self.all_ids
        return (self.required | possible_there) - impossible_on(kinds)


#: Classes that only a device with room for them can draw.
DEVICE_ONLY = frozenset({"S.2^20+1", "S.2GiB"}) | device_only()

_LARGE = {
    "S.2^20+1": "sizes beyond a batch belong to campaigns on a GPU and to the tests of large sizes",
    "S.2GiB": "more than 2 GiB belong to campaigns on a GPU",
}
_NO_FULL_FIELD = {"F.*.sum_R*": "no field of the target lacks a spare bit, so no sum reaches R"}
_NO_PAIRS = {
    **{f"F.*.{name}": "a relation between two operands" for name in ("sum_*", "equal", "opposite")},
    "F.lazy.*": "inputs are below the modulus by contract; who checks it is covered by field and vec",
}
_EXTENDED = {
    f"P.{name}": "a property of extended coordinates, which arise inside; covered by point"
    for name in ("infinity_left", "infinity_right", "infinity_xy", "z_differs", "z_one", "z_minus_one")
}

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Target("word", WordBatch, ("word",)),
        Target(
            "field", FieldBatch, ("field",), {"A.overlap_*": "refused above the kernels; covered by vec"},
            own_ids=(WORD_ONES, QUOTIENT_ONE),
        ),
        Target("fp2", Fp2Batch, ("fp2",), _NO_FULL_FIELD),
        Target(
            "point",
            PointBatch,
            ("point",),
            {"P.cancels": "a property of longer sums; covered by msm and batch_add",
             "F.*": "coordinates are images of a Z from class F; covered by field and fp2"},
        ),
        Target(
            "vec",
            VecBatch,
            ("vec", "batch_inverse", "classify"),
            {**_LARGE, **_NO_FULL_FIELD, "K.reject.*": "classification takes reduced numbers; covered by msm"},
        ),
        Target("ntt", NttBatch, ("ntt",), {**_LARGE, **_NO_PAIRS}),
        Target(
            "spmv",
            SpmvBatch,
            ("spmv",),
            {**_LARGE, **_NO_PAIRS, "S.grid_stride": "thousands of rows; covered by the kernel's own tests"},
        ),
        Target("pieces", PiecesBatch, ("witness", "piece_spmv")),
        Target("digits", DigitsBatch, ("digits", "sort"), _LARGE),
        Target("msm", MsmBatch, ("msm",), {**_LARGE, **_EXTENDED}),
        Target("batch_add", BatchAddBatch, ("batch_add",), {**_LARGE, **_EXTENDED}),
        Target("fixed_base", FixedBaseBatch, ("fixed_base",), _LARGE),
        Target("identities", IdentityBatch, (), own_ids=(*RELATIONS, *INPUTS)),
        Target(
            "groth16",
            ProofBatch,
            ("groth16",),
            {**HEAVY, **dict.fromkeys(device_only(), "needs a GPU: see `cuzk variants`"),
             "K.reject.*": "refused by witness and blinding; covered by msm",
             **{f"K.{name}": "a distribution of a whole vector; covered by msm"
                for name in ("all_equal", "one_bucket", "bits_*", "uniform", "edges")}},
            own_ids=setting_ids(),
        ),
        Target("readers", ReadersBatch, ("formats",), own_ids=DAMAGES, needs_device=False),
    )
}  # fmt: skip


def get_target(name: str) -> Target:
    """The target of this name; ValueError names the ones there are."""
    if name not in TARGETS:
        raise ValueError(f"unknown target {name!r}; one of {', '.join(TARGETS)}")
    return TARGETS[name]
