"""The wire: a field under another number, or an error without its reason, breaks clients that exist already."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import grpc
import pytest
from cuzk_fuzz.rehearsal import expected_proof

from cuzk.engine.client import EngineClient
from cuzk.engine.config import DaemonConfig, QueueConfig, SecurityConfig
from cuzk.engine.core import Engine
from cuzk.engine.service import check_exposure, make_server
from cuzk.engine.wire.convert import job_request
from cuzk.engine.wire.schema import SERVICES, enum_value, message, proto_text
from cuzk.errors import BusyError, EngineError, InputError
from tests.engine.engines import ENDLESS, PATIENCE_S, make_engine, run, script, until

T = TypeVar("T")
V1 = "cuzk.v1."


def served(
    tmp_path: Path,
    scenario: Callable[[Engine, EngineClient, Callable[..., Awaitable[Any]]], Awaitable[T]],
    security: SecurityConfig | None = None,
    token: str = "",
    **options: Any,
) -> T:
    """Run a scenario with an engine, a client, and a way to call the client from a thread of its own."""
    config = DaemonConfig(listen=f"unix:{tmp_path}/s", security=security or SecurityConfig())

    async def inner(engine: Engine) -> T:
        server, _ = make_server(engine, config)
        await server.start()
        try:
            with EngineClient(config.listen, token=token) as client:

                async def call(name: str, **fields: Any) -> Any:
                    return await asyncio.to_thread(client.call, name, timeout_s=PATIENCE_S, **fields)

                await until(lambda: all(worker.state.ready for worker in engine.workers))
                return await scenario(engine, client, call)
        finally:
            await server.stop(0)

    return run(inner, lambda: make_engine(tmp_path / "state", **options))


def porep(payload: bytes, **fields: Any) -> dict[str, Any]:
    kind = enum_value("cuzk.v1.ProofKind", "POREP_SEAL_COMMIT")
    return {"proof_kind": kind, "sector_size": 2048, "vanilla_proof": payload, **fields}


def test_numbers_of_fields_are_those_of_existing_clients() -> None:
    """Bytes worked out by hand from the published field numbers, not through our own tables."""
    request = message(f"{V1}SubmitProofRequest")(
        request_id="r", proof_kind=1, sector_size=2048, registered_proof=5, priority=4, vanilla_proof=b"v",
        vanilla_proofs=[b"a", b"b"], sector_number=1, miner_id=2, randomness=b"x", partition_index=3,
        comm_r_old=b"o", comm_r_new=b"n", comm_d_new=b"d",
    )  # fmt: skip
    by_hand = bytes.fromhex(
        "0a0172" "1001" "188010" "2005" "2804" "520176" "5a0161" "5a0162" "a00101" "a80102" "b2010178" "b80103"
        "f201016f" "fa01016e" "82020164"
    )  # fmt: skip
    assert request.SerializeToString() == by_hand
    answer = message(f"{V1}AwaitProofResponse")(
        job_id="j", status=1, proof=b"p", error_message="e", queue_wait_ms=1, srs_load_ms=2, synthesis_ms=3,
        gpu_compute_ms=4, total_ms=5,
    )  # fmt: skip
    assert answer.SerializeToString() == bytes.fromhex("0a016a10011a017022016550015802600368047005")
    status = message(f"{V1}GetStatusResponse")()
    status.gpus.add(
        ordinal=1, name="g", vram_total_bytes=2, vram_free_bytes=1, current_job_id="j", current_proof_kind="k"
    )
    status.loaded_srs.add(circuit_id="c", tier=1, size_bytes=9, ref_count=2)
    status.queues.add(proof_kind="k", pending=1, in_progress=2)
    status.pinned_memory_limit_bytes = 7
    assert status.SerializeToString() == bytes.fromhex(
        "0a0f" "0801" "120167" "1802" "2001" "2a016a" "32016b" "1209" "0a0163" "1001" "1809" "2002"
        "1a07" "0a016b" "1001" "1802" "4007"
    )  # fmt: skip


def test_every_rpc_of_the_existing_service_is_there() -> None:
    names = [method.name for method in SERVICES["cuzk.v1.ProvingEngine"]]
    assert names == [
        "SubmitProof", "AwaitProof", "Prove", "CancelProof", "GetStatus", "GetMetrics", "PreloadSRS", "EvictSRS",
    ]  # fmt: skip
    assert "rpc PreloadSRS(PreloadSrsRequest) returns (PreloadSrsResponse);" in proto_text("cuzk.v1")


def test_the_calls_of_an_existing_client(tmp_path: Path) -> None:
    """Submit, await, prove, status, preload, evict, cancel, metrics: each gets the right answer."""
    payload = script(gpu=2, n=1)

    async def scenario(engine: Engine, _: EngineClient, call: Callable[..., Awaitable[Any]]) -> None:
        submitted = await call("SubmitProof", **porep(payload, request_id="sector-7", priority=3))
        assert (submitted.job_id, submitted.assigned_gpu) == ("sector-7", "rehearsal 0")
        answer = await call("AwaitProof", job_id="sector-7")
        assert (answer.status, answer.proof) == (1, expected_proof(payload, 0))
        assert answer.total_ms >= answer.gpu_compute_ms
        again = await call("SubmitProof", **porep(b"other", request_id="sector-7"))
        assert again.job_id == "sector-7"
        proved = await call("Prove", submit=porep(payload))
        assert (proved.result.status, proved.result.proof) == (1, expected_proof(payload, 0))

        loaded = await call("PreloadSRS", circuit_id="porep:2KiB")
        assert loaded.already_loaded
        status = await call("GetStatus")
        assert [(key.circuit_id, key.tier, key.size_bytes) for key in status.loaded_srs] == [
            ("porep:2KiB", 0, 200)
        ]
        assert (status.total_proofs_completed, status.total_proofs_failed) == (2, 0)
        assert status.gpus[0].name == "rehearsal 0"
        evicted = await call("EvictSRS", circuit_id="porep:2KiB")
        assert (evicted.was_loaded, evicted.freed_bytes) == (True, 200)
        assert not (await call("EvictSRS", circuit_id="porep:2KiB")).was_loaded

        slow = await call("SubmitProof", **porep(ENDLESS))
        timeout = await call("AwaitProof", job_id=slow.job_id, timeout_ms=30)
        assert timeout.status == 4
        await until(lambda: engine.workers[0].state.stages)
        status = await call("GetStatus")
        assert (status.gpus[0].current_job_id, status.gpus[0].current_proof_kind) == (
            slow.job_id,
            "POREP_SEAL_COMMIT",
        )
        assert (await call("CancelProof", job_id=slow.job_id)).was_running
        assert (await call("AwaitProof", job_id=slow.job_id)).status == 3
        failed = await call("Prove", submit=porep(script(fault="input")))
        assert (failed.result.status, failed.result.proof) == (2, b"")
        assert "breaks constraint 7" in failed.result.error_message
        unknown = await call("AwaitProof", job_id="nobody", timeout_ms=10)
        assert (unknown.status, unknown.error_message) == (0, "there is no job 'nobody'")
        text = (await call("GetMetrics")).prometheus_text
        assert "cuzk_done_total 2.0" in text
        assert 'cuzk_job_seconds_count{circuit="porep:2KiB"}' in text

    served(tmp_path, scenario)


def test_the_assigned_gpu_is_that_of_the_worker_that_has_the_job(tmp_path: Path) -> None:
    """Nothing while no worker has it, rather than some worker's name."""

    async def scenario(_: Engine, __: EngineClient, call: Callable[..., Awaitable[Any]]) -> None:
        answers = [await call("SubmitProof", **porep(ENDLESS)) for _ in range(4)]
        assert [answer.assigned_gpu for answer in answers] == ["rehearsal 0", "rehearsal 0", "", ""]
        for answer in answers:
            await call("CancelProof", job_id=answer.job_id)

    served(tmp_path, scenario)


def test_our_own_service_takes_any_circuit(tmp_path: Path) -> None:
    payload = script(gpu=1)

    async def scenario(_: Engine, client: EngineClient, call: Callable[..., Awaitable[Any]]) -> None:
        name = await asyncio.to_thread(client.submit_witness, "mine", payload, request_id="w")
        answer = await asyncio.to_thread(client.wait, name, PATIENCE_S)
        assert answer.proof == expected_proof(payload, 0)
        described = await call("DescribeJob", job_id="w")
        assert (described.state, described.circuit, described.partitions_done) == (3, "mine", 1)
        with pytest.raises(InputError, match="no job"):
            await call("DescribeJob", job_id="nobody")
        with pytest.raises(InputError, match="a circuit and a witness"):
            await call("SubmitWitness", circuit="mine")

    served(tmp_path, scenario)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"proof_kind": 2}, "SNAP_DEALS_UPDATE, the update of a sector, is not proven here"),
        ({"proof_kind": 0}, "proof_kind 0 is not proven here"),
        ({"sector_size": 2049}, "sector_size is 2049.*34359738368"),
        ({"priority": 9}, "priority 9"),
        ({"vanilla_proof": b""}, "either vanilla_proof or vanilla_proofs"),
        ({"vanilla_proofs": [b"x"]}, "either vanilla_proof or vanilla_proofs"),
        ({"request_id": "a b"}, "no request identifier"),
    ],
)
def test_bad_requests_are_named(tmp_path: Path, fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        job_request(message(f"{V1}SubmitProofRequest")(**{**porep(b"v"), **fields}))


def test_several_sectors_become_one_file() -> None:
    def payload(*proofs: bytes) -> bytes:
        fields = {"proof_kind": 3, "sector_size": 32 << 30, "vanilla_proofs": proofs}
        made = job_request(message(f"{V1}SubmitProofRequest")(**fields))
        assert (made.circuit, made.num_partitions) == ("window-post:32GiB", 1)
        return made.payload

    assert payload(b"\x01\x02", b"\x03") == b"\x01\x02\x03"
    assert payload(b' {"a":1}', b'{"a":2}') == b'[ {"a":1},{"a":2}]'


def test_a_large_porep_has_ten_partitions() -> None:
    made = job_request(message(f"{V1}SubmitProofRequest")(**porep(b"v", sector_size=32 << 30, miner_id=1000)))
    assert (made.circuit, made.num_partitions, made.tags) == ("porep:32GiB", 10, (("miner", "1000"),))


def test_status_codes(tmp_path: Path) -> None:
    async def scenario(engine: Engine, _: EngineClient, call: Callable[..., Awaitable[Any]]) -> None:
        slow = await call("SubmitProof", **porep(ENDLESS))
        with pytest.raises(BusyError, match="1 jobs are queued"):
            await call("SubmitProof", **porep(b"{}"))
        with pytest.raises(InputError, match="no job"):
            await call("CancelProof", job_id="nobody")
        with pytest.raises(InputError, match="no key of unknown"):
            await call("PreloadSRS", circuit_id="unknown")
        await call("CancelProof", job_id=slow.job_id)
        engine.is_draining = True
        with pytest.raises(EngineError, match="stopping"):
            await call("SubmitProof", **porep(b"{}"))

    served(tmp_path, scenario, queue=QueueConfig(max_jobs=1))


def test_a_client_that_goes_away_cancels_its_prove(tmp_path: Path) -> None:
    """Only where the job has no name: a named one can be awaited again."""
    request, answer = message(f"{V1}ProveRequest"), message(f"{V1}ProveResponse")

    async def scenario(engine: Engine, client: EngineClient, _: Callable[..., Awaitable[Any]]) -> None:
        with grpc.insecure_channel(client.address) as channel:
            prove = channel.unary_unary(
                f"/{V1}ProvingEngine/Prove", request.SerializeToString, answer.FromString
            )
            for name, jobs in (("named", 1), ("", 2)):
                going = prove.future(request(submit=porep(ENDLESS, request_id=name)), timeout=PATIENCE_S)
                await until(lambda jobs=jobs: len(engine.board.open_jobs()) == jobs)  # type: ignore[misc]
                going.cancel()
            await until(
                lambda: len(engine.board.open_jobs()) < 2
            )  # what was heard before that has done nothing
        assert [job.id for job in engine.board.open_jobs()] == ["named"]
        engine.cancel("named")

    served(tmp_path, scenario)


def test_a_call_that_is_not_answered_in_time_says_so(tmp_path: Path) -> None:
    async def scenario(_: Engine, client: EngineClient, __: Callable[..., Awaitable[Any]]) -> None:
        with pytest.raises(EngineError, match="in time"):
            await asyncio.to_thread(client.call, "Prove", timeout_s=0.2, submit=porep(ENDLESS))

    served(tmp_path, scenario)


def test_a_token_is_asked_for(tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("0123456789abcdef\n")
    security = SecurityConfig(token_file=str(secret))

    async def scenario(_: Engine, __: EngineClient, call: Callable[..., Awaitable[Any]]) -> int:
        return len((await call("GetStatus")).gpus)

    assert served(tmp_path, scenario, security, token="0123456789abcdef") == 1
    for wrong in ("", "0123456789abcdeg"):
        with pytest.raises(InputError, match="token is missing or wrong"):
            served(tmp_path, scenario, security, token=wrong)
    secret.write_text("short")
    with pytest.raises(InputError, match="too short"):
        served(tmp_path, scenario, security)


@pytest.mark.parametrize("listen", ["0.0.0.0:1", "[::]:1", "prover.example:1", "10.0.0.1:1"])
def test_an_exposed_address_needs_protection(listen: str) -> None:
    with pytest.raises(InputError, match="can be reached from other machines"):
        check_exposure(listen, DaemonConfig(security=SecurityConfig(token_file="t")))
    check_exposure(listen, DaemonConfig(security=SecurityConfig("c", "k", "t")))


@pytest.mark.parametrize("listen", ["127.0.0.1:1", "[::1]:1", "localhost:1", "unix:/run/s"])
def test_a_local_address_needs_none(listen: str) -> None:
    check_exposure(listen, DaemonConfig())


def test_nobody_there() -> None:
    with EngineClient("127.0.0.1:1") as client, pytest.raises(EngineError, match="no daemon answers"):
        client.call("GetStatus", timeout_s=PATIENCE_S)


def test_malformed_requests_do_no_harm(tmp_path: Path) -> None:
    """Bytes that are no message of the rpc: an error for the caller, and the next call works."""

    async def scenario(_: Engine, __: EngineClient, call: Callable[..., Awaitable[Any]]) -> int:
        def raw(data: bytes) -> None:
            with grpc.insecure_channel(f"unix:{tmp_path}/s") as channel:
                channel.unary_unary("/cuzk.v1.ProvingEngine/SubmitProof")(data, timeout=PATIENCE_S)

        for data in (b"\xff" * 20, b"\x0a\xff\xff\xff\xff\x0f", b"\x52\x05ab"):
            with pytest.raises(grpc.RpcError):
                await asyncio.to_thread(raw, data)
        return len((await call("GetStatus")).gpus)

    assert served(tmp_path, scenario) == 1
