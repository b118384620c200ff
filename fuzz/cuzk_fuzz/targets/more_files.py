"""Further kinds of files: proofs and verification keys of snarkjs, vanilla proofs of both spellings, compiled circuits.

Per kind a valid file, what our reader makes of a file, and what a second one does. Where there is no second parser,
what our writer makes of the accepted content must be the file again.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cuzk_oracles import parsers, sample_pieces

from cuzk.circuits.vanilla.post_files import read_post, write_post
from cuzk.circuits.vanilla.shapes import sector_shape
from cuzk.circuits.vanilla.synthetic import synthetic_post
from cuzk.curves import Curve
from cuzk.formats import PceInfo, load_pce, load_proof, load_vkey, proof_to_json, save_pce, vkey_to_json
from cuzk.keys import VerifyingKey
from cuzk.limbs import points_from_ints, points_to_ints
from cuzk.proof import Proof
from cuzk_fuzz.subjects import Term, subject
from cuzk_fuzz.targets.pieces import compiled

#: What makes a valid file of a kind, from a curve and a seed.
Maker = Callable[[Curve, int], bytes]
#: What our reader, and a second one, make of a file.
Reading = tuple[Callable[[Path], Any], Callable[[bytes], Any] | None]

_PUBLIC = 2


def _multiples(curve: Curve, group: str, first: int, count: int) -> list[Any]:
    s = subject(f"{curve.name}_{group}")
    return [s.point(Term((first + i) % 60 + 1)) for i in range(count)]


def _proof(curve: Curve, seed: int) -> bytes:
    (a, c), (b,) = _multiples(curve, "g1", seed, 2), _multiples(curve, "g2", seed + 9, 1)
    return json.dumps(proof_to_json(Proof.from_ints(curve, a, b, c)), indent=1).encode()


def _vkey(curve: Curve, seed: int) -> bytes:
    alpha, *ic = points_from_ints(curve.g1, _multiples(curve, "g1", seed, _PUBLIC + 2))
    beta, gamma, delta = points_from_ints(curve.g2, _multiples(curve, "g2", seed + 3, 3))
    stacked = points_from_ints(curve.g1, _multiples(curve, "g1", seed + 1, len(ic)))
    return json.dumps(
        vkey_to_json(VerifyingKey(curve, alpha, beta, gamma, delta, stacked)), indent=1
    ).encode()


def _post(curve: Curve, seed: int, *, as_json: bool) -> bytes:
    del curve  # these proofs are of Filecoin's curve
    randomness = seed.to_bytes(32, "little")
    proof = synthetic_post(sector_shape("2KiB"), 5 + seed, randomness, challenges=1)
    return write_post(proof, as_json=as_json)


def _pce(curve: Curve, seed: int) -> bytes:
    circuit = sample_pieces.sample_circuit(seed, curve.r, size=4, counts=(1, 2)).circuit
    return _written(compiled(circuit, curve), PceInfo("sample", "0" * 64))


def _written(circuit: Any, info: PceInfo) -> bytes:
    with tempfile.TemporaryDirectory(prefix="cuzk_fuzz_") as folder:
        path = Path(folder, "sample.pce")
        save_pce(path, circuit, info)
        return path.read_bytes()


def _first_proof(path: Path) -> Any:
    found = load_proof(path)
    return found.curve.name, found.to_ints()


def _second_proof(data: bytes) -> Any:
    where, proof = parsers.parse_proof_json(data.decode())
    return where.name, (proof.a, proof.b, proof.c)


def _first_vkey(path: Path) -> Any:
    key = load_vkey(path)
    g2 = [points_to_ints(key.curve.g2, point[None])[0] for point in (key.beta_g2, key.gamma_g2, key.delta_g2)]
    alpha = points_to_ints(key.curve.g1, key.alpha_g1[None])[0]
    return key.curve.name, alpha, g2, points_to_ints(key.curve.g1, key.ic)


def _second_vkey(data: bytes) -> Any:
    where, key = parsers.parse_vkey_json(data.decode())
    return where.name, key.alpha_g1, [key.beta_g2, key.gamma_g2, key.delta_g2], list(key.ic)


def _second_json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError as error:
        raise parsers.ParseError(str(error)) from error


MAKERS: Mapping[str, Maker] = {
    "proof_json": _proof,
    "vkey_json": _vkey,
    "post": lambda curve, seed: _post(curve, seed, as_json=False),
    "post_json": lambda curve, seed: _post(curve, seed, as_json=True),
    "pce": _pce,
}

READINGS: Mapping[str, Reading] = {
    "proof_json": (_first_proof, _second_proof),
    "vkey_json": (_first_vkey, _second_vkey),
    "post": (lambda path: write_post(read_post(path.read_bytes(), path)), lambda data: data),
    "post_json": (
        lambda path: json.loads(write_post(read_post(path.read_bytes(), path), as_json=True)),
        _second_json,
    ),
    # Checksums cover all of it: what is accepted must be what was written.
    "pce": (lambda path: _written(*load_pce(path)), None),
}
