"""The size classes that batches of the fuzzer leave out, 2^20 + 1 elements and more than 2 GiB, under exact oracles.

python -m tests.device.large [--device cuda] [--sizes S.2^20+1,S.2GiB] [--targets vec,msm] [--elements N] [--json OUT]

A vector or a matrix repeats a tile of edge values whose results plain ints give; sums have bases of known logarithms;
a transform is compared at one point.  --elements puts a small number in the place of both sizes, for host devices.
Exit code 1 if an answer is wrong or a device fails.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from cuzk_oracles import edge_values, params, vec
from cuzk_oracles import ntt as ntt_oracle

from cuzk.csr import CsrMatrix
from cuzk.curves import Curve, get_curve
from cuzk.device import Device, get_device
from cuzk.errors import CuzkError
from cuzk.limbs import fr_from_ints, fr_to_ints, points_to_ints
from cuzk.ops import fr_vec
from cuzk.ops.batch_add import batch_add
from cuzk.ops.classify import classify
from cuzk.ops.domain import Domain
from cuzk.ops.msm import msm
from cuzk.ops.ntt import ntt
from cuzk.ops.spmv import DeviceMatrix, spmv
from tests.device import exact, gpu
from tests.device.results import Results, tree_digest

SIZES = ("S.2^20+1", "S.2GiB")
#: Rows of a tile: a prime, so that a tile ends nowhere near a block, a warp or a page.
_TILE = 251

#: (what was checked, whether the answer is right).
Checks = Iterator[tuple[str, bool]]


def elements(edge_id: str, element_bytes: int) -> int:
    """How many elements of so many bytes a size class means."""
    return {"S.2^20+1": (1 << 20) + 1, "S.2GiB": (1 << 31) // element_bytes + 1}[edge_id]


def tile(curve: Curve, seed: int) -> list[int]:
    """Edge values of the scalar field, a zero and a one among them. Form: standard."""
    values = [value for _, value in edge_values.scalars(curve.r, 8)]
    rng = np.random.default_rng(seed)
    return [0, 1, curve.r - 1, *(values[i] % curve.r for i in rng.integers(0, len(values), _TILE - 3))]


def repeats(got: np.ndarray, want: np.ndarray) -> bool:
    """Whether an array is a tile again and again, the last time perhaps in part. Shape (n, ...) and (tile, ...)."""
    whole = len(got) - len(got) % len(want)
    blocks = got[:whole].reshape(-1, *want.shape)
    return all(
        bool((part == want).all()) for part in np.array_split(blocks, 1 + len(blocks) // 4096)
    ) and bool((got[whole:] == want[: len(got) - whole]).all())


def vectors(device: Device, curve: Curve, n: int) -> Checks:
    """Every elementwise operation, inversion and classification."""
    r, (a, b, c) = curve.r, (tile(curve, seed) for seed in range(3))
    x, y, z = (device.upload(np.resize(fr_from_ints(curve, one), (n, curve.fr.limbs))) for one in (a, b, c))
    cases: dict[str, tuple[Callable[[], Any], list[int]]] = {
        "fr_add": (lambda: fr_vec.fr_add(device, curve, x, y), vec.vec_add(a, b, r)),
        "fr_sub": (lambda: fr_vec.fr_sub(device, curve, x, y), vec.vec_sub(a, b, r)),
        "fr_mul": (lambda: fr_vec.fr_mul(device, curve, x, y), vec.vec_mul(a, b, r)),
        "fr_mul_sub": (
            lambda: fr_vec.fr_mul_sub(device, curve, x, y, z, factor=7),
            vec.vec_scale(vec.vec_mul_sub(a, b, c, r), 7, r),
        ),
        "fr_scale": (lambda: fr_vec.fr_scale(device, curve, x, 5), vec.vec_scale(a, 5, r)),
        "batch_inverse": (
            lambda: fr_vec.batch_inverse(device, curve, x),
            [pow(v, -1, r) if v else 0 for v in a],
        ),
    }
    for name, (run, want) in cases.items():
        yield name, repeats(np.asarray(device.download(run())), fr_from_ints(curve, want))
    found, places = classify(device, curve, x), np.arange(n, dtype=np.int64)
    kinds = np.resize(np.array([min(v, 2) for v in a]), n)
    right = found.num_zeros == int((kinds == 0).sum())
    for kind, got in ((1, found.ones), (2, found.others)):
        right = right and np.array_equal(device.download(got), places[kinds == kind])
    yield "classify", right


def matrices(device: Device, curve: Curve, n: int) -> Checks:
    """Rows of three entries: two of a vector that repeats, one of its first element."""
    r, w, coefficients = curve.r, tile(curve, 3), sorted({1, 3, curve.r - 1, curve.r // 2})
    lead = np.arange(n, dtype=np.int64)
    columns = np.stack([np.zeros(n, np.int64), 1 + lead % _TILE, 1 + _TILE + lead], axis=1)
    codes = np.stack([lead % _TILE % 4, (lead % _TILE + 1) % 4, lead % _TILE % 3], axis=1)
    values = fr_from_ints(curve, coefficients)
    matrix = CsrMatrix(
        curve,
        1 + _TILE + n,
        np.arange(0, 3 * n + 1, 3, dtype=np.int64),
        columns.reshape(-1).astype(np.uint32),
        codes.reshape(-1).astype(np.uint8),
        values,
    )
    given = np.concatenate(
        [fr_from_ints(curve, [9, *w]), np.resize(fr_from_ints(curve, w), (n, curve.fr.limbs))]
    )
    out = spmv(device, curve, DeviceMatrix.upload(device, matrix), device.upload(given))
    k = coefficients
    want = [(9 * k[i % 4] + w[i] * k[(i + 1) % 4] + w[i] * k[i % 3]) % r for i in range(_TILE)]
    yield "spmv", repeats(np.asarray(device.download(out)), fr_from_ints(curve, want))


def transforms(device: Device, curve: Curve, n: int) -> Checks:
    """The shortest transform of at least n elements, and back, at one point and bit for bit."""
    domain = Domain(curve, max(1, (n - 1).bit_length()), "bellman")
    size, z, r = 1 << domain.log_n, 0x1234567 % curve.r, curve.r
    numbers = exact.scalars_of(curve, "sparse", size, 4)
    there = ntt(device, domain, device.upload(numbers.copy()), coset=curve.coset_shift("bellman"))
    back = ntt(device, domain, there, inverse=True, coset=curve.coset_shift("bellman"))
    yield "round trip on a coset", np.array_equal(device.download(back), numbers)
    omega = params.root_of_unity(params.get_params(curve.name), domain.log_n, domain.convention)
    plain = np.asarray(device.download(ntt(device, domain, device.upload(numbers.copy()))))
    for k in (size // 2 + 1, size - 1):  # by the definition: the polynomial's value at a power of omega
        want = exact.evaluate(numbers, pow(omega, k, r), r) * curve.fr.mont_r_inv % r
        yield f"value {k}", fr_to_ints(curve, plain[k : k + 1]) == [want]
    if size <= 1 << 12:
        values = ntt_oracle.barycentric(fr_to_ints(curve, plain), omega, z, r, 1)
        yield "at a point", values == exact.evaluate(numbers, z, r) * curve.fr.mont_r_inv % r


def sums(device: Device, curve: Curve, n: int, group: str, kind: str) -> Checks:
    """Multi-scalar multiplications, sums of bases, or multiples of the generator, by known logarithms."""
    spec = getattr(curve, group)
    known = exact.KnownBases(device, spec, "unrelated", n, 8)
    if kind == "batch_add":
        ones = np.broadcast_to(fr_from_ints(curve, [1]), known.logs.shape)
        yield (
            "batch_add",
            points_to_ints(spec, batch_add(device, spec, known.points))[0] == known.expected(ones),
        )
        return
    for scalars in ("awkward",) if kind == "fixed_base" else ("uniform", "sparse", "awkward"):
        given = exact.scalars_of(curve, scalars, n, 9)
        got = points_to_ints(spec, msm(device, spec, known.points, device.upload(given)))[0]
        yield f"{kind} {scalars}", got == known.expected(given)


def checks_of(target: str, device: Device, curve: Curve, edge_id: str, count: int | None) -> Checks:
    """The checks of a target at a size class."""
    point = curve.g1.affine_bytes
    # Digits and sort work on scalars; a sum of that many is the only way to run them as they are used.
    group_bytes = {"msm": point, "batch_add": point, "fixed_base": point}.get(target, curve.fr.nbytes)
    n = count or elements(edge_id, group_bytes)
    if target in ("msm", "batch_add", "fixed_base", "digits"):
        return sums(device, curve, n, "g1", target)
    return {"vec": vectors, "spmv": matrices, "ntt": transforms}[target](device, curve, n)


TARGETS = ("vec", "spmv", "ntt", "digits", "msm", "batch_add", "fixed_base")


def run(
    device: Device, targets: list[str], sizes: list[str], curve: Curve, count: int | None, results: Results
) -> bool:
    """All checks; a row each. True if every answer is right."""
    fine = True
    for edge_id in sizes:
        for target in targets:
            start = time.perf_counter()
            row: dict[str, Any] = {"target": target, "class": edge_id, "checks": {}, "error": None}
            try:
                row["checks"] = dict(checks_of(target, device, curve, edge_id, count))
            except (CuzkError, MemoryError, AssertionError) as error:
                row["error"] = f"{type(error).__name__}: {error}"
            row["agrees"] = bool(row["checks"]) and all(row["checks"].values()) and row["error"] is None
            row["seconds"] = round(time.perf_counter() - start, 2)
            results.add(row)
            fine = fine and row["agrees"]
            print(
                f"{target:11} {edge_id:9} {row['seconds']:7.2f} s  {row['error'] or row['checks']}",
                flush=True,
            )
    return fine


def main() -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--curve", default="bls12_381")
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--sizes", default=",".join(SIZES))
    parser.add_argument("--elements", type=int, help="instead of what the classes mean")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.device.startswith("cuda") and (reason := gpu.why_none()):
        print(f"large sizes skipped: {reason}")
        return 0
    device = get_device(options.device)
    results = Results(options.json, {"device": device.name, "curve": options.curve, "tree": tree_digest()})
    fine = run(
        device,
        options.targets.split(","),
        options.sizes.split(","),
        get_curve(options.curve),
        options.elements,
        results,
    )
    results.finish()
    return int(not fine)


if __name__ == "__main__":
    raise SystemExit(main())
