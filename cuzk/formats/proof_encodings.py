"""Proofs as bytes, A || B || C in one of several encodings of points, and as calldata for the EVM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from cuzk.curves import Curve
from cuzk.errors import CurveMismatchError, FormatError, RangeError
from cuzk.formats.json_proof import public_to_json
from cuzk.formats.point_encodings import DECODERS, ENCODERS, UNCOMPRESSED
from cuzk.proof import Proof

__all__ = [
    "PROOF_ENCODINGS",
    "ProofEncoding",
    "decode_proof",
    "encode_proof",
    "proof_size",
    "solidity_calldata",
]

ProofEncoding = Literal["compressed", "uncompressed", "arkworks", "arkworks_uncompressed", "evm"]
PROOF_ENCODINGS: tuple[ProofEncoding, ...] = get_args(ProofEncoding)

_WORD_BYTES = 32


def proof_size(curve: Curve, encoding: ProofEncoding = "compressed") -> int:
    """Bytes of an encoded proof."""
    return (8 if encoding in UNCOMPRESSED else 4) * curve.fp.nbytes


def encode_proof(proof: Proof, encoding: ProofEncoding = "compressed") -> bytes:
    """A || B || C.

    Args:
        proof: For the compressed encodings its points must be on the curve, else decoding gives other points.
        encoding: "compressed" (192 bytes on BLS12-381), "uncompressed", "arkworks", "arkworks_uncompressed"
            or "evm": the first eight words of what a Solidity verifier takes, see cuzk.formats.point_encodings.

    Returns:
        proof_size(curve, encoding) bytes.

    Raises:
        RangeError: Unknown encoding.
        CurveMismatchError: "evm" for another curve than BN254.
    """
    curve, (a, b, c) = proof.curve, proof.to_ints()
    _check_encoding(curve, encoding)
    encode = ENCODERS[encoding]
    return encode(curve.g1, a) + encode(curve.g2, b) + encode(curve.g1, c)


def decode_proof(curve: Curve, data: bytes, encoding: ProofEncoding = "compressed") -> Proof:
    """The inverse of encode_proof.

    Raises:
        FormatError: Wrong length, wrong flags, a coordinate >= p, or infinity not in its one form.
        NotOnCurveError: A compressed point whose x no point has. Other points are not checked here.
        RangeError: Unknown encoding.
        CurveMismatchError: "evm" for another curve than BN254.
    """
    _check_encoding(curve, encoding)
    size = proof_size(curve, encoding)
    if len(data) != size:
        raise FormatError(
            f"a proof of {len(data)} bytes",
            limit=f"exactly {size} bytes on {curve.name} ({encoding})",
            remedy="pass one proof",
        )
    quarter, decode = size // 4, DECODERS[encoding]
    a, b, c = (
        decode(group, data[start : start + group.degree * quarter], start)
        for group, start in ((curve.g1, 0), (curve.g2, quarter), (curve.g1, 3 * quarter))
    )
    return Proof.from_ints(curve, a, b, c)


def solidity_calldata(proof: Proof, public: Sequence[int]) -> str:
    """The arguments of a Solidity verifier's verifyProof, as `snarkjs zkey export soliditycalldata` prints them.

    Args:
        proof: On BN254.
        public: The public inputs, ONE not included.

    Raises:
        CurveMismatchError: Another curve.
        RangeError: A public input is negative or >= r.
    """
    raw = encode_proof(proof, "evm")
    words = [f'"0x{raw[i : i + _WORD_BYTES].hex()}"' for i in range(0, len(raw), _WORD_BYTES)]
    inputs = [f'"0x{int(value):064x}"' for value in public_to_json(public, proof.curve)]
    ax, ay, bx1, bx0, by1, by0, cx, cy = words
    return f"[{ax}, {ay}],[[{bx1}, {bx0}],[{by1}, {by0}]],[{cx}, {cy}],[{','.join(inputs)}]"


def _check_encoding(curve: Curve, encoding: str) -> None:
    if encoding not in PROOF_ENCODINGS:
        raise RangeError(
            f"unknown encoding {encoding!r} of a proof", limit=f"one of {', '.join(PROOF_ENCODINGS)}",
            remedy="pass one of these",
        )  # fmt: skip
    if encoding == "evm" and curve.name != "bn254":
        raise CurveMismatchError(
            f"the proof is over {curve.name}",
            limit="bn254: the curve that the EVM's precompiled contracts know",
            remedy="make the proof over bn254, or use another encoding",
        )
