"""Tell what a file is, and describe it, for ``cuzk info`` and for commands that take several kinds of key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuzk.curves import CURVES
from cuzk.errors import FormatError, InputError
from cuzk.formats.atomic import PathLike
from cuzk.formats.container import map_file, naming_file, read_container
from cuzk.formats.kinds import BYTE_ORDER_MARK, KINDS, json_kind, kind_of_start, start_in_words

if TYPE_CHECKING:
    from cuzk.keys import ProvingKey, VerifyingKey
    from cuzk.relation import R1CS

# The readers are imported where a file needs them: a command reads one or two kinds.

PROVING_KEYS = ("zkey", "params", "cuzk_key")


@dataclass(frozen=True)
class FileInfo:
    """What a file is.

    Args:
        kind: A key of KINDS.
        curve: Name of its curve, or None where the file does not say.
        num_bytes: Size of the file.
        details: Sizes and forms, in the order to show them.
    """

    kind: str
    curve: str | None
    num_bytes: int
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The kind in words."""
        return KINDS[self.kind]


def detect(path: PathLike) -> str:
    """The kind of a file by its first bytes (JSON: by its keys).

    Returns:
        A key of KINDS.

    Raises:
        InputError: The file cannot be read.
        FormatError: No supported kind.
    """
    data = map_file(path)
    start = data[:64].tobytes()
    kind = kind_of_start(start)
    if kind is not None:
        return kind
    if start.removeprefix(BYTE_ORDER_MARK).lstrip()[:1] in (b"{", b"["):
        return _kind_of_json(_read_json(path), path)
    from cuzk.formats import params
    from cuzk.formats.proof_encodings import proof_size

    if len(data) in {proof_size(CURVES[name]) for name in ("bls12_381", "bn254")}:
        return "proof_bytes"
    if params.is_params(data) or Path(path).suffix == ".params":
        return "params"
    if params.is_vk(data) or Path(path).suffix == ".vk":
        return "bellman_vk"
    raise FormatError(
        f"not a file that cuzk knows, but {start_in_words(start)} ({len(data)} bytes)",
        path=path,
        limit="circuit .r1cs, witness .wtns, key .zkey .params or cuzk's own, .ptau, .vk, snarkjs JSON, proof bytes",
        remedy="give one of these; it may not have come over completely",
    )


def _read_json(path: PathLike) -> Any:
    from cuzk.formats.strict_json import read_json

    return read_json(path)


def _kind_of_json(value: Any, path: PathLike) -> str:
    kind = json_kind(value)
    if kind is not None:
        return kind
    raise FormatError(
        "JSON, but neither proof, verification key nor public inputs",
        path=path,
        limit="keys pi_a, vk_alpha_1, or a list",
        remedy="give one of the JSON files that `snarkjs groth16` or cuzk writes",
    )


def require_kind(path: PathLike, kinds: Sequence[str], wanted: str) -> str:
    """The kind of a file, which must be one of several.

    Args:
        path: The file.
        kinds: Keys of KINDS.
        wanted: These in words, such as "a circuit".

    Raises:
        FormatError: It is another, or none.
    """
    kind = detect(path)
    if kind not in kinds:
        raise FormatError(
            f"not {wanted}, but a file of another kind: {KINDS[kind]}",
            path=path,
            limit="; ".join(KINDS[name] for name in kinds),
            remedy="name the right file; two arguments may have changed places",
        )
    return kind


def load_key(path: PathLike, *, circuit: R1CS | None = None, strict: bool = False) -> ProvingKey:
    """Read a proving key of any supported kind.

    Args:
        path: The key.
        circuit: The circuit; a .params cannot be read without it, other keys do not need it.
        strict: Refuse a key nobody contributed to; else it gives a SecurityWarning.

    Raises:
        FormatError: Not a proving key, or damaged.
        InputError: A .params without its circuit.
    """
    kind = require_kind(path, PROVING_KEYS, "a proving key")
    if kind == "params":
        if circuit is None:
            raise InputError(
                "a .params says nothing about its circuit",
                where=str(path),
                remedy="give the circuit, too (--circuit C.r1cs)",
            )
        from cuzk.formats.params import load_params

        return load_params(path, circuit, strict=strict)
    if kind == "zkey":
        from cuzk.formats.zkey import load_zkey

        return load_zkey(path, strict=strict)
    from cuzk.formats.cuzk_key import load_cuzk_key

    return load_cuzk_key(path, strict=strict)


def load_verifying_key(path: PathLike, *, strict: bool = False) -> VerifyingKey:
    """Read a verifying key: snarkjs's JSON, or bellperson's .vk.

    Raises:
        FormatError: It does not parse.
        RangeError: A degenerate key.
    """
    from cuzk.formats import json_proof, params

    data = map_file(path)
    if params.is_vk(data):
        return params.load_vk(path, strict=strict)
    if kind_of_start(data[:64].tobytes()) is not None:
        require_kind(path, ("vkey_json", "bellman_vk"), "a verification key")
    return json_proof.load_vkey(path, strict=strict)


def describe(path: PathLike) -> FileInfo:
    """Read a file with all checks of its reader and say what it holds.

    Raises:
        InputError: The file cannot be read, or does not pass a check.
    """
    kind = detect(path)
    curve, details = _DESCRIBE[kind](path)
    return FileInfo(kind, curve, Path(path).stat().st_size, details)


Described = tuple[str | None, dict[str, Any]]


def _describe_r1cs(path: PathLike) -> Described:
    from cuzk.formats.r1cs import load_r1cs

    circuit = load_r1cs(path)
    details: dict[str, Any] = {
        "constraints": circuit.num_constraints,
        "variables": circuit.num_variables,
        "public": circuit.num_public,
        "outputs": circuit.num_outputs,
        "private inputs": circuit.num_private_inputs,
        "domain": f"2^{circuit.domain_log2}",
    }
    unconstrained = circuit.unconstrained_variables()
    if unconstrained:
        details["in no constraint"] = f"{len(unconstrained)} variables, the first is {unconstrained[0]}"
    details |= {f"non-zero in {name}": matrix.nnz for name, matrix in circuit.matrices.items()}
    return circuit.curve.name, details | {"circuit digest": circuit.digest()}


def _describe_wtns(path: PathLike) -> Described:
    from cuzk.formats.wtns import load_witness

    witness = load_witness(path)
    values = witness.values
    num_zero = int((~values.any(axis=1)).sum())
    num_one = int(((values[:, 0] == 1) & ~values[:, 1:].any(axis=1)).sum())
    return witness.curve.name, {
        "values": witness.num_variables,
        "zero": num_zero,
        "one": num_one,
        "other": witness.num_variables - num_zero - num_one,
    }


def _describe_key(key: ProvingKey) -> Described:
    return key.curve.name, {
        "constraints": key.num_constraints,
        "variables": key.num_variables,
        "public": key.num_public,
        "domain": f"2^{key.log_domain}",
        "h form": key.h_form,
        "root convention": key.root_convention,
        **({"row order": "renumbered"} if key.is_renumbered else {}),
        **_describe_rows(key),
        "circuit digest": key.circuit_digest,
    }


def _describe_rows(key: ProvingKey) -> dict[str, Any]:
    if key.compiled is None:
        return {"matrix C": "yes" if key.c is not None else "no"}
    return {
        "compiled circuit": key.compiled.circuit,
        "matrices": "none: the rows come from the compiled circuit",
        "entries of the matrices": key.compiled.num_entries,
    }


def _describe_zkey(path: PathLike) -> Described:
    from cuzk.formats import zkey

    key = zkey.load_zkey(path)
    container = read_container(path, zkey.MAGIC, zkey.VERSION, frozenset(range(1, 11)))
    curve, details = _describe_key(key)
    return curve, details | {"contributions": zkey.count_contributions(container, key.curve)}


def _describe_params(path: PathLike) -> Described:
    from cuzk.formats import params

    counts = params.scan_params(path).counts
    return params.CURVE.name, {
        "public": counts["ic"] - 1,
        "private variables": counts["l_query"],
        "h form": "monomial",
        **{f"points in {name}": count for name, count in counts.items()},
    }


def _describe_bellman_vk(path: PathLike) -> Described:
    from cuzk.formats import params

    return params.CURVE.name, {"public": params.load_vk(path).num_public}


def _describe_vkey(path: PathLike) -> Described:
    from cuzk.formats.json_proof import parse_vkey

    key = parse_vkey(_read_json(path), path)
    return key.curve.name, {"public": key.num_public}


def _describe_proof_bytes(path: PathLike) -> Described:
    from cuzk.formats.proof_encodings import decode_proof, proof_size

    data = map_file(path).tobytes()
    curve = next(curve for curve in CURVES.values() if proof_size(curve) == len(data))
    with naming_file(path):
        decode_proof(curve, data)
    return curve.name, {"form": "A || B || C, compressed"}


def _describe_public(path: PathLike) -> Described:
    from cuzk.formats.json_proof import parse_public

    # The list names no curve, so the largest field bounds the values.
    largest = max(CURVES.values(), key=lambda curve: curve.r)
    return None, {"values": len(parse_public(_read_json(path), largest, path))}


def _describe_ptau(path: PathLike) -> Described:
    from cuzk.formats import ptau

    container = ptau.open_ptau(path)
    curve, power = ptau.read_header(container)
    prepared = "yes" if ptau.is_prepared(container) else "no"
    return curve.name, {"power": power, "largest domain": f"2^{power}", "prepared for phase 2": prepared}


def _describe_cuzk_key(path: PathLike) -> Described:
    from cuzk.formats.cuzk_key import load_cuzk_key

    return _describe_key(load_cuzk_key(path, verify="all"))


def _describe_pce(path: PathLike) -> Described:
    from cuzk.formats.pce import load_pce

    circuit, info = load_pce(path)
    return circuit.curve.name, {
        "circuit": info.circuit,
        "constraints": circuit.num_rows,
        "variables": circuit.num_variables,
        "public": circuit.num_inputs - 1,
        "hints": circuit.num_hints,
        "pieces": len(circuit.pieces),
        "instances": sum(len(piece.instances) for piece in circuit.pieces),
        "made by code": info.code,
    }


def _describe_proof_json(path: PathLike) -> Described:
    from cuzk.formats.json_proof import parse_proof

    return parse_proof(_read_json(path), None, path).curve.name, {}


_DESCRIBE: dict[str, Callable[[PathLike], Described]] = {
    "r1cs": _describe_r1cs,
    "wtns": _describe_wtns,
    "zkey": _describe_zkey,
    "ptau": _describe_ptau,
    "cuzk_key": _describe_cuzk_key,
    "pce": _describe_pce,
    "params": _describe_params,
    "bellman_vk": _describe_bellman_vk,
    "vkey_json": _describe_vkey,
    "proof_json": _describe_proof_json,
    "public_json": _describe_public,
    "proof_bytes": _describe_proof_bytes,
}
