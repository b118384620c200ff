"""Merkle proofs in files of vanilla proofs, as Filecoin's own programs write them in bincode and JSON.

A proof is one of three variants, by the parts that its tree has: Single (base), Sub (base, sub), Top (all three).
"""

from __future__ import annotations

import os
from typing import Any

from cuzk.circuits.vanilla.codec import NODE, U64, ListOf, OneOf, Struct
from cuzk.circuits.vanilla.merkle import InclusionProof, PathElement
from cuzk.errors import FormatError

__all__ = ["MERKLE", "PathName", "is_json", "merkle_of", "merkle_value"]

PathName = str | os.PathLike[str] | None

_PATH = Struct({"path": ListOf(Struct({"hashes": ListOf(NODE), "index": U64}))})
MERKLE = Struct(
    {
        "data": OneOf(
            {
                "Single": Struct({"root": NODE, "leaf": NODE, "path": _PATH}),
                "Sub": Struct({"base_proof": _PATH, "sub_proof": _PATH, "root": NODE, "leaf": NODE}),
                "Top": Struct(
                    {"base_proof": _PATH, "sub_proof": _PATH, "top_proof": _PATH, "root": NODE, "leaf": NODE}
                ),
            }
        )
    }
)


def is_json(data: bytes, opening: bytes = b"{") -> bool:
    """Whether a file is JSON that opens so; in bincode the first eight bytes are a number that ends in zeros."""
    return data[:64].lstrip()[:1] == opening and b"\0" not in data[:8]


def _path_value(path: tuple[PathElement, ...]) -> dict[str, Any]:
    return {"path": [{"hashes": list(each.siblings), "index": each.index} for each in path]}


def merkle_value(proof: InclusionProof) -> dict[str, Any]:
    """A proof as MERKLE describes it."""
    ends = {"root": proof.root, "leaf": proof.leaf}
    if not proof.sub:
        return {"data": ("Single", {"path": _path_value(proof.base), **ends})}
    parts = {"base_proof": _path_value(proof.base), "sub_proof": _path_value(proof.sub)}
    if not proof.top:
        return {"data": ("Sub", {**parts, **ends})}
    return {"data": ("Top", {**parts, "top_proof": _path_value(proof.top), **ends})}


def _path_of(value: dict[str, Any], path: PathName) -> tuple[PathElement, ...]:
    for level, each in enumerate(value["path"]):
        if not each["hashes"] or each["index"] > len(each["hashes"]):
            raise FormatError(
                f"level {level} of a Merkle path has child {each['index']} beside {len(each['hashes'])} siblings",
                path=path,
                limit="0 <= index <= siblings, at least one sibling",
            )
    return tuple(PathElement(tuple(each["hashes"]), each["index"]) for each in value["path"])


def merkle_of(value: dict[str, Any], path: PathName) -> InclusionProof:
    """The inverse of `merkle_value`.

    Raises:
        FormatError: A part without levels, or a position that no child has.
    """
    name, data = value["data"]
    keys = ("path",) if name == "Single" else ("base_proof", "sub_proof", "top_proof")
    parts = [_path_of(data[key], path) for key in keys if key in data]
    if not all(parts) or any(len(part) != 1 for part in parts[1:]):
        raise FormatError(
            f"a Merkle proof {name!r} has parts of {', '.join(str(len(part)) for part in parts)} levels",
            path=path,
            limit="at least one level in the base part, one in each other",
        )
    return InclusionProof(data["leaf"], data["root"], *parts)
