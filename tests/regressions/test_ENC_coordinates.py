"""Regressions of coordinates: reports ENC-13 to ENC-18, each checked as a kind of fault.

Would catch: a coordinate that is taken mod p, so that one point has many names; a point with a zero coordinate
taken for infinity; an encoding of infinity that other readers do not know.
"""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import py_arkworks_bls12381 as arkworks
import pyblst
import pytest
from cuzk_oracles import encoding as oracle_encoding
from zksnake.ecc import EllipticCurve

from cuzk.curves import GroupSpec, get_curve
from cuzk.errors import FormatError, RangeError
from cuzk.formats import decode_point, encode_point, parse_proof
from cuzk.formats.json_proof import dump_json
from cuzk.formats.point_encodings import ENCODERS
from cuzk.limbs import points_from_ints
from cuzk.ops import points as ops
from cuzk.proof import Proof
from tests.cli.support import cuzk
from tests.kernels.fr_support import open_device
from tests.regressions.support import ALL_CURVES, REAL_CURVES, decoded, encodings, files

every_curve = pytest.mark.parametrize("curve_name", REAL_CURVES)


@pytest.mark.parametrize("curve_name", ALL_CURVES)
def test_enc_13_points_with_a_zero_coordinate(curve_name: str, rng: random.Random) -> None:
    curve = get_curve(curve_name)
    for group in (curve.g1, curve.g2):
        zero = 0 if group.degree == 1 else (0, 0)
        some: Any = rng.randrange(1, curve.p) if group.degree == 1 else (rng.randrange(1, curve.p), 7)
        points = [(zero, some), (some, zero), (zero, zero)]
        y = group.plain.sqrt(group.b)
        if y is not None:
            points.append((zero, y))
        for point in points:
            is_point = group.plain.is_on_curve(point)
            assert is_point == _holds(group, point)
            limbs = points_from_ints(group, [point])
            for name in ("cpu", "emu"):
                device = open_device(name)
                off = ops.first_off_curve(device, group, device.upload(limbs))
                # All zero is infinity by the rule of the format; everything else stands for itself.
                assert off == (None if is_point or point == (zero, zero) else 0)


def _holds(group: GroupSpec, point: Any) -> bool:
    """The curve equation by the coordinate ring alone."""
    x, y = point
    p, one = group.fp.modulus, group.degree == 1
    square = y * y % p if one else ((y[0] * y[0] - y[1] * y[1]) % p, 2 * y[0] * y[1] % p)
    return bool(square == group.plain.rhs(x))


@every_curve
def test_enc_15_coordinates_beyond_p_are_refused_before_the_pairing(curve_name: str, tmp_path: Path) -> None:
    f = files(curve_name)
    p = f.proof.curve.p
    vkey, public = f.folder / "vkey.json", f.folder / "public.json"
    known = json.loads((f.folder / "proof.json").read_text(encoding="utf-8"))
    places: list[tuple[str, list[int]]] = [(name, [i]) for name in ("pi_a", "pi_c") for i in (0, 1)]
    places += [("pi_b", [i, j]) for i in (0, 1) for j in (0, 1)]
    for name, path in places:
        for spell in (str, hex):
            text = copy.deepcopy(known)
            inner = text[name]
            for step in path[:-1]:
                inner = inner[step]
            inner[path[-1]] = spell(int(inner[path[-1]]) + p)
            with pytest.raises(FormatError):
                parse_proof(text)
            file = tmp_path / "proof.json"
            file.write_bytes(dump_json(text))
            words: list[str | Path] = ["--vkey", vkey, "--public", public, "--proof", file]
            assert cuzk("verify", *words).code == 2
    a, b, c = f.proof.to_ints()
    with pytest.raises(RangeError):
        Proof.from_ints(f.proof.curve, (a[0] + p, a[1]), b, c)  # type: ignore[index]
    curve = f.proof.curve
    for name in encodings(curve):
        if not name.endswith("compressed") and name != "evm":
            continue
        for point, group in ((a, curve.g1), (b, curve.g2)):
            raw = ENCODERS[name](group, point)
            value = p + 3  # fits the bytes, is not reduced
            width = group.fp.nbytes
            order = "little" if name.startswith("arkworks") else "big"
            flag = raw[0] & 0xE0 if name == "compressed" else 0
            spoiled = bytearray(value.to_bytes(width, order) + raw[width:])  # type: ignore[arg-type]
            spoiled[0] |= flag
            assert decoded(name, group, bytes(spoiled)) is FormatError, name


@pytest.mark.parametrize("curve_name", ALL_CURVES)
def test_enc_17_ints_that_are_not_reduced_are_no_coordinates(curve_name: str) -> None:
    curve = get_curve(curve_name)
    for group in (curve.g1, curve.g2):
        x, y = group.generator
        assert group.plain.is_on_curve((x, y))
        p = curve.p

        def shift(value: Any, by: int) -> Any:
            return value + by if isinstance(value, int) else (value[0] + by, value[1])

        bad_xs = [(shift(x, by), y) for by in (p, -p, p << 700)]
        for bad in ((x, shift(y, p)), (x, shift(y, -p)), *bad_xs):
            assert not group.plain.is_on_curve(bad)
            with pytest.raises(RangeError):
                points_from_ints(group, [bad])


def test_enc_18_infinity_for_other_readers() -> None:
    bls = get_curve("bls12_381")
    uncompressed1 = ENCODERS["uncompressed"](bls.g1, None)
    uncompressed2 = ENCODERS["uncompressed"](bls.g2, None)
    assert uncompressed1 == b"\x40" + bytes(95)
    assert uncompressed2 == b"\x40" + bytes(191)
    for group, oracle in ((bls.g1, oracle_encoding.decompress_g1), (bls.g2, oracle_encoding.decompress_g2)):
        assert oracle(encode_point(group, None)) is None
    for group, kind in ((bls.g1, arkworks.G1Point), (bls.g2, arkworks.G2Point)):
        data = encode_point(group, None)
        assert kind.from_compressed_bytes(data) == kind.identity()
        assert bytes(kind.identity().to_compressed_bytes()) == data
        assert decode_point(group, bytes(kind.identity().to_compressed_bytes())) is None
    for group, kind in ((bls.g1, pyblst.BlstP1Element), (bls.g2, pyblst.BlstP2Element)):
        assert bytes(kind().compress()) == encode_point(group, None)
        assert kind().uncompress(encode_point(group, None)) == kind()


def test_enc_18_infinity_for_another_reader_on_bn254() -> None:
    bn, other = get_curve("bn254"), EllipticCurve("BN254")
    for group, generator in ((bn.g1, other.G1()), (bn.g2, other.G2())):
        nothing = generator - generator
        ours = ENCODERS["arkworks"](group, None)
        assert ours == bytes(nothing.to_bytes())
        assert type(nothing).from_bytes(ours).is_zero()
        assert decoded("arkworks", group, bytes(nothing.to_bytes())) is None
        assert ENCODERS["arkworks"](group, group.generator) == bytes(generator.to_bytes())
