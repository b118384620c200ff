"""The JoinSplit circuit of Zcash Sprout, in the version over BLS12-381.

Two notes are spent and two are made, hidden, with public values that enter and leave the pool. The public inputs
pack: anchor, h_sig, per spent note its nullifier and authentication tag, the new commitments, both public values.
It is the one circuit of this size whose hash over all rows and coefficients is published.

Byte strings become booleans byte by byte, most significant bit first; values are 64-bit, least significant bit first
when allocated, and little-endian bytes when hashed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cuzk.circuits.boolean import FALSE, Bit, alloc_bit, alloc_bits, bit_lc, bit_value, bits_lc, bytes_to_bits
from cuzk.circuits.multipack import pack_into_inputs
from cuzk.circuits.sha256 import sha256, sha256_compression, sha256_initial_state
from cuzk.circuits.uint32 import word_to_bits_be
from cuzk.synthesis import ONE, ConstraintSystem, LinearCombination

__all__ = ["TREE_DEPTH", "JoinSplit", "OutputNote", "SpentNote", "joinsplit"]

TREE_DEPTH = 29
_VALUE_BITS = 64
_HASH_BITS = 256
_KEY_BITS = 252
#: First bits of what the pseudo-random functions hash; the nonce takes the place of None.
_ADDRESS, _NULLIFIER = (1, 1, 0, 0), (1, 1, 1, 0)
_COMMITMENT_BYTE = (1, 0, 1, 1, 0, 0, 0, 0)


@dataclass(frozen=True)
class SpentNote:
    """A note that is spent.

    Args:
        value: Below 2^64.
        spending_key: 32 bytes, the first 4 bits are not used.
        rho: 32 bytes.
        r: 32 bytes.
        path: Per level from the leaf up, the sibling (32 bytes) and whether the node is the right child.
    """

    value: int
    spending_key: bytes
    rho: bytes
    r: bytes
    path: Sequence[tuple[bytes, bool]]


@dataclass(frozen=True)
class OutputNote:
    """A note that is made: value below 2^64, paying key and r of 32 bytes."""

    value: int
    paying_key: bytes
    r: bytes


@dataclass(frozen=True)
class JoinSplit:
    """All that a proof of one JoinSplit needs; rt is the anchor, phi's first 4 bits are not used."""

    value_in: int
    value_out: int
    rt: bytes
    h_sig: bytes
    phi: bytes
    spent: tuple[SpentNote, SpentNote]
    made: tuple[OutputNote, OutputNote]


def _alloc_bytes(cs: ConstraintSystem, data: bytes | None, num_bits: int = _HASH_BITS) -> list[Bit]:
    """The last num_bits of 32 bytes."""
    return alloc_bits(cs, num_bits, None if data is None else bytes_to_bits(data)[-num_bits:])


def _alloc_value(cs: ConstraintSystem, value: int | None) -> list[Bit]:
    known = None if value is None else [value >> i & 1 for i in range(_VALUE_BITS)]
    return alloc_bits(cs, _VALUE_BITS, known)


def _bytes_order(value: Sequence[Bit]) -> list[Bit]:
    """A value as it is hashed and packed: little-endian bytes, each most significant bit first."""
    return [bit for first in range(0, len(value), 8) for bit in reversed(value[first : first + 8])]


def _hash_block(cs: ConstraintSystem, block: Sequence[Bit]) -> list[Bit]:
    """The compression function of SHA-256 alone."""
    words = sha256_compression(cs, block, sha256_initial_state())
    return [bit for word in words for bit in word_to_bits_be(word)]


def _commitment(
    cs: ConstraintSystem, paying_key: list[Bit], value: list[Bit], rho: list[Bit], r: list[Bit]
) -> list[Bit]:
    return sha256(cs, [*_COMMITMENT_BYTE, *paying_key, *_bytes_order(value), *rho, *r])


def _swap_if(cs: ConstraintSystem, right: Bit, one: list[Bit], other: list[Bit]) -> list[Bit]:
    """The bits of both, one first unless ``right``; two bits and two rows more per pair."""
    is_right = bit_value(cs, right)
    first: list[Bit] = []
    second: list[Bit] = []
    for a, b in zip(one, other, strict=True):
        for side, x, y in ((first, a, b), (second, b, a)):
            picked = alloc_bit(cs, None if is_right is None else bit_value(cs, y if is_right else x))
            difference, change = LinearCombination(bit_lc(y)), LinearCombination(bit_lc(picked))
            difference.add_scaled(bit_lc(x), -1)
            change.add_scaled(bit_lc(x), -1)
            cs.enforce(difference, bit_lc(right), change)
            side.append(picked)
    return first + second


def _root(cs: ConstraintSystem, leaf: list[Bit], path: Sequence[tuple[bytes, bool]] | None) -> list[Bit]:
    """The root of the tree that a path from a leaf leads to."""
    node = leaf
    for level in range(TREE_DEPTH):
        sibling, is_right = (None, None) if path is None else path[level]
        right = alloc_bit(cs, None if is_right is None else int(is_right))
        node = _hash_block(cs, _swap_if(cs, right, node, _alloc_bytes(cs, sibling)))
    return node


def _spend(
    cs: ConstraintSystem,
    note: SpentNote | None,
    value: list[Bit],
    h_sig: list[Bit],
    nonce: int,
    rt: list[Bit],
) -> list[Bit]:
    """Rows of one spent note; its nullifier and authentication tag."""
    spending_key = _alloc_bytes(cs, None if note is None else note.spending_key, _KEY_BITS)
    rho = _alloc_bytes(cs, None if note is None else note.rho)
    r = _alloc_bytes(cs, None if note is None else note.r)
    paying_key = _hash_block(cs, [*_ADDRESS, *spending_key, *[FALSE] * _HASH_BITS])
    nullifier = _hash_block(cs, [*_NULLIFIER, *spending_key, *rho])
    tag = _hash_block(cs, [0, nonce, 0, 0, *spending_key, *h_sig])
    leaf = _commitment(cs, paying_key, value, rho, r)
    root = _root(cs, leaf, None if note is None else note.path)
    is_real = alloc_bit(cs, None if note is None else int(note.value != 0))
    no_dummy = LinearCombination({ONE: 1})
    no_dummy.add_scaled(bit_lc(is_real), -1)
    cs.enforce(bits_lc(value), no_dummy, {})
    for computed, claimed in zip(root, rt, strict=True):
        difference = LinearCombination(bit_lc(computed))
        difference.add_scaled(bit_lc(claimed), -1)
        cs.enforce(difference, bit_lc(is_real), {})
    return nullifier + tag


def _make(
    cs: ConstraintSystem,
    note: OutputNote | None,
    value: list[Bit],
    phi: list[Bit],
    h_sig: list[Bit],
    nonce: int,
) -> list[Bit]:
    """Rows of one note that is made; its commitment."""
    rho = _hash_block(cs, [0, nonce, 1, 0, *phi, *h_sig])
    paying_key = _alloc_bytes(cs, None if note is None else note.paying_key)
    r = _alloc_bytes(cs, None if note is None else note.r)
    return _commitment(cs, paying_key, value, rho, r)


def joinsplit(cs: ConstraintSystem, data: JoinSplit | None = None) -> None:
    """The whole circuit.

    Args:
        cs: An empty system over BLS12-381.
        data: Where it keeps values, what they come from.
    """
    value_in, value_out = (
        _alloc_value(cs, None if data is None else data.value_in),
        _alloc_value(cs, None if data is None else data.value_out),
    )
    rt, h_sig = (
        _alloc_bytes(cs, None if data is None else data.rt),
        _alloc_bytes(cs, None if data is None else data.h_sig),
    )
    phi = _alloc_bytes(cs, None if data is None else data.phi, _KEY_BITS)
    public = rt + h_sig
    left, right = bits_lc(value_in), bits_lc(value_out)
    for nonce in range(2):
        spent = None if data is None else data.spent[nonce]
        value = _alloc_value(cs, None if spent is None else spent.value)
        public += _spend(cs, spent, value, h_sig, nonce, rt)
        left.add_scaled(bits_lc(value))
    # Both sides are sums of 64-bit numbers: that the left one fits 64 bits again is what keeps money from wrapping.
    total = None if data is None else data.value_in + sum(note.value for note in data.spent)
    cs.enforce(left, {ONE: 1}, bits_lc(_alloc_value(cs, total)))
    for nonce in range(2):
        made = None if data is None else data.made[nonce]
        value = _alloc_value(cs, None if made is None else made.value)
        public += _make(cs, made, value, phi, h_sig, nonce)
        right.add_scaled(bits_lc(value))
    cs.enforce(left, {ONE: 1}, right)
    pack_into_inputs(cs, public + _bytes_order(value_in) + _bytes_order(value_out))
