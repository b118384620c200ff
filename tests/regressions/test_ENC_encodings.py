"""Regressions of encodings: reports ENC-03 to ENC-11, each checked as a kind of fault.

Would catch: a second byte string for one point; bytes after the end; infinity that decodes as a point, or a point as
infinity; an order of c0 and c1 that another tool does not share.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import py_arkworks_bls12381 as arkworks
import pytest
from cuzk_oracles import encoding as oracle_encoding
from cuzk_oracles.groth16 import Proof as OracleProof

from cuzk import _pairing
from cuzk.curves import GroupSpec, get_curve
from cuzk.errors import FormatError, InputError
from cuzk.formats import (
    decode_proof,
    encode_point,
    encode_proof,
    load_proof,
    load_vkey,
    parse_proof,
    parse_public,
    parse_vkey,
    proof_size,
    proof_to_json,
    solidity_calldata,
    vkey_to_json,
)
from cuzk.formats.json_proof import dump_json
from cuzk.formats.point_encodings import DECODERS, ENCODERS
from cuzk.formats.strict_json import parse_json
from cuzk.limbs import points_from_ints
from cuzk.ops import points as ops
from cuzk.proof import Proof
from tests.cli.support import cuzk
from tests.kernels.fr_support import open_device
from tests.regressions.support import REAL_CURVES, decoded, encodings, files

every_curve = pytest.mark.parametrize("curve_name", REAL_CURVES)


def subjects(curve_name: str) -> list[tuple[str, GroupSpec]]:
    """Every encoding of every group of a curve."""
    curve = get_curve(curve_name)
    return [(name, group) for name in encodings(curve) for group in (curve.g1, curve.g2)]


@every_curve
def test_enc_03_infinity_with_another_bit(curve_name: str) -> None:
    for name, group in subjects(curve_name):
        infinity = ENCODERS[name](group, None)
        assert decoded(name, group, infinity) is None
        for bit in range(8 * len(infinity)):
            data = bytearray(infinity)
            data[bit // 8] ^= 1 << bit % 8
            found = decoded(name, group, bytes(data))
            assert found is not None, (name, group.full_name, bit)
            if not isinstance(found, type):  # the flag itself was cleared: a point, in its one form
                assert ENCODERS[name](group, found) == bytes(data)


@every_curve
def test_enc_04_random_bytes_with_the_infinity_flag(curve_name: str, rng: random.Random) -> None:
    for name, group in subjects(curve_name):
        infinity = ENCODERS[name](group, None)
        at = next((i for i, byte in enumerate(infinity) if byte), None)
        if at is None:
            continue  # infinity has no flag here: it is all zero
        for _ in range(200):
            data = bytearray(rng.randbytes(len(infinity)))
            data[at] |= infinity[at]
            assert decoded(name, group, bytes(data)) is not None
            data[at] = infinity[at]
            assert isinstance(decoded(name, group, bytes(data)), type)


@every_curve
def test_enc_05_infinity_in_every_format(curve_name: str) -> None:
    curve = get_curve(curve_name)
    nothing = Proof.from_ints(curve, None, None, None)
    for name in encodings(curve):
        data = encode_proof(nothing, name)  # type: ignore[arg-type]
        assert decode_proof(curve, data, name) == nothing  # type: ignore[arg-type]
    assert parse_proof(proof_to_json(nothing)) == nothing
    for third in (["0", "0", "0"], ["0", "1", "1"], ["1", "1", "0"], ["0", "2", "0"], ["1", "2", "2"]):
        text = proof_to_json(nothing) | {"pi_a": third}
        try:
            found = parse_proof(text).to_ints()[0]
        except FormatError:
            continue
        assert found == (0, 1), third


@every_curve
def test_enc_07_spare_bits_of_every_coordinate(curve_name: str) -> None:
    for name, group in subjects(curve_name):
        data = ENCODERS[name](group, group.generator)
        width = group.fp.nbytes
        assert decoded(name, group, data) == group.generator
        little = name.startswith("arkworks")
        for start in range(0, len(data), width):
            top = start + width - 1 if little else start
            if (top == len(data) - 1 and little) or (top == 0 and not little and name != "evm"):
                continue  # this byte carries the flags
            for bit in range(8 - group.fp.spare_bits, 8):
                spoiled = bytearray(data)
                spoiled[top] ^= 1 << bit
                assert decoded(name, group, bytes(spoiled)) is FormatError, (name, start, bit)


@every_curve
def test_enc_08_exact_lengths_only(curve_name: str) -> None:
    f = files(curve_name)
    curve = f.proof.curve
    for name in encodings(curve):
        data = encode_proof(f.proof, name)  # type: ignore[arg-type]
        assert len(data) == proof_size(curve, name)  # type: ignore[arg-type]
        longer = (data + b"\0", b"\0" + data, data + bytes(curve.fp.nbytes), data * 2)
        for wrong in (*longer, data[:-1], data[1:], b""):
            with pytest.raises(FormatError, match="exactly"):
                decode_proof(curve, wrong, name)  # type: ignore[arg-type]
    for name, group in subjects(curve_name):
        data = ENCODERS[name](group, group.generator)
        for wrong in (data + b"\0", data + bytes(48), data[:-1], b""):
            assert decoded(name, group, wrong) is FormatError
    text = dump_json(vkey_to_json(f.vkey))
    for tail in (b"\0", b"{}", b"x", bytes(48)):
        with pytest.raises(FormatError):
            parse_bytes(text + tail)
    with pytest.raises(FormatError):
        parse_bytes(text[:-1])


def parse_bytes(text: bytes) -> Any:
    """A verifying key from JSON text."""
    return parse_vkey(parse_json(text))


@every_curve
def test_enc_09_other_bytes_for_the_same_proof(curve_name: str, tmp_path: Path) -> None:
    f = files(curve_name)
    vkey, public = f.folder / "vkey.json", f.folder / "public.json"

    def run(content: bytes, name: str = "proof.bin") -> int:
        path = tmp_path / name
        path.write_bytes(content)
        return cuzk("verify", "--vkey", vkey, "--public", public, "--proof", path).code

    raw = encode_proof(f.proof)
    assert run(raw) == 0
    assert run(raw + b"\0") == run(b"\0" + raw) == run(raw[:-1]) == 2
    text = (f.folder / "proof.json").read_text(encoding="utf-8").rstrip("\n")
    assert run(text.encode(), "proof.json") == 0
    for changed in (
        text[:-1] + ', "protocol": "groth16"}',
        text[:-1] + ', "extra": 1}',
        text.replace('"pi_a"', '"pi_A"'),
        text + "\0",
        "\ufeff" + text,
        "[" + text + "]",
        text.replace('"1"', "1"),
        text.replace('"1"', '"\\u0031"'),
        text.replace('"pi_a"', '"pi\\u005fa"'),
    ):
        assert run(changed.encode(), "proof.json") == 2, changed[-40:]


#: The generator of G2 on BN254 in the order of EIP-197: x.c1, x.c0, y.c1, y.c0.
EIP_197_G2 = (
    "198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2"
    "1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed"
    "090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b"
    "12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa"
)
#: The generators of BLS12-381, compressed, as the pairing-friendly curves draft and Zcash print them.
ZCASH_G1 = "97f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb"
ZCASH_G2 = (
    "93e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e"
    "024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8"
)


def test_enc_10_fixed_vectors() -> None:
    bn, bls = get_curve("bn254"), get_curve("bls12_381")
    assert ENCODERS["evm"](bn.g2, bn.g2.generator).hex() == EIP_197_G2
    assert ENCODERS["evm"](bn.g2, None) == bytes(128)
    assert encode_point(bls.g1, bls.g1.generator).hex() == ZCASH_G1
    assert encode_point(bls.g2, bls.g2.generator).hex() == ZCASH_G2
    assert encode_point(bls.g2, None) == b"\xc0" + bytes(95)
    # A BN254 point as arkworks has it: x little-endian, no flag for the smaller y; (1, 2) is the generator.
    assert ENCODERS["arkworks"](bn.g1, (1, 2)) == b"\x01" + bytes(31)
    assert ENCODERS["arkworks"](bn.g1, (1, bn.p - 2)) == b"\x01" + bytes(30) + b"\x80"
    x = bytes.fromhex(EIP_197_G2[:128])
    assert ENCODERS["arkworks"](bn.g2, bn.g2.generator) == x[32:][::-1] + x[:32][::-1]
    assert ENCODERS["arkworks"](bn.g2, None) == bytes(63) + b"\x40"


@every_curve
def test_enc_10_the_same_in_snarkjs_json(curve_name: str) -> None:
    f = files(curve_name)
    known = json.loads((f.folder / "vkey.json").read_text(encoding="utf-8"))
    made = vkey_to_json(f.vkey)
    assert made["vk_gamma_2"] == known["vk_gamma_2"], "snarkjs's gamma is the generator"
    (x, y) = f.vkey.curve.g2.generator
    assert known["vk_gamma_2"] == [[str(v) for v in x], [str(v) for v in y], ["1", "0"]]
    for name in encodings(f.proof.curve):
        data = encode_proof(f.proof, name)  # type: ignore[arg-type]
        assert decode_proof(f.proof.curve, data, name) == f.proof  # type: ignore[arg-type]
        assert encode_proof(decode_proof(f.proof.curve, data, name), name) == data  # type: ignore[arg-type]


def test_enc_10_the_same_by_two_other_libraries() -> None:
    f = files("bls12_381")
    raw = encode_proof(f.proof)
    assert oracle_encoding.proof_to_bytes(OracleProof(*f.proof.to_ints())) == raw
    for kind, part in (
        (arkworks.G1Point, raw[:48]),
        (arkworks.G2Point, raw[48:144]),
        (arkworks.G1Point, raw[144:]),
    ):
        assert bytes(kind.from_compressed_bytes(part).to_compressed_bytes()) == part


def test_enc_11_what_the_evm_contracts_take() -> None:
    """Known sums of EIP-196 and the pairing identity of EIP-197, through our encoding of points."""
    bn, device = get_curve("bn254"), open_device("cpu")
    encode, decode = ENCODERS["evm"], DECODERS["evm"]
    doubled = bytes.fromhex(
        "030644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd3"
        "15ed738c0e0a7c92e7845f96b2ae9c0a68a6a449e3538fc7ff3ebf7a5a18a2c4"
    )
    one = points_from_ints(bn.g1, [(1, 2)])
    total = device.download(ops.add(device, bn.g1, device.upload(one), device.upload(one)))
    assert total[0].tobytes() == points_from_ints(bn.g1, [decode(bn.g1, doubled, 0)])[0].tobytes()
    assert encode(bn.g1, bn.g1.plain.add((1, 2), (1, 2))) == doubled
    assert encode(bn.g1, bn.g1.plain.add((1, 2), (1, bn.p - 2))) == bytes(64)
    g2 = decode(bn.g2, bytes.fromhex(EIP_197_G2), 0)
    left = points_from_ints(bn.g1, [(1, 2), (1, bn.p - 2)])
    right = _pairing.prepare_g2(points_from_ints(bn.g2, [g2, g2]))
    assert _pairing.pairing_product_is_one(np.ascontiguousarray(left), [right])
    f = files("bn254")
    words = solidity_calldata(f.proof, f.public).replace("[", "").replace("]", "").replace('"', "").split(",")
    raw = bytes.fromhex("".join(word.strip().removeprefix("0x") for word in words))
    assert raw[:256] == encode_proof(f.proof, "evm")
    assert [int.from_bytes(raw[i : i + 32], "big") for i in range(256, len(raw), 32)] == f.public


@every_curve
def test_enc_09_json_in_the_api(curve_name: str, tmp_path: Path) -> None:
    f = files(curve_name)
    path = tmp_path / "twice.json"
    path.write_text('{"pi_a": [], "pi_a": []}', encoding="utf-8")
    for read in (load_proof, load_vkey):
        with pytest.raises(InputError, match="twice"):
            read(path)
    with pytest.raises(FormatError):
        parse_public({"0": "1"}, f.proof.curve)
