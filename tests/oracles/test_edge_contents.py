"""The values behind each edge id, rebuilt from their definitions.

Would catch: a bound off by one in a class, a shift the wrong way, a class that lost half of its values:
faults that no differential run can see, because it would only test less.
"""

import math

import pytest
from cuzk_oracles import curve, edge_points, edge_values, fields
from cuzk_oracles.curve import C, Group
from cuzk_oracles.params import BLS12_381, BN254, TOY

P, R = BLS12_381.p, BN254.r
WORD = 0xFFFFFFFF


def _values(cases: list[tuple[str, int]], edge_id: str) -> set[int]:
    return {value for found, value in cases if found == edge_id}


def test_words_exactly() -> None:
    cases = edge_values.words(32)
    plain = {edge_id: value for edge_id, value in cases if edge_id != "W.madc"}
    assert list(plain.values()) == [
        *(0, 1, 2, 2147483647, 2147483648, 2147483649, 4294967294, 4294967295),
        *(0x55555555, 0xAAAAAAAA),
    ]
    assert _values(cases, "W.madc") == {0x42737A02, 0x0C0D6393, WORD, 1, 0xC999E990, 0xF3F29C6D}
    assert _values(edge_values.words(64), "W.madc") == set(edge_values.MADC_VECTOR)


@pytest.mark.parametrize(("p", "limbs"), [(P, 6), (R, 4)], ids=["bls12_381_p", "bn254_r"])
def test_field_patterns_exactly(p: int, limbs: int) -> None:
    cases = edge_values.field_patterns(p, limbs)
    words = range(2 * limbs)
    powers = {1 << (32 * k) for k in words}
    big_r, p_words = 2 ** (64 * limbs), fields.to_limbs(p, 2 * limbs, 32)
    expected = {
        "0": {0}, "1": {1}, "2": {2}, "3": {3}, "p-1": {p - 1}, "p-2": {p - 2}, "p-3": {p - 3},
        "(p-1)/2": {(p - 1) // 2}, "(p+1)/2": {(p + 1) // 2},
        "R": {big_r % p}, "R-1": {big_r % p - 1}, "R^2": {big_r**2 % p},
        "R^-1": {fields.inv_fermat(big_r % p, p)}, "-R": {p - big_r % p},
        "2^32k": powers, "2^32k-1": {v - 1 for v in powers},
        "p-2^32k": {p - v for v in powers}, "p+1-2^32k": {p + 1 - v for v in powers} - {p},
        "p_limb_cleared": {p - (word << (32 * k)) for k, word in enumerate(p_words)},
        "p_bit_flipped": {p - (1 << i) for i in range(p.bit_length()) if p >> i & 1},
    }  # fmt: skip
    for edge_id, values in expected.items():
        assert _values(cases, edge_id) == values, edge_id
    top_word = (1 << (p.bit_length() - 1)) - (1 << (64 * limbs - 32))
    assert _values(cases, "limb_ones") == {WORD << (32 * k) for k in range(2 * limbs - 1)} | {top_word}
    everything = (1 << (p.bit_length() - 1)) - 1
    others = {everything - (WORD << (32 * k)) for k in range(2 * limbs - 1)} | {everything - top_word}
    assert _values(cases, "other_limbs_ones") == {value for value in others if value < p}


def test_runs_are_runs() -> None:
    """Few changes between 0 and 1, and both long and short values: what uniform values never are."""
    runs = [v for name, v in edge_values.field_patterns(P, 6) if name == "runs"]
    assert len(runs) == 64
    assert len(set(runs)) > 55
    changes = [bin(v ^ (v >> 1)).count("1") for v in runs]
    assert sum(changes) / len(changes) < 12
    assert min(changes) <= 6
    assert any(v & 1 for v in runs)
    assert any(not v & 1 for v in runs)


@pytest.mark.parametrize("seed", [0, 1])
def test_field_pair_starts(seed: int) -> None:
    """Every kind of pair occurs with small, middle and large x, and with runs."""
    pairs = edge_values.field_pairs(R, 4, seed)
    for name in ("sum_p", "sum_p-1", "sum_p+1", "equal", "opposite"):
        starts = {x for edge_id, (x, _) in pairs if edge_id == f"F.std.{name}"}
        assert starts >= {2, 3, R // 2, R - 2, R - 1}
        assert len(starts) >= 13


def test_points_that_exist_on_some_curves_only() -> None:
    have: set[tuple[str, str]] = set()
    for c in (BLS12_381, BN254, TOY):
        have |= _names_and_ids(c.g1) | _names_and_ids(c.g2)
    assert {name for name, edge_id in have if edge_id == "P.x_zero"} == {"bls12_381_g1", "toy_g2"}
    outside = {name for name, edge_id in have if edge_id == "P.outside_subgroup"}
    assert outside == {"bls12_381_g1", "bls12_381_g2", "bn254_g2", "toy_g2"}
    r_minus_2 = curve.mul(TOY.g1, TOY.r - 2, TOY.g1.generator)
    assert ("P.opposite", r_minus_2) in edge_points.points(TOY.g1)


def _names_and_ids(group: Group[C]) -> set[tuple[str, str]]:
    """The ids of single points; those of pairs must agree with them."""
    single = {edge_id for edge_id, _ in edge_points.points(group)}
    paired = {edge_id for edge_id, _, _ in edge_points.pairs(group)}
    optional = {"P.x_zero", "P.outside_subgroup"}
    assert single & optional == paired & optional
    return {(group.name, edge_id) for edge_id in single}


def test_lazy_exactly() -> None:
    assert [value for _, value in edge_values.lazy_values(97)] == [97, 98, 193]


def test_scalars_exactly() -> None:
    c, bits = 5, 254
    cases = edge_values.scalars(R, c)
    assert _values(cases, "K.2^k") == {1 << k for k in range(bits)}
    assert _values(cases, "K.2^k-1") == {(1 << k) - 1 for k in range(bits)}
    assert _values(cases, "K.(r-1)/2") == {(R - 1) // 2}
    assert _values(cases, "K.(r+1)/2") == {(R + 1) // 2}
    assert _values(cases, "K.small") == {3, 255, 256, 65535}
    switch = set()
    for k in range(0, bits, c):
        switch |= {2**k + 16, 2**k - 16, 16 * 2**k, 17 * 2**k, 15 * 2**k}
    assert _values(cases, "K.switch") == {value for value in switch if 0 <= value < R}
    top = 250
    assert _values(cases, "K.top_window") == {
        *(R - 1, 2**top, R >> top << top, 2**top - 16, 2**253 - 1),
    }
    chain = {2**k - 1 for k in range(0, bits, c)} | {
        sum(17 * 32**j for j in range(m)) for m in range(math.ceil(bits / c))
    }
    assert _values(cases, "K.carry_chain") == chain
    assert [value for _, value in edge_values.rejected_scalars(R, 4)] == [R, R + 1, 2**256 - 1]


def test_one_bucket_uses_the_whole_scalar() -> None:
    """Distinct scalars, one digit in the lowest window, all below the limit even when it is small."""
    vectors = dict(edge_values.scalar_vectors(R, 100, 7))
    assert vectors["K.one_bucket"] == [(i << 7) + 63 for i in range(100)]
    small = dict(edge_values.scalar_vectors(R, 100, 7, scalar_bits=10))["K.one_bucket"]
    assert {value % 128 for value in small} == {63}
    assert set(small) == {(i << 7) + 63 for i in range(8)}
    edges = dict(edge_values.scalar_vectors(R, 5000, 7))["K.edges"]
    assert set(edges) == {value for _, value in edge_values.scalars(R, 7)}


def test_sizes_exactly() -> None:
    cases = edge_values.sizes(block=64, grid=4, max_size=600, warp=16)
    for k, name in ((-1, "2^k-1"), (0, "2^k"), (1, "2^k+1")):
        wanted = {2**e + k for e in range(3, 10)}
        assert _values(cases, f"S.{name}") == {value for value in wanted if value <= 600}
    assert [_values(cases, f"S.{n}") for n in ("warp-1", "warp", "warp+1")] == [{15}, {16}, {17}]
    assert [_values(cases, f"S.block{n}") for n in ("-1", "", "+1")] == [{63}, {64}, {65}]
    assert _values(cases, "S.2block+1") == {129}
    assert _values(cases, "S.grid_stride") == {257, 2 * 256 + 63}
    assert _values(cases, "S.prime") == {5, 7, 61, 127, 251}
    large = _values(edge_values.sizes(64, 4, max_size=1 << 16), "S.prime")
    assert max(large) == 65521
    assert all(math.gcd(n, math.factorial(math.isqrt(n))) == 1 for n in large)
    assert edge_values.sizes(64, 4, max_size=0) == [("S.0", 0)]


def test_aliasing_exactly() -> None:
    starts = [(edge_id, a.a, a.b, a.out) for edge_id, a in edge_values.aliasing(8)]
    assert starts == [
        ("A.disjoint", 0, 8, 16), ("A.out_is_a", 0, 8, 0), ("A.out_is_b", 0, 8, 8), ("A.a_is_b", 0, 0, 8),
        ("A.all_same", 0, 0, 0), ("A.overlap_a", 0, 16, 4), ("A.overlap_a", 1, 16, 0),
        ("A.overlap_b", 16, 0, 4), ("A.overlap_b", 16, 1, 0),
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_matrix_rows_exactly(seed: int) -> None:
    rows = dict(edge_values.matrix_rows(7, 97, seed))
    assert rows["M.empty"] == []
    assert rows["M.zero_coefficient"][0][1] == 0
    assert rows["M.zero_coefficient"][1][1] != 0
    assert len({column for column, _ in rows["M.repeated"]}) == 1
    assert len(rows["M.repeated"]) == 3
    totals = dict.fromkeys(range(7), 0)
    for column, coefficient in rows["M.cancelling"]:
        totals[column] += coefficient
    assert all(total % 97 == 0 for total in totals.values())
    assert len(rows["M.cancelling"]) == 4
    assert [column for column, _ in rows["M.dense"]] == list(range(7))
    assert rows["M.single"] == [(6, 1)]
    assert rows["M.minus_one"] == [(0, 96)]
