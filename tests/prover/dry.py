"""A device that computes nothing but takes all the memory of a real one, and keys of full size for it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cuzk.csr import CsrMatrix
from cuzk.curves import get_curve
from cuzk.device import Device, Ticket
from cuzk.device.base import DeviceLimits
from cuzk.device.host import EmuDevice, HostDevice
from cuzk.errors import OutOfMemoryError
from cuzk.keys import ProvingKey
from cuzk.limbs import fr_from_ints
from cuzk.ops.spmv import DeviceMatrix
from cuzk.witness import Witness
from tests.prover.support import device

BLS = get_curve("bls12_381")
NUM_PUBLIC = 327
#: Arrays up to this size hold what was written into them.
SMALL = 1 << 16
#: Of each chunk's scalars: ones, and the rest that is not zero, as in PoRep circuits or in dense ones.
POREP, DENSE = (0.474, 0.013), (0.2, 0.7)
#: No scalar is 0 or 1.
RANDOM = (0.0, 1.0)


class DryDevice(EmuDevice):
    """A GPU of so many bytes whose kernels do nothing but count as classification would.

    Its copies end as late as they may: what they fill is held until somebody waits for everything, or until there is
    no room without it.

    Args:
        memory_bytes: Of its arena.
        shares: Shares of ones and of others among scalars.
        finite_each: Of so many bases one is finite.
    """

    def __init__(self, memory_bytes: int, shares: tuple[float, float], finite_each: int = 4) -> None:
        super().__init__(memory_limit=memory_bytes)
        self.shares, self.finite_each = shares, finite_each
        self._in_flight: list[Any] = []
        self.limits = DeviceLimits(
            num_sms=132, max_threads=1024, warp=32, shared_bytes=48 << 10, memory_bytes=self.limits.memory_bytes,
            gpu_like=True,
        )  # fmt: skip

    @property
    def host(self) -> Device:
        return device("cpu")

    def alloc(self, shape: tuple[int, ...], dtype: Any = np.uint64, *, zero: bool = False) -> Any:
        del zero
        try:
            # Zero pages, that are there when they are touched.
            return HostDevice.alloc(self, shape, dtype, zero=True)
        except OutOfMemoryError:
            self._in_flight.clear()
            return HostDevice.alloc(self, shape, dtype, zero=True)

    def upload(self, array: Any) -> Any:
        result = self.alloc(array.shape, array.dtype)
        if array.nbytes <= SMALL:
            result[...] = array
        return result

    def download(self, array: Any) -> Any:
        # Of a large array only masks are asked for.
        if array.nbytes > SMALL and array.dtype == np.uint8:
            mask = np.ones(len(array), np.uint8)
            mask[:: self.finite_each] = 0
            return mask
        return np.array(array, copy=True)

    def stage(self, host_array: Any, into: Any, after: Ticket | None = None) -> Ticket:
        del after
        self._check_stage(host_array, into)
        self._in_flight.append(into)
        return self.mark()

    def synchronize(self) -> None:
        self._in_flight.clear()

    def _run(self, *args: Any) -> None:
        del args

    def launch(self, kernel: str, **rest: Any) -> None:
        super().launch(kernel, **rest)
        if kernel.startswith("classify_count"):
            ones, others = (int(share * rest["n"]) for share in self.shares)
            rest["counts"][rest["grid"]], rest["counts"][2 * rest["grid"]] = ones, ones + others


def sparse_array(folder: Path, name: str, shape: tuple[int, ...]) -> Any:
    """Zeros of any size that take no memory: a file of holes."""
    path = folder / name
    with path.open("wb") as file:
        file.truncate(8 * int(np.prod(shape)))
    return np.memmap(path, np.uint64, "r", shape=shape)


def matrix(rows: int, variables: int, entries: int) -> CsrMatrix:
    """So many entries in every row, all of them 1 in column 0."""
    nnz = rows * entries
    dictionary = fr_from_ints(BLS, [1])
    row_ptr = np.arange(0, nnz + 1, entries, dtype=np.int64)
    return CsrMatrix(BLS, variables, row_ptr, np.zeros(nnz, np.uint32), np.zeros(nnz, np.uint8), dictionary)


def big_key(log_domain: int, folder: Path) -> ProvingKey:
    """The counts of a PoRep-shaped key; its points are all infinity."""
    rows, variables = _sizes(log_domain)
    a, b = matrix(rows, variables, 3), matrix(rows, variables, 1)
    return _key(log_domain, a, b, a, functools.partial(sparse_array, folder))


def counted_key(log_domain: int, *, with_c: bool = True) -> ProvingKey:
    """The same counts in arrays that nobody has touched, matrices included: 2^26 rows take no time and no memory."""
    rows, variables = _sizes(log_domain)

    def untouched(entries: int) -> CsrMatrix:
        nnz = rows * entries
        row_ptr, col, coeff = np.zeros(rows + 1, np.int64), np.zeros(nnz, np.uint32), np.zeros(nnz, np.uint8)
        return CsrMatrix(BLS, variables, row_ptr, col, coeff, fr_from_ints(BLS, [1]))

    a, b = untouched(3), untouched(1)
    return _key(log_domain, a, b, a if with_c else None, lambda _, shape: np.zeros(shape, np.uint64))


def unchecked_upload(device: Device, matrix: CsrMatrix) -> DeviceMatrix:
    """What DeviceMatrix.upload allocates, in its order, without a look at the values."""
    row_ptr, cols, codes, dictionary = (
        device.upload(part) for part in (matrix.row_ptr, matrix.col, matrix.coeff, matrix.dictionary)
    )
    return DeviceMatrix(
        matrix.curve, matrix.num_rows, matrix.num_cols, matrix.nnz, row_ptr, cols, codes, dictionary,
        one_code=0, minus_one_code=1, long_rows=device.upload(np.zeros(0, np.uint32)), long_row=1 << 10,
    )  # fmt: skip


def _sizes(log_domain: int) -> tuple[int, int]:
    """Rows and variables."""
    return (1 << log_domain) - 1000, int(0.9699 * (1 << log_domain))


def _key(
    log_domain: int,
    a: CsrMatrix,
    b: CsrMatrix,
    c: CsrMatrix | None,
    array: Callable[[str, tuple[int, ...]], Any],
) -> ProvingKey:
    """A key with these matrices and a maker of queries."""
    variables = a.num_cols
    g1, g2 = BLS.g1.affine_shape, BLS.g2.affine_shape
    lengths = {"a": variables, "b_g1": variables, "l": variables - NUM_PUBLIC - 1, "h": 1 << log_domain}
    queries = {f"{name}_query": array(name, (n, *g1)) for name, n in lengths.items()}
    queries["b_g2_query"] = array("b_g2", (variables, *g2))
    single = {name: np.zeros(g1, np.uint64) for name in ("alpha_g1", "beta_g1", "delta_g1")}
    single |= {name: np.zeros(g2, np.uint64) for name in ("beta_g2", "gamma_g2", "delta_g2")}
    return ProvingKey(
        curve=BLS, num_public=NUM_PUBLIC, log_domain=log_domain, h_form="odd_lagrange", root_convention="snarkjs",
        a=a, b=b, c=c, compiled=None, ic=np.zeros((NUM_PUBLIC + 1, *g1), np.uint64), **single, **queries,
    )  # fmt: skip


@functools.cache
def idle_witness(variables: int) -> Witness:
    """A witness of the right length."""
    values = np.zeros((variables, BLS.fr.limbs), np.uint64)
    values[0, 0] = 1
    return Witness(BLS, values)
