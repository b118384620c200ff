"""The edge classes contain what their ids promise, for every modulus and curve.

Would catch: an id that no longer has values, values that are not reduced, a Montgomery class that holds
standard patterns, a "one bucket" vector with several buckets, a pair that is not the special case it is named
after.
"""

from typing import Any

import pytest
from cuzk_oracles import curve, edge_points, edge_values, fields, msm
from cuzk_oracles.curve import Group
from cuzk_oracles.edge_values import IDS, OPTIONAL_IDS
from cuzk_oracles.params import BLS12_381, BN254, TINY, TOY

SECP256K1_P = 2**256 - 2**32 - 977
MODULI = [BLS12_381.p, BLS12_381.r, BN254.p, BN254.r, TOY.p, TOY.r, SECP256K1_P]
GROUPS: list[Group[Any]] = [g for c in (BLS12_381, BN254, TOY) for g in (c.g1, c.g2)]


def _missing(letter: str, found: set[str]) -> set[str]:
    assert found <= set(IDS[letter])
    return set(IDS[letter]) - found


def test_ids_are_unique_and_prefixed() -> None:
    everything = [edge_id for ids in IDS.values() for edge_id in ids]
    assert len(everything) == len(set(everything))
    assert all(edge_id.startswith(f"{letter}.") for letter, ids in IDS.items() for edge_id in ids)
    assert set(everything) >= OPTIONAL_IDS


@pytest.mark.parametrize("bits", [8, 32, 64])
def test_words(bits: int) -> None:
    cases = edge_values.words(bits)
    assert _missing("W", {edge_id for edge_id, _ in cases}) == set()
    assert all(0 <= value < 1 << bits for _, value in cases)
    named = dict(cases)
    assert (named["W.0x55"], named["W.0xAA"]) == (int("55" * (bits // 8), 16), int("AA" * (bits // 8), 16))


@pytest.mark.parametrize("p", MODULI)
def test_fields(p: int) -> None:
    limbs = fields.num_limbs(p)
    singles, pairs = edge_values.field_values(p, limbs), edge_values.field_pairs(p, limbs)
    lazy = edge_values.lazy_values(p)
    found = {i for i, _ in singles} | {i for i, _ in pairs} | {i for i, _ in lazy}
    assert _missing("F", found) <= OPTIONAL_IDS
    assert all(0 <= x < p for _, x in singles)
    assert all(0 <= x < p and 0 <= y < p for _, (x, y) in pairs)
    assert all(p <= x < 2 * p for _, x in lazy)
    wanted = {"0": 0, "p-1": p - 1, "R": 2 ** (64 * limbs) % p, "(p+1)/2": (p + 1) // 2}
    for name, pattern in wanted.items():
        assert (f"F.std.{name}", pattern) in singles
        assert (f"F.mont.{name}", fields.from_mont(pattern, p, limbs)) in singles


@pytest.mark.parametrize("p", MODULI)
def test_field_pairs_are_what_they_are_called(p: int) -> None:
    limbs = fields.num_limbs(p)
    width = 2 ** (64 * limbs)
    sums = {"sum_p": p, "sum_p-1": p - 1, "sum_p+1": p + 1}
    sums |= {"sum_R": width, "sum_R-1": width - 1, "sum_R+1": width + 1}
    for edge_id, (x, y) in edge_values.field_pairs(p, limbs):
        _, form, name = edge_id.split(".", 2)
        raw_x, raw_y = (x, y) if form == "std" else (fields.to_mont(v, p, limbs) for v in (x, y))
        if name in sums:
            assert raw_x + raw_y == sums[name]
        else:
            assert {"equal": raw_x - raw_y, "opposite": (raw_x + raw_y) % p}[name] == 0


def test_no_spare_bit_reaches_full_width() -> None:
    """Only a prime without a spare bit has pairs with x + y = 2^256; that is why it is among the moduli."""
    wide = {"F.std.sum_R", "F.mont.sum_R-1"}
    assert wide <= {edge_id for edge_id, _ in edge_values.field_pairs(SECP256K1_P, 4)}
    assert not wide & {edge_id for edge_id, _ in edge_values.field_pairs(BN254.p, 4)}


@pytest.mark.parametrize("group", GROUPS, ids=[g.name for g in GROUPS])
def test_points(group: Group[Any]) -> None:
    singles, pairs = edge_points.points(group), edge_points.pairs(group)
    terms = edge_points.cancelling_terms(group)
    found = {i for i, _ in singles} | {i for i, _, _ in pairs} | {i for i, _ in terms}
    assert _missing("P", found) <= OPTIONAL_IDS
    assert all(curve.is_on_curve(group, point) for _, point in singles)
    f = group.field
    for _, left, right in pairs:
        for x, y, zz, zzz in (left, right):
            assert curve.is_on_curve(group, curve.from_xyzz(group, (x, y, zz, zzz)))
            assert f.mul(f.mul(zz, zz), zz) == f.mul(zzz, zzz)
    for (edge_id, left, right), (mixed_id, mixed_left, affine) in zip(
        pairs, edge_points.mixed_pairs(group), strict=True
    ):
        assert (edge_id, left, curve.from_xyzz(group, right)) == (mixed_id, mixed_left, affine)


@pytest.mark.parametrize("group", GROUPS, ids=[g.name for g in GROUPS])
def test_point_pairs_are_what_they_are_called(group: Group[Any]) -> None:
    zero = group.field.lift(0)
    for edge_id, left, right in edge_points.pairs(group):
        p, q = curve.from_xyzz(group, left), curve.from_xyzz(group, right)
        total = curve.add(group, p, q)
        match edge_id:
            case "P.equal":
                assert p == q
                assert p is not None
            case "P.opposite":
                assert total is None
                assert p is not None
            case "P.infinity_left":
                assert (p, total) == (None, q)
            case "P.infinity_right":
                assert (q, total) == (None, p)
            case "P.infinity_xy":
                assert None in (p, q)
                assert left[0] != zero
                assert right[0] != zero
            case "P.double_of":
                assert q in (curve.double(group, p), curve.neg(group, curve.double(group, p)))
            case "P.z_differs":
                assert left[0] != right[0]
                assert p is not None
                assert q in (p, curve.neg(group, p))


@pytest.mark.parametrize("group", [TOY.g1, BN254.g1], ids=["toy", "bn254"])
def test_cancelling_terms_cancel(group: Group[Any]) -> None:
    for edge_id, terms in edge_points.cancelling_terms(group):
        partial = [curve.total(group, terms[: i + 1]) for i in range(len(terms))]
        if edge_id == "P.cancels":
            assert None in partial


@pytest.mark.parametrize("r", [BLS12_381.r, BN254.r, TOY.r])
@pytest.mark.parametrize("c", [2, 7, 8, 13, 16, 24])
def test_scalars(r: int, c: int) -> None:
    singles = edge_values.scalars(r, c)
    vectors = edge_values.scalar_vectors(r, 50, c)
    rejected = edge_values.rejected_scalars(r, fields.num_limbs(r))
    found = {i for i, _ in singles} | {i for i, _ in vectors} | {i for i, _ in rejected}
    assert _missing("K", found) <= OPTIONAL_IDS
    assert all(0 <= value < r for _, value in singles)
    assert all(len(vector) == 50 and all(0 <= value < r for value in vector) for _, vector in vectors)
    assert all(value >= r for _, value in rejected)


@pytest.mark.parametrize("c", [2, 8, 13])
def test_switch_and_carry_classes_hit_the_digit_they_name(c: int) -> None:
    r = BN254.r
    count = msm.num_signed_windows(r.bit_length(), c)
    half = 1 << (c - 1)
    switch = [msm.signed_digits(v, c, count) for i, v in edge_values.scalars(r, c) if i == "K.switch"]
    chain = [msm.signed_digits(v, c, count) for i, v in edge_values.scalars(r, c) if i == "K.carry_chain"]
    assert any(half in digits for digits in switch)
    assert any(-half + 1 in digits for digits in switch)
    # A window whose signed digit is not its unsigned one took or gave a carry.
    carries = [sum(d != u for d, u in zip(digits, _unsigned(digits, c), strict=True)) for digits in chain]
    assert max(carries) >= r.bit_length() // c - 1


def _unsigned(digits: list[int], c: int) -> list[int]:
    return msm.unsigned_digits(msm.recompose(digits, c), c, len(digits))


def test_scalar_bits_limit() -> None:
    for _, value in edge_values.scalars(BN254.r, 13, scalar_bits=40):
        assert value < 1 << 40
    for _, vector in edge_values.scalar_vectors(BN254.r, 30, 13, scalar_bits=40):
        assert max(vector) < 1 << 40


def test_scalar_vectors_have_their_distribution() -> None:
    n, c = 1000, 8
    vectors = dict(edge_values.scalar_vectors(BN254.r, n, c))
    assert len(set(vectors["K.all_equal"])) == 1
    assert len(set(vectors["K.one_bucket"])) == n
    assert len({value % (1 << c) for value in vectors["K.one_bucket"]}) == 1
    for name, low, high in (("K.bits_50", 400, 600), ("K.bits_90", 850, 950), ("K.bits_999", 980, 1000)):
        assert set(vectors[name]) <= {0, 1}
        assert low <= vectors[name].count(0) <= high
    assert max(vectors["K.small"]) < 1 << 16
    assert [vector for _, vector in edge_values.scalar_vectors(BN254.r, 0, c)] == [[]] * 8


def test_sizes() -> None:
    cases = edge_values.sizes(block=256, grid=8, max_size=1 << 27)
    assert _missing("S", {edge_id for edge_id, _ in cases}) == set()
    sizes = [size for _, size in cases]
    assert {0, 1, 2, 3, 31, 32, 33, 255, 256, 257, 513, 2049, 2**20 + 1} <= set(sizes)
    assert dict(cases)["S.2GiB"] * 32 > 1 << 31
    small = edge_values.sizes(block=32, grid=2, max_size=100)
    assert max(size for _, size in small) <= 100
    assert _missing("S", {edge_id for edge_id, _ in small}) <= OPTIONAL_IDS


def test_aliasing() -> None:
    n = 6
    cases = edge_values.aliasing(n)
    assert _missing("A", {edge_id for edge_id, _ in cases}) == set()
    for edge_id, alias in cases:
        starts = (alias.a, alias.b, alias.out)
        assert all(start >= 0 and start + n <= 3 * n + 1 for start in starts)
        overlaps = {abs(x - alias.out) < n and x != alias.out for x in (alias.a, alias.b)}
        assert (True in overlaps) == edge_id.startswith("A.overlap")


def test_matrix_rows() -> None:
    cases = edge_values.matrix_rows(5, TINY.r)
    assert _missing("M", {edge_id for edge_id, _ in cases}) == set()
    assert all(0 <= column < 5 and 0 <= k < TINY.r for _, row in cases for column, k in row)


def test_classes_are_deterministic() -> None:
    assert edge_values.field_values(BN254.p, 4) == edge_values.field_values(BN254.p, 4)
    assert edge_values.field_values(BN254.p, 4, seed=1) != edge_values.field_values(BN254.p, 4)
    assert edge_values.scalar_vectors(BN254.r, 9, 8, seed=4) == edge_values.scalar_vectors(
        BN254.r, 9, 8, seed=4
    )
