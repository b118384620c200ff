"""Options that several commands share, and the checks of their text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cuzk.cli.output import note
from cuzk.errors import InputError

if TYPE_CHECKING:
    from cuzk.device import Device

__all__ = [
    "DeviceOption",
    "JsonOption",
    "MemoryLimitOption",
    "VariantOption",
    "check_device_name",
    "note_build",
    "open_device",
    "parse_bytes",
    "parse_int",
]

JsonOption = Annotated[bool, typer.Option("--json", help="Report as JSON on stdout.")]
DeviceOption = Annotated[
    str,
    typer.Option(
        "--device",
        metavar="DEVICE",
        help="auto, cuda, cuda:N, cpu or emu (the GPU's code, slowly). auto: a GPU, else the cpu.",
    ),
]
MemoryLimitOption = Annotated[
    str | None,
    typer.Option(
        "--memory-limit",
        metavar="SIZE",
        help="Most memory of the device to use, as 4GiB or 512MiB. A key that does not fit is streamed.",
    ),
]
VariantOption = Annotated[
    list[str] | None,
    typer.Option(
        "--variant",
        metavar="ID=VALUE",
        help="Choose how the proof is made, never which; may be repeated. See `cuzk variants`.",
    ),
]

_UNITS = {"": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "kb": 10**3, "mb": 10**6, "gb": 10**9}
_SIZE = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?) ?([kmg]i?b|)", re.IGNORECASE)
_DEVICE = re.compile(r"auto|cpu|emu|cuda(:\d{1,4})?")


def check_device_name(spec: str) -> str:
    """Return the name of a device if it is one.

    Raises:
        InputError: It is not.
    """
    if not _DEVICE.fullmatch(spec):
        raise InputError(
            f"there is no device {spec!r}",
            where="--device",
            limit="possible: auto, cuda, cuda:N (N = index of the GPU), cpu, emu",
            remedy="see `cuzk doctor` for what this machine has",
        )
    return spec


def note_build(module: str, done: int, total: int) -> None:
    """Say that a kernel module was compiled."""
    note(f"compiled kernels {module} ({done} of {total})")


def open_device(
    spec: str,
    on_build: Callable[[str, int, int], None] = note_build,
    memory_limit: int | None = None,
) -> Device:
    """Open the device that ``--device`` names.

    Args:
        spec: Checked by check_device_name.
        on_build: Called with (module, done, total) while kernels are compiled for a GPU; prints by default.
        memory_limit: Most bytes of the device to use; all by default.

    Raises:
        DeviceError: It cannot be opened.
    """
    from cuzk.device import cuda_available, get_device

    if check_device_name(spec) == "auto":
        spec = "cuda" if cuda_available() else "cpu"
    options: dict[str, Any] = {"progress": on_build} if spec.startswith("cuda") else {}
    return get_device(spec, memory_limit, **options)


def parse_bytes(text: str, where: str) -> int:
    """Read a size such as 4GiB, 512 MiB or 1000000.

    Args:
        text: As typed.
        where: The option.

    Raises:
        InputError: It is no such size, or less than a byte.
    """
    found = _SIZE.fullmatch(text.strip())
    size = int(float(found[1]) * _UNITS[found[2].lower()]) if found else 0
    if size < 1:
        raise InputError(
            f"{text!r} is no size of memory",
            where=where,
            limit="at least 1 byte",
            remedy="write for example 4GiB",
        )
    return size


def parse_int(text: str, name: str) -> int:
    """Read a decimal or 0x number.

    Args:
        text: As typed.
        name: What it is, for the message.

    Raises:
        InputError: It is no such number.
    """
    try:
        return int(text.strip(), 0)
    except ValueError:
        raise InputError(
            f"{name} is {text.strip()!r:.60}",
            limit="a decimal or 0x number",
            remedy="write for example 7 or 0x1f",
        ) from None
