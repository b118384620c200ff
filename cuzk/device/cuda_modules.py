"""The compiled kernels of one GPU: built where they are missing, loaded, and looked up by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cuzk.device import builder
from cuzk.device.base import KernelSpec
from cuzk.errors import CompileError

__all__ = ["Modules", "gpu_kernels", "module_of"]

_FAMILY = re.compile(r"_(bls12_381|bn254|toy)_(fr|g1|g2)$")
#: Kernels that the host builds have and the GPU builds do not: fields of 8-bit limbs, primitives of other widths.
_HOST_ONLY = ("_tiny_", "word_op_u8", "word_op_u64")


def gpu_kernels(kernels: Mapping[str, KernelSpec]) -> dict[str, KernelSpec]:
    """Those of a host build's kernels that the GPU builds have as well.

    Args:
        kernels: Of the host's module.
    """
    return {name: spec for name, spec in kernels.items() if not any(part in name for part in _HOST_ONLY)}


def module_of(kernel: str) -> tuple[str, str]:
    """Which module exports a kernel: by its suffix, else the fields module.

    Field kernels of the "fields" module end in a field's name (``field_op_bn254_fr``): their prefix decides.
    """
    match = _FAMILY.search(kernel)
    if match and not kernel.startswith(("field_", "word_")):
        return match[1], match[2]
    return "any", "fields"


class Modules:
    """Modules that are loaded, and their functions.

    Args:
        cuda: ``cupy.cuda``.
        arch: Compute capability without the dot.
        kernels: Every kernel that may be asked for; all of them have to be in a module.
        progress: Called with (module, done, total) while modules are compiled.
    """

    def __init__(
        self,
        cuda: Any,
        arch: str,
        kernels: Mapping[str, KernelSpec],
        progress: Callable[[str, int, int], None] | None,
    ) -> None:
        self._cuda, self._arch, self._kernels, self._progress = cuda, arch, kernels, progress
        self._loaded: dict[tuple[str, str], Any] = {}
        #: Kernel -> CuPy's function.
        self.functions: dict[str, Any] = {}

    def load(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Load modules, compiling what the cache lacks.

        Raises:
            CompileError: A module does not compile, does not load, or lacks a kernel.
        """
        missing = [pair for pair in pairs if pair not in self._loaded]
        if not missing:
            return
        for built in builder.build_all(self._arch, missing, progress=self._progress):
            module = self._load_one(built)
            self._look_up(module, built)
            self._loaded[built.curve, built.family] = module

    def _load_one(self, built: builder.BuiltModule) -> Any:
        """Load a cubin; one that the driver refuses is compiled again, once."""
        module = self._cuda.function.Module()
        error_type = self._cuda.driver.CUDADriverError
        try:
            module.load(built.cubin)
            return module
        except error_type:
            again = builder.rebuild(built)
        module = self._cuda.function.Module()
        try:
            module.load(again.cubin)
        except error_type as error:
            raise CompileError(
                f"the driver refuses the module {built.curve}_{built.family} for sm_{built.arch} ({error})",
                remedy="use a driver that is as new as NVRTC (cuzk doctor shows both), or an older NVRTC",
            ) from error
        return module

    def _look_up(self, module: Any, built: builder.BuiltModule) -> None:
        """Find every kernel of a module now, so that a missing one is no surprise in the middle of a proof."""
        driver = self._cuda.driver
        found: dict[str, Any] = {}
        for name, spec in self._kernels.items():
            if module_of(name) != (built.curve, built.family):
                continue
            try:
                found[name] = function = module.get_function(name)
            except driver.CUDADriverError as error:
                raise CompileError(
                    f"module {built.curve}_{built.family} has no kernel {name} ({error})"
                ) from error
            most = driver.funcGetAttribute(driver.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function.ptr)
            if most < spec.max_threads:
                raise CompileError(
                    f"{name} was compiled for blocks of {most} threads, and its plans ask for {spec.max_threads}"
                )
        self.functions |= found

    def function(self, kernel: str) -> Any:
        """CuPy's function of a kernel; loads its module first if need be."""
        function = self.functions.get(kernel)
        if function is None:
            self.load([module_of(kernel)])
            function = self.functions[kernel]
        return function
