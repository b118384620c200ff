"""What ``cuzk info`` says of the files that built-in circuits are proven from: vanilla proofs, and JoinSplits.

They have no magic. JSON is known by its first key, bincode by counts that stand where such a file has them; the
reader of that kind then checks all of it. Files of plain values (a message, field elements) look like any bytes and
stay unknown.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cuzk.circuits.vanilla.merkle import InclusionProof
    from cuzk.circuits.vanilla.shapes import SectorShape

__all__ = ["VanillaFile", "vanilla_file"]

_FIRST_KEY = re.compile(rb'\s*(\[?)\s*\{\s*"(\w{1,32})"')
_KIND_OF_KEY = {
    b"SectorNum": "commit1", b"Phase1Out": "commit1", b"SectorSize": "commit1",
    b"sector_id": "post", b"comm_r": "post", b"vanilla_proof": "post",
    b"data": "merkle", b"value_in": "joinsplit",
}  # fmt: skip
_START = 256
#: More partitions, challenges, sectors or openings than any file has; more levels than any tree.
_MANY, _LEVELS, _ARITY, _VARIANTS = 1 << 16, 64, 64, 3
_NODE, _NUMBER, _VARIANT = 32, 8, 4
_REGISTERED = re.compile(rb'"registered_proof"\s*:\s*"(\w{1,80})"')
_TITLES = {
    "commit1": "vanilla proofs of replication (output of the first commit phase)",
    "post": "vanilla proofs of spacetime",
    "merkle": "Merkle proof of one leaf",
    "joinsplit": "secrets of a JoinSplit",
}


@dataclass(frozen=True)
class VanillaFile:
    """What such a file is.

    Args:
        title: In words.
        details: Sizes, in the order to show them.
    """

    title: str
    details: dict[str, Any]


def vanilla_file(path: Path) -> VanillaFile | None:
    """Read a file that a built-in circuit is proven from; None where it starts as none does.

    Raises:
        FormatError: It starts as one does, and does not parse; what, where, and which limit.
    """
    from cuzk.formats.kinds import kind_of_start

    with path.open("rb") as file:
        start = file.read(_START)
    if kind_of_start(start) is not None:
        return None
    as_json = start.lstrip()[:1] in (b"{", b"[")
    kind = _kind_of_json(start) if as_json else _kind_of_bincode(start, path.stat().st_size)
    if kind is None:
        return None
    details = _DETAILS[kind](path.read_bytes(), path, as_json)
    return VanillaFile(f"{_TITLES[kind]}, {'JSON' if as_json else 'bincode'}", details)


def _kind_of_json(start: bytes) -> str | None:
    found = _FIRST_KEY.match(start)
    kind = None if found is None else _KIND_OF_KEY.get(found[2])
    return None if found is None or (found[1] and kind != "post") else kind


def _kind_of_bincode(start: bytes, size: int) -> str | None:
    """By the numbers at the start: counts that are small, and a variant of Merkle proofs where one has to be."""
    from cuzk.circuits.sprout_files import JOINSPLIT_BYTES

    if size == JOINSPLIT_BYTES:
        return "joinsplit"

    def number(at: int, width: int = _NUMBER) -> int:
        return int.from_bytes(start[at : at + width], "little") if at + width <= len(start) else -1

    def is_merkle(at: int) -> bool:
        """A variant, the levels of its first path, and the siblings of the first of them; Single has the root first."""
        path = at + _VARIANT + (2 * _NODE if number(at, _VARIANT) == 0 else 0)
        return (
            0 <= number(at, _VARIANT) < _VARIANTS
            and 0 < number(path) <= _LEVELS
            and 0 < number(path + _NUMBER) < _ARITY
        )

    if 0 < number(0) <= _MANY and 0 < number(_NUMBER) <= _MANY and is_merkle(2 * _NUMBER):
        return "commit1"
    sectors = _NUMBER + _NODE
    if (
        0 < number(sectors) <= _MANY
        and 0 < number(sectors + _NUMBER) <= _MANY
        and is_merkle(sectors + 2 * _NUMBER)
    ):
        return "post"
    return "merkle" if is_merkle(0) else None


def _commit1(data: bytes, path: Path, as_json: bool) -> dict[str, Any]:
    from cuzk.circuits.vanilla.porep_files import read_commit1

    read = read_commit1(data, path)
    facts: dict[str, Any] = {}
    if as_json:
        facts |= _lotus_names(data)
    challenges = sorted({len(partition) for partition in read.partitions})
    facts |= {
        "partitions": len(read.partitions),
        "challenges a partition": " or ".join(map(str, challenges)),
        "challenges": sum(map(len, read.partitions)),
    }
    proofs = [proof for partition in read.partitions for proof in partition]
    if not proofs:
        return facts
    tree, layers = proofs[0].comm_r_last_proof, len(proofs[0].own_column.rows)
    shape = _sector(tree)
    sizes = {"layers": layers, **_tree_facts(tree), "sector size": _size_words(tree, shape)}
    if shape is None or (layers, challenges) != (shape.layers, [shape.challenges]):
        return facts | sizes | {"circuit": "none of a sector size"}
    alone = shape.non_interactive_partitions
    of_sector = f"{shape.partitions}, non-interactive {alone}"
    return facts | {"partitions of a sector": of_sector} | sizes | {"circuit": f"porep:{shape.name}"}


def _lotus_names(data: bytes) -> dict[str, Any]:
    """What only the JSON of a first commit phase that has been read says: number of the sector, registered proof."""
    import json

    outer = json.loads(data)
    found = _REGISTERED.search(base64.b64decode(outer["Phase1Out"]))
    name = {} if found is None else {"registered proof": found[1].decode()}
    return {"sector number": outer["SectorNum"], **name}


def _post(data: bytes, path: Path, as_json: bool) -> dict[str, Any]:
    from cuzk.circuits.vanilla.post_files import read_posts
    from cuzk.circuits.vanilla.shapes import WINDOW_CHALLENGES, WINNING_CHALLENGES

    del as_json  # the reader sees it
    proofs = read_posts(data, path)
    sectors = [sector for proof in proofs for sector in proof.sectors]
    openings = sorted({len(sector.inclusion_proofs) for sector in sectors})
    numbers = [proof.sector_number for proof in proofs]
    shown = ", ".join(map(str, numbers[:3])) + (", ..." if len(numbers) > 3 else "")
    facts: dict[str, Any] = {
        "sectors": len(sectors),
        "sector numbers": shown,
        "openings a sector": " or ".join(map(str, openings)),
    }
    opened = [opening for sector in sectors for opening in sector.inclusion_proofs]
    if not opened:
        return facts
    shape = _sector(opened[0])
    sizes = {**_tree_facts(opened[0]), "sector size": _size_words(opened[0], shape)}
    family = {WINNING_CHALLENGES: "winning-post", WINDOW_CHALLENGES: "window-post"}.get(openings[0])
    is_one = shape is not None and family is not None and len(openings) == 1
    circuit = f"{family}:{shape.name}" if is_one and shape is not None else "none of a sector size"
    return facts | sizes | {"circuit": circuit}


def _merkle(data: bytes, path: Path, as_json: bool) -> dict[str, Any]:
    from cuzk.circuits.vanilla import codec
    from cuzk.circuits.vanilla.merkle_files import MERKLE, merkle_of

    read = codec.from_json if as_json else codec.from_bincode
    return _tree_facts(merkle_of(read(MERKLE, data, path), path))


def _joinsplit(data: bytes, path: Path, as_json: bool) -> dict[str, Any]:
    from cuzk.circuits.sprout_files import read_joinsplit

    del as_json  # the reader sees it
    read_joinsplit(data, path)
    return {"circuit": "sprout"}


_DETAILS: dict[str, Callable[[bytes, Path, bool], dict[str, Any]]] = {
    "commit1": _commit1,
    "post": _post,
    "merkle": _merkle,
    "joinsplit": _joinsplit,
}


def _tree_facts(proof: InclusionProof) -> dict[str, Any]:
    arities = [len(part[0].siblings) + 1 if part else 0 for part in (proof.base, proof.sub, proof.top)]
    return {"tree": "-".join(map(str, arities)), "leaves": proof.num_leaves}


def _sector(proof: InclusionProof) -> SectorShape | None:
    """The sector size whose tree over the replica has paths like this one."""
    from cuzk.circuits.vanilla.shapes import SECTOR_SHAPES

    tree = _tree_facts(proof)
    return next(
        (
            shape
            for shape in SECTOR_SHAPES.values()
            if (str(shape.tree), shape.num_nodes) == (tree["tree"], tree["leaves"])
        ),
        None,
    )


def _size_words(proof: InclusionProof, shape: SectorShape | None) -> str:
    return f"{proof.num_leaves * _NODE} bytes" if shape is None else shape.name
