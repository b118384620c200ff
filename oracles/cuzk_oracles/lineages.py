"""Which libraries descend from which: two oracles check each other only if their lineages differ.

Everything built on arkworks is one lineage, whatever its Python name.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Library:
    """An independent library: import name, the code it descends from, its curves (none = any field)."""

    module: str
    distribution: str
    lineage: str
    curves: tuple[str, ...]
    offers: tuple[str, ...]


LIBRARIES: dict[str, Library] = {
    library.module: library
    for library in (
        Library("py_ecc", "py_ecc", "py_ecc", ("bls12_381", "bn254"), ("fp2", "point", "pairing")),
        Library("pyblst", "pyblst", "blst", ("bls12_381",), ("point", "pairing")),
        Library("pymcl", "pymcl", "mcl", ("bls12_381",), ("fr", "point", "pairing")),
        Library("zksnake", "zksnake", "arkworks", ("bls12_381", "bn254"), ("point", "msm", "ntt", "pairing")),
        Library(
            "py_arkworks_bls12381",
            "py-arkworks-bls12381",
            "arkworks",
            ("bls12_381",),
            ("point", "msm", "pairing"),
        ),
        Library("flint", "python-flint", "flint", (), ("fp", "ntt", "poly")),
        Library("gmpy2", "gmpy2", "gmp", (), ("fp",)),
    )
}


def lineage(module: str) -> str:
    """The lineage of a library by its import name."""
    return LIBRARIES[module].lineage


def are_independent(left: str, right: str) -> bool:
    """Whether two libraries may check each other."""
    return lineage(left) != lineage(right)
