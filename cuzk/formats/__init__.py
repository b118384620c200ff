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
any proving key      load_key -> ProvingKey
any verifying key    load_verifying_key
verification key     load_vkey -> VerifyingKey    save_vkey
proof.json           load_proof -> Proof          save_proof
public.json          load_public -> list[int]     save_public
proof as bytes       decode_proof -> Proof        encode_proof (compressed, uncompressed, arkworks, evm)
calldata for the EVM                              solidity_calldata
any of these         describe -> FileInfo
===================  ===========================  ===========================================
"""

from __future__ import annotations

from cuzk.formats.atomic import atomic_write
from cuzk.formats.cuzk_key import cuzk_key_from_bytes, cuzk_key_to_bytes, load_cuzk_key, save_cuzk_key
from cuzk.formats.detect import FileInfo, describe, detect, load_key, load_verifying_key
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
    "ProofEncoding",
    "atomic_write",
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
