"""Write bellperson's .params and .vk files on BLS12-381; params.py reads them and describes the form."""

from __future__ import annotations

from typing import Any, BinaryIO

import numpy as np

from cuzk.csr import IntArray
from cuzk.errors import CurveMismatchError, ShapeError
from cuzk.formats.atomic import PathLike, atomic_write
from cuzk.formats.params import CURVE, FIXED, QUERIES, densities, group_of
from cuzk.keys import ProvingKey
from cuzk.limbs import U64Array, field_to_ints, ints_to_limbs

__all__ = ["save_params", "save_vk"]

_CHUNK = 1 << 12  # points looked at or converted at one time


def save_params(path: PathLike, key: ProvingKey, *, any_roots: bool = False, overwrite: bool = True) -> None:
    """Write a proving key for bellperson.

    Args:
        path: Target.
        key: On BLS12-381 with monomial H points (``groth16.convert`` makes them so).
        any_roots: Write a key whose circuit has its rows numbered by snarkjs's roots, too. bellperson cannot
            prove with it; ``load_params(root_convention="snarkjs")`` reads it.
        overwrite: Whether an existing file may be replaced.

    Raises:
        CurveMismatchError: Another curve.
        ShapeError: Another form, or a key with infinity where the format has no place for it.
        InputError: The target cannot be written.
    """
    _require_curve(key, path)
    if key.h_form != "monomial":
        raise ShapeError(
            f"the key has H points in {key.h_form} form",
            where=str(path),
            limit="a .params has monomial ones",
            remedy="convert the key first (cuzk key export does)",
        )
    if not any_roots and (key.root_convention != "bellman" or key.is_renumbered):
        raise ShapeError(
            "the circuit's rows are numbered by snarkjs's roots of unity, bellperson numbers them by others",
            where=str(path),
            limit="root convention bellman, rows in the circuit's order",
            remedy="set the circuit up with cuzk setup --roots bellman, or export with --any-roots for cuzk alone",
        )
    parts = _query_points(key, path)
    with atomic_write(path, overwrite=overwrite) as file:
        _write_vk(file, key)
        for name in QUERIES[1:]:
            file.write(len(parts[name]).to_bytes(4, "big"))
            _write_points(file, name, parts[name])


def save_vk(path: PathLike, key: ProvingKey, *, overwrite: bool = True) -> None:
    """Write a verifying key for bellperson; it holds beta_g1 and delta_g1, which only a proving key has.

    Raises:
        CurveMismatchError: Another curve.
        ShapeError: A point of ic is infinity.
        InputError: The target cannot be written.
    """
    _require_curve(key, path)
    _require_finite("ic", key.ic, path)
    with atomic_write(path, overwrite=overwrite) as file:
        _write_vk(file, key)


def _require_curve(key: ProvingKey, path: PathLike) -> None:
    if key.curve is not CURVE:
        raise CurveMismatchError(
            f"the key is over {key.curve.name}", where=str(path), limit=f"{CURVE.name} in bellperson's files",
            remedy="export it as a .zkey, or make a key over bls12_381",
        )  # fmt: skip


def _query_points(key: ProvingKey, path: PathLike) -> dict[str, U64Array]:
    """The points of each query that go into the file; checks that infinity is where the reader puts it."""
    parts = {name: getattr(key, name) for name in QUERIES}
    known = densities(key) if key.compiled is None else {"a_query": _finite_places(key)}
    for name, present in known.items():
        finite = parts[name].reshape(key.num_variables, -1).any(axis=1)
        expected = np.zeros(key.num_variables, bool)
        expected[present] = True
        if not np.array_equal(finite, expected):
            variable = int(np.argmax(finite != expected))
            raise ShapeError(
                f"variable {variable} has {'a' if finite[variable] else 'no'} point in {name}, but "
                f"{'no row uses' if finite[variable] else 'a row uses'} it",
                where=str(path),
                limit="a .params has a point for each variable that the matrix uses, and for no other",
                remedy="the key is damaged or not this circuit's: run cuzk key check",
            )
        parts[name] = parts[name][present]
    for name in QUERIES:
        _require_finite(name, parts[name], path)
    return parts


def _finite_places(key: ProvingKey) -> IntArray:
    """What densities() would say of the A query of a key without matrices, by its points."""
    return np.flatnonzero(key.a_query.reshape(key.num_variables, -1).any(axis=1))


def _require_finite(name: str, points: U64Array, path: PathLike) -> None:
    finite = points.reshape(len(points), -1).any(axis=1)
    if not finite.all():
        bad = int(np.argmin(finite))
        raise ShapeError(
            f"{name}[{bad}] is the point at infinity",
            where=str(path),
            limit="bellperson refuses infinity in every query",
            remedy="remove variables that no constraint uses from the circuit, and set it up again",
        )


def _write_vk(file: BinaryIO, key: ProvingKey) -> None:
    for name in FIXED:
        _write_points(file, name, getattr(key, name)[None])
    file.write(len(key.ic).to_bytes(4, "big"))
    _write_points(file, "ic", key.ic)


def _write_points(file: BinaryIO, name: str, points: U64Array) -> None:
    group = group_of(name)
    width = 2 * group.degree
    for first in range(0, len(points), _CHUNK):
        chunk: Any = points[first : first + _CHUNK]
        limbs = ints_to_limbs(field_to_ints(group.fp, chunk.reshape(-1, group.fp.limbs)), group.fp.limbs)
        standard = limbs.reshape(len(chunk), width, group.fp.limbs)
        ordered = standard if group.degree == 1 else standard[:, [1, 0, 3, 2]]
        raw = np.ascontiguousarray(ordered, dtype="<u8").view(np.uint8)
        file.write(np.ascontiguousarray(raw[..., ::-1]).tobytes())
