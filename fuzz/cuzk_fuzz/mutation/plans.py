"""For every header that can be mutated: the kernels to compile, where, and the targets that must see the fault."""

from __future__ import annotations

from dataclasses import dataclass

#: What a plan compiles and what it runs.
PlanKey = tuple[str, tuple[tuple[str, int], ...]]


@dataclass(frozen=True)
class Plan:
    """How mutants of some headers are compiled and tested.

    Attributes:
        includes: Headers of the source that is compiled.
        kernels: (kernel, argument struct, name suffix).
        lists: (macro of a kernel list, its type argument, name suffix).
        platforms: "emu", "cpu", in the order in which they are tried.
        battery: (target, batches of each kind) that are run.
    """

    includes: tuple[str, ...]
    platforms: tuple[str, ...]
    battery: tuple[tuple[str, int], ...]
    kernels: tuple[tuple[str, str, str], ...] = ()
    lists: tuple[tuple[str, str, str], ...] = ()

    @property
    def key(self) -> PlanKey:
        """Plans with one key share unchanged kernels and battery, whatever platforms they use."""
        return self.source(), self.battery

    def source(self) -> str:
        """The C++ source that registers the kernels."""
        lines = ['#include "native/registry.hpp"', *(f'#include "{name}"' for name in self.includes)]
        lines += [
            "#define ADD(FN, ARGS, SUFFIX, THREADS) r.push_back(kernel_info<ARGS>(#FN SUFFIX, THREADS, \\",
            "    [](HostExec& ex, const void* a) { FN(ex, *static_cast<const ARGS*>(a)); }));",
            "namespace cuzk { void register_mutant(Registry& r) {",
        ]
        lines += [f'ADD({fn}, {args}, "_{suffix}", 256)' for fn, args, suffix in self.kernels]
        for macro, argument, suffix in self.lists:
            lines += [
                f'#define ADD_HERE(FN, ARGS, MAX, MIN) ADD(FN, ARGS, "_{suffix}", MAX)',
                f"{macro}(ADD_HERE, {argument})",
                "#undef ADD_HERE",
            ]
        return "\n".join([*lines, "}}", ""])


def _field(name: str) -> tuple[str, str, str]:
    return "field_op", f"FieldOpArgs<{name}>", name


def _fp2(name: str) -> tuple[str, str, str]:
    return "fp2_op", f"Fp2OpArgs<{name}>", name


def _point(curve: str, group: str) -> tuple[str, str, str]:
    return "point_op", f"PointOpArgs<Curve_{curve}::{group.upper()}>", f"{curve}_{group}"


def _fr(name: str, *curves: str) -> tuple[tuple[str, str, str], ...]:
    return tuple((f"CUZK_{name}_KERNELS", f"Curve_{curve}::Fr", f"{curve}_fr") for curve in curves)


def _group(name: str, *groups: str) -> tuple[tuple[str, str, str], ...]:
    return tuple((f"CUZK_{name}_KERNELS", f"Curve_toy::{g.upper()}", f"toy_{g}") for g in groups)


# secp256k1's p has no spare bit; tiny fields have limbs of 8 bits and all their pairs near an edge; toy fields are one
# limb on cpu, two on emu.
_ARITHMETIC = (
    *map(_field, ("secp256k1_fp", "bn254_fr", "tiny_65521", "tiny_32749", "tiny_4093", "toy_fr")),
    *map(_fp2, ("bn254_fp", "tiny_4093", "toy_fp")),
)
_BATTERY = (("field", 6), ("fp2", 6))
# Points ask for what the operations of fields do not: 1, and products and differences in place.
_FIELD_BOTH = Plan(
    ("field_ops.cuh", "point_ops.cuh"),
    ("emu", "cpu"),
    (*_BATTERY, ("point", 2)),
    (*_ARITHMETIC, _point("toy", "g1")),
)
_FIELD_EMU = Plan(("field_ops.cuh",), ("emu",), _BATTERY, _ARITHMETIC)
_FIELD_CPU = Plan(("field_ops.cuh",), ("cpu",), _BATTERY, _ARITHMETIC)
_WORD = Plan(
    ("field_ops.cuh",),
    ("emu", "cpu"),
    (("word", 8), *_BATTERY),
    (*(("word_op", f"WordOpArgs<{word}>", word) for word in ("u8", "u32", "u64")), *_ARITHMETIC),
)
# The zero of the extension is what an infinity of G2 is made of.
_FP2 = Plan(
    ("field_ops.cuh", "point_ops.cuh"),
    ("emu", "cpu"),
    (("fp2", 12), ("point", 4)),
    (_fp2("bn254_fp"), _fp2("toy_fp"), _fp2("tiny_65521"), _point("toy", "g2")),
)
# Multiples of a generator add points under a sign, and are normalised together.
_POINT = Plan(
    ("curve.cuh", "point_ops.cuh", "points.cuh", "fixed_base.cuh"),
    ("emu",),
    (("point", 8), ("fixed_base", 8)),
    (_point("toy", "g1"), _point("toy", "g2"), _point("bls12_381", "g1")),
    (*_group("FIXED_BASE", "g1"), *_group("POINTS", "g1")),
)
# bls12_381's r has one spare bit, and a lowest word of 1: what fixed factors do there, no other field takes.
_NTT = Plan(
    ("curve.cuh", "field_ops.cuh", "ntt.cuh", "classify.cuh", "scan.cuh"),
    ("emu", "cpu"),
    (("ntt", 4), ("vec", 8)),
    kernels=(
        ("fr_powers", "FrPowersArgs<Curve_bls12_381::Fr>", "bls12_381_fr"),
        ("fr_bit_reverse", "FrBitReverseArgs<Curve_bls12_381::Fr>", "bls12_381_fr"),
    ),
    lists=(
        *_fr("NTT", "bn254", "toy", "bls12_381"), *_fr("FR_VEC", "bn254", "toy"), *_fr("BATCH_INVERSE", "bn254", "toy"),
        *_fr("CLASSIFY", "bn254", "toy"), *_fr("SCAN", "bn254", "toy"),
    ),
)  # fmt: skip
# Sums by key also in a group whose points are longer than a line of the cache, and may have x = 0.
_LONG = "Curve_bls12_381::G1"
_MSM = Plan(
    ("curve.cuh", "msm_digits.cuh", "msm_sort.cuh", "scan.cuh", "batch_add.cuh", "points.cuh"),
    ("emu", "cpu"),
    (("digits", 40), ("batch_add", 16), ("msm", 40)),
    kernels=(
        ("msm_halve", f"MsmHalveArgs<{_LONG}>", "bls12_381_g1"),
        ("msm_accumulate", f"MsmAccumulateArgs<{_LONG}>", "bls12_381_g1"),
        ("msm_merge", f"MsmMergeArgs<{_LONG}>", "bls12_381_g1"),
        ("batch_add", f"BatchAddArgs<{_LONG}>", "bls12_381_g1"),
        ("points_normalize", f"PointsNormalizeArgs<{_LONG}>", "bls12_381_g1"),
        ("msm_combine", f"MsmCombineArgs<{_LONG}>", "bls12_381_g1"),
    ),
    lists=(
        *_fr("MSM_SORT", "bls12_381"), *_fr("SCAN", "bls12_381"),
        *_fr("MSM_DIGITS", "toy", "bn254"), *_fr("MSM_SORT", "toy", "bn254"), *_fr("SCAN", "toy", "bn254"),
        *_group("MSM_HALVE", "g1"), *_group("MSM_ACCUMULATE", "g1"), *_group("MSM_REDUCE", "g1"),
        *_group("BATCH_ADD", "g1"), *_group("POINTS", "g1"),
    ),
)  # fmt: skip
_SPMV = Plan(("curve.cuh", "spmv.cuh"), ("emu", "cpu"), (("spmv", 24),), lists=_fr("SPMV", "bn254", "toy"))
_PIECES = Plan(
    ("curve.cuh", "witness_program.cuh", "piece_spmv.cuh"),
    ("emu", "cpu"),
    (("pieces", 24),),
    lists=(*_fr("WITNESS", "bn254", "toy"), *_fr("PIECE_SPMV", "bn254", "toy")),
)

PLANS: dict[str, Plan] = {
    "word.cuh": _WORD,
    "field.cuh": _FIELD_BOTH,
    "field_mul32.cuh": _FIELD_EMU,
    "field_mul64.cuh": _FIELD_CPU,
    "field_inverse.cuh": _FIELD_BOTH,
    "fp2.cuh": _FP2,
    "point.cuh": _POINT,
    "ntt.cuh": _NTT,
    "ntt_tile.cuh": _NTT,
    "ntt_factor.cuh": _NTT,
    "fr_vec.cuh": _NTT,
    "classify.cuh": _NTT,
    "scan.cuh": _NTT,
    "msm_digits.cuh": _MSM,
    "msm_sort.cuh": _MSM,
    "msm_halve.cuh": _MSM,
    "msm_pairs.cuh": _MSM,
    "msm_accumulate.cuh": _MSM,
    "msm_reduce.cuh": _MSM,
    "batch_add.cuh": _MSM,
    "spmv.cuh": _SPMV,
    "pieces.cuh": _PIECES,
    "witness_program.cuh": _PIECES,
    "piece_spmv.cuh": _PIECES,
}

#: Headers by what their scores are told for.
GROUPS: dict[str, tuple[str, ...]] = {
    "arithmetic": tuple(h for h in PLANS if h in ("word.cuh", "fp2.cuh", "point.cuh") or h.startswith("field")),
    "kernels": tuple(
        h for h in PLANS
        if h.startswith(("ntt", "msm_")) or h in ("fr_vec.cuh", "classify.cuh", "scan.cuh", "batch_add.cuh", "spmv.cuh")
    ),
    "pieces": ("pieces.cuh", "witness_program.cuh", "piece_spmv.cuh"),
}  # fmt: skip

#: What is sampled where nothing else is asked for.
DEFAULT_HEADERS = ("field.cuh", "field_mul32.cuh", "field_mul64.cuh", "fp2.cuh", "point.cuh")
