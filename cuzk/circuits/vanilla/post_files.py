"""Files of vanilla PoSt proofs of one sector, in bincode and JSON.

Whether the values fit together is what `faults_of_post` checks.
"""

from __future__ import annotations

from cuzk.circuits.vanilla import codec
from cuzk.circuits.vanilla.codec import NODE, U64, ListOf, Struct
from cuzk.circuits.vanilla.merkle_files import MERKLE, PathName, is_json, merkle_of, merkle_value
from cuzk.circuits.vanilla.post import PostProof, SectorProof

__all__ = ["read_post", "write_post"]

_SECTOR = Struct({"inclusion_proofs": ListOf(MERKLE), "comm_c": NODE, "comm_r_last": NODE})
_POST = Struct({"sector_id": U64, "comm_r": NODE, "vanilla_proof": Struct({"sectors": ListOf(_SECTOR)})})


def read_post(data: bytes, path: PathName = None) -> PostProof:
    """A vanilla PoSt proof of one sector, bincode or JSON.

    Raises:
        FormatError: It does not parse; what, where, and which limit.
    """
    read = codec.from_json if is_json(data) else codec.from_bincode
    value = read(_POST, data, path)
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
