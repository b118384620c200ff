"""Challenges of a synthetic PoRep: derived from the commitment, picked by the chain's later randomness.

Many are derived before the randomness is known, and those it picks are proven. ("Synthetic" is Filecoin's word for it;
`synthetic.py` makes proofs without a sector.)

Challenge i is 32 bytes of a ChaCha20 key stream; pick j is 4 bytes of another. Both keys are keyed BLAKE2b.
"""

from __future__ import annotations

from hashlib import blake2b

from cuzk.circuits.vanilla.chacha import chacha_block
from cuzk.circuits.vanilla.domain import NODE_BYTES, to_bytes
from cuzk.errors import RangeError, ShapeError

__all__ = ["num_synthetic", "picked_challenges", "synthetic_challenge"]

_MOST_CHALLENGES = 1 << 18
_NONCE = b"synth-porep\0"
_BLOCK_BYTES = 64
_PICK_BYTES = 4


def num_synthetic(num_nodes: int) -> int:
    """How many challenges a sector derives in advance."""
    return min(num_nodes, _MOST_CHALLENGES)


def _stream(purpose: bytes, first: bytes, second: bytes, width: int, index: int) -> int:
    """Value `index` of the stream cut into values of `width` bytes, little-endian."""
    key = blake2b(first + second, digest_size=32, key=b"filecoin.io|PoRep|1|Synthetic|1|" + purpose).digest()
    block, place = divmod(index * width, _BLOCK_BYTES)
    # The nonce of 12 bytes leaves 32 bits of the 64-bit counter; its first 4 bytes are the others.
    counter = block | int.from_bytes(_NONCE[:4], "little") << 32
    data = chacha_block(key, counter, _NONCE[4:], rounds=20)
    return int.from_bytes(data[place : place + width], "little")


def synthetic_challenge(replica: int, comm_r: int, num_nodes: int, index: int) -> int:
    """Challenge `index` of those derived in advance; never node 0.

    Args:
        replica: The replica id.
        comm_r: The commitment.
        num_nodes: Nodes of the sector.
        index: 0, 1, ...
    Raises:
        RangeError: index is not below num_synthetic(num_nodes).
    Checked by: tests/circuits/test_porep.py (published challenges).
    """
    if not 0 <= index < num_synthetic(num_nodes):
        raise RangeError(f"no synthetic challenge {index}", limit=f"0 <= index < {num_synthetic(num_nodes)}")
    value = _stream(b"Generation", to_bytes(replica), to_bytes(comm_r), NODE_BYTES, index)
    return value % (num_nodes - 1) + 1


def picked_challenges(
    replica: int,
    comm_r: int,
    seed: bytes,
    num_nodes: int,
    count: int,
    partition: int = 0,
    *,
    derived: int | None = None,
) -> list[int]:
    """The challenges of one partition.

    Args:
        replica: The replica id.
        comm_r: The commitment.
        seed: 32 bytes of randomness from after the commitment.
        num_nodes: Nodes of the sector.
        count: Challenges in a partition.
        partition: Which partition, from 0.
        derived: How many challenges were derived in advance; num_synthetic(num_nodes) by default.
    Raises:
        ShapeError: The seed is not 32 bytes.
    """
    if len(seed) != NODE_BYTES:
        raise ShapeError(f"a seed of {len(seed)} bytes", limit=f"{NODE_BYTES} bytes")
    total = num_synthetic(num_nodes) if derived is None else derived
    first = count * partition
    picks = (
        _stream(b"Selection", to_bytes(replica), seed, _PICK_BYTES, j) % total
        for j in range(first, first + count)
    )
    return [synthetic_challenge(replica, comm_r, num_nodes, pick) for pick in picks]
