"""Files of vanilla PoSt proofs, in bincode and JSON: of one sector as a miner's programs write them, or of several.

Several are one after the other in bincode (files joined by ``cat``), or an array in JSON.

Whether the values fit together is what `faults_of_post` checks.
"""

from __future__ import annotations

from typing import Any

from cuzk.circuits.vanilla import codec
from cuzk.circuits.vanilla.codec import NODE, U64, ListOf, Struct
from cuzk.circuits.vanilla.merkle_files import MERKLE, PathName, is_json, merkle_of, merkle_value
from cuzk.circuits.vanilla.post import PostProof, SectorProof
from cuzk.errors import FormatError

__all__ = ["read_post", "read_posts", "write_post"]

_SECTOR = Struct({"inclusion_proofs": ListOf(MERKLE), "comm_c": NODE, "comm_r_last": NODE})
_POST = Struct({"sector_id": U64, "comm_r": NODE, "vanilla_proof": Struct({"sectors": ListOf(_SECTOR)})})


def read_post(data: bytes, path: PathName = None) -> PostProof:
    """A vanilla PoSt proof of one sector, bincode or JSON.

    Raises:
        FormatError: It does not parse; what, where, and which limit.
    """
    read = codec.from_json if is_json(data) else codec.from_bincode
    return _post_of(read(_POST, data, path), path)


def read_posts(data: bytes, path: PathName = None) -> tuple[PostProof, ...]:
    """Vanilla PoSt proofs of one or more sectors.

    Raises:
        FormatError: As `read_post`; there is none.
    """
    if is_json(data):
        return (read_post(data, path),)
    if is_json(data, b"["):
        values = codec.from_json(ListOf(_POST), data, path)
    else:
        values = codec.all_from_bincode(_POST, data, path)
    if not values:
        raise FormatError("no proof in the file", path=path, limit="at least one sector's proof")
    return tuple(_post_of(value, path) for value in values)


def _post_of(value: dict[str, Any], path: PathName) -> PostProof:
    sectors = tuple(
        SectorProof(
            tuple(merkle_of(each, path) for each in sector["inclusion_proofs"]),
            sector["comm_c"],
            sector["comm_r_last"],
        )
        for sector in value["vanilla_proof"]["sectors"]
    )
    return PostProof(value["sector_id"], value["comm_r"], sectors)


def write_post(proof: PostProof, *, as_json: bool = False) -> bytes:
    """The inverse of `read_post`."""
    sectors = [
        {
            "inclusion_proofs": list(map(merkle_value, sector.inclusion_proofs)),
            "comm_c": sector.comm_c,
            "comm_r_last": sector.comm_r_last,
        }
        for sector in proof.sectors
    ]
    value = {"sector_id": proof.sector_number, "comm_r": proof.comm_r, "vanilla_proof": {"sectors": sectors}}
    return codec.to_json(_POST, value).encode() if as_json else codec.to_bincode(_POST, value)
