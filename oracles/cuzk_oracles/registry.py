"""Which oracle checks which kernel family, on which edge classes, and what checks the oracle.

A kernel family is the group of kernels that one header declares. A project test enumerates all kernels and
fails when a family is missing here. `oracles` are the reference; `seconds` are other functions of this
package, and `libraries` adapters of other lineages, that the tests in `tests/oracles/` hold against it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from cuzk_oracles import (
    curve,
    encoding,
    fields,
    fp2,
    groth16,
    msm,
    ntt,
    parsers,
    pieces,
    qap,
    spmv,
    toy,
    trapdoor,
    vec,
    verify,
)
from cuzk_oracles.edge_values import IDS

Oracle = Callable[..., object]


@dataclass(frozen=True)
class Family:
    """One kernel family."""

    name: str
    oracles: tuple[Oracle, ...]
    seconds: tuple[Oracle, ...]
    libraries: tuple[str, ...]
    edge_classes: tuple[str, ...]
    owner_test: str

    @property
    def edge_ids(self) -> tuple[str, ...]:
        """Every id of the family's classes."""
        return tuple(edge_id for letter in self.edge_classes for edge_id in IDS[letter])


_ALL = (
    Family(
        "word",
        (
            *(fields.word_add, fields.word_sub, fields.word_mul_lo, fields.word_mul_hi),
            *(fields.word_mul_wide, fields.word_mad_lo, fields.word_mad_hi, fields.word_mad_wide),
        ),
        (fields.from_limbs,),
        ("gmpy2",),
        ("W",),
        "test_fields.py",
    ),
    Family(
        "field",
        (
            *(fields.add, fields.sub, fields.neg, fields.dbl, fields.mul),
            *(fields.sqr, fields.inv, fields.to_mont, fields.from_mont, fields.mont_mul),
        ),
        (fields.mont_mul_by_words, fields.inv_fermat),
        ("gmpy2", "flint"),
        ("F", "A"),
        "test_fields.py",
    ),
    Family(
        "fp2",
        (fp2.add, fp2.sub, fp2.neg, fp2.dbl, fp2.mul, fp2.sqr, fp2.inv, fp2.conjugate),
        (fp2.pow_,),
        ("py_ecc",),
        ("F",),
        "test_fp2.py",
    ),
    Family(
        "point",
        (
            *(curve.add, curve.double, curve.neg, curve.mul),
            *(curve.to_xyzz, curve.from_xyzz, curve.is_on_curve, curve.in_subgroup),
        ),
        (toy.add_g1, toy.add_g2),
        ("py_ecc", "pyblst", "pymcl", "zksnake", "py_arkworks_bls12381"),
        ("P", "F"),
        "test_curve.py",
    ),
    Family(
        "batch_inverse",
        (fields.inv,),
        (fields.batch_inv, fields.inv_fermat),
        ("gmpy2",),
        ("F", "S"),
        "test_fields.py",
    ),
    Family(
        "vec",
        (vec.vec_add, vec.vec_sub, vec.vec_mul, vec.vec_scale, vec.vec_mul_sub, vec.vec_powers_scale),
        (ntt.powers, ntt.horner),
        ("gmpy2",),
        ("F", "S", "A"),
        "test_vec.py",
    ),
    Family(
        "ntt",
        (ntt.ntt_definition, ntt.intt_definition, ntt.coset_ntt_definition, ntt.bit_reverse),
        (ntt.fft, ntt.ifft, ntt.coset_ntt, ntt.coset_intt, ntt.is_transform),
        ("flint", "zksnake"),
        ("F", "S"),
        "test_ntt.py",
    ),
    Family("spmv", (spmv.spmv,), (spmv.spmv_dense, spmv.transpose_spmv), (), ("M", "F", "S"), "test_spmv.py"),
    Family("witness", (pieces.run,), (pieces.run_on_demand,), (), ("C",), "test_pieces.py"),
    Family("piece_spmv", (pieces.piece_rows,), (spmv.spmv, spmv.spmv_dense), (), ("C",), "test_pieces.py"),
    Family(
        "digits",
        (msm.signed_digits, msm.unsigned_digits),
        (msm.recompose, msm.are_signed_digits),
        (),
        ("K",),
        "test_msm.py",
    ),
    Family(
        "sort",
        (msm.bucket_counts, msm.bucket_offsets, msm.bucket_order),
        (msm.is_bucket_order,),
        (),
        ("K", "S"),
        "test_msm.py",
    ),
    Family(
        "msm",
        (msm.msm_naive, msm.msm_by_exponents, msm.bucket_sums, msm.weighted_bucket_sum),
        (msm.msm_buckets, msm.msm_exponent),
        ("zksnake", "py_arkworks_bls12381"),
        ("P", "K", "S"),
        "test_msm.py",
    ),
    Family("batch_add", (vec.batch_add,), (curve.total,), ("zksnake",), ("P", "S"), "test_vec.py"),
    Family("classify", (vec.classify,), (vec.Classes,), (), ("K", "S"), "test_vec.py"),
    Family(
        "fixed_base",
        (curve.mul,),
        (msm.FixedBase.mul, msm.msm_by_exponents),
        ("py_ecc", "pyblst", "pymcl"),
        ("K", "S"),
        "test_curve.py",
    ),
    Family(
        "groth16",
        (trapdoor.expected_proof, groth16.setup_exponents, qap.evaluate, qap.h_by_division, verify.verify),
        (groth16.prove, toy.verify, qap.h_by_coset, qap.odd_coset_values, qap.quotient_identity_holds),
        ("py_ecc", "pyblst", "pymcl"),
        ("M", "K"),
        "test_groth16.py",
    ),
    Family(
        "formats",
        (
            *(parsers.parse_r1cs, parsers.parse_wtns, parsers.parse_zkey, parsers.parse_proof_json),
            *(parsers.parse_vkey_json, parsers.parse_public_json, encoding.proof_to_bytes),
        ),
        (parsers.prove_zkey, encoding.proof_from_bytes),
        ("pyblst", "py_arkworks_bls12381"),
        (),
        "test_parsers.py",
    ),
)

FAMILIES: dict[str, Family] = {family.name: family for family in _ALL}


def family(name: str) -> Family:
    """The family of this name; KeyError names the ones there are."""
    if name not in FAMILIES:
        raise KeyError(f"kernel family {name!r} has no oracle; families with one: {sorted(FAMILIES)}")
    return FAMILIES[name]
