"""``cuzk verify``: whether a proof holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cuzk.cli.help_text import epilog
from cuzk.cli.options import JsonOption
from cuzk.cli.output import print_json
from cuzk.cli.paths import check_inputs
from cuzk.errors import NotOnCurveError

if TYPE_CHECKING:
    from cuzk.curves import Curve
    from cuzk.groth16 import Verdict
    from cuzk.proof import Proof

__all__ = ["EXAMPLES", "verify"]

EXAMPLES = epilog(
    "cuzk verify --vkey vkey.json --public public.json --proof proof.json",
    "cuzk verify --vkey vkey.json --public public.json --proof proof.bin\n--strict --json",
    note="Exit codes: 0 the proof holds; 1 it does not, with the reason; 2 a file does not parse.",
)

_NO = 1


def verify(
    vkey: Annotated[
        Path, typer.Option("--vkey", metavar="vkey.json", help="Verifying key: JSON, or .vk of bellperson.")
    ],
    public: Annotated[Path, typer.Option("--public", metavar="public.json", help="Public inputs.")],
    proof: Annotated[
        Path, typer.Option("--proof", metavar="proof.json", help="The proof: JSON, or bytes (--proof-bytes).")
    ],
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Refuse a key that nobody has contributed to, instead of a warning."),
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """Check a proof against a verifying key and public inputs."""
    check_inputs({"--vkey": vkey, "--public": public, "--proof": proof})
    verdict = _verify(vkey, public, proof, strict=strict)
    if as_json:
        print_json({"valid": verdict.valid, "reason": verdict.reason})
    elif verdict:
        print("The proof holds.")
    else:
        print(f"The proof does not hold: {verdict.reason}.")
    return 0 if verdict else _NO


def _verify(vkey_path: Path, public_path: Path, proof_path: Path, *, strict: bool) -> Verdict:
    from cuzk.formats import load_public, load_verifying_key
    from cuzk.groth16 import PreparedVerifyingKey, Verdict

    vkey = load_verifying_key(vkey_path, strict=strict)
    public = load_public(public_path, vkey.curve)
    try:
        proof = _load_proof(proof_path, vkey.curve)
    except NotOnCurveError as error:
        # A compressed point without a y: the file is well-formed, and no proof.
        return Verdict(False, f"a point is off the curve ({error.what})")
    return PreparedVerifyingKey(vkey).verify(public, proof)


def _load_proof(path: Path, curve: Curve) -> Proof:
    from cuzk.formats import decode_proof, detect, load_proof

    if detect(path) == "proof_bytes":
        return decode_proof(curve, path.read_bytes())
    return load_proof(path, curve)
