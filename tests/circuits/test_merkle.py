"""Trees of base, sub and top arity, dense and sparse, and inclusion proofs.

Would catch: siblings in the wrong order, a level of the wrong arity, a sub tree above the top one, a sparse tree that
differs from the dense one with the same nodes, a path that holds with a changed value.
"""

from __future__ import annotations

import random
from dataclasses import replace
from hashlib import sha256

import pytest

from cuzk.circuits.vanilla.merkle import (
    HASHERS,
    POSEIDON,
    SHA256,
    InclusionProof,
    PathElement,
    SparseTree,
    TreeShape,
    build_tree,
    seeded_filler,
)
from cuzk.errors import RangeError, ShapeError

#: Roots over zeros that every Filecoin node knows: the commitments to empty pieces.
_ZERO_ROOTS = {
    4: "3731bb99ac689f66eef5973e4a94da188f4ddcae580724fc6f3fd60dfd488333",
    8: "642a607ef886b004bf2c1978463ae1d4693ac0f410eb2d1b7a47fe205e5e750f",
    64: "fc7e928296e516faade986b28f92d44a4f24b935485223376a799027bc18f833",
}
_SHAPES = [
    ("2-0-0", 16),
    ("4-0-0", 16),
    ("8-0-0", 64),
    ("8-2-0", 16),
    ("2-4-0", 32),
    ("2-4-2", 32),
    ("4-8-2", 64),
]


@pytest.mark.parametrize("num_leaves", _ZERO_ROOTS)
def test_roots_of_empty_pieces(num_leaves: int) -> None:
    root = build_tree(SHA256, TreeShape(2), [0] * num_leaves).root
    assert root.to_bytes(32, "little").hex() == _ZERO_ROOTS[num_leaves]


def test_sha256_node_by_hand() -> None:
    left, right = 1, 1 << 253
    digest = sha256(left.to_bytes(32, "little") + right.to_bytes(32, "little")).digest()
    expected = digest[:31] + bytes([digest[31] & 0b00111111])
    assert build_tree(SHA256, TreeShape(2), [left, right]).root == int.from_bytes(expected, "little")


def test_levels_by_hand() -> None:
    leaves = list(range(32))
    base = [POSEIDON.node(leaves[i : i + 2]) for i in range(0, 32, 2)]
    base = [POSEIDON.node(base[i : i + 2]) for i in range(0, 16, 2)]
    sub = [POSEIDON.node(base[i : i + 4]) for i in range(0, 8, 4)]
    assert build_tree(POSEIDON, TreeShape(2, 4, 2), leaves).root == POSEIDON.node(sub)


@pytest.mark.parametrize(("text", "num_leaves"), _SHAPES)
@pytest.mark.parametrize("hasher", HASHERS)
def test_every_leaf_is_under_the_root(text: str, num_leaves: int, hasher: str) -> None:
    shape = TreeShape.parse(text)
    tree = build_tree(HASHERS[hasher], shape, range(100, 100 + num_leaves))
    for index in (0, 1, num_leaves // 2, num_leaves - 1):
        proof = tree.prove(index)
        assert (proof.leaf, proof.root, proof.index, proof.num_leaves) == (
            100 + index,
            tree.root,
            index,
            num_leaves,
        )
        assert proof.holds(HASHERS[hasher])
        assert (len(proof.sub), len(proof.top)) == (int(shape.sub > 0), int(shape.top > 0))
        assert {len(element.siblings) for element in proof.base} == {shape.base - 1}


def _with_part(proof: InclusionProof, part: str, path: tuple[PathElement, ...]) -> InclusionProof:
    parts = {"base": proof.base, "sub": proof.sub, "top": proof.top} | {part: path}
    return InclusionProof(proof.leaf, proof.root, parts["base"], parts["sub"], parts["top"])


def test_a_changed_path_does_not_hold(rng: random.Random) -> None:
    tree = build_tree(POSEIDON, TreeShape(2, 4, 2), [rng.randrange(1 << 250) for _ in range(32)])
    proof = tree.prove(21)
    wrong = [replace(proof, leaf=proof.leaf + 1), replace(proof, root=proof.root + 1)]
    for part in ("base", "sub", "top"):
        element, *rest = getattr(proof, part)
        for i in range(len(element.siblings)):
            siblings = (*element.siblings[:i], element.siblings[i] + 1, *element.siblings[i + 1 :])
            wrong.append(_with_part(proof, part, (PathElement(siblings, element.index), *rest)))
        moved = PathElement(element.siblings, element.index ^ 1)
        wrong.append(_with_part(proof, part, (moved, *rest)))
    assert len(wrong) == 2 + (1 + 3 + 1) + 3
    assert not any(each.holds(POSEIDON) for each in wrong)


@pytest.mark.parametrize(("text", "num_leaves"), _SHAPES)
def test_a_sparse_tree_is_the_dense_one_where_the_rest_is_the_same(text: str, num_leaves: int) -> None:
    shape = TreeShape.parse(text)
    dense = build_tree(SHA256, shape, range(num_leaves))
    leaves = {index: index for index in (0, 5, num_leaves - 1)}
    sparse = SparseTree(SHA256, shape, num_leaves, leaves, dense.node)
    assert sparse.root == dense.root
    assert [sparse.prove(index) for index in leaves] == [dense.prove(index) for index in leaves]
    assert sparse.num_known < sum(map(len, dense.levels))


def test_a_sparse_tree_of_2_to_the_30_leaves() -> None:
    leaves = {7: 1, 8: 2, 2**30 - 1: 3}
    tree = SparseTree(POSEIDON, TreeShape(8, 8), 2**30, leaves, seeded_filler(b"siblings"))
    for index, leaf in leaves.items():
        proof = tree.prove(index)
        assert (proof.leaf, proof.index, len(proof.base), len(proof.sub)) == (leaf, index, 9, 1)
        assert proof.holds(POSEIDON)
    again = SparseTree(POSEIDON, TreeShape(8, 8), 2**30, leaves, seeded_filler(b"siblings"))
    other = SparseTree(POSEIDON, TreeShape(8, 8), 2**30, leaves, seeded_filler(b"others"))
    assert tree.root == again.root != other.root


def test_bad_shapes_and_leaves_are_named() -> None:
    for text in ("8-8", "8-0-2", "1-0-0", "8-1-0", "8-x-0", "", "8-8-0-0", "-8-0-0", "²-0-0"):
        with pytest.raises(RangeError, match="no tree shape"):
            TreeShape.parse(text)
    for shape, num_leaves in (
        (TreeShape(8), 32),
        (TreeShape(8, 8), 64 + 8),
        (TreeShape(2, 4), 4),
        (TreeShape(2), 0),
    ):
        with pytest.raises(ShapeError, match="do not fill"):
            shape.arities(num_leaves)
    tree = build_tree(SHA256, TreeShape(2), [1, 2])
    for index in (-1, 2):
        with pytest.raises(RangeError, match="no leaf"):
            tree.prove(index)
    with pytest.raises(RangeError, match="outside"):
        SparseTree(SHA256, TreeShape(2), 4, {4: 1}, seeded_filler(b""))
