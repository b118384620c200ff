r"""The daemon's configuration: one TOML file, every key known, every value checked.

>>> parse_config('listen = "unix:/run/cuzk/daemon.sock"').queue.max_jobs
1000
>>> parse_config("[memory]\nmin_idle = 5")  # doctest: +ELLIPSIS
Traceback (most recent call last):
...
cuzk.errors.InputError: configuration: unknown key memory.min_idle (...). To fix: did you mean memory.min_idle_s?
"""

from __future__ import annotations

import dataclasses
import difflib
import tomllib
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from cuzk.engine.jobs import check_circuit
from cuzk.errors import InputError, RangeError

__all__ = [
    "DaemonConfig", "KeysConfig", "MemoryConfig", "PipelineConfig", "QueueConfig", "SecurityConfig", "load_config",
    "parse_config",
]  # fmt: skip

_MAX_FILE = 1 << 20


@dataclass(frozen=True)
class QueueConfig:
    """What may wait, and what is remembered.

    Args:
        max_jobs: Jobs that are queued or running.
        max_payload_bytes: Bytes of their payloads.
        ageing_s: Seconds of waiting that raise a job by one priority; 0 for never.
        max_results: Ended jobs that are remembered.
        max_result_age_s: Seconds for which they are.
    """

    max_jobs: int = 1000
    max_payload_bytes: int = 8 << 30
    ageing_s: float = 300.0
    max_results: int = 10_000
    max_result_age_s: float = 7 * 86400.0


@dataclass(frozen=True)
class PipelineConfig:
    """How work is spread; each is a variant that `cuzk ab` compares.

    Args:
        devices: Names as of --device; "auto" is every GPU, or the cpu.
        workers_per_device: P8. Threads of one worker process that give work to its device.
        overlap: P2. Whether the next partition's witness is made while the device works on this one.
        batch: P3. Partitions of one circuit in one call.
        by_partition: P6. Whether partitions of several jobs interleave.
        split: P12. Whether assembly and self-check of one partition go on beside the next one's kernels.
        lookahead: Partitions that are made ready beyond those being proven.
        retry_elsewhere: Whether a partition that a device fails on is tried once on another one, or on the processor.
        stall_s: Seconds without progress after which a worker that has work is killed and replaced, and the partition
            it was at tried once more; 0 for never. Longer than the longest stage and the longest load of a key.
    """

    devices: tuple[str, ...] = ("auto",)
    workers_per_device: int = 1
    overlap: bool = True
    batch: int = 1
    by_partition: bool = True
    split: bool = True
    lookahead: int = 1
    retry_elsewhere: bool = True
    stall_s: float = 1800.0


@dataclass(frozen=True)
class MemoryConfig:
    """Bytes that keys and proofs may take; 0 is measured at start.

    Args:
        device_bytes: Of each device, of its own memory.
        host_bytes: Of each worker process, pinned memory included.
        min_idle_s: Seconds that a key must have been unused before it is evicted for another.
    """

    device_bytes: int = 0
    host_bytes: int = 0
    min_idle_s: float = 0.0


@dataclass(frozen=True)
class KeysConfig:
    """Where keys are.

    Args:
        folder: Holds NAME.cuzk for each circuit NAME, with "-" for ":" in it.
        files: Circuit -> file, for keys that are elsewhere.
        preload: Circuits whose keys are loaded at start.
    """

    folder: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    preload: tuple[str, ...] = ()


@dataclass(frozen=True)
class SecurityConfig:
    """Who may connect.

    Args:
        tls_certificate: PEM file of the server's chain.
        tls_key: PEM file of its private key.
        token_file: File whose first line clients must send as ``authorization: Bearer ...``.
    """

    tls_certificate: str = ""
    tls_key: str = ""
    token_file: str = ""


@dataclass(frozen=True)
class DaemonConfig:
    """All of it.

    Args:
        listen: HOST:PORT or unix:PATH of the gRPC service.
        status_listen: HOST:PORT of the page, /status, /metrics and /health; empty for none.
        state_folder: Journal, payloads, fault cases.
        max_message_bytes: Of one request or response.
        request_timeout_s: Seconds after which a job that still waits or runs fails; 0 for never.
        log_level: debug, info, warning or error.
        log_json: Log lines as JSON.
        decision_log: File with all that the schedule is told and decides, for a replay; empty for none.
        queue: What may wait.
        pipeline: How work is spread.
        memory: What keys may take.
        keys: Where keys are.
        security: Who may connect.
    """

    listen: str = "127.0.0.1:9820"
    status_listen: str = "127.0.0.1:9821"
    state_folder: str = "cuzk-state"
    max_message_bytes: int = 256 << 20
    request_timeout_s: float = 0.0
    log_level: str = "info"
    log_json: bool = False
    decision_log: str = ""
    queue: QueueConfig = QueueConfig()
    pipeline: PipelineConfig = PipelineConfig()
    memory: MemoryConfig = MemoryConfig()
    keys: KeysConfig = field(default_factory=KeysConfig)
    security: SecurityConfig = SecurityConfig()


#: Key -> least and greatest value.
_RANGES: Mapping[str, tuple[float, float]] = {
    "max_message_bytes": (1 << 16, (1 << 31) - 1),
    "request_timeout_s": (0, 1e9),
    "queue.max_jobs": (1, 1_000_000),
    "queue.max_payload_bytes": (1, 1 << 50),
    "queue.ageing_s": (0, 1e9),
    "queue.max_results": (0, 100_000_000),
    "queue.max_result_age_s": (0, 1e10),
    "pipeline.workers_per_device": (1, 8),
    "pipeline.batch": (1, 256),
    "pipeline.lookahead": (0, 64),
    "pipeline.stall_s": (0, 1e9),
    "memory.device_bytes": (0, 1 << 50),
    "memory.host_bytes": (0, 1 << 50),
    "memory.min_idle_s": (0, 1e9),
}
_LEVELS = ("debug", "info", "warning", "error")

_T = TypeVar("_T")


def load_config(path: Path) -> DaemonConfig:
    """Read a configuration file.

    Raises:
        InputError: It cannot be read, is no TOML, or holds an unknown key or a value that does not fit.
    """
    try:
        if path.stat().st_size > _MAX_FILE:
            raise InputError(
                "the file is too large for a configuration",
                where=str(path),
                limit=f"{_MAX_FILE} bytes",
                remedy="name the TOML file of the daemon",
            )
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"the configuration cannot be read: {error}",
            where=str(path),
            remedy="check the path and its permissions",
        ) from error
    return parse_config(text, where=str(path))


def parse_config(text: str, *, where: str = "configuration") -> DaemonConfig:
    """The configuration that a TOML text holds; errors as of load_config."""
    try:
        tree = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(
            f"not TOML: {error}", where=where, remedy="see docs/daemon.md for a whole file"
        ) from error
    config = _table(DaemonConfig, tree, "", where)
    if config.log_level not in _LEVELS:
        raise InputError(
            f"log_level is {config.log_level!r:.40}",
            where=where,
            limit=", ".join(_LEVELS),
            remedy="choose one of them",
        )
    if bool(config.security.tls_certificate) != bool(config.security.tls_key):
        raise InputError(
            "TLS needs both a certificate and a key",
            where=where,
            remedy="set security.tls_certificate and tls_key",
        )
    _check_meaning(config, tree, where)
    return config


def _check_meaning(config: DaemonConfig, tree: Mapping[str, Any], where: str) -> None:
    """Refuse values that are well-formed and could do nothing: whoever wrote them expects something of them."""
    needed = {
        "listen": config.listen, "state_folder": config.state_folder, "pipeline.devices": config.pipeline.devices
    }  # fmt: skip
    for name, value in needed.items():
        if not value:
            raise InputError(f"{name} is empty", where=where, remedy="see docs/daemon.md for a whole file")
    for name, circuits in (("keys.preload", config.keys.preload), ("keys.files", config.keys.files)):
        for circuit in circuits:
            try:
                check_circuit(circuit)
            except InputError as error:
                error.where = f"{where}: {name}"
                raise
    pipeline, given = config.pipeline, tree.get("pipeline", {})
    for name, least, switch, is_on in (
        ("lookahead", 0, "overlap", pipeline.overlap), ("batch", 1, "by_partition", pipeline.by_partition)
    ):  # fmt: skip
        if not is_on and given.get(name, least) != least:
            raise InputError(
                f"pipeline.{name} = {given[name]} means nothing with pipeline.{switch} = false",
                where=where,
                remedy=f"leave {name} out, or set {switch} to true",
            )


def _table(kind: type[_T], tree: Mapping[str, Any], prefix: str, where: str) -> _T:
    """A dataclass from a TOML table."""
    hints = typing.get_type_hints(kind)
    for key in tree:
        if key not in hints:
            close = difflib.get_close_matches(key, hints, 1)
            raise InputError(
                f"unknown key {prefix}{key}",
                where=where,
                limit="known: " + ", ".join(sorted(hints)),
                remedy=f"did you mean {prefix}{close[0]}?" if close else "remove it",
            )
    return kind(**{key: _value(hints[key], value, prefix + key, where) for key, value in tree.items()})


def _value(kind: Any, value: Any, name: str, where: str) -> Any:
    """One value, checked against its type and its range."""
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        if not isinstance(value, dict):
            raise InputError(f"{name} is no table", where=where, remedy=f"write [{name}]")
        return _table(kind, value, f"{name}.", where)
    origin = typing.get_origin(kind)
    if origin is tuple:
        _expect(
            isinstance(value, list) and all(isinstance(item, str) for item in value),
            name,
            "a list of texts",
            where,
        )
        return tuple(value)
    if origin is not None and issubclass(origin, Mapping):
        good = isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
        _expect(good, name, "a table of texts", where)
        return types.MappingProxyType(dict(value))
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    names = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
    _expect(type(value) is kind, name, names[kind], where)
    if name in _RANGES:
        least, most = _RANGES[name]
        if not least <= value <= most:
            raise RangeError(f"{name} is {value}", where=where, limit=f"{least:g} to {most:g}")
    return value


def _expect(good: bool, name: str, what: str, where: str) -> None:
    if not good:
        raise InputError(f"{name} is not {what}", where=where, remedy="see docs/daemon.md for a whole file")
