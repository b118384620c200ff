"""The kinds of files in words, and what the first bytes or the keys of a file say about its kind.

Readers use this to say what a file is where it is not theirs; they check everything else themselves.
"""

from __future__ import annotations

from typing import Any

__all__ = ["BYTE_ORDER_MARK", "KINDS", "json_kind", "kind_of_start", "start_in_words"]

KINDS = {
    "r1cs": "circuit (circom .r1cs)",
    "wtns": "witness (circom .wtns)",
    "zkey": "proving key (snarkjs .zkey)",
    "ptau": "powers of tau (snarkjs .ptau)",
    "cuzk_key": "proving key (cuzk)",
    "pce": "compiled circuit (cuzk .pce)",
    "params": "proving key (bellperson .params)",
    "bellman_vk": "verification key (bellperson .vk)",
    "vkey_json": "verification key (snarkjs JSON)",
    "proof_json": "proof (snarkjs JSON)",
    "public_json": "public inputs (snarkjs JSON)",
    "proof_bytes": "proof (compressed points)",
}
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_STARTS = {
    b"r1cs": "r1cs", b"wtns": "wtns", b"zkey": "zkey", b"ptau": "ptau", b"cuzk-key": "cuzk_key",
    b"cuzk-pce": "pce",
}  # fmt: skip
_OTHERS = {
    b"\x7fELF": "a program",
    b"PK\x03\x04": "a zip archive",
    b"\x1f\x8b": "a gzip archive: unpack it first",
    b"\x00asm": "a WebAssembly program: the witness generator, not a witness",
    b"pragma circom": "a circom source: compile it with circom --r1cs --wasm",
    b"<": "a web page or XML: the download went wrong",
    b"version https://git-lfs": "a pointer of Git LFS: run `git lfs pull`",
}
_SHOWN = 16


def kind_of_start(start: bytes) -> str | None:
    """The kind that the magic at the start of a file stands for, or None."""
    return next((kind for magic, kind in _STARTS.items() if start.startswith(magic)), None)


def start_in_words(start: bytes) -> str:
    """What a file is by its first bytes, to follow "but"; where they say nothing, the bytes themselves."""
    if not start:
        return "an empty file"
    kind = kind_of_start(start)
    if kind is not None:
        return f"a file of another kind: {KINDS[kind]}"
    for magic, words in _OTHERS.items():
        if start.removeprefix(BYTE_ORDER_MARK).lstrip().startswith(magic):
            return words
    if start.removeprefix(BYTE_ORDER_MARK).lstrip()[:1] in (b"{", b"["):
        return "a JSON text"
    return f"a file that starts with {start[:_SHOWN]!r}"


def json_kind(value: Any) -> str | None:
    """The kind of a parsed JSON file by its keys, or None."""
    if isinstance(value, list):
        return "public_json"
    if not isinstance(value, dict):
        return None
    return "proof_json" if "pi_a" in value else "vkey_json" if "vk_alpha_1" in value else None
