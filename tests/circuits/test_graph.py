"""The graph: published digests of all parents, the generator and the permutation behind them.

Would catch: a wrong draw, bucket bound, order of parents, key or truncation; a permutation that is none.
"""

from __future__ import annotations

import struct
from hashlib import sha256

import pytest

from cuzk.circuits.vanilla.chacha import chacha8_u64, chacha_block
from cuzk.circuits.vanilla.graph import ApiVersion, Feistel, Graph
from cuzk.errors import RangeError, ShapeError

#: Start of SHA-256 over 14 parents of 32 bits of each of 64 nodes, as miners' parent caches are checked.
_DIGESTS = [(bytes(32), ApiVersion.V1_0_0, "3da49221"), (b"\5" + bytes(31), ApiVersion.V1_1_0, "84005770")]


@pytest.mark.parametrize(("porep_id", "version", "digest"), _DIGESTS)
def test_published_digest_of_all_parents(porep_id: bytes, version: ApiVersion, digest: str) -> None:
    graph = Graph(64, porep_id, version)
    packed = b"".join(struct.pack("<14I", *graph.parents(node)) for node in range(64))
    assert sha256(packed).hexdigest().startswith(digest)


def test_published_key_streams() -> None:
    assert chacha_block(bytes(32), 0, rounds=20).hex() == (
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
    )
    assert chacha_block(bytes(32), 0).hex() == (
        "3e00ef2f895f40d67f5bb8e81f09a5a12c840ec3ce9a7f3b181be188ef711a1e"
        "984ce172b9216f419f445367456d5619314a42a3da86b001387bfdb80e0cfe42"
    )


def test_numbers_go_on_into_the_next_block() -> None:
    key = bytes(range(32))
    stream = chacha_block(key, 0) + chacha_block(key, 1)
    numbers = chacha8_u64(key)
    assert [next(numbers) for _ in range(16)] == list(struct.unpack("<16Q", stream))


@pytest.mark.parametrize("version", ApiVersion)
def test_parents_come_before_their_node(version: ApiVersion) -> None:
    graph = Graph(512, b"\7" * 32, version)
    assert graph.drg_parents(0) == graph.drg_parents(1) == (0,) * 6
    for node in range(2, 512):
        parents = graph.drg_parents(node)
        assert all(0 <= parent < node for parent in parents)
        assert parents[-1 if version is ApiVersion.V1_0_0 else 0] == node - 1


def test_every_node_is_an_expander_parent_eight_times() -> None:
    graph = Graph(64, b"\7" * 32)
    parents = sorted(parent for node in range(64) for parent in graph.expander_parents(node))
    assert parents == [node for node in range(64) for _ in range(8)]


def test_version_1_0_cuts_expander_indices_to_32_bits() -> None:
    # 2^31 nodes have 2^34 expander indices: the first version never reaches the upper part of the sector.
    old, new = (Graph(2**31, bytes(32), version) for version in (ApiVersion.V1_0_0, ApiVersion.V1_1_0))
    nodes = [2**31 - 1 - i for i in range(8)]
    cut = [parent for node in nodes for parent in old.expander_parents(node)]
    full = [parent for node in nodes for parent in new.expander_parents(node)]
    assert max(cut) < 2**29 < max(full)
    assert cut == [parent % 2**29 for parent in full]


@pytest.mark.parametrize("size", [1, 2, 4, 5, 6, 8, 12, 16, 17, 64, 300])
def test_the_permutation_is_one(size: int) -> None:
    feistel = Feistel(size, (1, 2, 3))
    images = [feistel.permute(index) for index in range(size)]
    assert sorted(images) == list(range(size))
    assert [feistel.invert(image) for image in images] == list(range(size))


def test_what_is_outside_is_named() -> None:
    with pytest.raises(ShapeError, match="1 nodes"):
        Graph(1, bytes(32))
    with pytest.raises(ShapeError, match="31 bytes"):
        Graph(64, bytes(31))
    with pytest.raises(RangeError, match="no node 64"):
        Graph(64, bytes(32)).drg_parents(64)
    with pytest.raises(RangeError, match="no node -1"):
        Graph(64, bytes(32)).expander_parents(-1)
    with pytest.raises(RangeError, match="not permuted"):
        Feistel(8, (1, 2, 3)).permute(8)
