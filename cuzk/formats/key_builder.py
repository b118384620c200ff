"""A key file of a compiled circuit that is filled while the key is made, so that its points are nowhere else.

The file gets its full size first, which fails at once where the disk has no room, and is mapped; set-up writes each
query's points to their places. Checksums are computed of each query while the next one is made; the header is last.
"""

from __future__ import annotations

import errno
import math
import mmap
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import Any, BinaryIO

import numpy as np

from cuzk.compiled_rows import CompiledRows, variables_in
from cuzk.curves import Curve, RootConvention
from cuzk.errors import InputError, InternalError
from cuzk.formats.array_file import aligned, array_digest, entries, head_bytes
from cuzk.formats.atomic import PathLike
from cuzk.formats.key_header import COMPILED_KEY_FILE, key_facts
from cuzk.key_checks import query_counts
from cuzk.keys import HForm, ProvingKey
from cuzk.limbs import U64Array
from cuzk.pieces import CompiledCircuit
from cuzk.relation import domain_log2

__all__ = ["KeyBuilder"]

_NO_CHECKSUM = "0" * 64
#: How a file system says that a file does not fit.
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_G1_SINGLES, _G2_SINGLES = ("alpha_g1", "beta_g1", "delta_g1"), ("beta_g2", "gamma_g2", "delta_g2")


def _shapes(curve: Curve, counts: dict[str, int]) -> dict[str, tuple[Any, tuple[int, ...]]]:
    """Type and shape of every array of a key without matrices, in the order of the file."""
    g1, g2 = curve.g1.affine_shape, curve.g2.affine_shape
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(_G1_SINGLES, g1) | dict.fromkeys(_G2_SINGLES, g2)
    for name in ("ic", "a_query", "b_g1_query", "b_g2_query", "h_query", "l_query"):
        shapes[name] = (counts[name], *(g2 if name == "b_g2_query" else g1))
    return {name: (np.uint64, shape) for name, shape in shapes.items()} | {
        "b_places": (np.uint32, (counts["b_g1_query"],))
    }


def _facts(circuit: CompiledCircuit, name: str) -> dict[str, Any]:
    """What the header says of the circuit."""
    rows, num_public = CompiledRows.of(circuit, name), circuit.num_inputs - 1
    return {
        "curve": circuit.curve.name,
        "circuit_digest": rows.digest,
        "num_public": num_public,
        "num_variables": circuit.num_variables,
        "num_constraints": circuit.num_rows,
        "log_domain": domain_log2(circuit.num_rows, num_public),
        "circuit": rows.circuit,
        "num_entries": rows.num_entries,
    }


class KeyBuilder:
    """A key's file on its way.

    Args:
        file: Open for writing, empty, and for reading too.
        path: Its name to be, for messages.
        circuit: The circuit.
        name: The circuit's name.
        h_form: Of the key to be.
        root_convention: Of the key to be.

    Raises:
        InputError: The disk has no room for it.
    """

    def __init__(
        self, file: BinaryIO, path: PathLike, circuit: CompiledCircuit, name: str, *, h_form: HForm,
        root_convention: RootConvention,
    ) -> None:  # fmt: skip
        self._facts = _facts(circuit, name) | {"h_form": h_form, "root_convention": root_convention}
        num_public, num_variables, log_domain = (
            self._facts[name] for name in ("num_public", "num_variables", "log_domain")
        )
        num_b = int(np.count_nonzero(variables_in(circuit, 1)))
        counts = query_counts(num_public, num_variables, log_domain, h_form, num_b)
        self._shapes = _shapes(circuit.curve, counts)
        self._entries = entries(self._shapes)
        for entry in self._entries:
            entry["blake2b"] = _NO_CHECKSUM  # as long as one
        self._base = aligned(len(head_bytes(COMPILED_KEY_FILE, self._facts, self._entries)))
        last = self._entries[-1]
        self.nbytes = aligned(self._base + last["offset"] + _nbytes(last))
        _reserve(file, path, self.nbytes)
        self._bytes = np.frombuffer(mmap.mmap(file.fileno(), self.nbytes), np.uint8)
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="key-checksum")
        self._digests: dict[str, Future[str]] = {}
        self._filling: str | None = None

    def place(self, name: str, shape: tuple[int, ...]) -> U64Array:
        """The array for a query's points; the query before it is taken to be complete.

        Raises:
            InternalError: The file has no array of this name and shape.
        """
        if name not in self._shapes or self._shapes[name][1] != shape:
            raise InternalError(f"no place for {name} of shape {shape}", limit=str(self._shapes.get(name)))
        self._complete()
        self._filling = name
        return self._array(name)

    def finish(self, key: ProvingKey, advance: Callable[[float], None] = lambda _: None) -> None:
        """Write what is left, and the header.

        Args:
            key: Made with place().
            advance: Told which share of the bytes has its checksum.
        """
        facts = key_facts(key)
        if facts != self._facts:
            raise InternalError("the key is another than its file was begun for")
        self._complete()
        arrays: dict[str, Any] = {name: points for name, _, points in key.points()}
        for name, points in (arrays | {"b_places": key.b_places}).items():
            if name not in self._digests:
                self._array(name)[...] = points
                self._digests[name] = self._pool.submit(array_digest, self._array(name))
        sizes = {future: self._array(name).nbytes for name, future in self._digests.items()}
        done = 0
        for future in as_completed(sizes):
            done += sizes[future]
            advance(done / sum(sizes.values()))
        for entry in self._entries:
            entry["blake2b"] = self._digests[entry["name"]].result()
        head = np.frombuffer(head_bytes(COMPILED_KEY_FILE, facts, self._entries), np.uint8)
        self._bytes[: len(head)] = head

    def __enter__(self) -> KeyBuilder:
        return self

    def __exit__(self, *_: object) -> None:
        """End the work on checksums."""
        self._pool.shutdown(cancel_futures=True)

    def _complete(self) -> None:
        if self._filling is not None:
            self._digests[self._filling] = self._pool.submit(array_digest, self._array(self._filling))
        self._filling = None

    def _array(self, name: str) -> U64Array:
        entry = next(entry for entry in self._entries if entry["name"] == name)
        start = self._base + entry["offset"]
        raw = self._bytes[start : start + _nbytes(entry)]
        return raw.view(f"<{entry['dtype']}").reshape(entry["shape"])


def _nbytes(entry: dict[str, Any]) -> int:
    """Bytes of an array that a header lists."""
    shape: list[int] = entry["shape"]
    item: int = np.dtype(entry["dtype"]).itemsize
    return math.prod(shape) * item


def _reserve(file: BinaryIO, path: PathLike, nbytes: int) -> None:
    """Give a file its size on the disk, so that writing to its mapping cannot fail."""
    state = os.fstatvfs(file.fileno())
    free = state.f_bavail * state.f_frsize
    refused = InputError(
        f"the key takes {nbytes} bytes on the disk, more than there is room for",
        where=str(path),
        limit=f"{free} bytes are free",
        remedy="make room, or write it to another disk",
    )
    if nbytes > free:
        raise refused
    try:
        os.posix_fallocate(file.fileno(), 0, nbytes)
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise refused from error
        raise
