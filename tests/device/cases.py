"""One case per operation: random and awkward inputs of a given size, run on any device, results as host arrays.

A case knows nothing of expected values: the same case on two devices must give the same bytes.  What the bytes
should be is the business of tests/kernels, which check the cpu device against the oracles.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from cuzk_fuzz.targets.pieces import compiled
from cuzk_oracles import sample_pieces

from cuzk.curves import FIELDS, Curve, FieldSpec, GroupSpec
from cuzk.device import Device
from cuzk.limbs import field_from_ints, fr_from_ints
from cuzk.ops import fr_vec
from cuzk.ops.batch_add import batch_add
from cuzk.ops.classify import classify
from cuzk.ops.domain import Domain
from cuzk.ops.fixed_base import fixed_base_mul
from cuzk.ops.lagrange import lagrange_at
from cuzk.ops.msm import msm
from cuzk.ops.ntt import ntt
from cuzk.ops.piece_spmv import piece_spmv
from cuzk.ops.piece_tables import DevicePieces
from cuzk.ops.plan_msm import plan_msm
from cuzk.ops.point_ntt import point_ntt
from cuzk.ops.points import add, first_off_curve, infinite_mask, normalize, scalar_mul, subgroup_arguments
from cuzk.ops.power_tables import Order
from cuzk.ops.scan import exclusive_scan
from cuzk.ops.spmv import DeviceMatrix, spmv
from cuzk.ops.witness_program import run_witness
from tests.workloads import random_r1cs

HostArray = npt.NDArray[Any]
Results = Iterator[tuple[str, HostArray]]


def scalars(curve: Curve, n: int, rng: random.Random) -> list[int]:
    """A third awkward (0, 1, -1, halves, powers of two), the rest uniform."""
    r = curve.r
    awkward = [0, 1, r - 1, 2, r - 2, (r - 1) // 2, (r + 1) // 2, 1 << (r.bit_length() - 1), (1 << 16) - 1]
    return [rng.choice(awkward) % r if rng.randrange(3) == 0 else rng.randrange(r) for _ in range(n)]


def fr_cases(device: Device, curve: Curve, n: int) -> Results:
    """Scalar vectors: arithmetic, powers, transforms, sparse product, classification, prefix sums."""
    rng = random.Random(n)
    host = [fr_from_ints(curve, scalars(curve, n, rng)) for _ in range(3)]
    a, b, c = (device.upload(x) for x in host)
    get = device.download
    yield "fr_mul", get(fr_vec.fr_mul(device, curve, a, b))
    yield "fr_add", get(fr_vec.fr_add(device, curve, a, b))
    yield "fr_sub", get(fr_vec.fr_sub(device, curve, a, b))
    yield "fr_mul_sub", get(fr_vec.fr_mul_sub(device, curve, a, b, c, factor=5))
    yield "fr_scale", get(fr_vec.fr_scale(device, curve, a, 12345))
    yield "from_mont", get(std := fr_vec.from_mont(device, curve, a))
    yield "to_mont", get(fr_vec.to_mont(device, curve, std))
    yield "powers", get(fr_vec.powers(device, curve, 7, n, first=3))
    yield "batch_inverse", get(fr_vec.batch_inverse(device, curve, a))
    mismatch = fr_vec.first_mismatch(device, curve, a, b, fr_vec.fr_mul(device, curve, a, b))
    yield "first_mismatch", np.array([-1 if mismatch is None else mismatch])
    wrong = fr_vec.first_mismatch(device, curve, a, b, c)
    yield "first_mismatch_some", np.array([-1 if wrong is None else wrong])
    places = device.upload(np.random.default_rng(n).integers(0, n, 2 * n).astype(np.uint32))
    yield "gather", get(fr_vec.gather(device, curve, a, places))
    counts = device.upload(np.random.default_rng(n).integers(0, 9, n).astype(np.uint32))
    exclusive_scan(device, curve, counts, tile=512)  # small enough for several levels
    yield "scan", get(counts)
    skip = device.upload((np.arange(n) % 5 == 0).astype(np.uint8))
    for name, mask in (("", None), ("_skip", skip)):
        classes = classify(device, curve, a, skip=mask)
        yield f"classify_ones{name}", get(classes.ones)
        yield f"classify_others{name}", get(classes.others)
    yield from ntt_cases(device, curve, n)
    load = random_r1cs(curve.name, n, seed=n)
    w = device.upload(fr_from_ints(curve, load.values))
    for name, matrix in load.r1cs.matrices.items():
        yield f"spmv_{name}", get(spmv(device, curve, DeviceMatrix.upload(device, matrix, long_row=3), w))


def piece_cases(device: Device, curve: Curve, n: int) -> Results:
    """A compiled circuit with every operation: its witness, and a, b, c with long rows apart and not."""
    rng = random.Random(n)
    sample = sample_pieces.sample_circuit(n, curve.r, size=12, counts=(1, 3, n % 100), num_given=2)
    circuit = compiled(sample.circuit, curve)
    hints = fr_from_ints(curve, sample.hints(lambda: scalars(curve, 1, rng)[0]))
    inputs = fr_from_ints(curve, scalars(curve, circuit.num_inputs - 1, rng))
    for long_row in (None, 2):
        pieces = DevicePieces.upload(device, circuit, long_row=long_row)
        w = run_witness(device, pieces, device.upload(hints), device.upload(inputs))
        if long_row is None:
            yield "witness_run", device.download(w)
        for side in range(3):
            product = piece_spmv(device, pieces, side, w, num_bound=circuit.num_inputs)
            yield f"piece_rows_{side}_{long_row}", device.download(product)


def ntt_cases(device: Device, curve: Curve, n: int) -> Results:
    """Every direction, order and coset at the largest power of two that is no larger than n."""
    log_n = min(n.bit_length() - 1, curve.two_adicity)
    domain = Domain(curve, log_n)
    rng = random.Random(n)
    x = fr_from_ints(curve, scalars(curve, 3 << log_n, rng)).reshape(3, 1 << log_n, -1)
    orders: tuple[Order, Order] = ("nat", "rev")
    for order in orders:
        scaled = fr_vec.fr_scale_powers(device, curve, device.upload(x), 9, order=order)
        yield f"scale_powers_{order}", device.download(scaled)
    yield "bit_reverse", device.download(fr_vec.bit_reverse(device, curve, device.upload(x)))
    yield "lagrange_at", device.download(lagrange_at(device, domain, 123457 % curve.r))
    for inverse in (False, True):
        for coset in (None, 11):
            for into, out_of in ((orders[0], orders[1]), (orders[1], orders[0]), (orders[0], orders[0])):
                out = ntt(
                    device,
                    domain,
                    device.upload(x),
                    inverse=inverse,
                    coset=coset,
                    order_in=into,
                    order_out=out_of,
                )
                yield f"ntt_{inverse}_{coset}_{into}_{out_of}", device.download(out)


def group_cases(device: Device, group: GroupSpec, n: int, windows: tuple[int, ...] = (2, 5, 9)) -> Results:
    """Points: set-up multiplication, checks, sums, MSM with and without an index list."""
    curve = group.curve
    rng = random.Random(n)
    k = fr_from_ints(curve, scalars(curve, n, rng))
    s = device.upload(fr_from_ints(curve, scalars(curve, n, rng)))
    points = fixed_base_mul(device, group, device.upload(k))
    host_points = device.download(points)
    yield "fixed_base_mul", host_points
    yield "on_curve", np.array([str(first_off_curve(device, group, points))])
    yield "infinite_mask", device.download(infinite_mask(device, group, points, device.alloc((n,), np.uint8)))
    few = points[: min(n, 40)]
    yield "in_subgroup", in_subgroup(device, group, few)
    yield "scalar_mul", device.download(scalar_mul(device, group, few, s[: len(few)]))
    shifted = device.upload(np.roll(host_points, 1, axis=0))
    yield "add", device.download(add(device, group, points, shifted))
    yield "point_ntt", point_ntt(device, group, host_points[:8], curve.root_of_unity(3, "snarkjs"))
    yield "batch_add", batch_add(device, group, points)
    yield "batch_add_halving", batch_add(device, group, points, rounds=2)
    index = device.upload(np.arange(0, n, 2, dtype=np.uint32))
    yield "batch_add_index", batch_add(device, group, points, index)
    yield "msm", msm(device, group, points, s)
    yield "msm_index", msm(device, group, points, s, indices=index)
    for window in windows:
        yield f"msm_{window}", msm(device, group, points, s, window_bits=window)
    # Rounds of affine additions pay from some 2^20 terms on a GPU alone, so they are asked for.
    halving = plan_msm(n, group, device.limits, window_bits=windows[0], rounds=2)
    yield "msm_halving", msm(device, group, points, s, plan=halving)
    yield from point_op_cases(device, group, host_points)


def in_subgroup(device: Device, group: GroupSpec, points: Any) -> HostArray:
    """The first point outside the subgroup, by the kernel itself: the operation skips it where the cofactor is 1."""
    found = device.upload(np.full(1, len(points), np.uint64))
    block = 1 if device.limits.warp == 1 else 64
    kernel = f"points_in_subgroup_{group.full_name}"
    device.launch(
        kernel, grid=-(-len(points) // block), block=block, points=points, first_bad=found, n=len(points),
        **subgroup_arguments(device, group),
    )  # fmt: skip
    return device.download(found)


def point_op_cases(device: Device, group: GroupSpec, affine: HostArray) -> Results:
    """Every opcode of the kernel that exposes the point formulas."""
    n = len(affine)
    words = group.xyzz_bytes // 8
    q = device.upload(np.roll(affine, 3, axis=0))
    zero = device.upload(np.zeros((n, words), np.uint64))

    def run(op: int, a: Any, b: Any) -> Any:
        dst = device.alloc((n, words), np.uint64)
        block = 1 if device.limits.warp == 1 else 64
        device.launch(
            f"point_op_{group.full_name}",
            grid=-(-n // block),
            block=block,
            a=a,
            b=b,
            q=q,
            dst=dst,
            op=op,
            n=n,
        )
        return dst

    first = run(6, zero, zero)
    second = run(2, first, zero)  # doubled: ZZ is not 1
    third = run(1, second, zero)
    for op in range(9):
        yield f"point_op_{op}", device.download(run(op, second, third))
        yield f"point_op_{op}_same", device.download(run(op, third, third))
    yield "normalize", device.download(normalize(device, group, third))
    # On a GPU the last step of an MSM runs on the host, so its kernel is asked for by name.
    windows = min(n, 30)
    result = device.alloc((1, *group.affine_shape), np.uint64)
    device.launch(
        f"msm_combine_{group.full_name}", grid=1, block=1,
        sums=third, result=result, num_windows=windows, parts=1, window_bits=7,
    )  # fmt: skip
    yield "combine", device.download(result)


def field_cases(device: Device, field: FieldSpec, n: int) -> Results:
    """Every opcode of the kernels that expose the fields, on edge and random values; fp2 where it exists."""
    rng = random.Random(n)
    m = field.modulus
    edges = [0, 1, 2, m - 1, m - 2, (m - 1) // 2, field.mont_r, field.mont_r2]
    fp2_kernel = f"fp2_op_{field.name}"
    for kernel, per in ((f"field_op_{field.name}", 1), (fp2_kernel, 2)):
        if kernel not in device.kernels:
            continue
        operands = []
        for _ in range(4):
            column = [rng.choice(edges) if rng.randrange(2) else rng.randrange(m) for _ in range(per * n)]
            operands.append(device.upload(field_from_ints(field, column)))
        for op in range(13):
            dst = device.alloc((per * n, field.limbs), np.uint64)
            block = 1 if device.limits.warp == 1 else 64
            a, b, c, d = operands
            device.launch(kernel, grid=-(-n // block), block=block, a=a, b=b, c=c, d=d, dst=dst, op=op, n=n)
            yield f"{kernel}_{op}", device.download(dst)


def word_cases(device: Device, n: int) -> Results:
    """Every primitive on 32-bit words: the PTX on a GPU, its C twin elsewhere."""
    rng = np.random.default_rng(n)
    special = np.array(
        [0, 1, 2, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 2, 2**32 - 1, 0x55555555, 0xAAAAAAAA], np.uint64
    )
    a, b, d = (
        device.upload(
            np.where(rng.random(n) < 0.5, rng.choice(special, n), rng.integers(0, 2**32, n, np.uint64))
        )
        for _ in range(3)
    )
    carry = device.upload(rng.integers(0, 2, n).astype(np.uint64))
    for op in range(10):
        dst, out = device.alloc((n,), np.uint64), device.alloc((n,), np.uint64)
        block = 1 if device.limits.warp == 1 else 64
        device.launch(
            "word_op_u32", grid=-(-n // block), block=block,
            a=a, b=b, d=d, carry_in=carry, dst=dst, carry_out=out, op=op, n=n,
        )  # fmt: skip
        yield f"word_op_{op}", device.download(dst)
        yield f"word_op_{op}_carry", device.download(out)


Case = Callable[[Device, int], Results]


def all_cases(curves: dict[str, Curve]) -> dict[str, Case]:
    """Every case by name."""
    cases: dict[str, Case] = {"word": word_cases}
    for name, field in FIELDS.items():
        if not name.startswith("tiny_"):
            cases[f"field_{name}"] = lambda device, n, field=field: field_cases(device, field, n)  # type: ignore[misc]
    for name, curve in curves.items():
        cases[f"fr_{name}"] = lambda device, n, curve=curve: fr_cases(device, curve, n)  # type: ignore[misc]
        cases[f"pieces_{name}"] = lambda device, n, curve=curve: piece_cases(device, curve, n)  # type: ignore[misc]
        for group in (curve.g1, curve.g2):
            cases[f"{group.name}_{name}"] = lambda device, n, group=group: group_cases(device, group, n)  # type: ignore[misc]
    return cases
