"""Adapters: the same small interface over independent libraries, each imported only when it is used.

`get("py_ecc")` returns an adapter; `installed()` lists those that import here. Points and scalars are those
of the plain-int oracles. An operation that a library lacks raises `Unsupported`; a missing library raises
`MissingLibrary`.
"""

from cuzk_oracles.third_party._base import Adapter, LibraryRejected, MissingLibrary, Unsupported
from cuzk_oracles.third_party.arkworks import Arkworks
from cuzk_oracles.third_party.flint import Flint
from cuzk_oracles.third_party.gmp import Gmp
from cuzk_oracles.third_party.py_ecc import PyEcc
from cuzk_oracles.third_party.pyblst import PyBlst
from cuzk_oracles.third_party.pymcl import PyMcl
from cuzk_oracles.third_party.zksnake import ZkSnake

__all__ = ["ADAPTERS", "Adapter", "LibraryRejected", "MissingLibrary", "Unsupported", "get", "installed"]

ADAPTERS: dict[str, Adapter] = {
    adapter.module: adapter for adapter in (PyEcc(), PyBlst(), PyMcl(), ZkSnake(), Arkworks(), Flint(), Gmp())
}


def get(module: str) -> Adapter:
    """The adapter of a library by its import name."""
    if module not in ADAPTERS:
        raise ValueError(f"no adapter for {module!r}; one of {sorted(ADAPTERS)}")
    return ADAPTERS[module]


def installed() -> list[Adapter]:
    """The adapters whose library can be imported here."""
    return [adapter for adapter in ADAPTERS.values() if adapter.is_installed()]
