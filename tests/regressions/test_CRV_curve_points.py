"""Regressions of the group law and of infinity: reports CRV-01 to CRV-12, each checked as a kind of fault.

Would catch: a mixed addition that trusts Z = 1; equal or opposite operands taken for a general pair; infinity decided
by x = 0 alone; infinity lost in a conversion; a shared inversion that one infinity spoils; a multiple close to the
group's order that comes out as infinity.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from cuzk_oracles import curve as oracle

from cuzk.curves import get_curve
from cuzk.formats import decode_point, encode_point, proof_to_json
from cuzk.formats.container import SectionReader
from cuzk.formats.json_proof import parse_proof
from cuzk.limbs import fr_from_ints, points_from_ints, points_to_ints
from cuzk.ops import points as ops
from cuzk.ops.batch_add import batch_add
from cuzk.proof import Proof
from tests.kernels.fr_support import open_device
from tests.kernels.msm_support import ALL_GROUPS, Subject, bases, run_msm, subject
from tests.kernels.test_point_ops import Subject as PointSubject
from tests.regressions.support import REAL_CURVES

DEVICES = ("cpu", "emu")
every_group = pytest.mark.parametrize(("curve_name", "group_name"), ALL_GROUPS)
every_device = pytest.mark.parametrize("device_name", DEVICES)

#: A point of order three on the curve of G1 of BLS12-381; its x is zero and it is not infinity.
ORDER_THREE = (0, 2)


def affine_sums(s: Subject, device_name: str, pairs: list[tuple[Any, Any]]) -> list[Any]:
    """Sums of pairs of affine points by the device."""
    device = open_device(device_name)
    left, right = (device.upload(s.limbs([pair[i] for pair in pairs])) for i in (0, 1))
    return points_to_ints(s.spec, device.download(ops.add(device, s.spec, left, right)))


@every_device
@every_group
def test_crv_01_mixed_addition_of_equal_and_opposite_points(
    curve_name: str, group_name: str, device_name: str
) -> None:
    s, device = subject(curve_name, group_name), open_device(device_name)
    p, field = s.curve.p, s.oracle.field
    pool = oracle.multiples(s.oracle, s.oracle.generator, 5)
    zs = [field.lift(pow(2, k, p)) for k in (0, 1, 31, 32, 63, 64, 127, 200)]
    zs += [(3, 5)] if s.spec.degree == 2 else [3]
    projective, affine, wanted = [], [], []
    for point in pool:
        for z in zs:
            for q in (point, oracle.neg(s.oracle, point), pool[0], None):
                projective.append(oracle.to_xyzz(s.oracle, point, z))
                affine.append(q)
                wanted.append(oracle.add(s.oracle, point, q))
    kernel = PointSubject(curve_name, group_name)
    kernel.check_points(kernel.run(device, "madd", projective, projective, affine), wanted)
    twice = s.limbs([pool[2], pool[2]])
    for k in (1, 7, s.r - 1):
        assert run_msm(device, s, twice, [k, k]) == oracle.mul(s.oracle, 2 * k % s.r, pool[2])


@every_device
def test_crv_03_a_point_with_x_zero_is_a_point(device_name: str) -> None:
    s, device = subject("bls12_381", "g1"), open_device(device_name)
    plain = s.spec.plain
    limbs = s.limbs([ORDER_THREE])
    assert limbs.any(), "it must not look like infinity"
    assert ops.first_off_curve(device, s.spec, device.upload(limbs)) is None
    assert ops.first_outside_subgroup(device, s.spec, device.upload(limbs)) == 0
    scalars = [0, 1, 2, 3, 4, 5, 6, s.r - 1]
    found = ops.scalar_mul(device, s.spec, device.upload(limbs), device.upload(s.scalars(scalars)))
    wanted = [plain.mul(ORDER_THREE, k) for k in scalars]
    assert points_to_ints(s.spec, device.download(found)) == wanted
    assert wanted[3] is None
    kernel = PointSubject("bls12_381", "g1")
    one = oracle.to_xyzz(s.oracle, ORDER_THREE, 9)
    kernel.check_points(kernel.run(device, "dbl", [one], [one], [ORDER_THREE]), [plain.mul(ORDER_THREE, 2)])


@every_device
def test_crv_04_sums_with_a_point_with_x_zero(device_name: str) -> None:
    s, device = subject("bls12_381", "g1"), open_device(device_name)
    g = s.spec.generator
    minus = (0, s.curve.p - 2)
    pairs = [(ORDER_THREE, g), (g, ORDER_THREE), (ORDER_THREE, None), (ORDER_THREE, minus), (minus, minus)]
    wanted = [s.spec.plain.add(*pair) for pair in pairs]
    assert wanted[0] not in (g, ORDER_THREE, None)
    assert affine_sums(s, device_name, pairs) == wanted
    assert s.point(batch_add(device, s.spec, device.upload(s.limbs([ORDER_THREE, g])))) == wanted[0]
    assert run_msm(device, s, s.limbs([ORDER_THREE, g]), [1, 1]) == wanted[0]


@every_group
def test_crv_06_infinity_survives_every_conversion(
    curve_name: str, group_name: str, rng: random.Random
) -> None:
    s = subject(curve_name, group_name)
    logs, limbs = bases(s, 60, seed=6, infinity_every=10)
    points = points_to_ints(s.spec, limbs)
    assert [point is None for point in points] == [t == 0 for t in logs]
    assert np.array_equal(points_from_ints(s.spec, points), limbs)
    raw = np.frombuffer(limbs.astype("<u8").tobytes(), np.uint8)  # as a .zkey holds them
    reader = SectionReader("memory", raw, 5, 0, len(raw))
    assert np.array_equal(reader.points(s.spec, len(points), "points"), limbs)
    z = s.oracle.field.lift(rng.randrange(1, s.curve.p))
    projective = [oracle.to_xyzz(s.oracle, point, z) for point in points]
    assert [oracle.from_xyzz(s.oracle, point) for point in projective] == points
    if curve_name in REAL_CURVES:
        assert [decode_point(s.spec, encode_point(s.spec, point)) for point in points] == points
    for name in DEVICES:
        device = open_device(name)
        assert ops.first_off_curve(device, s.spec, device.upload(limbs)) is None
        zero = np.zeros_like(limbs)
        kept = ops.add(device, s.spec, device.upload(limbs), device.upload(zero))
        assert np.array_equal(device.download(kept), limbs)


@pytest.mark.parametrize("curve_name", REAL_CURVES)
def test_crv_06_infinity_in_json(curve_name: str) -> None:
    curve = get_curve(curve_name)
    proof = Proof.from_ints(curve, None, None, None)
    text = proof_to_json(proof)
    assert text["pi_a"] == ["0", "1", "0"]
    assert text["pi_b"] == [["0", "0"], ["1", "0"], ["0", "0"]]
    assert parse_proof(text).to_ints() == (None, None, None)


@every_group
def test_crv_07_multiples_of_one_point_share_buckets(curve_name: str, group_name: str) -> None:
    s = subject(curve_name, group_name)
    g = s.oracle.generator
    for k in (-1, -2, -3, 1, 2, 3):
        other = oracle.mul(s.oracle, k % s.r, g)
        for name in DEVICES:
            device = open_device(name)
            widths = range(2, 13) if name == "cpu" else (2, 7) if curve_name != "toy" else range(2, 7)
            for scalars in ([1, 1], [s.r - 1, 1], [3, s.r - 3]):
                wanted = oracle.mul(s.oracle, (scalars[0] + k * scalars[1]) % s.r, g)
                for c in widths:
                    assert run_msm(device, s, s.limbs([g, other]), scalars, window_bits=c) == wanted, (k, c)


@every_device
@pytest.mark.parametrize("group_name", ["g1", "g2"])
@pytest.mark.parametrize("curve_name", REAL_CURVES)
def test_crv_09_a_sum_that_cancels_is_the_canonical_infinity(
    curve_name: str, group_name: str, device_name: str
) -> None:
    s, device = subject(curve_name, group_name), open_device(device_name)
    p = oracle.mul(s.oracle, 77, s.oracle.generator)
    for terms in ([p, oracle.neg(s.oracle, p)], [p, None, oracle.neg(s.oracle, p)], [None, None]):
        total = batch_add(device, s.spec, device.upload(s.limbs(terms)))
        assert not total.any(), "uncompressed infinity is all zero"
        encoded = encode_point(s.spec, s.point(total))
        flag = 0xC0 if curve_name == "bls12_381" else 0x40
        assert encoded == bytes([flag]) + bytes(s.spec.affine_bytes // 2 - 1)


@every_device
@every_group
def test_crv_11_normalising_lists_with_infinity(curve_name: str, group_name: str, device_name: str) -> None:
    s, device = subject(curve_name, group_name), open_device(device_name)
    kernel = PointSubject(curve_name, group_name)
    p, q = (oracle.mul(s.oracle, k, s.oracle.generator) for k in (3, 11))
    lists: list[list[Any]] = [
        [None],
        [None, None],
        [None, p, None, q, None],
        [p] * 33,
        [None, *[q] * 32],
        [*[p] * 32, None],
    ]
    field, rng = s.oracle.field, random.Random(11)
    for points in lists:
        zs = [field.lift(rng.randrange(1, s.curve.p)) for _ in points]
        xyzz = [oracle.to_xyzz(s.oracle, point, z) for point, z in zip(points, zs, strict=True)]
        limbs = kernel.limbs(xyzz, 4)
        source = device.upload(limbs)
        found = device.download(ops.normalize(device, s.spec, source))
        assert points_to_ints(s.spec, found) == points
        assert np.array_equal(device.download(source), limbs), "the input must stay as it was"


@every_group
def test_crv_12_multiples_close_to_the_order(curve_name: str, group_name: str) -> None:
    s = subject(curve_name, group_name)
    counts = {"cpu": 64, "emu": 64 if curve_name == "toy" else 4}
    ups = oracle.multiples(s.oracle, s.oracle.generator, 64)
    for name, count in counts.items():
        device = open_device(name)
        base = device.upload(s.limbs([s.oracle.generator]))
        scalars = device.upload(fr_from_ints(s.curve, [s.r - j for j in range(1, count + 1)]))
        found = device.download(ops.scalar_mul(device, s.spec, base, scalars))
        assert points_to_ints(s.spec, found) == [oracle.neg(s.oracle, ups[j]) for j in range(count)]
