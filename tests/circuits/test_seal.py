"""Labels and sealing: published labels of the last layer, and a sealed 2 KiB sector step by step.

Would catch: a wrong preimage of a label, a wrong repetition of parents, layers in the wrong order, a tree over the
wrong values, commitments hashed in the wrong order.
"""

from __future__ import annotations

from hashlib import sha256

import pytest

from cuzk.circuits.vanilla.graph import ApiVersion, Graph
from cuzk.circuits.vanilla.labels import column, create_label, create_layers, parent_labels, replica_id
from cuzk.circuits.vanilla.merkle import POSEIDON, SHA256, TreeShape, build_tree
from cuzk.circuits.vanilla.poseidon import poseidon, poseidon_plain
from cuzk.circuits.vanilla.poseidon_constants import MODULUS
from cuzk.circuits.vanilla.seal import SectorIdentity, seal, unseal
from cuzk.circuits.vanilla.shapes import SECTOR_SHAPES, sector_shape
from cuzk.errors import RangeError, ShapeError
from tests.circuits.sectors import POREP_ID, PROVER_ID, SECTOR_NUMBER, TICKET, random_data, sealed

_REPLICA = int.from_bytes(b"\t" * 32, "little")
_OLD, _NEW = (bytes(32), ApiVersion.V1_0_0), (bytes([123]) * 32, ApiVersion.V1_1_0)
#: (nodes, graph) -> last label of layer 11.  Source: rust-fil-proofs, `test_create_labels`.
_LAST_LABELS = [
    (64, _OLD, 0x0462F4F4F1A68D37_E3D51B9AFA5AC2B3_EA81A283D106485E_D3FAA96B9A0FBA04),
    (128, _OLD, 0x234C00D1DC1D53BE_CE239F3B88A894B8_5AE8A1C9E6FAC148_7E191E52C4A8DA86),
    (64, _NEW, 0x06021188C7A71CB5_3448959D495490BC_777A2E4D7769119F_ABB3F38BB70DEFCF),
    (128, _NEW, 0x0F777C18CC2C55BD_C6C03D32C1E42D23_7A77A82FC7C9C189_22AB81CF68C4676D),
]


@pytest.mark.parametrize(("num_nodes", "graph", "label"), _LAST_LABELS)
def test_published_labels(num_nodes: int, graph: tuple[bytes, ApiVersion], label: int) -> None:
    assert create_layers(Graph(num_nodes, *graph), _REPLICA, 11)[-1][-1] == label


def test_a_label_by_hand() -> None:
    parents = list(range(1000, 1037))
    data = b"\t" * 32 + bytes([0, 0, 0, 3]) + bytes([0, 0, 0, 0, 0, 0, 0, 22]) + bytes(20)
    data += b"".join(parent.to_bytes(32, "little") for parent in parents)
    assert len(data) == 39 * 32
    assert create_label(_REPLICA, 3, 22, parents) == int.from_bytes(sha256(data).digest(), "little") % 2**254


def test_each_label_is_the_hash_of_its_parents() -> None:
    sector = sealed()
    layers = sector.layers
    for number, layer in enumerate(layers, start=1):
        for node in (0, 1, 2, 63):
            parents = parent_labels(sector.graph, node, layer, layers[number - 2] if number > 1 else None)
            assert len(parents) == (37 if node else 0)
            assert create_label(sector.replica_id, number, node, parents) == layer[node]


def test_replica_id_by_hand() -> None:
    comm_d = sealed().comm_d.to_bytes(32, "little")
    number = SECTOR_NUMBER.to_bytes(8, "big")
    digest = sha256(PROVER_ID + number + TICKET + comm_d + POREP_ID).digest()
    expected = int.from_bytes(digest, "little") % 2**254
    assert replica_id(PROVER_ID, SECTOR_NUMBER, TICKET, sealed().comm_d, POREP_ID) == expected
    assert sealed().replica_id == expected


@pytest.mark.parametrize("name", ["2KiB", "4KiB"])
def test_commitments_of_a_sealed_sector(name: str) -> None:
    sector = sealed(name)
    nodes = range(sector.shape.num_nodes)
    data = random_data(sector.shape.size_bytes)
    leaves = [int.from_bytes(data[32 * node : 32 * node + 32], "little") for node in nodes]
    assert sector.comm_d == build_tree(SHA256, TreeShape(2), leaves).root
    assert unseal(sector) == leaves
    assert list(sector.replica) == [(leaves[n] + sector.layers[1][n]) % MODULUS for n in nodes]
    assert list(sector.tree_r_last.levels[0]) == list(sector.replica)
    assert [poseidon_plain(column(sector.layers, n)) for n in nodes] == list(sector.tree_c.levels[0])
    assert sector.tree_c.root == build_tree(POSEIDON, sector.shape.tree, sector.tree_c.levels[0]).root
    assert sector.comm_r == poseidon([sector.comm_c, sector.comm_r_last])


def test_an_identity_changes_the_replica() -> None:
    data = random_data(2048)
    identities = [
        SectorIdentity(PROVER_ID, SECTOR_NUMBER, TICKET, POREP_ID),
        SectorIdentity(bytes(32), SECTOR_NUMBER, TICKET, POREP_ID),
        SectorIdentity(PROVER_ID, SECTOR_NUMBER + 1, TICKET, POREP_ID),
        SectorIdentity(PROVER_ID, SECTOR_NUMBER, bytes(32), POREP_ID),
        SectorIdentity(PROVER_ID, SECTOR_NUMBER, TICKET, bytes(32)),
        SectorIdentity(PROVER_ID, SECTOR_NUMBER, TICKET, POREP_ID, ApiVersion.V1_0_0),
    ]
    assert len({seal(sector_shape("2KiB"), data, identity).comm_r for identity in identities}) == len(
        identities
    )


def test_shapes_fill_their_trees() -> None:
    for shape in SECTOR_SHAPES.values():
        assert shape.tree.arities(shape.num_nodes)
        assert shape.challenges * shape.partitions >= (176 if shape.layers == 11 else 2)
    assert [sector_shape("64GiB").num_nodes, sector_shape("2KiB").num_nodes] == [2**31, 64]


def test_bad_data_and_identities_are_named() -> None:
    shape, identity = sector_shape("2KiB"), SectorIdentity(PROVER_ID, 1, TICKET, POREP_ID)
    with pytest.raises(ShapeError, match="2047 bytes of data"):
        seal(shape, bytes(2047), identity)
    with pytest.raises(RangeError, match="node 3 of the data is no field element"):
        seal(shape, bytes(96) + MODULUS.to_bytes(32, "little") + bytes(2048 - 128), identity)
    with pytest.raises(ShapeError, match="ticket has 3 bytes"):
        SectorIdentity(PROVER_ID, 1, b"abc", POREP_ID)
    for number in (-1, 1 << 64):
        with pytest.raises(ShapeError, match=f"sector number {number}"):
            SectorIdentity(PROVER_ID, number, TICKET, POREP_ID)
    for number in (0, (1 << 64) - 1):
        assert SectorIdentity(PROVER_ID, number, TICKET, POREP_ID).sector_number == number
    with pytest.raises(RangeError, match="unknown sector size '3KiB'"):
        sector_shape("3KiB")
