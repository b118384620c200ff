"""Curve and field constants against independent values, and their self-checks against wrong literals.

Would catch: a slip in a literal that the derivation hides, Montgomery constants for the wrong radix, swapped
root conventions, a self-check that accepts anything, and a stale generated header.
"""

from __future__ import annotations

import dataclasses
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cuzk_oracles.params import get_params

from cuzk.curves import CURVES, FIELDS, Curve, FieldSpec, curve_of_fr, emit, get_curve, get_field
from cuzk.curves.derive import make_curve
from cuzk.curves.field import make_field
from cuzk.curves.params import BLS12_381, TOY
from cuzk.errors import CurveMismatchError, InternalError, RangeError

each_curve = pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES.keys())
each_field = pytest.mark.parametrize("spec", FIELDS.values(), ids=FIELDS.keys())


@each_curve
def test_agree_with_the_oracles(curve: Curve) -> None:
    oracle = get_params(curve.name)
    assert (curve.p, curve.r, curve.two_adicity) == (oracle.p, oracle.r, oracle.two_adicity)
    for ours, theirs in ((curve.g1, oracle.g1), (curve.g2, oracle.g2)):
        assert (ours.b, ours.generator) == (theirs.b, theirs.generator)


def test_roots_of_unity_as_published() -> None:
    """The two roots of order 2^32 of BLS12-381 are those that snarkjs and bellman use."""
    curve = get_curve("bls12_381")
    assert curve.root_of_unity(32, "snarkjs") == (
        937917089079007706106976984802249742464848817460758522850752807661925904159
    )
    assert curve.root_of_unity(32, "bellman") == (
        10238227357739495823651030575849232062558860180284477541189508159991286009131
    )
    # Same set of roots, in another order.
    assert pow(curve.root_of_unity(32, "bellman"), 0xE25F4955, curve.r) == curve.root_of_unity(32, "snarkjs")
    bn254 = get_curve("bn254")
    assert bn254.root_of_unity(28, "snarkjs") == bn254.root_of_unity(28, "bellman")


@each_curve
@pytest.mark.parametrize("convention", ["snarkjs", "bellman"])
def test_roots_and_shifts(curve: Curve, convention: str) -> None:
    convention = "snarkjs" if convention == "snarkjs" else "bellman"
    for log_n in range(curve.two_adicity + 1):
        root = curve.root_of_unity(log_n, convention)  # type: ignore[arg-type]
        assert pow(root, 1 << log_n, curve.r) == 1
        assert log_n == 0 or pow(root, 1 << (log_n - 1), curve.r) == curve.r - 1
        shift = curve.coset_shift(convention, log_n)  # type: ignore[arg-type]
        assert pow(shift, 1 << log_n, curve.r) != 1, "the coset must not be the domain itself"
        if convention == "snarkjs" and log_n < curve.two_adicity:
            assert shift * shift % curve.r == root


def test_the_shift_of_the_largest_domain() -> None:
    """No root of order 2^(s+1) exists there; snarkjs takes the square of its non-residue."""
    for name, square in (("bls12_381", 25), ("bn254", 25), ("toy", 121)):
        curve = get_curve(name)
        assert curve.coset_shift("snarkjs", curve.two_adicity) == square
    assert [get_curve(name).coset_shift("bellman") for name in ("bls12_381", "bn254", "toy")] == [7, 5, 17]


def test_bad_sizes_and_names() -> None:
    curve = get_curve("toy")
    with pytest.raises(RangeError, match="0 <= log_n <= 12"):
        curve.root_of_unity(13, "snarkjs")
    with pytest.raises(RangeError, match="0 <= log_n <= 12"):
        curve.root_of_unity(-1, "bellman")
    with pytest.raises(RangeError, match="unknown root convention"):
        curve.root_of_unity(3, "gnark")  # type: ignore[arg-type]
    with pytest.raises(RangeError, match="log_n is required"):
        curve.coset_shift("snarkjs")
    with pytest.raises(CurveMismatchError, match="bls12_381, bn254, toy"):
        get_curve("bn128")
    with pytest.raises(CurveMismatchError, match="unknown field"):
        get_field("bn254")
    assert curve_of_fr(curve.r) is curve
    assert curve_of_fr(curve.p) is None


@each_field
def test_montgomery_constants(spec: FieldSpec) -> None:
    m, radix = spec.modulus, 1 << spec.word_bits * spec.words
    assert spec.mont_r == radix % m
    assert spec.mont_r2 == radix * radix % m
    assert m * spec.ninv64 % 2**64 == 2**64 - 1
    assert m << spec.spare_bits < radix <= m << (spec.spare_bits + 1)
    for value in (0, 1, 2, m - 1, m // 2):
        assert spec.to_mont(value) == value * radix % m
        assert spec.from_mont(spec.to_mont(value)) == value


@pytest.mark.parametrize("name", ["r", "p", "b", "seed", "g1", "g2", "xi"])
def test_a_wrong_literal_is_refused(name: str) -> None:
    wrong = {
        "r": BLS12_381.r + 2,
        "p": BLS12_381.p + 4,
        "b": 5,
        "seed": BLS12_381.seed - 2,
        "g1": (BLS12_381.g1[0], BLS12_381.g1[1] ^ 1),
        "g2": (BLS12_381.g1, BLS12_381.g1),
        "xi": (1, 2),
    }
    with pytest.raises((InternalError, ValueError)):
        make_curve(dataclasses.replace(BLS12_381, **{name: wrong[name]}))  # type: ignore[arg-type]


def test_a_generator_of_another_order_is_refused() -> None:
    """A point on the curve whose order is not r: only the order check can see it."""
    bls = get_curve("bls12_381")
    x = next(x for x in range(1, 100) if bls.g1.plain.sqrt(bls.g1.plain.rhs(x)) is not None)
    y = bls.g1.plain.sqrt(bls.g1.plain.rhs(x))
    assert y is not None
    assert bls.g1.plain.is_on_curve((x, y))
    with pytest.raises(InternalError, match="order r"):
        make_curve(dataclasses.replace(BLS12_381, g1=(x, y)))


def test_composite_and_even_moduli_are_refused() -> None:
    for modulus in (15, 561, 2**61, 1):
        with pytest.raises(InternalError):
            make_field("wrong", modulus)
    with pytest.raises(InternalError, match="does not fit"):
        make_field("wrong", 65537, word_bits=8, words=2)


def test_toy_curve_by_counting() -> None:
    """The number of points of the toy curve, counted, is r; no smaller b would do."""
    p, squares = TOY.p, [0] * TOY.p
    for y in range(p):
        squares[y * y % p] += 1

    def count(b: int) -> int:
        return 1 + sum(squares[(x * x * x + b) % p] for x in range(p))

    assert count(TOY.b) == TOY.r
    assert all(count(b) != TOY.r for b in range(1, TOY.b, 7))


def test_pickles_to_the_same_object() -> None:
    curve = get_curve("bn254")
    for value in (curve, curve.g1, curve.g2):
        assert pickle.loads(pickle.dumps(value)) is value


def test_generated_header_is_current(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert emit.main(["--check"]) == 0, "run python -m cuzk.curves.emit"
    copy = tmp_path / "constants.cuh"
    assert emit.main(["--check", "--output", str(copy)]) == 1
    assert emit.main(["--output", str(copy)]) == 0
    text = copy.read_text()
    assert text == emit.HEADER_PATH.read_text()
    copy.write_text(text.replace("0xb9feffffffffaaab", "0xb9feffffffffaaaa"))
    assert emit.main(["--check", "--output", str(copy)]) == 1
    assert "out of date" in capsys.readouterr().err


@each_field
def test_header_values(spec: FieldSpec) -> None:
    """Reads the header as text, without the emitter: its limbs are those of the modulus, R and R^2."""
    text = emit.HEADER_PATH.read_text()
    body = re.search(rf"struct {spec.name} {{(.*?)\n}};", text, re.DOTALL)
    assert body is not None
    radix = 1 << spec.word_bits * spec.words
    for name, value in (
        ("modulus", spec.modulus),
        ("r", radix % spec.modulus),
        ("r2", radix**2 % spec.modulus),
    ):
        function = re.search(rf"u64 {name}\(int i\) {{(.*?)\n  }}", body[1], re.DOTALL)
        assert function is not None
        limbs = re.findall(r"case (\d+): return 0x([0-9a-f]{16})ULL;", function[1])
        assert [int(i) for i, _ in limbs] == list(range(spec.limbs))
        assert sum(int(limb, 16) << 64 * int(i) for i, limb in limbs) == value
    constants = dict(re.findall(r"static constexpr \w+ (\w+) = (\w+?)(?:ULL|U)?;", body[1]))
    assert int(constants["BITS"]) == spec.modulus.bit_length()
    assert spec.modulus * int(constants["NINV64"], 16) % 2**64 == 2**64 - 1
    assert int(constants["NINV32"], 16) == int(constants["NINV64"], 16) % 2**32


def test_curves_need_only_the_standard_library() -> None:
    code = "import sys, cuzk.curves.emit; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
