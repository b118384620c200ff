"""Compiling a mutant cheaply: one object of a few kernels from a private copy of the headers."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import cuzk
from cuzk.errors import CompileError
from cuzk_fuzz.mutation.operators import Mutant
from cuzk_fuzz.mutation.plans import Plan

KERNELS = Path(cuzk.__file__).parent / "kernels"
_ENTRY = Path(__file__).with_name("entry.cpp")
#: The emulator's chains share a carry, as the GPU's do.
_CARRY = Path(__file__).with_name("carry.hpp")

#: -O1 compiles fast and lets the compiler prove many a change to be none; an index or a shift out of bounds traps.
_FLAGS = (
    "-std=gnu++17",
    "-O1",
    "-fPIC",
    "-fno-gnu-unique",
    "-w",
    "-fsanitize=bounds,shift",
    "-fsanitize-undefined-trap-on-error",
)


#: Ends the keys and names of what is made for the sanitizer.
SUFFIX = "_sanitized"

#: For survivors: reads and writes beside an array that the battery's answers do not show.
#: Without optimisation, which drops a store beside an array before the sanitizer sees it.
SANITIZED = ("-O0", "-fsanitize=address", "-fno-omit-frame-pointer")


def sanitizer_runtime() -> Path | None:
    """The library that a sanitized object needs in its process from the start; None where it is not installed."""
    command = [compiler(), "-print-file-name=libasan.so"]
    path = Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
    return path if path.is_absolute() and path.exists() else None


def compiler() -> str:
    """The C++ compiler.

    Raises:
        CompileError: There is none.
    """
    for name in ("g++", "c++", "clang++"):
        if found := shutil.which(name):
            return found
    raise CompileError("no C++ compiler is on the path", remedy="install g++")


@dataclass(frozen=True)
class Workshop:
    """One folder in which one mutant at a time is compiled.

    Attributes:
        folder: Holds `tree`, a copy of the kernel sources, and what is made from it.
        common: Objects by platform that every mutant is linked with.
    """

    folder: Path
    common: dict[str, list[Path]]

    @classmethod
    def create(cls, folder: Path, common: dict[str, list[Path]]) -> Workshop:
        """Copy the sources."""
        shutil.copytree(KERNELS, folder / "tree", ignore=shutil.ignore_patterns("__pycache__"))
        return cls(folder, common)

    def insert(self, mutant: Mutant | None, header: str) -> None:
        """Put a fault into the copy of a header, or restore it."""
        source = (KERNELS / header).read_text()
        (self.folder / "tree" / header).write_text(mutant.apply(source) if mutant else source)

    def compile_command(self, plan: Plan, platform: str, extra: tuple[str, ...] = ()) -> list[str]:
        """Compile the plan's kernels for a platform; the source is written."""
        source = self.folder / "mutant.cpp"  # one name for all: the object must depend on the code alone
        source.write_text(plan.source())
        flags = [*compile_flags(platform, self.folder / "tree"), *extra]
        return [*flags, "-c", str(source), "-o", str(self.object(platform))]

    def object(self, platform: str) -> Path:
        """The compiled kernels."""
        return self.folder / f"{platform}.o"

    def digest(self, platform: str) -> str:
        """Content of the object."""
        return hashlib.sha256(self.object(platform).read_bytes()).hexdigest()

    def link_command(self, platform: str, target: Path, *, sanitized: bool = False) -> list[str]:
        """Link the kernels into a shared object."""
        objects = [self.object(platform), *self.common[platform + SUFFIX * sanitized]]
        return [
            compiler(),
            "-shared",
            *(SANITIZED if sanitized else ()),
            "-o",
            str(target),
            *map(str, objects),
        ]


def compile_flags(platform: str, tree: Path) -> list[str]:
    """The compiler with everything but the files."""
    carry = ("-include", str(_CARRY)) if platform == "emu" else ()
    return [compiler(), *_FLAGS, *carry, f"-DCUZK_TARGET_{platform.upper()}=1", f"-I{tree}"]


def build_common(folder: Path, platform: str, *, sanitized: bool = False) -> list[Path]:
    """Objects that do not depend on the mutant: the C interface, and the emulator.

    Raises:
        CompileError: They do not build.
    """
    sources = [_ENTRY]
    if platform == "emu":
        sources += [KERNELS / "native" / "emulator.cpp", KERNELS / "native" / "fiber.cpp"]
    objects = [folder / f"{platform}{SUFFIX * sanitized}_{source.stem}.o" for source in sources]
    flags = [*compile_flags(platform, KERNELS), *(SANITIZED if sanitized else ())]
    for source, target in zip(sources, objects, strict=True):
        run_compiler([*flags, "-c", str(source), "-o", str(target)])
    return objects


def run_compiler(command: list[str]) -> None:
    """Compile or link something that must work.

    Raises:
        CompileError: It does not.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CompileError(f"the unchanged kernels do not build:\n{done.stderr[-2000:]}")
