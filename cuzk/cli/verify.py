"""``cuzk verify``: whether one proof holds, or which of several do."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from cuzk.cli.help_text import epilog
from cuzk.cli.late import LateProgress
from cuzk.cli.options import JsonOption
from cuzk.cli.output import print_json
from cuzk.cli.paths import check_inputs
from cuzk.errors import FormatError, InputError, NotOnCurveError, ShapeError

if TYPE_CHECKING:
    from cuzk.curves import Curve
    from cuzk.groth16 import PreparedVerifyingKey, Verdict
    from cuzk.proof import Proof
    from cuzk.verifying_key import VerifyingKey

__all__ = ["EXAMPLES", "verify"]

EXAMPLES = epilog(
    "cuzk verify --vkey vkey.json --public public.json --proof proof.json",
    "cuzk verify --vkey vkey.json --public public.json --proof proof.bin\n--strict --json",
    "cuzk verify --vkey vkey.json --public a.public.json --proof a.proof.json\n"
    "--public b.public.json --proof b.proof.json",
    "cuzk verify --vkey vkey.json --batch proofs.txt --json",
    done="every proof holds",
    no="one does not, with the reason",
    bad="a file does not parse",
)

_NO = 1
_STEPS = (("read", "read the key and what is to be checked"), ("check", "check the pairing equations"))


class _Claim(NamedTuple):
    """The files of one proof and of what it proves."""

    public: Path
    proof: Path
    line: int | None = None

    def check(self) -> None:
        """Check that both files can be read; the message says where they were named."""
        for option, path in (("--public", self.public), ("--proof", self.proof)):
            check_inputs({option if self.line is None else f"--batch, line {self.line}": path})


def verify(
    vkey: Annotated[
        Path, typer.Option("--vkey", metavar="vkey.json", help="Verifying key: JSON, or .vk of bellperson.")
    ],
    public: Annotated[
        list[Path] | None,
        typer.Option("--public", metavar="public.json", help="Public inputs; once for each proof."),
    ] = None,
    proof: Annotated[
        list[Path] | None,
        typer.Option(
            "--proof",
            metavar="proof.json",
            help="The proof: JSON, or bytes (--proof-bytes). Several, in the order of --public: all at once.",
        ),
    ] = None,
    batch: Annotated[
        Path | None,
        typer.Option(
            "--batch",
            metavar="LIST",
            help="Proofs of this key, one a line: public.json proof.json, relative to the list's folder.",
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Refuse a key that nobody has contributed to, instead of a warning."),
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """Check a proof, or several of one key, against a verifying key and public inputs.

    Several proofs are checked together, which costs less than checking each; only where that fails is each
    checked by itself, to say which do not hold.
    """
    check_inputs({"--vkey": vkey, "--batch": batch})
    claims = _claims(public or [], proof or [], batch)
    for claim in claims:
        claim.check()
    of_many = "1 proof" if len(claims) == 1 else f"{len(claims)} proofs"
    with LateProgress(f"check of {of_many}", _STEPS, quiet=as_json) as progress:
        verdicts = _verdicts(vkey, claims, progress, strict=strict)
    if len(claims) == 1 and batch is None:
        _print_one(verdicts[0], as_json)
    else:
        _print_all(claims, verdicts, as_json)
    return 0 if all(verdicts) else _NO


def _claims(public: list[Path], proof: list[Path], batch: Path | None) -> list[_Claim]:
    """What is to be checked, from the options or from the list.

    Raises:
        InputError: Neither or both are given, or not one --public for each --proof.
    """
    if batch is not None:
        if public or proof:
            raise InputError(
                "a list and single proofs", where="--batch", limit="--batch, or --public with --proof",
                remedy="put all of them into the list",
            )  # fmt: skip
        return _read_list(batch)
    if not proof or len(public) != len(proof):
        raise InputError(
            f"{len(proof)} proofs with {len(public)} files of public inputs",
            where="--public, --proof",
            limit="at least one proof, and one --public for each --proof",
            remedy="give both for each proof in the same order, or name them in a list (--batch)",
        )
    return [_Claim(*pair) for pair in zip(public, proof, strict=True)]


def _read_list(path: Path) -> list[_Claim]:
    from cuzk.formats.kinds import start_in_words

    def refuse(what: str, number: int | None = None) -> FormatError:
        return FormatError(
            what, path=path, section=None if number is None else f"line {number}",
            limit="on each line: public.json proof.json; # begins a comment, quotes hold blanks",
            remedy="write the list as plain text, one proof a line",
        )  # fmt: skip

    with path.open("rb") as file:
        kind = start_in_words(file.read(64))
    if not kind.startswith("a file that starts"):
        raise refuse(f"not a list of proofs, but {kind}")
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise refuse("the list of proofs is not text") from None
    claims = []
    for number, line in enumerate(lines, 1):
        try:
            words = shlex.split(line, comments=True)
        except ValueError:
            raise refuse("a quote is not closed", number) from None
        if words and (len(words) != 2 or "\0" in line):
            raise refuse(f"{len(words)} names", number)
        if words:
            claims.append(_Claim(path.parent / words[0], path.parent / words[1], number))
    if not claims:
        raise refuse("the list names no proof")
    return claims


def _print_one(verdict: Verdict, as_json: bool) -> None:
    if as_json:
        print_json({"valid": verdict.valid, "reason": verdict.reason})
    elif verdict:
        print("The proof holds.")
    else:
        print(f"The proof does not hold: {verdict.reason}.")


def _print_all(claims: list[_Claim], verdicts: list[Verdict], as_json: bool) -> None:
    good = sum(map(bool, verdicts))
    summary = f"{good} of {len(verdicts)} proofs hold"
    if as_json:
        each: list[dict[str, Any]] = [
            {"proof": str(claim.proof), "public": str(claim.public), "valid": verdict.valid, "reason": verdict.reason}
            for claim, verdict in zip(claims, verdicts, strict=True)
        ]  # fmt: skip
        print_json(
            {"valid": good == len(verdicts), "reason": "" if all(verdicts) else summary, "proofs": each}
        )
        return
    for claim, verdict in zip(claims, verdicts, strict=True):
        print(f"{claim.proof}: {'holds' if verdict else f'does not hold: {verdict.reason}'}")
    print(f"{summary}.")


def _verdicts(
    vkey_path: Path, claims: list[_Claim], progress: LateProgress, *, strict: bool
) -> list[Verdict]:
    from cuzk.formats import load_verifying_key
    from cuzk.formats.container import naming_file
    from cuzk.groth16 import PreparedVerifyingKey

    with progress.step("read") as advance:
        vkey = load_verifying_key(vkey_path, strict=strict)
        with naming_file(vkey_path):
            prepared = PreparedVerifyingKey(vkey)
        verdicts, statements, proofs = _read(vkey_path, vkey, claims, advance)
    with progress.step("check") as advance:
        found = iter(_check(prepared, statements, proofs, advance))
    return [next(found) if verdict is None else verdict for verdict in verdicts]


def _read(
    vkey_path: Path, vkey: VerifyingKey, claims: list[_Claim], advance: Callable[[float], None]
) -> tuple[list[Verdict | None], list[list[int]], list[Proof]]:
    """What is known of each proof from reading alone, and of those of which nothing is, inputs and proofs."""
    from cuzk.formats import load_public
    from cuzk.groth16 import Verdict

    verdicts: list[Verdict | None] = []
    statements, proofs = [], []
    for i, claim in enumerate(claims):
        advance(i / len(claims))
        public = load_public(claim.public, vkey.curve)
        if len(public) != vkey.num_public:
            raise ShapeError(
                f"{len(public)} public inputs", where=str(claim.public),
                limit=f"the key {vkey_path} has {vkey.num_public}",
                remedy="give the public.json that was written with this proof, and the key of the same circuit",
            )  # fmt: skip
        try:
            proof = _load_proof(claim.proof, vkey.curve)
        except NotOnCurveError as error:
            # A compressed point without a y: the file is well-formed, and no proof.
            verdicts.append(Verdict(False, f"a point is off the curve ({error.what})"))
            continue
        verdicts.append(None)
        statements.append(public)
        proofs.append(proof)
    return verdicts, statements, proofs


def _check(
    prepared: PreparedVerifyingKey,
    statements: list[list[int]],
    proofs: list[Proof],
    advance: Callable[[float], None],
) -> list[Verdict]:
    """The verdict on each proof; together first, for that is the usual case and cheap."""
    if len(proofs) > 1:
        together = prepared.verify_batch(statements, proofs)
        if together:
            return [together] * len(proofs)
    verdicts = []
    for i, pair in enumerate(zip(statements, proofs, strict=True)):
        advance(i / len(proofs))
        verdicts.append(prepared.verify(*pair))
    return verdicts


def _load_proof(path: Path, curve: Curve) -> Proof:
    from cuzk.formats import decode_proof, load_proof
    from cuzk.formats.container import naming_file
    from cuzk.formats.detect import require_kind

    if require_kind(path, ("proof_json", "proof_bytes"), "a proof") == "proof_bytes":
        with naming_file(path):
            return decode_proof(curve, path.read_bytes())
    return load_proof(path, curve)
