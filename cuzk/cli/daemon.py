"""``cuzk daemon``: the proving engine as a service."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cuzk.cli.help_text import epilog
from cuzk.cli.options import check_device_name
from cuzk.cli.output import note
from cuzk.errors import CuzkError, InputError

if TYPE_CHECKING:
    from cuzk.engine.config import DaemonConfig

__all__ = ["EXAMPLES", "daemon", "require_engine_libraries"]

EXAMPLES = epilog(
    "cuzk daemon --keys keys/",
    "cuzk daemon --config daemon.toml",
    "cuzk daemon --listen unix:/run/cuzk.sock --status-listen ''\n--device cuda:0 --device cuda:1 --keys keys/",
    "cuzk daemon --ray auto --keys /shared/keys",
    note="keys/ holds NAME.cuzk or NAME.zkey for each circuit NAME, with - for : (porep-2KiB.cuzk). The first SIGTERM "
    "or Ctrl-C lets accepted jobs finish, the second stops at once; jobs survive either, and a kill.",
)

_ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="TOML file of settings; the other options override it."),
]
_ListenOption = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS", help="HOST:PORT or unix:PATH of the gRPC service; 127.0.0.1:9820 by default."
    ),
]
_StatusOption = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT", help="Of the page, /status and /metrics; '' for none, 127.0.0.1:9821 by default."
    ),
]
_StateOption = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Where jobs are kept until they end; cuzk-state by default."),
]
_DevicesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--device",
        metavar="DEVICE",
        help="One worker process each; may be repeated. By default every GPU, or the cpu.",
    ),
]
_RayOption = Annotated[
    str | None,
    typer.Option("--ray", metavar="ADDRESS", help="Prove on every GPU of a Ray cluster: auto or HOST:PORT."),
]
_JsonOption = Annotated[
    bool,
    typer.Option(
        "--json", help="Say on stdout, as JSON, that it is ready and where; log JSON lines on stderr."
    ),
]


def daemon(
    config: _ConfigOption = None,
    listen: _ListenOption = None,
    status_listen: _StatusOption = None,
    state: _StateOption = None,
    keys: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Where keys are.")] = None,
    device: _DevicesOption = None,
    ray: _RayOption = None,
    as_json: _JsonOption = False,
) -> None:
    """Accept jobs over gRPC, prove them, and keep keys loaded between them."""
    require_engine_libraries()
    from cuzk.engine.config import DaemonConfig, load_config
    from cuzk.engine.daemon import configure_logging

    settings = DaemonConfig() if config is None else load_config(config)
    settings = _with_options(settings, listen, status_listen, state, keys, device)
    configure_logging(settings.log_level, settings.log_json or as_json)

    def ready(address: str, page: str) -> None:
        if as_json:
            print(json.dumps({"ready": True, "listen": address, "page": page or None}), flush=True)
        else:
            note(f"ready: {address}" + (f", status at {page}" if page else ""))

    _serve(settings, ray, ready)


def _serve(settings: DaemonConfig, ray: str | None, ready: Callable[[str, str], None]) -> None:
    """Until told to stop, with workers of this machine or of a cluster."""
    import asyncio

    from cuzk.engine.daemon import run_daemon, worker_configs

    if ray is None:
        _check_keys(settings)
        asyncio.run(run_daemon(settings, worker_configs(settings, _devices(settings)), ready))
        return
    if settings.pipeline.devices != ("auto",):
        raise InputError(
            f"--ray with the devices {', '.join(settings.pipeline.devices)}",
            limit="a cluster's workers have one of its GPUs each",
            remedy="leave out --device and pipeline.devices, or --ray",
        )
    _require("ray", "ray", "ray")
    from cuzk.engine.ray_workers import RayCluster

    cluster = RayCluster(ray)
    try:
        workers = worker_configs(settings, ["auto"] * cluster.num_gpus)
        asyncio.run(run_daemon(settings, workers, ready, cluster.launch))
    finally:
        cluster.close()


def _check_keys(settings: DaemonConfig) -> None:
    """Refuse a folder that cannot be read, and keys to preload that are not there, before anything starts."""
    from cuzk.engine.key_files import KeyFiles

    files = KeyFiles(settings.keys.folder, settings.keys.files)
    files.check_folder()
    for circuit in settings.keys.preload:
        files.find(circuit)


def require_engine_libraries() -> None:
    """Say which package of the extra ``engine`` is missing before anything starts."""
    for module, package in (
        ("google.protobuf", "protobuf"), ("grpc", "grpcio"), ("prometheus_client", "prometheus-client")
    ):  # fmt: skip
        _require(module, package, "engine")


def _require(module: str, package: str, extra: str) -> None:
    try:
        importlib.import_module(module)
    except ImportError as error:
        raise CuzkError(
            f"the daemon and its clients need {package}, which is not installed or does not load ({error})",
            remedy=f"pip install 'cuzk[{extra}]', in a checkout '.[{extra}]'",
        ) from None


def _with_options(
    settings: DaemonConfig,
    listen: str | None,
    status_listen: str | None,
    state: Path | None,
    keys: Path | None,
    devices: list[str] | None,
) -> DaemonConfig:
    if listen is not None:
        settings = replace(settings, listen=listen)
    if status_listen is not None:
        settings = replace(settings, status_listen=status_listen)
    if state is not None:
        settings = replace(settings, state_folder=str(state))
    if keys is not None:
        settings = replace(settings, keys=replace(settings.keys, folder=str(keys)))
    if devices:
        settings = replace(settings, pipeline=replace(settings.pipeline, devices=tuple(devices)))
    return settings


def _devices(settings: DaemonConfig) -> list[str]:
    """The devices to prove on, "auto" written out."""
    from cuzk.device import cuda_count

    names: list[str] = []
    for name in settings.pipeline.devices:
        if check_device_name(name) != "auto":
            names.append(name)
        else:
            names += [f"cuda:{i}" for i in range(cuda_count())] or ["cpu"]
    return names
