"""Which PoReps come over the wire: a wrong number of partitions is a wrong proof of a sector, or none.

Would catch: a non-interactive PoRep of which ten partitions are proven, one that is taken for an interactive one, an
update that is answered as if the request were damaged.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import pytest
from cuzk_fuzz.rehearsal import expected_proof

from cuzk.circuits.porep import file_hints, find_porep, synthetic_file
from cuzk.circuits.vanilla.shapes import sector_shape
from cuzk.engine.client import EngineClient
from cuzk.engine.core import Engine
from cuzk.engine.jobs import JobRequest
from cuzk.engine.wire.convert import UnsupportedError, job_request
from cuzk.engine.wire.schema import message
from cuzk.errors import InputError
from tests.engine.engines import PATIENCE_S
from tests.engine.test_wire import porep, served

GIB32, KIB2 = 32 << 30, 2 << 10


def accepted(payload: bytes, size: int = GIB32, **fields: Any) -> JobRequest:
    return job_request(message("cuzk.v1.SubmitProofRequest")(**porep(payload, sector_size=size, **fields)))


def bincode(partitions: int) -> bytes:
    """The start of a file, which is what the wire looks at."""
    return partitions.to_bytes(8, "little") + bytes(64)


def c1_json(registered: str) -> bytes:
    inner = json.dumps({"registered_proof": registered, "vanilla_proofs": {}, "rest": "x" * 5000}).encode()
    return json.dumps(
        {"SectorNum": 1, "Phase1Out": base64.b64encode(inner).decode(), "SectorSize": 0}
    ).encode()


@pytest.mark.parametrize("registered", [0, 3, 8, 13])
def test_interactive_and_synthetic_poreps_have_ten_partitions(registered: int) -> None:
    made = accepted(bincode(10), registered_proof=registered)
    assert (made.circuit, made.num_partitions) == ("porep:32GiB", 10)


@pytest.mark.parametrize("registered", [0, 18])
@pytest.mark.parametrize(
    "payload",
    [bincode(126), c1_json("StackedDrg32GiBV1_2_Feat_NonInteractivePoRep")],
    ids=["bincode", "json"],
)
def test_a_non_interactive_porep_is_known_by_number_or_file(registered: int, payload: bytes) -> None:
    """The circuit is the same, and there are 126 partitions of it."""
    made = accepted(payload, registered_proof=registered)
    assert (made.circuit, made.num_partitions) == ("porep:32GiB", 126)


def test_small_non_interactive_poreps_have_thirteen() -> None:
    assert accepted(bincode(13), KIB2).num_partitions == 13
    assert accepted(bincode(13), KIB2, registered_proof=15).num_partitions == 13
    assert accepted(bincode(1), KIB2, registered_proof=5).num_partitions == 1
    assert accepted(b"{}", KIB2, registered_proof=15).num_partitions == 13


def test_json_of_other_registered_proofs_is_interactive() -> None:
    for name in ("StackedDrg32GiBV1", "StackedDrg32GiBV1_1", "StackedDrg32GiBV1_1_Feat_SyntheticPoRep"):
        assert accepted(c1_json(name)).num_partitions == 10


@pytest.mark.parametrize(
    ("payload", "fields", "reason"),
    [
        (bincode(126), {"registered_proof": 8}, "126 partitions, and registered_proof 8 means 10"),
        (bincode(10), {"registered_proof": 18}, "10 partitions, and registered_proof 18 means 126"),
        (bincode(9), {}, "has 9 partitions.*10 for a sector of 32GiB, 126"),
        (
            bincode(10),
            {"registered_proof": 5},
            "registered_proof is 5, a proof of 2KiB, and the sector has 32GiB",
        ),
        (bincode(10), {"registered_proof": 23}, "registered_proof is 23.*1 to 19"),
    ],
)
def test_contradictions_are_named(payload: bytes, fields: dict[str, int], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        accepted(payload, **fields)


def test_a_porep_is_one_file() -> None:
    fields = {"proof_kind": 1, "sector_size": KIB2, "vanilla_proofs": [bincode(1), bincode(1)]}
    with pytest.raises(InputError, match="2 vanilla_proofs for a PoRep"):
        job_request(message("cuzk.v1.SubmitProofRequest")(**fields))


def test_the_last_partition_of_a_non_interactive_file_gives_hints() -> None:
    """What the wire counts is what the circuit's reader finds: thirteen, numbered from 0."""
    circuit = find_porep("porep:2KiB")
    data = synthetic_file(circuit, b"s", sector_shape("2KiB").non_interactive_partitions)
    assert accepted(data, KIB2).num_partitions == 13
    assert len(list(file_hints(circuit, data, None, 12))) == len(list(file_hints(circuit, data, None, 0)))
    with pytest.raises(InputError, match="no partition 13"):
        list(file_hints(circuit, data, None, 13))


def test_updates_of_sectors_are_unimplemented_with_what_is_supported(tmp_path: Any) -> None:
    with pytest.raises(UnsupportedError, match=r"SNAP_DEALS_UPDATE.*POREP_SEAL_COMMIT"):
        accepted(bincode(1), KIB2, proof_kind=2, comm_r_old=bytes(32))

    async def scenario(_: Engine, __: EngineClient, call: Callable[..., Awaitable[Any]]) -> None:
        request = message("cuzk.v1.SubmitProofRequest")(proof_kind=2, sector_size=KIB2, vanilla_proofs=[b"v"])

        def raw() -> Any:
            with grpc.insecure_channel(f"unix:{tmp_path}/s") as channel:
                channel.unary_unary("/cuzk.v1.ProvingEngine/SubmitProof")(
                    request.SerializeToString(), timeout=PATIENCE_S
                )

        with pytest.raises(grpc.RpcError) as raised:
            await asyncio.to_thread(raw)
        assert raised.value.code() is grpc.StatusCode.UNIMPLEMENTED
        with pytest.raises(
            InputError, match="proven: POREP_SEAL_COMMIT, WINDOW_POST_PARTITION, WINNING_POST"
        ):
            await call("SubmitProof", proof_kind=2, sector_size=KIB2, vanilla_proofs=[b"v"])

    served(tmp_path, scenario)


def test_thirteen_proofs_come_back_in_order(tmp_path: Any) -> None:
    """From the wire through the schedule to one proof of thirteen parts."""
    payload = b'{"gpu": 1}'

    async def scenario(_: Engine, __: EngineClient, call: Callable[..., Awaitable[Any]]) -> None:
        answer = await call("Prove", submit=porep(payload, registered_proof=15))
        assert answer.result.status == 1
        assert answer.result.proof == b"".join(expected_proof(payload, i) for i in range(13))

    served(tmp_path, scenario)
