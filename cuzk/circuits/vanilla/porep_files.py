"""Outputs of the first commit phase ("C1"): in bincode, and in JSON as Lotus and Curio write it.

The JSON is an object with the sector's number, its size, and in base64 a second object with the proofs. Whether the
values fit together is what `faults_of_stacked` checks.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Any

from cuzk.circuits.vanilla import codec
from cuzk.circuits.vanilla.codec import BYTES32, NODE, TEXT, U32, U64, UNIT, ListOf, OneOf, Struct
from cuzk.circuits.vanilla.merkle_files import MERKLE, PathName, is_json, merkle_of, merkle_value
from cuzk.circuits.vanilla.porep import ColumnProof, LabelingProof, StackedProof
from cuzk.circuits.vanilla.shapes import SECTOR_SHAPES
from cuzk.errors import FormatError

__all__ = ["CommitPhase1", "read_commit1", "write_commit1", "write_commit1_json"]

_COLUMN = Struct(
    {"column": Struct({"index": U32, "rows": ListOf(NODE), "_h": UNIT}), "inclusion_proof": MERKLE}
)
_LABELING = Struct({"parents": ListOf(NODE), "layer_index": U32, "node": U64})
_STACKED = Struct(
    {
        "comm_d_proofs": MERKLE,
        "comm_r_last_proof": MERKLE,
        "replica_column_proofs": Struct(
            {"c_x": _COLUMN, "drg_parents": ListOf(_COLUMN), "exp_parents": ListOf(_COLUMN)}
        ),
        "labeling_proofs": ListOf(_LABELING),
        "encoding_proof": _LABELING,
    }
)
_PARTITIONS = ListOf(ListOf(_STACKED))
_PUBLIC = {"comm_r": NODE, "comm_d": NODE, "replica_id": NODE, "seed": BYTES32, "ticket": BYTES32}
_COMMIT1 = Struct({"vanilla_proofs": _PARTITIONS, **_PUBLIC})
_VARIANTS = {f"StackedDrg{name}V1": _PARTITIONS for name in SECTOR_SHAPES}
_INNER = Struct({"registered_proof": TEXT, "vanilla_proofs": OneOf(_VARIANTS), **_PUBLIC})
_OUTER = Struct({"SectorNum": U64, "Phase1Out": TEXT, "SectorSize": U64})


@dataclass(frozen=True)
class CommitPhase1:
    """The output of the first commit phase ("C1"): a sector's vanilla proofs of all partitions.

    Attributes:
        partitions: Proofs by partition and challenge.
        comm_r: Commitment to the replica.
        comm_d: Commitment to the data.
        replica_id: What the labels depend on.
        seed: 32 bytes that the challenges come from.
        ticket: 32 bytes that the replica id comes from.
    """

    partitions: tuple[tuple[StackedProof, ...], ...]
    comm_r: int
    comm_d: int
    replica_id: int
    seed: bytes
    ticket: bytes


def _column_value(proof: ColumnProof) -> dict[str, Any]:
    column = {"index": proof.index, "rows": proof.rows, "_h": None}
    return {"column": column, "inclusion_proof": merkle_value(proof.inclusion)}


def _labeling_value(proof: LabelingProof) -> dict[str, Any]:
    return {"parents": proof.parents, "layer_index": proof.layer, "node": proof.node}


def _stacked_value(proof: StackedProof) -> dict[str, Any]:
    return {
        "comm_d_proofs": merkle_value(proof.comm_d_proof),
        "comm_r_last_proof": merkle_value(proof.comm_r_last_proof),
        "replica_column_proofs": {
            "c_x": _column_value(proof.own_column),
            "drg_parents": list(map(_column_value, proof.drg_parents)),
            "exp_parents": list(map(_column_value, proof.expander_parents)),
        },
        "labeling_proofs": list(map(_labeling_value, proof.labeling_proofs)),
        "encoding_proof": _labeling_value(proof.encoding_proof),
    }


def _column_of(value: dict[str, Any], path: PathName) -> ColumnProof:
    column = value["column"]
    return ColumnProof(column["index"], tuple(column["rows"]), merkle_of(value["inclusion_proof"], path))


def _labeling_of(value: dict[str, Any]) -> LabelingProof:
    return LabelingProof(tuple(value["parents"]), value["layer_index"], value["node"])


def _stacked_of(value: dict[str, Any], path: PathName) -> StackedProof:
    columns = value["replica_column_proofs"]
    return StackedProof(
        comm_d_proof=merkle_of(value["comm_d_proofs"], path),
        comm_r_last_proof=merkle_of(value["comm_r_last_proof"], path),
        own_column=_column_of(columns["c_x"], path),
        drg_parents=tuple(_column_of(each, path) for each in columns["drg_parents"]),
        expander_parents=tuple(_column_of(each, path) for each in columns["exp_parents"]),
        labeling_proofs=tuple(map(_labeling_of, value["labeling_proofs"])),
        encoding_proof=_labeling_of(value["encoding_proof"]),
    )


def read_commit1(data: bytes, path: PathName = None) -> CommitPhase1:
    """The output of the first commit phase, bincode or JSON.

    Raises:
        FormatError: It does not parse; what, where, and which limit.
    Checked by: tests/circuits/test_vproof_files.py.
    """
    if not is_json(data):
        value = codec.from_bincode(_COMMIT1, data, path)
        return _commit1_of(value, value["vanilla_proofs"], path)
    outer = codec.from_json(_OUTER, data, path)
    try:
        inner = base64.b64decode(outer["Phase1Out"], validate=True)
    except binascii.Error as error:
        raise FormatError(f"no base64: {error}", path=path, section="Phase1Out") from error
    value = codec.from_json(_INNER, inner, path)
    name, partitions = value["vanilla_proofs"]
    shape = SECTOR_SHAPES[name.removeprefix("StackedDrg").removesuffix("V1")]
    if shape.size_bytes != outer["SectorSize"]:
        raise FormatError(
            f"proofs of a {shape.name} sector in a file for {outer['SectorSize']} bytes",
            path=path,
            section="SectorSize",
            limit=f"{shape.size_bytes} bytes",
        )
    return _commit1_of(value, partitions, path)


def _commit1_of(
    value: dict[str, Any], partitions: list[list[dict[str, Any]]], path: PathName
) -> CommitPhase1:
    proofs = tuple(tuple(_stacked_of(each, path) for each in partition) for partition in partitions)
    return CommitPhase1(proofs, **{name: value[name] for name in _PUBLIC})


def _commit1_value(output: CommitPhase1) -> dict[str, Any]:
    partitions = [list(map(_stacked_value, partition)) for partition in output.partitions]
    return {"vanilla_proofs": partitions, **{name: getattr(output, name) for name in _PUBLIC}}


def write_commit1(output: CommitPhase1) -> bytes:
    """The output in bincode."""
    return codec.to_bincode(_COMMIT1, _commit1_value(output))


def write_commit1_json(output: CommitPhase1, sector_number: int, shape_name: str) -> bytes:
    """The output as Lotus writes it.

    Args:
        output: What to write.
        sector_number: The sector's number on chain.
        shape_name: Its size, a name of SECTOR_SHAPES.
    """
    value = _commit1_value(output)
    variant = (f"StackedDrg{shape_name}V1", value["vanilla_proofs"])
    inner = {**value, "vanilla_proofs": variant, "registered_proof": f"StackedDrg{shape_name}V1_1"}
    text = base64.b64encode(codec.to_json(_INNER, inner).encode()).decode()
    size_bytes = SECTOR_SHAPES[shape_name].size_bytes
    outer = {"SectorNum": sector_number, "Phase1Out": text, "SectorSize": size_bytes}
    return codec.to_json(_OUTER, outer).encode()
