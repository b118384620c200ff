"""File formats: read to plain arrays with every bound checked, write in one step.

Readers check structure, counts, indices and moduli; whether points are on the curve is checked by the key
(``key.check_points``) on a device, and by ``verify`` for a proof. docs/formats.md describes every byte.

===================  ===========================  ===========================================
File                 Read                         Write
===================  ===========================  ===========================================
.r1cs                load_r1cs -> R1CS            save_r1cs
.wtns                load_witness -> Witness      save_witness
.zkey (groth16)      load_zkey -> ProvingKey      save_zkey
.params (bellperson) load_params -> ProvingKey    save_params
.vk (bellperson)     load_vk -> VerifyingKey      save_vk
.ptau                load_ptau -> PowersOfTau
cuzk key             load_cuzk_key -> ProvingKey  save_cuzk_key
cuzk key in memory   cuzk_key_from_bytes          cuzk_key_to_bytes
compiled circuit     load_pce -> CompiledCircuit  save_pce, cached_circuit
any proving key      load_key -> ProvingKey
any verifying key    load_verifying_key
verification key     load_vkey -> VerifyingKey    save_vkey
proof.json           load_proof -> Proof          save_proof
public.json          load_public -> list[int]     save_public
proof as bytes       decode_proof -> Proof        encode_proof (compressed, uncompressed, arkworks, evm)
calldata for the EVM                              solidity_calldata
any of these         describe -> FileInfo
===================  ===========================  ===========================================

Names are imported when they are first used: a command reads one or two kinds of file.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

# The module has a function's name: it must not take the function's place when it is imported later.
from cuzk.formats.detect import FileInfo, describe, detect, load_key, load_verifying_key

if TYPE_CHECKING:
    from cuzk.formats.atomic import atomic_write
    from cuzk.formats.cuzk_key import cuzk_key_from_bytes, cuzk_key_to_bytes, load_cuzk_key, save_cuzk_key
    from cuzk.formats.json_proof import (
        load_proof,
        load_public,
        load_vkey,
        parse_proof,
        parse_public,
        parse_vkey,
        proof_to_json,
        public_to_json,
        save_proof,
        save_public,
        save_vkey,
        vkey_to_json,
    )
    from cuzk.formats.params import load_params, load_vk
    from cuzk.formats.params_write import save_params, save_vk
    from cuzk.formats.pce import PceInfo, cached_circuit, code_digest, load_pce, save_pce
    from cuzk.formats.proof_bytes import decode_point, encode_point
    from cuzk.formats.proof_encodings import (
        PROOF_ENCODINGS,
        ProofEncoding,
        decode_proof,
        encode_proof,
        proof_size,
        solidity_calldata,
    )
    from cuzk.formats.ptau import load_ptau
    from cuzk.formats.r1cs import load_r1cs, save_r1cs
    from cuzk.formats.wtns import load_witness, save_witness
    from cuzk.formats.zkey import load_zkey, read_ceremony
    from cuzk.formats.zkey_write import save_zkey

__all__ = [
    "PROOF_ENCODINGS",
    "FileInfo",
    "PceInfo",
    "ProofEncoding",
    "atomic_write",
    "cached_circuit",
    "code_digest",
    "cuzk_key_from_bytes",
    "cuzk_key_to_bytes",
    "decode_point",
    "decode_proof",
    "describe",
    "detect",
    "encode_point",
    "encode_proof",
    "load_cuzk_key",
    "load_key",
    "load_params",
    "load_pce",
    "load_proof",
    "load_ptau",
    "load_public",
    "load_r1cs",
    "load_verifying_key",
    "load_vk",
    "load_vkey",
    "load_witness",
    "load_zkey",
    "parse_proof",
    "parse_public",
    "parse_vkey",
    "proof_size",
    "proof_to_json",
    "public_to_json",
    "read_ceremony",
    "save_cuzk_key",
    "save_params",
    "save_pce",
    "save_proof",
    "save_public",
    "save_r1cs",
    "save_vk",
    "save_vkey",
    "save_witness",
    "save_zkey",
    "solidity_calldata",
    "vkey_to_json",
]

#: Module -> the names that are imported from it when they are first used.
_HOMES: dict[str, tuple[str, ...]] = {
    "atomic": ("atomic_write",),
    "cuzk_key": (
        "cuzk_key_from_bytes",
        "cuzk_key_to_bytes",
        "load_cuzk_key",
        "save_cuzk_key",
    ),
    "json_proof": (
        "load_proof",
        "load_public",
        "load_vkey",
        "parse_proof",
        "parse_public",
        "parse_vkey",
        "proof_to_json",
        "public_to_json",
        "save_proof",
        "save_public",
        "save_vkey",
        "vkey_to_json",
    ),
    "params": (
        "load_params",
        "load_vk",
    ),
    "params_write": (
        "save_params",
        "save_vk",
    ),
    "pce": (
        "PceInfo",
        "cached_circuit",
        "code_digest",
        "load_pce",
        "save_pce",
    ),
    "proof_bytes": (
        "decode_point",
        "encode_point",
    ),
    "proof_encodings": (
        "PROOF_ENCODINGS",
        "ProofEncoding",
        "decode_proof",
        "encode_proof",
        "proof_size",
        "solidity_calldata",
    ),
    "ptau": ("load_ptau",),
    "r1cs": (
        "load_r1cs",
        "save_r1cs",
    ),
    "wtns": (
        "load_witness",
        "save_witness",
    ),
    "zkey": (
        "load_zkey",
        "read_ceremony",
    ),
    "zkey_write": ("save_zkey",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"cuzk.formats.{_HOME[name]}"), name)
    raise AttributeError(f"module 'cuzk.formats' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
