"""Whether a GPU can be used at all, and whether it still can.

Some CUDA errors (an illegal address, a failed instruction, an uncorrectable memory error) end the context: every
later call of the process fails, on this GPU, whatever is called.  CUDA offers no way back but a new process.  So the
device that saw such an error repeats it at every call, and a device opened later on the same GPU says why it can't
work, instead of failing somewhere inside.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from cuzk.device import builder
from cuzk.errors import CompileError, DeviceError, LaunchError, OutOfMemoryError

__all__ = [
    "Health",
    "bind_thread",
    "check_driver",
    "count",
    "identify",
    "import_cupy",
    "is_available",
    "refuse_lost",
]

#: Statuses (the same numbers in the driver and the runtime API) after which a context is lost: illegal address,
#: launch timeout, hardware stack error, illegal instruction, misaligned address, invalid address space, invalid
#: program counter, launch failure, assertion, tensor memory leak, uncorrectable ECC and NVLink errors, unknown.
_STICKY = frozenset({214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 999})
_OUT_OF_MEMORY = 2
_NOT_INITIALIZED = 3  # what a process forked from a user of CUDA gets

_NEW_PROCESS = "start a new process: a lost CUDA context can't be repaired in this one"

#: GPU -> why its context in this process is lost.  The one fact here that belongs to the process and not to a
#: device: CUDA keeps one primary context per GPU and process.  The process id tells a forked child's entries apart.
_lost: dict[tuple[int, int], str] = {}


def import_cupy() -> Any:
    """CuPy, on a machine where it can work.

    Raises:
        DeviceError: CuPy is missing or does not load, there is no driver or too old a one, or no GPU.
    """
    try:
        import cupy
    except ImportError as error:
        raise DeviceError(
            f"the cuda device needs CuPy ({error})",
            remedy="pip install 'cuzk[cuda13]' (or cuda12 for CUDA 12 drivers)",
        ) from error
    check_driver(cupy)
    return cupy


def check_driver(cupy: Any) -> None:
    """Check that driver, CuPy and NVRTC fit together and that a GPU is there.

    CUDA's rule: a driver runs what was built for its own major version or an older one.

    Raises:
        DeviceError: They do not, or there is none.
    """
    runtime = cupy.cuda.runtime
    have, built = runtime.driverGetVersion(), runtime.runtimeGetVersion()
    if not have:
        raise DeviceError(
            "there is no NVIDIA driver",
            remedy="install one (nvidia-smi shows whether it works), or use --device cpu",
        )
    try:
        compiler = builder.nvrtc_version()[0]
    except CompileError:
        compiler = 0  # an error of its own, and only if something has to be compiled
    needed = max(built // 1000, compiler)
    if have // 1000 < needed:
        raise DeviceError(
            f"the NVIDIA driver supports CUDA {_version(have)}, but CuPy and NVRTC here need CUDA {needed}.0",
            remedy=f"install a driver for CUDA {needed} ({_DRIVERS.get(needed, 'the latest')} or newer), or packages "
            f"for CUDA {have // 1000} (pip install 'cuzk[cuda{have // 1000}]'), or use --device cpu",
        )
    try:
        count = runtime.getDeviceCount()
    except runtime.CUDARuntimeError as error:
        raise _no_device(error) from error
    if not count:
        raise DeviceError("the NVIDIA driver sees no GPU", remedy="check nvidia-smi and CUDA_VISIBLE_DEVICES")


def identify(runtime: Any, ordinal: int) -> tuple[str, str, int]:
    """Architecture (without the dot), name and number of multiprocessors of a GPU.

    Raises:
        DeviceError: There is no such GPU, or it is too old.
    """
    count = runtime.getDeviceCount()
    if ordinal >= count:
        raise DeviceError(f"there is no GPU {ordinal}; this machine has {count} (0 to {count - 1})")
    properties = runtime.getDeviceProperties(ordinal)
    major, minor = properties["major"], properties["minor"]
    if major < _OLDEST_MAJOR:
        raise DeviceError(
            f"GPU {ordinal} has compute capability {major}.{minor}",
            limit=f"{_OLDEST_MAJOR}.0 or newer is needed",
            remedy="use another GPU, or --device cpu",
        )
    model = properties["name"]
    text = model.decode() if isinstance(model, bytes) else str(model)
    return f"{major}{minor}", f"cuda:{ordinal} ({text})", int(properties["multiProcessorCount"])


def bind_thread(runtime: Any, ordinal: int) -> None:
    """Make a GPU's context current in this thread: the driver's calls need one."""
    runtime.setDevice(ordinal)
    runtime.free(0)  # drivers before CUDA 12 bind the context at the first call only


#: Major compute capability of the oldest GPUs that are supported (Ampere).
_OLDEST_MAJOR = 8
#: First driver branch of a CUDA major version.
_DRIVERS = {12: "525", 13: "580"}


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def _no_device(error: Any) -> DeviceError:
    if getattr(error, "status", None) == _NOT_INITIALIZED:
        return DeviceError(
            "this process was forked from one that had used the GPU, so it can't use it",
            remedy="start workers with multiprocessing's spawn, or open the device in the children only",
        )
    return DeviceError(
        f"CUDA finds no usable GPU ({error})",
        remedy="check nvidia-smi and CUDA_VISIBLE_DEVICES, or use --device cpu",
    )


def is_available() -> bool:
    """Whether CuPy is installed and sees a usable GPU.  Never raises."""
    try:
        import_cupy()
    except DeviceError:
        return False
    except Exception:  # noqa: BLE001 - somebody else's broken package is no reason to fail: there is the cpu
        return False
    return True


def count() -> int:
    """How many GPUs there are; 0 where CUDA does not work.  Makes no context."""
    if not is_available():
        return 0
    return int(import_cupy().cuda.runtime.getDeviceCount())


def refuse_lost(ordinal: int) -> None:
    """Refuse a GPU whose context this process has lost, before a call to CUDA fails for a reason that says less.

    Raises:
        DeviceError: It has.
    """
    if (reason := _lost.get((os.getpid(), ordinal))) is not None:
        raise DeviceError(
            f"cuda:{ordinal}: its CUDA context in this process is lost since {reason}", remedy=_NEW_PROCESS
        )


class Health:
    """The state of one GPU's context as one device knows it.

    Args:
        cupy: The cupy module.
        ordinal: Index of the GPU.
    """

    def __init__(self, cupy: Any, ordinal: int) -> None:
        self._key = os.getpid(), ordinal
        self._runtime = cupy.cuda.runtime
        #: What to catch around CUDA calls.
        self.errors: tuple[type[Exception], ...] = (
            cupy.cuda.runtime.CUDARuntimeError,
            cupy.cuda.driver.CUDADriverError,
        )
        self._name = f"cuda:{ordinal}"
        self._failure: str | None = None

    def check(self) -> None:
        """Raise unless this process may use the context: call before anything else.

        Raises:
            LaunchError: The context was lost; the same message each time.
            DeviceError: The device was opened before this process was forked.
        """
        if self._failure is not None:
            raise LaunchError(self._failure, remedy=_NEW_PROCESS)
        if os.getpid() != self._key[0]:
            raise DeviceError(
                f"{self._name} was opened before fork; open the device again in the child process",
                remedy="start workers with multiprocessing's spawn: after fork CUDA works in no child",
            )

    def failed(self, error: Exception, doing: str, kernels: Iterable[str] = ()) -> DeviceError:
        """The error to raise for an exception of CUDA.

        Args:
            error: What CuPy raised.
            doing: What was being done, as in "synchronize".
            kernels: Launched since the last point known to be good; one of them is the cause of a lost context.
        """
        status = getattr(error, "status", None)
        if status == _OUT_OF_MEMORY:
            return OutOfMemoryError(
                f"{self._name}: {doing} failed: {error}",
                remedy="close other programs on this GPU, lower the memory limit (the driver needs memory of its own), "
                "or use --device cpu",
            )
        if status in _STICKY or self._is_dead():
            names = ", ".join(dict.fromkeys(kernels)) or "none known"
            self._failure = f"{self._name} failed for good at {doing} ({error}); launched before: {names}"
            _lost[self._key] = f"{doing} ({error}; launched before: {names})"
            return LaunchError(self._failure, remedy=_NEW_PROCESS)
        return LaunchError(f"{self._name}: {doing} failed: {error}", remedy="run cuzk doctor")

    def _is_dead(self) -> bool:
        """Whether a call that can't fail fails."""
        probe: Callable[[], Any] = self._runtime.deviceSynchronize
        try:
            probe()
        except self.errors:
            return True
        return False
