"""The package's compiled modules: loaded by name, with what to do where one is missing.

>>> load_compiled("_no_such_module")
Traceback (most recent call last):
cuzk.errors.DeviceError: the compiled module cuzk._no_such_module is missing or does not load...
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from cuzk.errors import DeviceError

__all__ = ["how_to_get", "load_compiled", "missing_module"]

_PACKAGE = Path(__file__).resolve().parent


def load_compiled(name: str) -> Any:
    """Import cuzk.NAME.

    Raises:
        DeviceError: It is not there, or does not load on this machine.
    """
    try:
        return importlib.import_module(f"cuzk.{name}")
    except ImportError as error:
        raise missing_module(name, error) from error


def missing_module(name: str, error: ImportError) -> DeviceError:
    """The error that stands for a compiled module's failed import."""
    return DeviceError(
        f"the compiled module cuzk.{name} is missing or does not load ({error})", remedy=how_to_get()
    )


def how_to_get(package: Path = _PACKAGE) -> str:
    """How a user comes by compiled modules that are not in a package's folder.

    Python run in a checkout takes the sources there before the package that was installed with its compiled modules.
    """
    if (package.parent / "pyproject.toml").is_file():
        return (
            f"these are the sources in {package.parent}: run `python -P` there, or Python elsewhere, to take the "
            "installed package; or install it with `pip install -e .`"
        )
    return "install the package with `pip install .` on a machine with a C++17 compiler"
