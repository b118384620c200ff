"""The wire: messages and services as tables, and the protobuf classes and .proto text that follow from them.

Package cuzk.v1 is the interface of an existing engine, so that its clients can connect; names, types and numbers are
theirs. Package cuzk.jobs.v1 is our own: circuits that are no Filecoin proof, with a witness file.

Classes are made from the tables when this is imported: no generated code that fits one version of protobuf only.

>>> message("cuzk.v1.AwaitProofResponse")(job_id="a", status=1).SerializeToString().hex()
'0a01611001'
>>> [method.name for method in SERVICES["cuzk.jobs.v1.Jobs"]]
['SubmitWitness', 'DescribeJob']
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

__all__ = ["SAID_BY_DAEMON", "SERVICES", "Method", "enum_value", "message", "proto_text"]


@dataclass(frozen=True)
class Method:
    """One rpc: its name and the full names of its messages."""

    name: str
    request: str
    response: str


_V1 = """
enum ProofKind: PROOF_KIND_UNSPECIFIED = 0, POREP_SEAL_COMMIT = 1, SNAP_DEALS_UPDATE = 2, \
WINDOW_POST_PARTITION = 3, WINNING_POST = 4
enum Priority: PRIORITY_UNSPECIFIED = 0, LOW = 1, NORMAL = 2, HIGH = 3, CRITICAL = 4
message SubmitProofRequest: string request_id = 1, ProofKind proof_kind = 2, uint64 sector_size = 3, \
uint64 registered_proof = 4, Priority priority = 5, bytes vanilla_proof = 10, repeated bytes vanilla_proofs = 11, \
uint64 sector_number = 20, uint64 miner_id = 21, bytes randomness = 22, uint32 partition_index = 23, \
bytes comm_r_old = 30, bytes comm_r_new = 31, bytes comm_d_new = 32
message SubmitProofResponse: string job_id = 1, uint32 queue_position = 2, string assigned_gpu = 3
message AwaitProofRequest: string job_id = 1, uint64 timeout_ms = 2
enum AwaitProofResponse.Status: UNKNOWN = 0, COMPLETED = 1, FAILED = 2, CANCELLED = 3, TIMEOUT = 4
message AwaitProofResponse: string job_id = 1, AwaitProofResponse.Status status = 2, bytes proof = 3, \
string error_message = 4, uint64 queue_wait_ms = 10, uint64 srs_load_ms = 11, uint64 synthesis_ms = 12, \
uint64 gpu_compute_ms = 13, uint64 total_ms = 14
message ProveRequest: SubmitProofRequest submit = 1
message ProveResponse: AwaitProofResponse result = 1
message CancelProofRequest: string job_id = 1
message CancelProofResponse: bool was_running = 1
message GetStatusRequest:
message GPUStatus: uint32 ordinal = 1, string name = 2, uint64 vram_total_bytes = 3, uint64 vram_free_bytes = 4, \
string current_job_id = 5, string current_proof_kind = 6
enum SRSStatus.Tier: HOT = 0, WARM = 1, COLD = 2
message SRSStatus: string circuit_id = 1, SRSStatus.Tier tier = 2, uint64 size_bytes = 3, uint32 ref_count = 4
message QueueStatus: string proof_kind = 1, uint32 pending = 2, uint32 in_progress = 3
message GetStatusResponse: repeated GPUStatus gpus = 1, repeated SRSStatus loaded_srs = 2, \
repeated QueueStatus queues = 3, uint64 total_proofs_completed = 4, uint64 total_proofs_failed = 5, \
uint64 uptime_seconds = 6, uint64 pinned_memory_bytes = 7, uint64 pinned_memory_limit_bytes = 8
message PreloadSrsRequest: string circuit_id = 1
message PreloadSrsResponse: bool already_loaded = 1, uint64 load_time_ms = 2
message EvictSrsRequest: string circuit_id = 1
message EvictSrsResponse: bool was_loaded = 1, uint64 freed_bytes = 2
message GetMetricsRequest:
message GetMetricsResponse: string prometheus_text = 1
"""

_JOBS = """
enum Priority: PRIORITY_UNSPECIFIED = 0, LOW = 1, NORMAL = 2, HIGH = 3, CRITICAL = 4
enum State: STATE_UNKNOWN = 0, QUEUED = 1, RUNNING = 2, DONE = 3, FAILED = 4, CANCELLED = 5
message SubmitWitnessRequest: string request_id = 1, string circuit = 2, Priority priority = 3, bytes witness = 4
message SubmitWitnessResponse: string job_id = 1, uint32 queue_position = 2
message DescribeJobRequest: string job_id = 1
message DescribeJobResponse: string job_id = 1, State state = 2, string circuit = 3, uint32 partitions = 4, \
uint32 partitions_done = 5, uint32 queue_position = 6, string error_message = 7
"""

_METHODS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "cuzk.v1.ProvingEngine": (
        ("SubmitProof", "SubmitProof"), ("AwaitProof", "AwaitProof"), ("Prove", "Prove"),
        ("CancelProof", "CancelProof"), ("GetStatus", "GetStatus"), ("GetMetrics", "GetMetrics"),
        ("PreloadSRS", "PreloadSrs"), ("EvictSRS", "EvictSrs"),
    ),
    "cuzk.jobs.v1.Jobs": (("SubmitWitness", "SubmitWitness"), ("DescribeJob", "DescribeJob")),
}  # fmt: skip

#: Full name of a service -> its methods.
SERVICES: Mapping[str, tuple[Method, ...]] = {
    service: tuple(
        Method(name, *(f"{service.rpartition('.')[0]}.{stem}{end}" for end in ("Request", "Response")))
        for name, stem in methods
    )
    for service, methods in _METHODS.items()
}

#: Metadata behind an error of the daemon's own: UNAVAILABLE is said by gRPC, too, where nobody answers.
SAID_BY_DAEMON = ("cuzk-said", "1")

_PACKAGES: Mapping[str, str] = {"cuzk.v1": _V1, "cuzk.jobs.v1": _JOBS}

_FIELD = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "string": _FIELD.TYPE_STRING, "bytes": _FIELD.TYPE_BYTES, "bool": _FIELD.TYPE_BOOL, "uint32": _FIELD.TYPE_UINT32,
    "uint64": _FIELD.TYPE_UINT64,
}  # fmt: skip
_ITEM = re.compile(r"(?:(repeated) )?(?:([\w.]+) )?(\w+) = (\d+)")


def _definitions(text: str) -> Iterator[tuple[str, str, list[tuple[str, str, str, int]]]]:
    """Of each line: enum or message, its name, and (repeated or nothing, type, name, number) of each part."""
    for line in filter(None, text.splitlines()):
        head, _, body = line.partition(":")
        kind, name = head.split()
        parts = [_ITEM.fullmatch(part.strip()) for part in body.split(",") if part.strip()]
        yield kind, name, [(m[1] or "", m[2] or "", m[3], int(m[4])) for m in parts if m is not None]


def _file(package: str, text: str) -> descriptor_pb2.FileDescriptorProto:
    """The descriptor of a package."""
    file = descriptor_pb2.FileDescriptorProto(
        name=f"{package.replace('.', '/')}.proto", package=package, syntax="proto3"
    )
    definitions = list(_definitions(text))
    enums = {name for kind, name, _ in definitions if kind == "enum"}
    messages: dict[str, Any] = {}
    for kind, name, _ in definitions:
        if kind == "message":
            messages[name] = file.message_type.add(name=name)
    for kind, name, parts in definitions:
        if kind == "enum":
            outer, _, inner = name.rpartition(".")
            enum = (messages[outer] if outer else file).enum_type.add(name=inner)
            for _, _, label, number in parts:
                enum.value.add(name=label, number=number)
            continue
        for repeated, of, label, number in parts:
            field = messages[name].field.add(name=label, number=number)
            field.label = _FIELD.LABEL_REPEATED if repeated else _FIELD.LABEL_OPTIONAL
            if of in _SCALARS:
                field.type = _SCALARS[of]
            else:
                field.type = _FIELD.TYPE_ENUM if of in enums else _FIELD.TYPE_MESSAGE
                field.type_name = f".{package}.{of}"
    for service, methods in SERVICES.items():
        if service.rpartition(".")[0] == package:
            entry = file.service.add(name=service.rpartition(".")[2])
            for method in methods:
                entry.method.add(
                    name=method.name, input_type=f".{method.request}", output_type=f".{method.response}"
                )
    return file


@cache
def _pool() -> descriptor_pool.DescriptorPool:
    pool = descriptor_pool.DescriptorPool()
    for package, text in _PACKAGES.items():
        pool.Add(_file(package, text))
    return pool


@cache
def message(name: str) -> type[Any]:
    """The class of a message, by full name.

    Raises:
        KeyError: There is none.
    """
    kind: type[Any] = message_factory.GetMessageClass(_pool().FindMessageTypeByName(name))
    return kind


def enum_value(enum: str, label: str) -> int:
    """The number of a value, by the enum's full name and the value's."""
    number: int = _pool().FindEnumTypeByName(enum).values_by_name[label].number
    return number


def proto_text(package: str) -> str:
    """The .proto file of a package, for whoever writes a client."""
    lines = ['syntax = "proto3";', "", f"package {package};", ""]
    definitions = list(_definitions(_PACKAGES[package]))
    nested = {name: parts for kind, name, parts in definitions if kind == "enum" and "." in name}
    for kind, name, parts in definitions:
        if name in nested:
            continue
        lines.append(f"{kind} {name} {{")
        if kind == "enum":
            lines += [f"  {label} = {number};" for _, _, label, number in parts]
        else:
            for inner, values in nested.items():
                if inner.startswith(f"{name}."):
                    lines += [f"  enum {inner.rpartition('.')[2]} {{"]
                    lines += [f"    {label} = {number};" for _, _, label, number in values] + ["  }"]
            for repeated, of, label, number in parts:
                of_here = of.removeprefix(f"{name}.")
                lines.append(f"  {repeated + ' ' if repeated else ''}{of_here} {label} = {number};")
        lines += ["}", ""]
    for service, methods in SERVICES.items():
        if service.rpartition(".")[0] == package:
            lines.append(f"service {service.rpartition('.')[2]} {{")
            for method in methods:
                request, response = (full.rpartition(".")[2] for full in (method.request, method.response))
                lines.append(f"  rpc {method.name}({request}) returns ({response});")
            lines += ["}", ""]
    return "\n".join(lines)
