"""Vanilla proofs without a sealed sector.

Would catch: an invented value where the check computes one, a shared node with two values, a size whose file has
another length than the real one.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from cuzk.circuits.catalogue import find_circuit
from cuzk.circuits.vanilla.graph import ApiVersion, Graph
from cuzk.circuits.vanilla.porep import faults_of_stacked, porep_challenges
from cuzk.circuits.vanilla.porep_files import CommitPhase1, read_commit1, write_commit1
from cuzk.circuits.vanilla.post import faults_of_post, post_challenges
from cuzk.circuits.vanilla.seal import SectorIdentity, seal
from cuzk.circuits.vanilla.shapes import WINNING_CHALLENGES, SectorShape, sector_shape
from cuzk.circuits.vanilla.synthetic import synthetic_commit1, synthetic_post
from tests.circuits.sectors import POREP_ID, PROVER_ID, SECTOR_NUMBER, SEED, TICKET
from tests.circuits.witnesses import compiled_witness

_IDENTITY = SectorIdentity(PROVER_ID, SECTOR_NUMBER, TICKET, POREP_ID)


def _faults(output: CommitPhase1, shape: SectorShape, version: ApiVersion = ApiVersion.V1_1_0) -> list[str]:
    graph = Graph(shape.num_nodes, POREP_ID, version)
    found = []
    for number, partition in enumerate(output.partitions):
        challenges = porep_challenges(output.replica_id, SEED, shape.num_nodes, shape.challenges, number)
        for challenge, proof in zip(challenges, partition, strict=True):
            found += faults_of_stacked(
                proof, graph, output.replica_id, challenge, comm_d=output.comm_d, comm_r=output.comm_r
            )
    return found


@pytest.mark.parametrize("name", ["2KiB", "4KiB", "16KiB", "32KiB", "8MiB"])
def test_small_sizes_hold(name: str) -> None:
    shape = sector_shape(name)
    assert _faults(synthetic_commit1(shape, _IDENTITY, SEED), shape) == []


def test_many_challenges_of_few_nodes_share_their_labels() -> None:
    # 40 challenges of 64 nodes: nearly every node is challenged, and parents of others as well.
    shape = replace(sector_shape("2KiB"), challenges=10, partitions=4)
    output = synthetic_commit1(shape, _IDENTITY, SEED)
    assert len(output.partitions) == 4
    assert _faults(output, shape) == []


def test_a_challenge_of_32_gib_holds_and_has_the_published_length() -> None:
    shape = replace(sector_shape("32GiB"), challenges=1)
    output = synthetic_commit1(shape, _IDENTITY, SEED, partitions=1)
    assert _faults(output, shape) == []
    data = write_commit1(output)
    one_challenge = len(data) - 8 - 8 - 5 * 32
    full = sector_shape("32GiB")
    total = one_challenge * full.challenges * full.partitions + 8 + 8 * full.partitions + 5 * 32
    assert (one_challenge, total) == (61_192, 11_014_808)
    assert read_commit1(data) == output


def test_identity_and_data_are_a_sealed_sectors() -> None:
    shape = sector_shape("2KiB")
    output, sector = synthetic_commit1(shape, _IDENTITY, SEED), seal(shape, bytes(2048), _IDENTITY)
    assert (output.comm_d, output.replica_id) == (sector.comm_d, sector.replica_id)
    assert output.comm_r != sector.comm_r
    assert output != synthetic_commit1(shape, _IDENTITY, SEED, salt=b"other")


def test_post_of_32_gib_holds() -> None:
    shape = sector_shape("32GiB")
    proof = synthetic_post(shape, SECTOR_NUMBER, SEED, challenges=WINNING_CHALLENGES, sectors=2)
    leaves = post_challenges(SEED, SECTOR_NUMBER, shape.num_nodes, WINNING_CHALLENGES)
    assert (len(leaves), len(proof.sectors)) == (66, 2)
    assert faults_of_post(proof, leaves) == []
    assert (
        synthetic_post(shape, SECTOR_NUMBER, SEED, challenges=WINNING_CHALLENGES).sectors == proof.sectors[:1]
    )


@pytest.mark.parametrize(
    "name",
    [
        "stacked:8-0-0:8n:2l:1c",
        "porep:4KiB",
        "winning-post:2KiB",
        "window-post:4KiB",
        "fallback-post:8-4-2:2s:3c",
    ],
)
def test_files_are_witnesses_of_their_circuits(name: str) -> None:
    circuit = find_circuit(name)
    one, other = circuit.synthetic(b"one"), circuit.synthetic(b"other")
    assert one == circuit.synthetic(b"one") != other
    inputs, broken, _ = compiled_witness(name, circuit.hints(one, None, 0))
    assert broken is None
    assert inputs != compiled_witness(name, circuit.hints(other, None, 0))[0]


def test_a_file_of_32_gib() -> None:
    circuit = find_circuit("porep:32GiB")
    data = circuit.synthetic(b"")
    assert len(data) == 8 + 8 + 18 * 61_192 + 5 * 32
    assert sum(1 for _ in circuit.hints(data, None, 0)) == 5 + 18 * (1 + 30 * 2 + 14 * (11 + 100) + 64 + 200)
