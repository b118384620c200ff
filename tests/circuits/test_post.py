"""Proofs of spacetime as circuits: counts of rust-fil-proofs, public inputs, witnesses from files of vanilla proofs.

Would catch: a row more or less, sectors or openings in another order, a WinningPoSt with one sector, a partition filled
with something else than its last sector, a false vanilla proof that satisfies the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import pytest

from cuzk.circuits.catalogue import build_circuit, find_circuit
from cuzk.circuits.fallback_post import FallbackPostCircuit
from cuzk.circuits.hints import post_hints
from cuzk.circuits.post import file_hints, find_window_post, find_winning_post, sectors_of_partition
from cuzk.circuits.vanilla.merkle import PathElement
from cuzk.circuits.vanilla.post import PostProof, SectorProof, post_challenges, post_public_inputs
from cuzk.circuits.vanilla.post_files import write_post
from cuzk.circuits.vanilla.shapes import (
    SECTOR_SHAPES,
    WINDOW_CHALLENGES,
    WINNING_CHALLENGES,
    sector_shape,
)
from cuzk.circuits.vanilla.synthetic import synthetic_post
from cuzk.errors import InputError, ShapeError
from cuzk.synthesis import circuit_hash, circuit_sizes
from tests.circuits.sectors import SECTOR_NUMBER, SEED
from tests.circuits.witnesses import compiled_witness, with_hints

#: Name -> inputs and rows, as the tests of rust-fil-proofs assert them.
COUNTS = {
    "fallback-post:8-0-0:3s:5c": (19, 16_869),
    "fallback-post:8-0-0:2s:5c": (13, 11_246),
    "fallback-post:8-0-0:1073741824n:5s:10c": (56, 266_665),
}
#: Rows of one hash of two, its root and its equality; of a leaf's path, per level of 8, 4 and 2 and beside.
SECTOR_ROWS, LEVEL_ROWS, PATH_ROWS = 313, {8: 530, 4: 387, 2: 314}, 2


def path_rows(arities: Sequence[int]) -> int:
    return sum(LEVEL_ROWS[arity] for arity in arities) + PATH_ROWS


@cache
def proof_of(number: int, *, size: str = "2KiB", challenges: int = WINDOW_CHALLENGES) -> PostProof:
    """A proof for a replica that does not exist, another one for each sector number."""
    salt = number.to_bytes(4, "little")
    return synthetic_post(sector_shape(size), number, SEED, challenges=challenges, salt=salt)


@pytest.mark.parametrize("name", COUNTS)
def test_counts_of_rust_fil_proofs(name: str) -> None:
    sizes = circuit_sizes(build_circuit(name))
    assert (sizes["num_inputs"], sizes["num_constraints"]) == COUNTS[name]
    assert FallbackPostCircuit.parse(name).num_inputs == COUNTS[name][0]


def test_a_window_of_large_sectors_is_what_is_published_divided() -> None:
    """125,279,217 rows in 2,349 sectors of 32 GiB; five of them are another count of rust-fil-proofs."""
    sizes = circuit_sizes(build_circuit("window-post:32GiB:1"))
    assert sizes["num_constraints"] * sector_shape("32GiB").window_sectors == 125_279_217
    assert circuit_sizes(build_circuit("window-post:32GiB:5"))["num_constraints"] == 266_665
    per_sector = SECTOR_ROWS + WINDOW_CHALLENGES * path_rows(sector_shape("64GiB").tree.arities(1 << 31))
    assert per_sector * 2_300 == 129_887_900
    assert circuit_sizes(build_circuit("window-post:64GiB:1"))["num_constraints"] == per_sector


@pytest.mark.parametrize("size", ["2KiB", "4KiB", "32KiB", "32GiB"])
def test_rows_of_a_winning_post(size: str) -> None:
    shape = sector_shape(size)
    sizes = circuit_sizes(build_circuit(f"winning-post:{size}"))
    rows = SECTOR_ROWS + path_rows(shape.tree.arities(shape.num_nodes))
    assert sizes["num_constraints"] == WINNING_CHALLENGES * rows
    assert sizes["num_inputs"] == 1 + 2 * WINNING_CHALLENGES
    if size == "32GiB":
        assert sizes["num_constraints"] == 370_590


@pytest.mark.parametrize("size", SECTOR_SHAPES)
def test_every_size_has_its_circuits(size: str) -> None:
    shape = sector_shape(size)
    winning, window = find_winning_post(f"winning-post:{size}"), find_window_post(f"window-post:{size}")
    assert (
        (winning.tree, winning.num_nodes) == (window.tree, window.num_nodes) == (shape.tree, shape.num_nodes)
    )
    assert (winning.sectors, winning.challenges) == (66, 1)
    assert (window.sectors, window.challenges) == (shape.window_sectors, 10)
    assert all(FallbackPostCircuit.parse(circuit.name) == circuit for circuit in (winning, window))


def test_a_window_from_the_proofs_of_its_sectors() -> None:
    circuit = find_circuit("window-post:2KiB")
    proofs = [proof_of(1), proof_of(2)]
    data = b"".join(map(write_post, proofs))
    inputs, r1cs, witness = with_hints(circuit.record, circuit.hints(data, None, 0))
    leaves = [post_challenges(SEED, proof.sector_number, 64, WINDOW_CHALLENGES) for proof in proofs]
    expected = post_public_inputs(zip([proof.comm_r for proof in proofs], leaves, strict=True))
    assert inputs == expected
    assert (inputs[0], inputs[11]) == (proofs[0].comm_r, proofs[1].comm_r)
    assert r1cs.first_unsatisfied(witness) is None
    assert circuit_hash(r1cs) == circuit_hash(build_circuit("window-post:2KiB"))


def test_a_partition_that_is_not_full_repeats_its_last_sector() -> None:
    window = find_window_post("window-post:2KiB")
    first, last = proof_of(1), proof_of(2)
    assert sectors_of_partition(window, [first]) == [(first.comm_r, first.sectors[0])] * 2
    more = FallbackPostCircuit(window.tree, window.num_nodes, 4, window.challenges)
    numbers = [comm_r for comm_r, _ in sectors_of_partition(more, [first, last])]
    assert numbers == [first.comm_r, last.comm_r, last.comm_r, last.comm_r]


def test_a_winning_post_takes_each_opening_for_a_sector() -> None:
    circuit = find_circuit("winning-post:2KiB")
    proof = proof_of(SECTOR_NUMBER, challenges=WINNING_CHALLENGES)
    data = write_post(proof, as_json=True)
    inputs, broken, _ = compiled_witness(circuit.name, circuit.hints(data, None, 0))
    leaves = post_challenges(SEED, SECTOR_NUMBER, 64, WINNING_CHALLENGES)
    assert inputs == post_public_inputs((proof.comm_r, [leaf]) for leaf in leaves)
    assert broken is None


def test_a_winning_post_of_32_gib() -> None:
    circuit = find_circuit("winning-post:32GiB")
    proof = proof_of(SECTOR_NUMBER, size="32GiB", challenges=WINNING_CHALLENGES)
    inputs, broken, witness = compiled_witness(circuit.name, circuit.hints(write_post(proof), None, 0))
    leaves = post_challenges(SEED, SECTOR_NUMBER, 1 << 30, WINNING_CHALLENGES)
    assert inputs == post_public_inputs((proof.comm_r, [leaf]) for leaf in leaves)
    assert (broken, len(witness)) == (None, 133 + 375_210)


def wrong_sectors(sector: SectorProof) -> dict[str, SectorProof]:
    """Sectors with one thing changed."""
    opening = sector.inclusion_proofs[0]
    element = opening.base[0]
    moved = PathElement(element.siblings, (element.index + 1) % 8)
    other = PathElement((element.siblings[0] ^ 1, *element.siblings[1:]), element.index)
    changed = {
        "leaf": replace(opening, leaf=opening.leaf ^ 1),
        "position": replace(opening, base=(moved, *opening.base[1:])),
        "sibling": replace(opening, base=(other, *opening.base[1:])),
    }
    return {
        "comm_c": replace(sector, comm_c=sector.comm_c ^ 1),
        "comm_r_last": replace(sector, comm_r_last=sector.comm_r_last ^ 1),
        **{name: replace(sector, inclusion_proofs=(each,)) for name, each in changed.items()},
    }


def test_false_vanilla_proofs_break_a_row() -> None:
    circuit = FallbackPostCircuit.parse("fallback-post:8-0-0:64n:1s:1c")
    proof = proof_of(3, challenges=1)
    (sector,) = proof.sectors
    for name, wrong in {**wrong_sectors(sector), "comm_r": sector, "nothing": sector}.items():
        comm_r = proof.comm_r ^ (name == "comm_r")
        _, r1cs, witness = with_hints(circuit.record, post_hints(circuit, [(comm_r, wrong)]))
        assert (r1cs.first_unsatisfied(witness) is None) == (name == "nothing"), name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fallback-post:8-0-0:3s", "is no fallback PoSt"),
        ("fallback-post:8-0-0:3c:5s", "is no fallback PoSt"),
        ("fallback-post:8-0:3s:5c", "is no tree shape"),
        ("fallback-post:16-0-0:16n:3s:5c", "a circuit of a tree 16-0-0"),
        ("fallback-post:8-0-0:65n:3s:5c", "65 leaves do not fill"),
        ("fallback-post:8-0-0:1n:3s:5c", "a sector of 1 nodes"),
        ("fallback-post:8-0-0:0s:5c", "a proof of spacetime of 0 sectors"),
        ("fallback-post:8-0-0:1s:9999c", "of 9999 challenges of a sector"),
        ("winning-post:3KiB", "unknown sector size '3KiB'"),
        ("winning-post:2KiB:1", "is no WinningPoSt"),
        ("winning-post", "'winning-post' names no sector size"),
        ("window-post:2KiB:x", "is no WindowPoSt"),
        ("window-post:2KiB:3", "a WindowPoSt of 3 sectors of 2KiB"),
        ("window-post:32GiB:2350", "a WindowPoSt of 2350 sectors of 32GiB"),
    ],
)
def test_names_that_are_refused(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        find_circuit(name)


def test_proofs_of_another_shape_are_refused() -> None:
    window, winning = find_window_post("window-post:2KiB"), find_winning_post("winning-post:2KiB")
    three = [proof_of(number) for number in (1, 2, 3)]
    for circuit, proofs, message in (
        (window, three, "vanilla proofs of 3 sectors"),
        (winning, three[:1] * 7, "vanilla proofs of 70 sectors"),
        (window, [proof_of(1, challenges=WINNING_CHALLENGES)], "66 openings of sector number 1"),
        (window, [replace(three[0], sectors=())], "vanilla proofs of 0 sectors"),
    ):
        with pytest.raises(ShapeError, match=message):
            sectors_of_partition(circuit, proofs)
    with pytest.raises(ShapeError, match="partition 1 of a proof of spacetime"):
        file_hints(window, b"", None, 1)
    sectors = sectors_of_partition(window, three[:2])
    with pytest.raises(ShapeError, match="1 sectors"):
        list(post_hints(window, sectors[:1]))
    with pytest.raises(ShapeError, match="10 openings of sector 0"):
        list(post_hints(winning, sectors * 33))
    large = sectors_of_partition(find_window_post("window-post:4KiB"), [proof_of(1, size="4KiB")])
    with pytest.raises(ShapeError, match="a path does not have the shape of the tree"):
        list(post_hints(window, large))
