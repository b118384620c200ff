"""The JoinSplit circuit of Zcash Sprout, in the version over BLS12-381.

Two notes are spent and two are made, hidden, with public values that enter and leave the pool. The public inputs
pack: anchor, h_sig, per spent note its nullifier and authentication tag, the new commitments, both public values.
It is the one circuit of this size whose hash over all rows and coefficients is published.

Byte strings become booleans byte by byte, most significant bit first; values are 64-bit, least significant bit first
when allocated, and little-endian bytes when hashed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cuzk.circuits.boolean import (
    FALSE,
    Bit,
    alloc_bit,
    alloc_bits,
    bit_lc,
    bits_lc,
    bytes_to_bits,
    define_choice,
    enforce_bit,
)
from cuzk.circuits.multipack import pack_into_inputs
from cuzk.circuits.sha256 import sha256, sha256_compression, sha256_initial_state
from cuzk.circuits.uint32 import word_to_bits_be
from cuzk.synthesis import ONE, ConstraintSystem, LinearCombination

__all__ = ["TREE_DEPTH", "JoinSplit", "OutputNote", "SpentNote", "joinsplit", "joinsplit_hints"]

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
    first: list[Bit] = []
    second: list[Bit] = []
    for a, b in zip(one, other, strict=True):
        for side, x, y in ((first, a, b), (second, b, a)):
            picked = enforce_bit(cs, define_choice(cs, right, y, x))
            difference, change = LinearCombination(bit_lc(y)), LinearCombination(bit_lc(picked))
            difference.add_scaled(bit_lc(x), -1)
            change.add_scaled(bit_lc(x), -1)
            cs.enforce(difference, bit_lc(right), change)
            side.append(picked)
    return first + second


def _root(cs: ConstraintSystem, leaf: list[Bit]) -> list[Bit]:
    """The root of the tree that a path from a leaf leads to."""
    node = leaf
    for _ in range(TREE_DEPTH):
        right = alloc_bit(cs)
        node = _hash_block(cs, _swap_if(cs, right, node, alloc_bits(cs, _HASH_BITS)))
    return node


def _spend(cs: ConstraintSystem, value: list[Bit], h_sig: list[Bit], nonce: int, rt: list[Bit]) -> list[Bit]:
    """Rows of one spent note; its nullifier and authentication tag."""
    spending_key = alloc_bits(cs, _KEY_BITS)
    rho, r = alloc_bits(cs, _HASH_BITS), alloc_bits(cs, _HASH_BITS)
    paying_key = _hash_block(cs, [*_ADDRESS, *spending_key, *[FALSE] * _HASH_BITS])
    nullifier = _hash_block(cs, [*_NULLIFIER, *spending_key, *rho])
    tag = _hash_block(cs, [0, nonce, 0, 0, *spending_key, *h_sig])
    leaf = _commitment(cs, paying_key, value, rho, r)
    root = _root(cs, leaf)
    is_real = alloc_bit(cs)
    no_dummy = LinearCombination({ONE: 1})
    no_dummy.add_scaled(bit_lc(is_real), -1)
    cs.enforce(bits_lc(value), no_dummy, {})
    for computed, claimed in zip(root, rt, strict=True):
        difference = LinearCombination(bit_lc(computed))
        difference.add_scaled(bit_lc(claimed), -1)
        cs.enforce(difference, bit_lc(is_real), {})
    return nullifier + tag


def _make(cs: ConstraintSystem, value: list[Bit], phi: list[Bit], h_sig: list[Bit], nonce: int) -> list[Bit]:
    """Rows of one note that is made; its commitment."""
    rho = _hash_block(cs, [0, nonce, 1, 0, *phi, *h_sig])
    paying_key, r = alloc_bits(cs, _HASH_BITS), alloc_bits(cs, _HASH_BITS)
    return _commitment(cs, paying_key, value, rho, r)


def joinsplit(cs: ConstraintSystem) -> None:
    """The whole circuit.

    Args:
        cs: An empty system over BLS12-381; its hints are those of joinsplit_hints.
    """
    value_in, value_out = alloc_bits(cs, _VALUE_BITS), alloc_bits(cs, _VALUE_BITS)
    rt, h_sig = alloc_bits(cs, _HASH_BITS), alloc_bits(cs, _HASH_BITS)
    phi = alloc_bits(cs, _KEY_BITS)
    public = rt + h_sig
    left, right = bits_lc(value_in), bits_lc(value_out)
    for nonce in range(2):
        value = alloc_bits(cs, _VALUE_BITS)
        public += _spend(cs, value, h_sig, nonce, rt)
        left.add_scaled(bits_lc(value))
    # Both sides are sums of 64-bit numbers: that the left one fits 64 bits again is what keeps money from wrapping.
    cs.enforce(left, {ONE: 1}, bits_lc(alloc_bits(cs, _VALUE_BITS)))
    for nonce in range(2):
        value = alloc_bits(cs, _VALUE_BITS)
        public += _make(cs, value, phi, h_sig, nonce)
        right.add_scaled(bits_lc(value))
    cs.enforce(left, {ONE: 1}, right)
    pack_into_inputs(cs, public + _bytes_order(value_in) + _bytes_order(value_out))


def joinsplit_hints(data: JoinSplit) -> Iterator[int]:
    """The hints of joinsplit, bit by bit, in the order in which it allocates them."""
    yield from _value_bits(data.value_in)
    yield from _value_bits(data.value_out)
    yield from bytes_to_bits(data.rt + data.h_sig)
    yield from bytes_to_bits(data.phi)[-_KEY_BITS:]
    for note in data.spent:
        yield from _value_bits(note.value)
        yield from bytes_to_bits(note.spending_key)[-_KEY_BITS:]
        yield from bytes_to_bits(note.rho + note.r)
        for sibling, is_right in note.path:
            yield int(is_right)
            yield from bytes_to_bits(sibling)
        yield int(note.value != 0)
    yield from _value_bits(data.value_in + sum(note.value for note in data.spent))
    for made in data.made:
        yield from _value_bits(made.value)
        yield from bytes_to_bits(made.paying_key + made.r)


def _value_bits(value: int) -> list[int]:
    return [value >> i & 1 for i in range(_VALUE_BITS)]
