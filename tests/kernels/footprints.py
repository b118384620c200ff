"""``python -m tests.kernels.footprints``: what every operation asks of a device, written to footprints.json.

A footprint is the list of an operation's launches (kernel, shape, shared memory, every integer, the shape of every
array), allocations and copies. Wrong answers show elsewhere; here shows what no answer tells: a buffer or a table twice
as long, a launch of another shape, a path for many terms that is taken for few, a kernel that runs once too often.
Nothing is computed, so a processor plays an H200 and a processor of four cores at sizes that would take minutes.
"""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cuzk.csr import CsrMatrix
from cuzk.curves import get_curve
from cuzk.device.base import Array, Device, DeviceLimits
from cuzk.device.host import EmuDevice, HostDevice
from cuzk.groth16.commit import commit_hs, commit_witnesses
from cuzk.groth16.evaluate import evaluate, first_unsatisfied_row, upload_witness
from cuzk.groth16.fold import folded_l_query
from cuzk.groth16.quotient import prepare_quotient, quotient
from cuzk.groth16.resident import ResidentKey
from cuzk.groth16.setup import setup
from cuzk.keys import HForm
from cuzk.limbs import fr_from_ints
from cuzk.ops import fr_vec, points
from cuzk.ops.batch_add import launch_batch_add
from cuzk.ops.classify import classify
from cuzk.ops.domain import Domain
from cuzk.ops.fixed_base import fixed_base_mul
from cuzk.ops.halves import mul_by_factors
from cuzk.ops.lagrange import lagrange_at
from cuzk.ops.msm import msm
from cuzk.ops.ntt import ntt, prepare
from cuzk.ops.piece_columns import piece_columns
from cuzk.ops.piece_spmv import piece_spmv
from cuzk.ops.piece_tables import DevicePieces
from cuzk.ops.point_ntt import point_ntt, scale_by_powers
from cuzk.ops.point_sums import column_terms, segment_sums
from cuzk.ops.power_tables import power_tables
from cuzk.ops.scan import exclusive_scan
from cuzk.ops.spmv import DeviceMatrix, spmv
from cuzk.ops.witness_program import run_witness
from cuzk.relation import matrix_from_rows
from cuzk.telemetry import Recorder
from cuzk.variants import resolve
from tests.kernels.fr_support import open_device
from tests.kernels.piece_support import case
from tests.prover.support import key, waste, workload

STORED = Path(__file__).with_name("footprints.json")
BN254, TOY = get_curve("bn254"), get_curve("toy")
G1, G2 = BN254.g1, BN254.g2

LIMITS = {
    "h200": DeviceLimits(
        num_sms=132, max_threads=1024, warp=32, shared_bytes=48 << 10, memory_bytes=140 << 30, gpu_like=True
    ),
    "small-gpu": DeviceLimits(
        num_sms=3, max_threads=1024, warp=32, shared_bytes=48 << 10, memory_bytes=64 << 20, gpu_like=True
    ),
    "four-cores": DeviceLimits(
        num_sms=4, max_threads=1, warp=1, shared_bytes=48 << 10, memory_bytes=8 << 30, gpu_like=False
    ),
}


class Tracer(EmuDevice):
    """A device that computes nothing and writes down what it is asked for; arrays are zero until something is copied.

    Args:
        limits: Of the device it plays.
    """

    def __init__(self, limits: DeviceLimits) -> None:
        super().__init__()
        self.limits = limits
        self.trace: list[str] = []

    @property
    def host(self) -> Device:
        return self

    def alloc(self, shape: tuple[int, ...], dtype: Any = np.uint64, *, zero: bool = False) -> Array:
        self.trace.append(f"alloc {tuple(map(int, shape))} {np.dtype(dtype)}" + (" zero" if zero else ""))
        return HostDevice.alloc(self, shape, dtype, zero=True)

    def upload(self, array: Any) -> Array:
        result = HostDevice.alloc(self, array.shape, array.dtype)
        result[...] = array
        self.trace.append(f"upload {array.shape} {array.dtype} {zlib.crc32(result.tobytes()):08x}")
        return result

    def download(self, array: Any) -> Any:
        self.trace.append(f"download {array.shape}")
        return np.array(array, copy=True)

    def fill_zero(self, array: Array) -> None:
        self.trace.append(f"zero {array.shape}")

    def _run(self, *_: Any) -> None:
        pass

    def launch(self, kernel: str, *, grid: int, block: int, shared_bytes: int = 0, **args: Any) -> None:
        spec = self.kernels[kernel]
        self._words(spec, args)
        told = " ".join(f"{name}={_told(args[name])}" for name, _ in spec.layout)
        self.trace.append(f"{kernel} grid={grid} block={block} shared={shared_bytes} {told}")
        if kernel.startswith("classify_count"):  # a third ones, a third others
            args["counts"][grid], args["counts"][2 * grid] = args["n"] // 3, 2 * (args["n"] // 3)


def _told(value: Any) -> str:
    return str(value.shape) if isinstance(value, np.ndarray) else str(int(value))


def _zeros(device: Tracer, *shape: int, dtype: Any = np.uint64) -> Array:
    """An operand, which is no part of the footprint."""
    return HostDevice.alloc(device, shape, dtype, zero=True)


def _fr(device: Tracer, n: int) -> Array:
    return _zeros(device, n, BN254.fr.limbs)


def _points(device: Tracer, group: Any, n: int) -> Array:
    return _zeros(device, n, *group.affine_shape)


def _vectors(device: Tracer, n: int) -> None:
    a, b, c = (_fr(device, n) for _ in range(3))
    fr_vec.fr_mul_sub(device, BN254, a, b, c, out=a)
    fr_vec.fr_scale(device, BN254, a, 3)
    fr_vec.powers(device, BN254, 3, n)
    fr_vec.to_mont(device, BN254, a)
    fr_vec.batch_inverse(device, BN254, a)
    fr_vec.batch_inverse(device, BN254, a, out=b)
    if n & (n - 1) == 0 and n:
        fr_vec.fr_scale_powers(device, BN254, a, 3)
        fr_vec.bit_reverse(device, BN254, a)
    fr_vec.gather(device, BN254, a, _zeros(device, n // 2, dtype=np.uint32))
    fr_vec.first_mismatch(device, BN254, a, b, c)


def _point_arrays(device: Tracer, n: int) -> None:
    some, one = _points(device, G2, n), _points(device, G2, 1)
    points.first_off_curve(device, G2, some)
    points.first_outside_subgroup(device, G2, some)
    points.first_outside_subgroup(device, G1, _points(device, G1, n))
    points.infinite_mask(device, G2, some, _zeros(device, n, dtype=np.uint8))
    points.add(device, G2, some, some)
    points.scalar_mul(device, G2, some, _fr(device, n))
    points.scalar_mul(device, G2, one, _fr(device, n))
    points.scalar_mul(device, G2, some, _fr(device, 1))
    points.normalize(device, G2, _zeros(device, n, G2.xyzz_bytes // 8))


def _transforms(device: Tracer, log_n: int) -> None:
    domain = Domain(BN254, log_n, "snarkjs")
    x = _fr(device, 1 << log_n)
    prepare(device, domain, inverse=True)
    prepare(device, domain, coset=5, order_in="rev")
    ntt(device, domain, x, inverse=True, order_out="rev", out=x)
    ntt(device, domain, x, coset=5, order_in="rev", out=x)
    ntt(device, domain, x, inverse=True, coset=5)
    lagrange_at(device, domain, 12345)


def _tables(device: Tracer, log_n: int) -> None:
    power_tables(device, BN254, 3, log_n, first=7)
    power_tables(device, BN254, 3, log_n, order="rev")
    power_tables(device, BN254, 3, log_n, bits=log_n)


def _product(device: Tracer, rows: int) -> None:
    lengths = np.arange(rows, dtype=np.int64) ** 2 % 700
    row_ptr = np.concatenate([[0], np.cumsum(lengths)])
    dictionary = fr_from_ints(BN254, [2, 1, BN254.r - 1])
    nnz = int(row_ptr[-1])
    matrix = CsrMatrix(BN254, rows, row_ptr, np.zeros(nnz, np.uint32), np.zeros(nnz, np.uint8), dictionary)
    spmv(device, BN254, DeviceMatrix.upload(device, matrix), _fr(device, rows), rows)


def _sums(device: Tracer, n: int) -> None:
    some = _points(device, G1, n)
    msm(device, G1, some, _fr(device, n))
    msm(device, G1, some, _fr(device, n), window_bits=7, scalar_bits=60)
    indices = _zeros(device, n // 3, dtype=np.uint32)
    msm(device, G1, some, _fr(device, n), indices=indices)
    launch_batch_add(device, G1, some)
    launch_batch_add(device, G1, some, indices)
    launch_batch_add(device, G1, some, rounds=2)


def _multiples(device: Tracer, n: int) -> None:
    fixed_base_mul(device, G1, _fr(device, n))
    fixed_base_mul(device, G2, _fr(device, n), window_bits=4)


def _lists(device: Tracer, n: int) -> None:
    classify(device, BN254, _fr(device, n))
    classify(device, BN254, _fr(device, n), skip=_zeros(device, n, dtype=np.uint8))
    exclusive_scan(device, TOY, _zeros(device, n, dtype=np.uint32))
    exclusive_scan(device, TOY, _zeros(device, n, dtype=np.uint32), tile=512)


#: Form of the H bases, whether the key has matrix C, and variants.
_PROOFS: tuple[tuple[HForm, bool, dict[str, str]], ...] = (
    ("odd_lagrange", True, {}),
    ("odd_lagrange", False, {"M2": "none", "N1": "2^4"}),
    ("odd_lagrange", True, {"Q1": "four_ntt"}),
    ("monomial", True, {"N1": "2^2", "D4": "4"}),
    ("monomial", False, {"D5": "per_query", "M1": "xyzz"}),
)


def _phases(device: Tracer, number: int) -> None:
    """The phases of a proof of two circuits, after a key was brought to the device."""
    form, with_c, chosen = _PROOFS[number]
    load = workload("random", "toy", 90, 2)
    made = key(load, form) if with_c else replace(key(load, form), c=None)
    folded = folded_l_query(open_device("cpu"), made) if "Q1" in chosen else None
    resident = ResidentKey.upload(device, made, 2, folded_l=folded)
    prepare_quotient(resident, chosen.get("N1", "auto"))
    device.trace.clear()
    variants, recorder = resolve(chosen), Recorder()
    ws = [upload_witness(resident, load.witness.values, recorder) for _ in range(2)]
    commit_witnesses(resident, ws, variants, recorder)
    rows = [evaluate(resident, w, recorder, variants) for w in ws]
    first_unsatisfied_row(resident, rows[0])
    hs = [quotient(resident, abc, variants["N1"]) for abc in rows]
    commit_hs(resident, hs, variants, recorder)


def _set_up(device: Tracer, rows: int) -> None:
    load = workload("random", "toy", rows, 2)
    for form in ("odd_lagrange", "monomial"):
        setup(load.r1cs, device, toxic_waste=waste(TOY), h_form=form)


def _key_points(device: Tracer, n: int) -> None:
    """What turns the points of a ceremony into those of a key."""
    points_of_key = np.zeros((n, *G1.affine_shape), np.uint64)
    point_ntt(device, G1, points_of_key, BN254.root_of_unity(n.bit_length() - 1, "snarkjs"))
    scale_by_powers(device, G1, points_of_key, 3, 5)
    segment_sums(device, G1, points_of_key, np.arange(n) // 3, n)
    rows = [{column: 1 - (row + column) % 3 for column in range(0, n, 1 + row)} for row in range(n)]
    column_terms(device, G1, points_of_key, matrix_from_rows(BN254, n, rows))


def _halves(device: Tracer, n: int) -> None:
    for group in (G1, G2):
        mul_by_factors(device, group, _points(device, group, 2 * n), [3] * n, share=2)


def _compiled(device: Tracer, seed: int) -> None:
    """Witness, rows and columns of a compiled circuit."""
    sample = case("bn254", seed)
    pieces = DevicePieces.upload(device, sample.circuit)
    inputs = _fr(device, len(sample.all_inputs)) if pieces.num_given else None
    run_witness(device, pieces, _fr(device, len(sample.hints)), inputs)
    for side in range(3):
        piece_spmv(device, pieces, side, _fr(device, pieces.num_variables), num_bound=side)
    piece_columns(device, sample.circuit, _fr(device, sample.circuit.num_rows))


#: Operations and the sizes at which they are traced.
CASES: dict[str, tuple[Callable[[Tracer, int], None], tuple[int, ...]]] = {
    "vectors": (_vectors, (0, 1, 77, 1 << 13)),
    "points": (_point_arrays, (0, 1, 2, 3000)),
    "transforms": (_transforms, (0, 1, 5, 11, 15, 16)),
    "tables": (_tables, (0, 3, 10, 11, 12)),
    "product": (_product, (0, 1, 300, 3000)),
    "sums": (_sums, (0, 1, 40, 20_000)),
    "multiples": (_multiples, (0, 1, 5000)),
    "phases": (_phases, tuple(range(len(_PROOFS)))),
    "set_up": (_set_up, (1, 90)),
    "lists": (_lists, (0, 1, 5000, 1 << 20)),
    "key_points": (_key_points, (1, 2, 16)),
    "halves": (_halves, (1, 40, 3000)),
    "compiled": (_compiled, (1, 5)),
}


def footprint(case: str, size: int, limits: str) -> list[str]:
    """What an operation asks of a device."""
    device = Tracer(LIMITS[limits])
    CASES[case][0](device, size)
    return device.trace


def shortened(line: str) -> str:
    """A line as it is stored: its first word, and a checksum of the rest."""
    return f"{line.split()[0]}:{zlib.crc32(line.encode()):08x}"


def everything() -> dict[str, list[str]]:
    """Every footprint by name, shortened."""
    return {
        f"{case} {size} {limits}": [shortened(line) for line in footprint(case, size, limits)]
        for case, (_, sizes) in CASES.items()
        for size in sizes
        for limits in LIMITS
    }


if __name__ == "__main__":
    rows = (f"{json.dumps(name)}: {json.dumps(' '.join(lines))}" for name, lines in everything().items())
    STORED.write_text("{\n" + ",\n".join(rows) + "\n}\n")
    sys.stdout.write(f"{STORED.name} written\n")
