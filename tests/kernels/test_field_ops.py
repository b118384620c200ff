"""Words, prime fields and Fp2 on every device against Python ints.

Faults these catch: a lost or misplaced carry in a chain (secp256k1, which has no spare bit, and the tiny
fields see every carry out), a final subtraction that is skipped or taken for r == p, a wrong Montgomery
constant, a sign or step count in the inversion, an unreduced sum that overflows.
"""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from cuzk_oracles import edge_values, fields, fp2

from cuzk.curves import FIELDS
from cuzk.device import Device, get_device
from cuzk.errors import KernelFault
from tests.kernels.arithmetic_support import (
    FIELD_OPS,
    FULL_FIELDS,
    FULL_FP2_FIELDS,
    TINY_FIELDS,
    TINY_FP2_FIELDS,
    WORD_OPS,
    launch,
    memory,
    raw_edges,
    raw_operands,
    run_field_op,
)

NUM_CASES = {"cpu": 20_000, "emu": 20_000, "cuda": 100_000}


HOSTS = ("cpu", "emu", "portable")


@pytest.fixture(scope="module", params=(*HOSTS, pytest.param("cuda", marks=pytest.mark.device)))
def device(request: pytest.FixtureRequest) -> Device:
    """Every device; "portable" is the cpu build without BMI2 and ADX."""
    return open_device(request.param)


@pytest.fixture(scope="module", params=HOSTS)
def host(request: pytest.FixtureRequest) -> Device:
    """The host devices: only they have words of 8 and 64 bits, and the tiny fields."""
    return open_device(request.param)


def open_device(name: str) -> Device:
    """A device by its fixture's name."""
    return get_device("cpu", portable=True) if name == "portable" else get_device(name)


def field_oracle(name: str, op: str, a: int, b: int, c: int, d: int) -> int:
    """What an operation makes of four numbers in memory, by the oracle."""
    spec = FIELDS[name]
    p, words, bits = spec.modulus, spec.words, spec.word_bits

    def mul(x: int, y: int) -> int:
        return fields.mont_mul(x, y, p, words, bits)

    match op:
        case "add" | "sub":
            return (fields.add if op == "add" else fields.sub)(a, b, p)
        case "neg" | "cneg":
            return a if op == "cneg" and b == 0 else fields.neg(a, p)
        case "dbl":
            return fields.dbl(a, p)
        case "mul" | "sqr":
            return mul(a, b if op == "mul" else a)
        case "mul_add2":
            return fields.add(mul(a, b), mul(c, d), p)
        case "inverse":
            std = fields.from_mont(a, p, words, bits)
            return fields.to_mont(fields.inv(std, p), p, words, bits) if a else 0
        case "to_mont" | "from_mont":
            return (fields.to_mont if op == "to_mont" else fields.from_mont)(a, p, words, bits)
        case "equal":
            return int(a == b)
    raise AssertionError(op)


@pytest.mark.parametrize("name", FULL_FIELDS)
@pytest.mark.parametrize("op", [op for op in FIELD_OPS if op != "is_reduced"])
def test_field_operation(device: Device, name: str, op: str, rng: random.Random) -> None:
    spec = FIELDS[name]
    count = NUM_CASES[device.kind] // (8 if op == "inverse" else 1)
    cases = raw_operands(name, count, rng)
    if op == "inverse":
        cases = [
            (value, 0, 0, 0) for value in dict.fromkeys([*raw_edges(name), *(case[0] for case in cases)])
        ]
    got = run_field_op(device, f"field_op_{name}", op, list(zip(*cases, strict=True)), spec)
    wrong = [(case, v) for case, v in zip(cases, got, strict=True) if v != field_oracle(name, op, *case)]
    assert not wrong, wrong[:3]


@pytest.mark.parametrize("name", FULL_FIELDS)
def test_is_reduced_is_exact_at_the_modulus(device: Device, name: str) -> None:
    check_is_reduced(device, name)


@pytest.mark.parametrize("name", TINY_FIELDS)
def test_tiny_is_reduced_is_exact_at_the_modulus(host: Device, name: str) -> None:
    check_is_reduced(host, name)


def check_is_reduced(device: Device, name: str) -> None:
    """Numbers of all sizes around the modulus."""
    spec = FIELDS[name]
    p, top = spec.modulus, (1 << spec.mont_bits) - 1
    values = [*raw_edges(name), p, p + 1, top, top - 1, *(p ^ (1 << i) for i in range(spec.mont_bits))]
    values += [value + p for value in raw_edges(name)]
    values = [value for value in values if value <= top]
    got = run_field_op(device, f"field_op_{name}", "is_reduced", [values] * 4, spec)
    assert got == [int(value < p) for value in values]
    assert set(got) == {0, 1}


@pytest.mark.parametrize("name", ["tiny_257", "tiny_4093", "tiny_65521"])
@pytest.mark.parametrize("op", ["add", "sub", "mul"])
def test_tiny_field_exhaustively(name: str, op: str, rng: random.Random) -> None:
    """Every right operand; every left one for the smallest field, a few for the larger ones."""
    spec = FIELDS[name]
    p = spec.modulus
    lefts = range(p) if p < 1000 else [p - 1, p - 2, *rng.sample(range(p), 60_000 // p)]
    a, b = [x for x in lefts for _ in range(p)], [*range(p)] * len(lefts)
    got = run_field_op(get_device("emu"), f"field_op_{name}", op, [a, b, a, b], spec)
    assert all(value == field_oracle(name, op, x, y, 0, 0) for x, y, value in zip(a, b, got, strict=True))


@pytest.mark.parametrize("name", TINY_FIELDS)
@pytest.mark.parametrize("op", ["neg", "dbl", "sqr", "inverse", "to_mont", "from_mont"])
def test_tiny_field_every_element(name: str, op: str) -> None:
    spec = FIELDS[name]
    values = list(range(spec.modulus))
    got = run_field_op(get_device("emu"), f"field_op_{name}", op, [values] * 4, spec)
    assert all(value == field_oracle(name, op, x, 0, 0, 0) for x, value in zip(values, got, strict=True))


@pytest.mark.parametrize("name", TINY_FIELDS)
@pytest.mark.parametrize("op", ["add", "sub", "mul", "mul_add2", "cneg"])
def test_tiny_field_edges(name: str, op: str, rng: random.Random) -> None:
    spec = FIELDS[name]
    edges = raw_edges(name)
    cases = [(a, b, rng.choice(edges), rng.choice(edges)) for a in edges for b in edges]
    cases += raw_operands(name, 20_000, rng)
    got = run_field_op(get_device("emu"), f"field_op_{name}", op, list(zip(*cases, strict=True)), spec)
    assert all(value == field_oracle(name, op, *case) for case, value in zip(cases, got, strict=True))


# ---------------------------------------------------------------- Fp2


Element = tuple[int, int]


def fp2_oracle(p: int, op: str, a: Element, b: Element, c: Element, d: Element) -> Element:
    """What an operation makes of Fp2 elements in standard form."""
    match op:
        case "add" | "sub" | "mul":
            return {"add": fp2.add, "sub": fp2.sub, "mul": fp2.mul}[op](a, b, p)
        case "neg" | "cneg":
            return a if op == "cneg" and b == (0, 0) else fp2.neg(a, p)
        case "dbl" | "sqr":
            return {"dbl": fp2.dbl, "sqr": fp2.sqr}[op](a, p)
        case "inverse":
            return fp2.inv(a, p) if a != (0, 0) else a
        case "mul_add2":
            return fp2.add(fp2.mul(a, b, p), fp2.mul(c, d, p), p)
    raise AssertionError(op)


FP2_OPS = ("add", "sub", "neg", "dbl", "mul", "sqr", "inverse", "mul_add2", "cneg")


@pytest.mark.parametrize("name", FULL_FP2_FIELDS)
@pytest.mark.parametrize("op", FP2_OPS)
def test_fp2_operation(device: Device, name: str, op: str, rng: random.Random) -> None:
    check_fp2(device, name, op, rng)


# Where x^2 + 1 splits (p = 1 mod 4), not every element has an inverse; the ring operations still hold.
@pytest.mark.parametrize("name", TINY_FP2_FIELDS)
@pytest.mark.parametrize("op", [op for op in FP2_OPS if op != "inverse"])
def test_tiny_fp2_operation(host: Device, name: str, op: str, rng: random.Random) -> None:
    check_fp2(host, name, op, rng)


def check_fp2(device: Device, name: str, op: str, rng: random.Random) -> None:
    """Corners against corners, then edge and uniform coordinates mixed."""
    spec = FIELDS[name]
    edges = raw_edges(name)
    count = NUM_CASES[device.kind] // (12 if op == "inverse" else 4)

    def element() -> tuple[int, int]:
        x = rng.choice(edges)
        return rng.choice(((x, 0), (0, x), (x, rng.choice(edges)), (x, x), (rng.randrange(spec.modulus), x)))

    corners = (0, 1, spec.modulus - 1)
    all_corners = list(itertools.product(corners, repeat=4))
    cases = [((a0, a1), (b0, b1), (b0, a1), (a0, b1)) for a0, a1, b0, b1 in all_corners]
    cases += [(element(), element(), element(), element()) for _ in range(count)]
    columns = [[part for case in cases for part in case[i]] for i in range(4)]
    got = run_field_op(device, f"fp2_op_{name}", op, columns, spec, per_element=2)
    for i, case in enumerate(cases):
        std = [(spec.from_mont(x), spec.from_mont(y)) for x, y in case]
        want = tuple(spec.to_mont(value) for value in fp2_oracle(spec.modulus, op, *std))
        assert (got[2 * i], got[2 * i + 1]) == want, (case, want)


# ---------------------------------------------------------------- words


def word_oracle(op: str, a: int, b: int, d: int, carry: int, bits: int) -> tuple[int, int]:
    """(result, carry or borrow out) of one primitive."""
    starts = op in ("add_cc", "sub_cc", "mad_lo_cc")
    carry = 0 if starts else carry
    if op.startswith("add"):
        value, out = fields.word_add(a, b, carry, bits)
    elif op.startswith("sub"):
        value, out = fields.word_sub(a, b, carry, bits)
    elif "_lo" in op:
        value, out = fields.word_mad_lo(a, b, d, carry, bits)
    else:
        value, out = fields.word_mad_hi(a, b, d, carry, bits)
    return value, out if op.endswith("_cc") else 0


@pytest.mark.parametrize("op", WORD_OPS)
def test_word_primitive(device: Device, op: str, rng: random.Random) -> None:
    check_words(device, op, 32, word_cases(32, rng))


@pytest.mark.parametrize("bits", [8, 64])
@pytest.mark.parametrize("op", WORD_OPS)
def test_word_primitive_of_the_hosts(host: Device, op: str, bits: int, rng: random.Random) -> None:
    check_words(host, op, bits, word_cases(bits, rng))


def word_cases(bits: int, rng: random.Random) -> list[tuple[int, int, int, int]]:
    """Class W against itself with some addends and both carries, then uniform words."""
    edges = sorted({value for _, value in edge_values.words(bits)})
    cases = list(itertools.product(edges, edges, rng.sample(edges, 4), (0, 1)))
    top = (1 << bits) - 1
    uniform = [(rng.randint(0, top), rng.randint(0, top)) for _ in range(2000)]
    return cases + [(a, b, rng.choice(edges), rng.getrandbits(1)) for a, b in uniform]


@pytest.mark.parametrize("op", WORD_OPS)
def test_word_primitive_exhaustively(op: str) -> None:
    addends = (0, 1, 127, 255) if "mad" in op else (0,)
    cases = list(itertools.product(range(256), range(256), addends, (0, 1)))
    check_words(get_device("emu"), op, 8, cases)


def check_words(device: Device, op: str, bits: int, cases: list[tuple[int, int, int, int]]) -> None:
    """Run one primitive on (a, b, d, carry) and compare every result and carry."""
    a, b, d, carry = (device.upload(np.array(column, np.uint64)) for column in zip(*cases, strict=True))
    out, carry_out = device.alloc((len(cases),)), device.alloc((len(cases),))
    operands = {"a": a, "b": b, "d": d, "carry_in": carry, "dst": out, "carry_out": carry_out}
    launch(device, f"word_op_u{bits}", WORD_OPS.index(op), len(cases), **operands)
    results = zip(device.download(out).tolist(), device.download(carry_out).tolist(), strict=True)
    for case, got in zip(cases, results, strict=True):
        assert got == word_oracle(op, *case, bits), case


# ---------------------------------------------------------------- in place, empty, refused


@pytest.mark.parametrize("alias", ["a", "b"])
def test_result_may_overwrite_an_operand(device: Device, alias: str, rng: random.Random) -> None:
    spec = FIELDS["bn254_fr"]
    cases = raw_operands("bn254_fr", 500, rng)
    a, b = (device.upload(memory([case[i] for case in cases], spec).copy()) for i in range(2))
    out = a if alias == "a" else b
    launch(device, "field_op_bn254_fr", FIELD_OPS.index("mul"), len(cases), a=a, b=b, c=a, d=b, dst=out)
    want = memory([field_oracle("bn254_fr", "mul", *case) for case in cases], spec)
    assert np.array_equal(device.download(out), want)


def test_nothing_is_written_past_the_end(device: Device) -> None:
    spec = FIELDS["bls12_381_fp"]
    a = device.upload(memory([5] * 40, spec))
    out = device.upload(np.full((40, spec.limbs), 0xA5A5A5A5A5A5A5A5, np.uint64))
    launch(device, "field_op_bls12_381_fp", FIELD_OPS.index("add"), 33, a=a, b=a, c=a, d=a, dst=out)
    host = device.download(out)
    assert np.array_equal(host[:33], memory([10] * 33, spec))
    assert (host[33:] == 0xA5A5A5A5A5A5A5A5).all()


def test_unknown_operation_faults(device: Device) -> None:
    spec = FIELDS["toy_fr"]
    a, out = device.upload(memory([1], spec)), device.alloc((1, 1))

    def run() -> None:
        launch(device, "field_op_toy_fr", len(FIELD_OPS), 1, a=a, b=a, c=a, d=a, dst=out)
        device.synchronize()

    with pytest.raises(KernelFault):
        run()
