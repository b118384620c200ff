"""The generators do what they say: exact sizes, satisfied rows, and every odd shape really there.

Would catch: a generator that quietly stops making the shape that another test relies on, a conversion to R1CS
that loses or misplaces an entry, and values that no longer satisfy the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from cuzk_examples.circuit import Row
from cuzk_examples.mimc import ROWS_PER_LEVEL, hash_pair
from cuzk_oracles.parsers import parse_r1cs, parse_wtns

from cuzk.curves import get_curve
from cuzk.relation import R1CS
from tests.workloads import ALL_FEATURES, Feature, Workload, bit_circuit, mimc_merkle, random_r1cs

CURVES = ("toy", "bn254", "bls12_381")
MAKERS: dict[str, Callable[[str], Workload]] = {
    "mimc": lambda curve: mimc_merkle(curve, depth=2),
    "bits": lambda curve: bit_circuit(curve, 300, num_public=5),
    "random": lambda curve: random_r1cs(curve, 300, num_public=3),
    "random_plain": lambda curve: random_r1cs(curve, 100, num_public=0, features=()),
}


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("maker", MAKERS)
def test_rows_hold_in_every_form(curve: str, maker: str) -> None:
    workload = MAKERS[maker](curve)
    assert workload.circuit.first_violation() is None
    r1cs = workload.r1cs
    r1cs.validate()
    assert r1cs.first_unsatisfied(workload.witness) is None
    assert workload.witness.to_ints() == workload.values
    assert workload.witness.public(r1cs.num_public) == workload.public
    again = R1CS.from_rows(get_curve(curve), r1cs.num_variables, r1cs.num_public, workload.dict_rows())
    for name, matrix in again.matrices.items():
        other = r1cs.matrices[name]
        for i in range(r1cs.num_constraints):
            assert matrix.row(i) == other.row(i)


@pytest.mark.parametrize("maker", MAKERS)
def test_a_changed_value_breaks_a_row(maker: str) -> None:
    workload = MAKERS[maker]("bn254")
    used = max(variable for row in workload.circuit.c for variable, coefficient in row if coefficient)
    workload.values[used] = (workload.values[used] + 1) % workload.curve.r
    assert workload.circuit.first_violation() is not None


@pytest.mark.parametrize("maker", MAKERS)
def test_equal_arguments_give_equal_files(maker: str) -> None:
    first, second = MAKERS[maker]("bls12_381"), MAKERS[maker]("bls12_381")
    assert first.r1cs_file() == second.r1cs_file()
    assert first.wtns_file() == second.wtns_file()


def test_merkle_root_is_the_hash_chain_of_its_path() -> None:
    workload = mimc_merkle("bls12_381", depth=3, seed=5)
    values, r = workload.values, workload.curve.r
    node = values[2]
    position = 3
    for _ in range(3):
        sibling, is_right = values[position], values[position + 1]
        node = hash_pair(sibling, node, r) if is_right else hash_pair(node, sibling, r)
        # Behind sibling and direction come the left value and the rounds of two absorptions.
        position += 2 + 1 + (ROWS_PER_LEVEL - 2)
    assert workload.public == [node]
    assert workload.circuit.num_constraints == 3 * ROWS_PER_LEVEL


@pytest.mark.parametrize("size", [1, 2, 3, 8, 63, 64, 65])
def test_sizes_are_exact(size: int) -> None:
    for num_public in (0, 1):
        bits = bit_circuit("toy", size, num_public=num_public)
        assert (bits.circuit.num_constraints, len(bits.public)) == (size, num_public)
        assert set(bits.values) <= {0, 1}
        assert bits.circuit.first_violation() is None
        rows = random_r1cs("toy", size, num_public=num_public)
        assert (rows.circuit.num_constraints, len(rows.public)) == (size, num_public)
        assert rows.circuit.first_violation() is None


def test_a_bit_circuit_mixes_zeros_and_ones() -> None:
    values = bit_circuit("bn254", 2000).values
    assert 0.2 < sum(values) / len(values) < 0.8


def test_an_empty_circuit_is_a_circuit() -> None:
    workload = random_r1cs("toy", 0, num_public=2)
    assert workload.r1cs.num_constraints == 0
    assert workload.r1cs.first_unsatisfied(workload.witness) is None


def _has_repeated_column(row: Row) -> bool:
    return len({variable for variable, _ in row}) < len(row)


def _unused(workload: Workload) -> set[int]:
    entries = (entry for matrix in workload.rows for row in matrix for entry in row)
    return set(range(workload.circuit.num_variables)) - {variable for variable, _ in entries}


DETECTORS: dict[Feature, Callable[[Workload], bool]] = {
    Feature.ZERO_COEFFICIENTS: lambda w: any(k == 0 for matrix in w.rows for row in matrix for _, k in row),
    Feature.REPEATED_COLUMNS: lambda w: any(_has_repeated_column(row) for matrix in w.rows for row in matrix),
    Feature.EMPTY_ROWS: lambda w: any(not (a or b or c) for a, b, c in zip(*w.rows, strict=True)),
    # Index 3 is the last of three public variables, which a row may use only without the feature.
    Feature.UNUSED_VARIABLES: lambda w: 3 in _unused(w) and len(_unused(w)) > 15,
    Feature.DENSE_ROW: lambda w: max(len(a) for a in w.circuit.a) > 100,
    Feature.EDGE_VALUES: lambda w: w.curve.r - 1 in w.values and (w.curve.r - 1) // 2 in w.values,
}


@pytest.mark.parametrize("feature", [f for f in Feature if f in ALL_FEATURES], ids=lambda f: f.name.lower())
def test_a_feature_is_there_exactly_when_asked_for(feature: Feature) -> None:
    def is_seen_with(features: Iterable[Feature]) -> bool:
        return DETECTORS[feature](random_r1cs("bls12_381", 600, num_public=3, features=features))

    assert is_seen_with({feature})
    assert is_seen_with(ALL_FEATURES)
    assert not is_seen_with(ALL_FEATURES - {feature})


@pytest.mark.parametrize("maker", MAKERS)
def test_files_hold_rows_and_values_as_they_stand(maker: str) -> None:
    workload = MAKERS[maker]("bn254")
    circuit_file, witness_file = parse_r1cs(workload.r1cs_file()), parse_wtns(workload.wtns_file())
    assert circuit_file.prime == witness_file.prime == workload.curve.r
    assert circuit_file.r1cs == workload.oracle_r1cs
    assert witness_file.witness == workload.values
