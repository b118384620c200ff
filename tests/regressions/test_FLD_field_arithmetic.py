"""Regressions of field arithmetic: reports FLD-01 to FLD-15, each checked as a kind of fault.

Would catch: a product that depends on its lane, on the batch size or on aliasing; a value that is not reduced; a
squaring that differs from a product; a wrong or endless inversion; a constant that belongs to another field; a carry
that stops at a limb; a square root that misses elements of the base field.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest
from cuzk_oracles import fields as oracle

import cuzk
from cuzk.curves import CURVES, FIELDS, FieldSpec, get_curve
from cuzk.device import Device, get_device
from cuzk.errors import FormatError, RangeError
from cuzk.formats import decode_point, encode_point, parse_public
from cuzk.limbs import field_from_ints, first_not_below, limbs_to_ints
from cuzk.ops.fr_vec import batch_inverse
from cuzk.witness import Witness
from tests.kernels.arithmetic_support import FIELD_OPS, U64, launch, memory, run_field_op
from tests.regressions.support import random_limbs

FOUR = ("bls12_381_fp", "bls12_381_fr", "bn254_fp", "bn254_fr")
BATCHES = (1, 8, 9, 64, 65)


@pytest.fixture(scope="module", params=("cpu", "portable", "emu"))
def device(request: pytest.FixtureRequest) -> Device:
    """Both builds of the cpu device, and the emulator."""
    return get_device("cpu", portable=True) if request.param == "portable" else get_device(request.param)


@pytest.fixture(params=FOUR)
def spec(request: pytest.FixtureRequest) -> FieldSpec:
    """The four fields of the real curves."""
    return FIELDS[request.param]


def awkward(spec: FieldSpec) -> list[int]:
    """Small and large values, the radix and its square, and each boundary of a 32-bit limb."""
    p = spec.modulus
    values = [0, 1, 2, p - 1, p - 2, (p - 1) // 2, spec.mont_r, spec.mont_r2, ((1 << spec.mont_bits) - 1) % p]
    for k in range(1, spec.mont_bits // 32 + 1):
        values += [((1 << 32 * k) - 1) % p, (1 << 32 * k) % p]
    return list(dict.fromkeys(values))


def unary(device: Device, spec: FieldSpec, op: str, values: list[int]) -> list[int]:
    """Results of a field operation on one operand, as they lie in memory."""
    return run_field_op(device, f"field_op_{spec.name}", op, [values] * 4, spec)


def binary(device: Device, spec: FieldSpec, op: str, a: list[int], b: list[int]) -> list[int]:
    """Results of a field operation on two operands, as they lie in memory."""
    return run_field_op(device, f"field_op_{spec.name}", op, [a, b, a, b], spec)


def on_arrays(device: Device, spec: FieldSpec, op: str, a: U64, b: U64) -> U64:
    """As `binary`, on limb arrays."""
    left, right, out = device.upload(a), device.upload(b), device.alloc(a.shape)
    launch(
        device,
        f"field_op_{spec.name}",
        FIELD_OPS.index(op),
        len(a),
        a=left,
        b=right,
        c=left,
        d=right,
        dst=out,
    )
    result: U64 = device.download(out)
    return result


def test_fld_01_a_product_does_not_depend_on_its_lane(device: Device, spec: FieldSpec) -> None:
    values = awkward(spec)
    a = [x for x in values for _ in values]
    b = values * len(values)
    wanted = [oracle.mont_mul(x, y, spec.modulus, spec.limbs) for x, y in zip(a, b, strict=True)]
    assert binary(device, spec, "mul", a, b) == wanted
    kernel, op = f"field_op_{spec.name}", FIELD_OPS.index("mul")
    for size in BATCHES:
        for start in range(0, len(a) - size, len(a) // 7):
            part = slice(start, start + size)
            left, right = device.upload(memory(a[part], spec).copy()), device.upload(memory(b[part], spec))
            launch(device, kernel, op, size, a=left, b=right, c=left, d=right, dst=left)
            assert limbs_to_ints(device.download(left)) == wanted[part], (size, start)


@pytest.mark.parametrize("name", list(CURVES))
def test_fld_02_strict_readers_refuse_and_reducing_ones_reduce(name: str) -> None:
    curve = get_curve(name)
    for spec in (curve.fp, curve.fr):
        p, top = spec.modulus, 1 << 64 * spec.limbs
        large = [
            p,
            p + 1,
            2 * p - 1,
            2 * p,
            *(k * p for k in range(3, 10)),
            1 << 254,
            1 << 255,
            (1 << 256) - 1,
        ]
        reduced = limbs_to_ints(field_from_ints(spec, large))
        assert all(value < p for value in reduced)
        assert [spec.from_mont(value) for value in reduced] == [value % p for value in large]
        for value in large:
            if p <= value < top:
                assert first_not_below(memory([0, value, p - 1], spec), p) == 1
    for value in (curve.r, curve.r + 1, 2 * curve.r - 1, 2 * curve.r, 9 * curve.r):
        with pytest.raises(RangeError):
            Witness.from_ints(curve, [1, value])
        with pytest.raises(FormatError):
            parse_public([str(value)], curve)


def test_fld_03_a_square_is_the_product_with_itself(device: Device, spec: FieldSpec) -> None:
    count = 20_000 if device.kind == "emu" else 100_000
    rng = np.random.default_rng(3)
    patterns = rng.choice(
        np.array([0, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF], np.uint32), (5_000, 2 * spec.limbs)
    )
    x = np.concatenate([patterns.view(np.uint64), random_limbs(rng, count, spec.limbs)])
    x[:, -1] %= np.uint64(spec.modulus >> 64 * (spec.limbs - 1))  # below the modulus by its top limb alone
    square = on_arrays(device, spec, "sqr", x, x)
    assert np.array_equal(square, on_arrays(device, spec, "mul", x, x))
    assert first_not_below(square, spec.modulus) is None


def inverses_hold(device: Device, spec: FieldSpec, values: list[int]) -> list[int]:
    """Check x * inv(x) == 1 in memory for every value; return the inverses."""
    inverse = unary(device, spec, "inverse", values)
    assert all(value < spec.modulus for value in inverse)
    assert set(binary(device, spec, "mul", values, inverse)) == {spec.mont_r}
    return inverse


def test_fld_04_inverses_single_and_in_a_batch(device: Device, spec: FieldSpec) -> None:
    p = spec.modulus
    values = [
        1,
        2,
        p - 1,
        p - 2,
        spec.mont_r,
        spec.mont_r_inv,
        *(pow(2, k, p) for k in range(1, spec.bits, 17)),
    ]
    single = inverses_hold(device, spec, values)
    for k in (3, p - 1):  # k / x, as a scaled inversion gives it
        scaled = binary(device, spec, "mul", single, [spec.to_mont(k)] * len(values))
        assert set(binary(device, spec, "mul", values, scaled)) == {spec.to_mont(k)}
    if spec.name.endswith("_fr"):
        curve = get_curve(spec.name.removesuffix("_fr"))
        batch = batch_inverse(device, curve, device.upload(memory(values, spec)))
        assert limbs_to_ints(device.download(batch)) == single


def test_fld_05_inverses_near_powers_of_two(device: Device, spec: FieldSpec) -> None:
    p = spec.modulus
    powers = [1 << k for k in range(spec.bits)]
    values = {v % p for x in powers for v in (x, -x, x + 1, x - 1)} - {0}
    inverses_hold(device, spec, sorted(values))


@pytest.mark.timeout(900)
def test_fld_07_the_inverse_of_zero_is_zero_and_touches_no_neighbour(device: Device, spec: FieldSpec) -> None:
    one = spec.mont_r
    assert unary(device, spec, "inverse", [0]) == [0]
    unary(device, spec, "inverse", [spec.modulus])  # out of contract: any answer, but one
    for outsider in (0, spec.modulus):
        for at in (0, 31, 63):
            lanes = [one] * 64
            lanes[at] = outsider
            found = unary(device, spec, "inverse", lanes)
            assert [value for i, value in enumerate(found) if i != at] == [one] * 63
            assert outsider or found[at] == 0
    if spec.name.endswith("_fr"):
        curve = get_curve(spec.name.removesuffix("_fr"))
        x = memory([0, one, 0, spec.to_mont(2)], spec)
        found = limbs_to_ints(device.download(batch_inverse(device, curve, device.upload(x))))
        assert found == [0, one, 0, spec.to_mont(pow(2, -1, spec.modulus))]


def test_fld_09_inverses_are_canonical_in_memory(device: Device, spec: FieldSpec) -> None:
    count = 4_000 if device.kind == "emu" else 100_000 if spec.name == "bls12_381_fr" else 10_000
    x = random_limbs(np.random.default_rng(9), count, spec.limbs)
    x[:, -1] %= np.uint64(spec.modulus >> 64 * (spec.limbs - 1))
    x[:50, 1:] = 0
    inverse = on_arrays(device, spec, "inverse", x, x)
    assert first_not_below(inverse, spec.modulus) is None
    product = on_arrays(device, spec, "mul", x, inverse)
    assert (product == memory([spec.mont_r], spec)).all()


def test_fld_10_minus_zero_is_zero(device: Device, spec: FieldSpec) -> None:
    p = spec.modulus
    values = [0, 1, p - 1, *awkward(spec)]
    minus = unary(device, spec, "neg", values)
    assert minus == [-value % p for value in values]
    assert unary(device, spec, "neg", minus) == values
    assert set(binary(device, spec, "add", values, minus)) == {0}
    assert set(binary(device, spec, "sub", values, values)) == {0}


def test_fld_13_every_constant_belongs_to_its_field() -> None:
    header = Path(cuzk.__file__).parent / "kernels" / "generated" / "constants.cuh"
    text = header.read_text(encoding="utf-8")
    for name in FOUR:
        spec = FIELDS[name]
        p, radix = spec.modulus, 1 << 64 * spec.limbs
        body = text[text.index(f"struct {name} ") :]
        body = body[: body.index("\n};")]
        words = [int(word, 16) for word in re.findall(r"0x([0-9a-fA-F]+)", body)]
        joined = [
            sum(word << 64 * j for j, word in enumerate(words[i : i + spec.limbs])) for i in range(len(words))
        ]
        for constant in (p, radix % p, radix * radix % p):
            assert constant in joined, (name, constant)
        assert -pow(p, -1, 1 << 64) % (1 << 64) in words, name
    for curve in (get_curve("bls12_381"), get_curve("bn254")):
        for convention in ("snarkjs", "bellman"):
            root = curve.root_of_unity(curve.two_adicity, convention)
            assert pow(root, 1 << (curve.two_adicity - 1), curve.r) == curve.r - 1


def test_fld_13_the_device_really_computes(device: Device, spec: FieldSpec, rng: random.Random) -> None:
    values = [rng.randrange(spec.modulus) for _ in range(40)]
    device.reset_counters()
    assert unary(device, spec, "to_mont", values) == [spec.to_mont(value) for value in values]
    assert device.counters()["launches"] > 0


@pytest.mark.parametrize("name", [*FOUR, "secp256k1_fp"])
def test_fld_14_a_carry_reaches_every_limb(device: Device, name: str) -> None:
    spec = FIELDS[name]
    p = spec.modulus
    pairs = [((1 << 32 * k) - 1, add) for k in range(1, 2 * spec.limbs) for add in (1, 2)]
    pairs += [
        (x, y) for x, y in [((1 << (spec.bits - 1)) - 1, 1), (p - 1, 1), (p - 1, 2), (p - 1, p - 1)] if x < p
    ]
    a, b = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    assert binary(device, spec, "add", a, b) == [(x + y) % p for x, y in pairs]
    assert binary(device, spec, "sub", b, a) == [(y - x) % p for x, y in pairs]


@pytest.mark.parametrize("name", ["bls12_381", "bn254"])
def test_fld_15_square_roots_of_elements_of_the_base_field(name: str, rng: random.Random) -> None:
    curve = get_curve(name)
    g2, p = curve.g2, curve.p
    for n in (0, 1, 4, p - 1, p - 4, *(rng.randrange(p) for _ in range(20))):
        root = g2.plain.sqrt((n, 0))  # in Fp2 every element of Fp has one
        assert root is not None
        square = ((root[0] * root[0] - root[1] * root[1]) % p, 2 * root[0] * root[1] % p)
        assert square == (n, 0)
    found: set[bool] = set()
    while len(found) < 2:  # points whose right side x^3 + b lies in Fp, for a residue and for none
        x1 = rng.randrange(1, p)
        x0 = curve.g1.plain.sqrt((x1**3 - g2.b[1]) * pow(3 * x1, -1, p) % p)
        if x0 is None:
            continue
        c0, c1 = g2.plain.rhs((x0, x1))
        assert c1 == 0
        y = g2.plain.sqrt((c0, 0))
        assert y is not None
        found.add(y[0] == 0)
        point = ((x0, x1), y)
        for each in (point, ((x0, x1), g2.plain.neg_coord(y))):
            assert decode_point(g2, encode_point(g2, each)) == each
