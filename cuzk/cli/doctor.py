"""``cuzk doctor``: what this machine has, whether it works, what is missing and how to get it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cuzk import __version__
from cuzk.cli.help_text import epilog
from cuzk.cli.late import LateProgress
from cuzk.cli.options import JsonOption, check_device_name
from cuzk.cli.output import print_facts, print_json, print_table, table
from cuzk.errors import CuzkError, DeviceError
from cuzk.native import how_to_get

if TYPE_CHECKING:
    from cuzk.device import Device

__all__ = ["EXAMPLES", "doctor"]

EXAMPLES = epilog(
    "cuzk doctor",
    "cuzk doctor --device cpu --json",
    done="this machine can prove",
    environment="it cannot, or a device computes wrong proofs",
)

_UNUSABLE = 3
_MAX_GPUS = 64
_CURVES = ("bls12_381", "bn254")
_HOST_MODULES = {
    "_cpu": "cpu, any x86-64",
    "_cpu_v3": "cpu with BMI2 and ADX",
    "_emu": "emu",
    "_pairing": "verify on bn254",
}
_NVIDIA = Path("/proc/driver/nvidia/version")
_NEEDS_CUPY = "pip install 'cuzk[cuda13]' (or cuda12 for CUDA 12 drivers)"


@dataclass
class _DeviceReport:
    """One device.

    Args:
        device: As on the command line.
        name: In words.
        state: "works", "failed" or "absent".
        kernels: Content key of its kernels.
        self_test: Curve -> seconds that a small proof took.
        problem: Why it does not work.
    """

    device: str
    name: str = ""
    state: str = "absent"
    kernels: str = ""
    self_test: dict[str, float] = field(default_factory=dict)
    problem: str = ""


@dataclass
class _Missing:
    """Something that is not there, and how to get it."""

    what: str
    remedy: str


def doctor(
    device: Annotated[
        str | None,
        typer.Option("--device", metavar="DEVICE", help="Test this device only; all of them by default."),
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Test this machine: versions, devices, compiled kernels, and a small proof on each device.

    On a GPU the first run compiles the kernels, which takes minutes.
    """
    if device is not None:
        check_device_name(device)
    versions, missing = _versions(), _missing()
    candidates = [device] if device else _candidates()
    steps = [(spec, f"a proof on each curve, {spec}") for spec in candidates]
    with LateProgress("test of this machine", steps, quiet=as_json) as progress:
        devices = []
        for spec in candidates:
            with progress.step(spec):
                devices.append(_examine(spec, progress))
    usable = any(one.state == "works" for one in devices) and all(one.state != "failed" for one in devices)
    if as_json:
        print_json(
            {
                "usable": usable,
                "versions": versions,
                "devices": [asdict(one) for one in devices],
                "missing": [asdict(one) for one in missing],
            }
        )
    else:
        _print(versions, devices, missing)
        print(f"\n{_summary(device, usable)}")
    return 0 if usable else _UNUSABLE


def _candidates() -> list[str]:
    """Devices to test: the host's, and every GPU."""
    return ["cpu", "emu", *(f"cuda:{i}" for i in range(_count_gpus()))]


def _count_gpus() -> int:
    """GPUs that CuPy sees: indices up to the first that does not exist."""
    from cuzk.device import cuda_available, get_device

    if not cuda_available():
        return 0
    for index in range(_MAX_GPUS):
        try:
            get_device(f"cuda:{index}")
        except DeviceError as error:
            if "there is no GPU" in error.what:
                return index
    return _MAX_GPUS


def _examine(spec: str, progress: LateProgress) -> _DeviceReport:
    """Open a device and let it make a small proof on each curve."""
    from cuzk.cli.loading import load_kernels
    from cuzk.cli.options import open_device
    from cuzk.cli.selftest import self_test
    from cuzk.curves import get_curve
    from cuzk.telemetry import Recorder

    report = _DeviceReport(spec)
    try:
        opened: Device = open_device(spec, progress.kernel_build)
    except DeviceError as error:
        report.problem = str(error)
        return report
    report.name, report.kernels, report.state = opened.name, opened.build_key, "works"
    for name in _CURVES:
        try:
            load_kernels(opened, get_curve(name), Recorder())
            report.self_test[name] = round(self_test(opened, get_curve(name)), 3)
        except Exception as error:  # noqa: BLE001 - whatever a device does wrong is what the report is for
            report.state, report.problem = "failed", f"{name}: {type(error).__name__}: {error}"
            break
    return report


def _versions() -> dict[str, str]:
    found = {
        "cuzk": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}, {' '.join(platform.libc_ver())}",
        "cores": str(_cores()),
    }
    for name in ("numpy", "py-arkworks-bls12381", "cupy-cuda13x", "cupy-cuda12x"):
        version = _package_version(name)
        if version:
            found[name] = version
    found["nvrtc"] = _nvrtc() or "not installed"
    found["nvidia driver"] = _driver() or "none"
    compiled = [f"{name} ({use})" for name, use in _HOST_MODULES.items() if _is_compiled(name)]
    found["compiled for the host"] = ", ".join(compiled) or "none"
    from cuzk.device.builder import cache_dir

    folder = cache_dir()
    found["compiled for GPUs"] = f"{len(list(folder.glob('*.cubin')))} modules in {_short(folder)}"
    return found


def _short(folder: Path) -> str:
    """A folder with the home directory as ``~``."""
    home = Path.home()
    return f"~/{folder.relative_to(home)}" if folder.is_relative_to(home) else str(folder)


def _cores() -> int:
    import os

    return len(os.sched_getaffinity(0))


def _package_version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _nvrtc() -> str:
    from cuzk.device.builder import nvrtc_version

    try:
        return ".".join(map(str, nvrtc_version()))
    except CuzkError:
        return ""


def _driver() -> str:
    """The NVIDIA kernel driver's version, empty without one."""
    try:
        words = _NVIDIA.read_text(encoding="utf-8").split()
    except OSError:
        return ""
    return next((word for word in words if word[:1].isdigit() and "." in word), "unknown version")


def _is_compiled(module: str) -> bool:
    return importlib.util.find_spec(f"cuzk.{module}") is not None


def _missing() -> list[_Missing]:
    from cuzk.device import cuda_available

    missing = [
        _Missing(f"compiled kernels cuzk.{name} ({use})", how_to_get())
        for name, use in _HOST_MODULES.items()
        if not _is_compiled(name)
    ]
    if cuda_available():
        if not _nvrtc():
            missing.append(_Missing("NVRTC, which compiles kernels for the GPU", _NEEDS_CUPY))
    elif not _driver():
        missing.append(
            _Missing("an NVIDIA GPU with its driver", "install one for speed; cpu works without it")
        )
    elif not (_package_version("cupy-cuda13x") or _package_version("cupy-cuda12x")):
        missing.append(_Missing("CuPy, through which the GPU is used", _NEEDS_CUPY))
    else:
        missing.append(
            _Missing("a GPU that CuPy can use", "compare the driver's CUDA version (nvidia-smi) with CuPy's")
        )
    return missing


def _summary(device: str | None, usable: bool) -> str:
    """The answer in a sentence; about one device only where just that was asked for."""
    if device is None:
        return "This machine can prove." if usable else "This machine is not fit for proving; see above."
    answer = "can prove" if usable else "cannot prove; see above"
    return f"{device} {answer}. `cuzk doctor` alone tests every device."


def _print(versions: dict[str, str], devices: list[_DeviceReport], missing: list[_Missing]) -> None:
    print_facts(versions)
    print()
    curves = (f">{name}" for name in _CURVES)
    made = table("", "device", "state", *curves, "kernels", "what it is, or what is wrong")
    for one in devices:
        times: list[Any] = [
            f"{one.self_test[name]:.2f} s" if name in one.self_test else "-" for name in _CURVES
        ]
        made.add_row(one.device, one.state, *times, one.kernels, one.problem or one.name)
    print_table(made)
    for item in missing:
        print(f"missing: {item.what}\n  to get it: {item.remedy}")
