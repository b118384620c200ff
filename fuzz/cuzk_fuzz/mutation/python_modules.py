"""Which modules of the prover's Python are mutated, and which are not, with the reason."""

from __future__ import annotations

from collections.abc import Mapping

#: Packages of which every module is either mutated or left out for a reason.
PACKAGES = ("cuzk.groth16", "cuzk.ops", "cuzk.synthesis")


def _names(package: str, *modules: str) -> tuple[str, ...]:
    return tuple(f"{package}.{module}" for module in modules)


#: Where the values of a proof are made for recorded matrices and sums: the first list, with samples of its own.
FIRST = (
    *_names("cuzk.groth16", "assemble", "commit", "evaluate", "fold", "quotient", "setup"),
    *_names(
        "cuzk.ops", "batch_add", "classify", "domain", "fixed_base", "fr_vec", "lagrange", "msm", "ntt", "points",
        "power_tables", "scan", "spmv", "sums",
    ),
)  # fmt: skip

#: What joined it: sums by chunk, compiled circuits and what records them, halved scalars, B on the processor, keys
#: that pass through, conversions of keys, and the arrays all of them work on.
SECOND = (
    *_names(
        "cuzk.groth16", "alpha_beta", "b_g2", "blinding", "convert", "finite", "host_rows", "job", "key_stream",
        "pairing_bls12_381", "pairing_bn254", "phase2", "prover", "query_sums", "resident", "row_forms", "same_rows",
        "tau_columns", "verify",
    ),
    *_names(
        "cuzk.ops", "endomorphism", "fr_common", "halves", "msm_context", "piece_checks", "piece_columns",
        "piece_order", "piece_spmv", "piece_tables", "point_ntt", "point_sums", "witness_program",
    ),
    *_names(
        "cuzk.synthesis", "compiler", "constraint_system", "expand", "program", "recorder", "recording", "structure",
        "terms",
    ),
    *_names("cuzk", "compiled_rows", "csr", "limbs", "pieces", "relation", "row_order", "witness"),
)  # fmt: skip

MODULES = (*FIRST, *SECOND)

#: Of these modules only some functions make values; the rest refuses bad input.
ONLY: Mapping[str, tuple[str, ...]] = {
    "cuzk.ops.piece_checks": ("ranges", "operand_rows", "given_inputs", "own_reads"),
}

_PLAN = "a plan: launch shapes, windows and buffers, which change time and memory and no byte"
_MEMORY = "bounds of memory, computed before anything runs; they decide whether it is begun"

#: Modules of those packages that change no byte of a proof or key. Tests of their own look at them.
LEFT_OUT: Mapping[str, str] = {
    "cuzk.groth16.commitments": "fields alone, no function",
    "cuzk.groth16.diagnosis": "words about a proof that was refused already",
    "cuzk.groth16.disposal": "when memory is given back, after its last reader",
    "cuzk.groth16.key_shape": "counts of a key for the plan of memory",
    "cuzk.groth16.msm_choice": _PLAN,
    "cuzk.groth16.residency": _PLAN,
    "cuzk.groth16.setup_memory": _MEMORY,
    "cuzk.groth16.work": "what progress displays divide by",
    "cuzk.ops.msm_memory": _PLAN,
    "cuzk.ops.msm_windows": _PLAN,
    "cuzk.ops.plan_fr": _PLAN,
    "cuzk.ops.plan_msm": _PLAN,
    "cuzk.ops.plan_pieces": _PLAN,
    "cuzk.ops.plan_sums": _PLAN,
}
