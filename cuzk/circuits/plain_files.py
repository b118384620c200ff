"""Files of values for circuits that no program of Filecoin or Zcash writes files for, and such files from any bytes.

sha256:...        the message, 64 bytes
poseidon:ARITY    the elements, 32 bytes each, little-endian
create-label      the replica id and the 37 parents, likewise
por:...           a Merkle proof as in vanilla proofs, bincode or JSON
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

from cuzk.circuits.create_label import NUM_PARENTS, create_label_hints
from cuzk.circuits.hashes import message_hints
from cuzk.circuits.por import PorCircuit
from cuzk.circuits.vanilla import codec
from cuzk.circuits.vanilla.domain import NODE_BYTES, from_bytes, sha256_value, to_bytes
from cuzk.circuits.vanilla.merkle import HASHERS, SparseTree, seeded_filler
from cuzk.circuits.vanilla.merkle_files import MERKLE, PathName, is_json, merkle_of, merkle_value
from cuzk.errors import FormatError, ShapeError

__all__ = [
    "element_hints",
    "elements_synthetic",
    "label_hints",
    "label_synthetic",
    "message_file_hints",
    "message_synthetic",
    "path_file_hints",
    "path_synthetic",
]


def _only_partition(partition: int) -> None:
    if partition:
        raise ShapeError(f"partition {partition} of a circuit without partitions", limit="0")


def _elements(data: bytes, path: PathName, count: int) -> list[int]:
    """Field elements of 32 bytes."""
    if len(data) != count * NODE_BYTES:
        raise FormatError(
            f"{len(data)} bytes", path=path, limit=f"{count} elements of {NODE_BYTES} bytes, little-endian"
        )
    parts = [data[i : i + NODE_BYTES] for i in range(0, len(data), NODE_BYTES)]
    return [from_bytes(part, f"element {i}") for i, part in enumerate(parts)]


def message_file_hints(data: bytes, path: PathName = None, partition: int = 0) -> Iterator[int]:
    """Of ``sha256:compression`` and ``sha256:512``.

    Raises:
        ShapeError: Not 64 bytes; a partition other than 0.
    """
    del path  # the size says all that can be wrong
    _only_partition(partition)
    return iter(message_hints(data))


def message_synthetic(salt: bytes) -> bytes:
    """A message of 64 bytes."""
    return sha256(salt).digest() + sha256(salt + b"\1").digest()


def element_hints(arity: int, data: bytes, path: PathName = None, partition: int = 0) -> Iterator[int]:
    """Of ``poseidon:ARITY``.

    Raises:
        FormatError: Another size.   RangeError: An element is not below r.   ShapeError: A partition other than 0.
    """
    _only_partition(partition)
    return iter(_elements(data, path, arity))


def elements_synthetic(count: int, salt: bytes) -> bytes:
    """So many field elements."""
    return b"".join(to_bytes(sha256_value(salt, i.to_bytes(4, "little"))) for i in range(count))


def label_hints(data: bytes, path: PathName = None, partition: int = 0) -> Iterator[int]:
    """Of ``create-label``; errors as of element_hints."""
    _only_partition(partition)
    replica_id, *parents = _elements(data, path, 1 + NUM_PARENTS)
    return create_label_hints(replica_id, parents)


def label_synthetic(salt: bytes) -> bytes:
    """A replica id and 37 parents."""
    return elements_synthetic(1 + NUM_PARENTS, salt)


def path_file_hints(
    circuit: PorCircuit, data: bytes, path: PathName = None, partition: int = 0
) -> Iterator[int]:
    """Of ``por:...``.

    Raises:
        FormatError: It does not parse.   ShapeError: Another tree; a partition other than 0.
    """
    _only_partition(partition)
    read = codec.from_json if is_json(data) else codec.from_bincode
    return circuit.hints(merkle_of(read(MERKLE, data, path), path))


def path_synthetic(circuit: PorCircuit, salt: bytes) -> bytes:
    """A proof of one leaf in a tree of which only its path is there."""
    index = int.from_bytes(sha256(salt).digest(), "little") % circuit.num_leaves
    leaves = {index: sha256_value(salt, b"leaf")}
    tree = SparseTree(HASHERS[circuit.hasher], circuit.shape, circuit.num_leaves, leaves, seeded_filler(salt))
    return codec.to_bincode(MERKLE, merkle_value(tree.prove(index)))
