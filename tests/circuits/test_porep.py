"""Vanilla proofs of replication and spacetime of a sealed sector.

Would catch: a challenge derived from other bytes, an opening of another node, a check that lets a changed value,
column, path, label or encoding through.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256

import pytest

from cuzk.circuits.vanilla.merkle import InclusionProof, PathElement
from cuzk.circuits.vanilla.porep import (
    StackedProof,
    faults_of_stacked,
    non_interactive_challenges,
    porep_challenges,
    porep_public_inputs,
    prove_challenge,
)
from cuzk.circuits.vanilla.post import (
    PostProof,
    faults_of_post,
    pad_sectors,
    post_challenges,
    prove_sector,
)
from cuzk.circuits.vanilla.shapes import SECTOR_SHAPES
from cuzk.circuits.vanilla.synth_challenges import num_synthetic, picked_challenges, synthetic_challenge
from cuzk.errors import RangeError, ShapeError
from tests.circuits.sectors import SECTOR_NUMBER, SEED, sealed


def _faults(proof: StackedProof, challenge: int, name: str = "2KiB") -> list[str]:
    sector = sealed(name)
    return faults_of_stacked(
        proof, sector.graph, sector.replica_id, challenge, comm_d=sector.comm_d, comm_r=sector.comm_r
    )


def test_challenges_by_hand() -> None:
    replica = sealed().replica_id
    expected = []
    for number in range(36, 54):
        digest = sha256(replica.to_bytes(32, "little") + SEED + number.to_bytes(4, "little")).digest()
        expected.append(int.from_bytes(digest, "little") % (2**30 - 1) + 1)
    assert porep_challenges(replica, SEED, 2**30, 18, partition=2) == expected
    small = {c for partition in range(40) for c in porep_challenges(replica, SEED, 8, 2, partition)}
    assert small == set(range(1, 8)), "node 0 is never challenged, every other is"


def test_challenges_without_a_seed_by_hand() -> None:
    replica, comm_r = sealed().replica_id, sealed().comm_r
    start = b"filecoin.io|PoRep|1|NonInteractive|1" + replica.to_bytes(32, "little")
    expected = []
    for number in range(125 * 18, 126 * 18):
        data = start + comm_r.to_bytes(32, "little") + number.to_bytes(4, "little")
        expected.append(int.from_bytes(sha256(data).digest(), "little") % (2**30 - 1) + 1)
    assert non_interactive_challenges(replica, comm_r, 2**30, 18, partition=125) == expected
    assert {shape.partitions: shape.non_interactive_partitions for shape in SECTOR_SHAPES.values()} == {
        1: 13,
        10: 126,
    }


def test_public_inputs_are_the_indices_of_what_is_opened() -> None:
    sector = sealed()
    challenges = [40, 1]
    inputs = porep_public_inputs(
        sector.graph, sector.replica_id, challenges, comm_d=sector.comm_d, comm_r=sector.comm_r
    )
    assert inputs[:3] == [sector.replica_id, sector.comm_d, sector.comm_r]
    for number, challenge in enumerate(challenges):
        proof = prove_challenge(sector, challenge)
        columns = (*proof.drg_parents, *proof.expander_parents)
        opened = [proof.comm_d_proof, *(column.inclusion for column in columns)]
        assert inputs[3 + 18 * number : 21 + 18 * number] == [
            *(inclusion.index for inclusion in opened),
            *(challenge, proof.comm_r_last_proof.index, proof.own_column.inclusion.index),
        ]


@pytest.mark.parametrize("name", ["2KiB", "4KiB"])
def test_proofs_hold(name: str) -> None:
    sector = sealed(name)
    nodes = sector.shape.num_nodes
    for challenge in {1, 2, nodes - 1, *porep_challenges(sector.replica_id, SEED, nodes, 2)}:
        assert _faults(prove_challenge(sector, challenge), challenge, name) == []


def _broken_path(proof: InclusionProof) -> InclusionProof:
    first, *rest = proof.base
    siblings = (first.siblings[0] ^ 1, *first.siblings[1:])
    return replace(proof, base=(PathElement(siblings, first.index), *rest))


def _changed(proof: StackedProof) -> Iterator[tuple[str, StackedProof]]:
    """Proofs with one thing changed, and the start of a fault that has to be found."""
    data, node = proof.comm_d_proof, proof.comm_r_last_proof
    for wrong_data in (_broken_path(data), replace(data, leaf=data.leaf ^ 1)):
        yield "comm_d: the leaf", replace(proof, comm_d_proof=wrong_data)
    for wrong_node in (_broken_path(node), replace(node, leaf=node.leaf ^ 1)):
        yield "comm_r_last: the leaf", replace(proof, comm_r_last_proof=wrong_node)
    own = proof.own_column
    yield "own column: the leaf", replace(proof, own_column=replace(own, rows=(own.rows[0] ^ 1, own.rows[1])))
    yield (
        "own column: not under",
        replace(proof, own_column=replace(own, inclusion=_broken_path(own.inclusion))),
    )
    yield "own column: column of", replace(proof, own_column=replace(own, index=own.index ^ 1))
    yield "parent 0", replace(proof, drg_parents=proof.drg_parents[::-1])
    yield "parent 6", replace(proof, expander_parents=proof.expander_parents[::-1])
    yield "parents: 5 + 8", replace(proof, drg_parents=proof.drg_parents[1:])
    first, second = proof.labeling_proofs
    wrong = replace(first, parents=(first.parents[0] ^ 1, *first.parents[1:]))
    yield "label 1: its parents", replace(proof, labeling_proofs=(wrong, second))
    yield "label 1: is not", replace(proof, labeling_proofs=(wrong, second))
    yield "label 2: is of layer 1", replace(proof, labeling_proofs=(first, replace(second, layer=1)))
    yield "columns and labels", replace(proof, labeling_proofs=(first,))
    yield "encoding: its key", replace(proof, encoding_proof=first)


def test_every_change_is_found() -> None:
    changed = list(_changed(prove_challenge(sealed(), 40)))
    assert len(changed) == 15
    for start, proof in changed:
        assert any(fault.startswith(start) for fault in _faults(proof, 40)), start


def test_a_proof_of_another_node_or_sector_does_not_hold() -> None:
    sector, proof = sealed(), prove_challenge(sealed(), 40)
    assert any("opens leaf 40, not 41" in fault for fault in _faults(proof, 41))
    other = faults_of_stacked(proof, sector.graph, sector.replica_id, 40, comm_d=1, comm_r=sector.comm_r)
    assert other == ["comm_d: the leaf is not under it"]
    other = faults_of_stacked(proof, sector.graph, sector.replica_id, 40, comm_d=sector.comm_d, comm_r=1)
    assert other == ["comm_r: not the hash of comm_c and comm_r_last"]
    other = faults_of_stacked(proof, sector.graph, 1, 40, comm_d=sector.comm_d, comm_r=sector.comm_r)
    assert other == [f"label {n}: is not the hash of its parents" for n in (1, 2)]


def test_node_0_is_not_opened() -> None:
    for challenge in (0, 64, -1):
        with pytest.raises(RangeError, match="never challenged"):
            prove_challenge(sealed(), challenge)
    with pytest.raises(ShapeError, match="a seed of 1 bytes"):
        porep_challenges(1, b"1", 64, 2)


def test_published_synthetic_challenges() -> None:
    # Source: rust-fil-proofs, `test_synth_challenges_against_hardcoded`.
    derived = [
        178,
        297,
        869,
        211,
        875,
        477,
        94,
        781,
        124,
        332,
        856,
        801,
        176,
        692,
        429,
        691,
        290,
        204,
        986,
        210,
        973,
    ]
    picked = [176, 781, 801, 986, 290, 211, 692, 856, 986, 332]
    seed = b"\1" * 32
    assert [synthetic_challenge(55, 101, 1024, i) for i in range(21)] == derived
    assert picked_challenges(55, 101, seed, 1024, 10, derived=21) == picked
    # Partitions share one stream of picks, also across a block of 16.
    whole = picked_challenges(55, 101, seed, 2**30, 180)
    assert whole == [c for k in range(10) for c in picked_challenges(55, 101, seed, 2**30, 18, k)]
    assert num_synthetic(2**30) == 2**18
    with pytest.raises(RangeError, match="no synthetic challenge 1024"):
        synthetic_challenge(55, 101, 1024, 1024)
    with pytest.raises(ShapeError, match="a seed of 0 bytes"):
        picked_challenges(55, 101, b"", 1024, 10)


def test_post_challenges_by_hand() -> None:
    randomness = bytes(range(32))
    start = randomness + (1000).to_bytes(8, "little")
    digests = [sha256(start + n.to_bytes(8, "little")).digest() for n in range(12)]
    expected = [int.from_bytes(digest[:8], "little") % 2**30 for digest in digests]
    assert post_challenges(randomness, 1000, 2**30, 10) == expected[:10]
    assert post_challenges(randomness, 1000, 2**30, 2, first=10) == expected[10:]
    with pytest.raises(RangeError, match="the randomness is no field element"):
        post_challenges(b"\xff" * 32, 1, 64, 1)


def test_post_proof_holds_and_changes_are_found() -> None:
    sector = sealed("4KiB")
    challenges = post_challenges(SEED, SECTOR_NUMBER, sector.shape.num_nodes, 10)
    opened = prove_sector(sector.tree_r_last, sector.comm_c, challenges)
    proof = PostProof(SECTOR_NUMBER, sector.comm_r, pad_sectors([opened], 2))
    assert proof.sectors == (opened, opened)
    assert faults_of_post(proof, challenges) == faults_of_post(proof) == []
    assert "opens leaves" in faults_of_post(proof, challenges[::-1])[0]
    assert "comm_r is not" in faults_of_post(replace(proof, comm_r=proof.comm_r ^ 1))[0]
    first, *rest = opened.inclusion_proofs
    for wrong in (_broken_path(first), replace(first, root=1), sealed().tree_r_last.prove(0)):
        bad = replace(proof, sectors=(replace(opened, inclusion_proofs=(wrong, *rest)), opened))
        faults = faults_of_post(bad)
        assert any("sector 0: path 0" in fault for fault in faults)
        assert ("sector 0: its paths are of trees of different sizes" in faults) == (wrong.num_leaves != 128)
    assert faults_of_post(replace(proof, sectors=())) == ["there is no sector in it"]
    for count in (0, 3):
        with pytest.raises(ShapeError, match=f"{count} sectors for one partition"):
            pad_sectors([opened] * count, 2)
