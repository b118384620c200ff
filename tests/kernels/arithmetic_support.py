"""What the tests of the arithmetic kernels share: opcodes, operands as they lie in memory, launches."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from cuzk_oracles import edge_values

from cuzk.curves import FIELDS, FieldSpec
from cuzk.device import Device
from cuzk.limbs import ints_to_limbs, limbs_to_ints

U64 = npt.NDArray[np.uint64]

#: FieldOpcode, WordOpcode and PointOpcode of the kernel headers.
FIELD_OPS = (
    *("add", "sub", "neg", "dbl", "mul", "sqr", "inverse", "to_mont", "from_mont", "cneg", "mul_add2"),
    *("is_reduced", "equal"),
)
WORD_OPS = (
    *("add_cc", "addc_cc", "addc", "sub_cc", "subc_cc", "subc"),
    *("mad_lo_cc", "madc_lo_cc", "madc_hi_cc", "madc_hi"),
)
POINT_OPS = ("add", "madd", "dbl", "dbl_affine", "neg", "to_affine", "from_affine", "same", "on_curve")

FULL_FIELDS = tuple(name for name, spec in FIELDS.items() if spec.word_bits == 64)
TINY_FIELDS = tuple(name for name, spec in FIELDS.items() if spec.word_bits != 64)
#: Fields whose quadratic extension by i^2 = -1 has kernels; tiny ones need not be fields for ring operations.
FULL_FP2_FIELDS = ("bls12_381_fp", "bn254_fp", "toy_fp")
TINY_FP2_FIELDS = ("tiny_4093", "tiny_65521")


@functools.cache
def raw_edges(name: str) -> tuple[int, ...]:
    """Class F as numbers in memory, both forms, without repetitions."""
    spec = FIELDS[name]
    p = spec.modulus
    if name in TINY_FIELDS:  # the class is named for 64-bit limbs; here every value is near an edge
        near = {
            *range(4),
            *range(p - 4, p),
            *(v % p for k in range(17) for v in (1 << k, (1 << k) - 1, p - (1 << k))),
        }
        return tuple(sorted(near))
    values = [value for _, value in edge_values.field_values(p, spec.limbs)]
    return tuple(dict.fromkeys(spec.to_mont(value) for value in values))


def raw_operands(name: str, count: int, rng: random.Random) -> list[tuple[int, int, int, int]]:
    """Quadruples below the modulus: class F pairs, edges against edges, edges against uniform, uniform."""
    spec = FIELDS[name]
    p, edges = spec.modulus, raw_edges(name)
    pairs: list[tuple[int, int]] = []
    if name not in TINY_FIELDS:
        named = edge_values.field_pairs(p, spec.limbs)
        pairs += [(spec.to_mont(x), spec.to_mont(y)) for _, (x, y) in named]
    pairs += [(x, y) for x in edges for y in (x, -x % p, 0, 1 % p, p - 1)]
    while len(pairs) < count:
        x, u = rng.choice(edges), rng.randrange(p)
        pairs += [(x, rng.choice(edges)), (x, u), (u, x), (u, rng.randrange(p))]
    return [(x, y, rng.choice(edges), rng.choice((x, y, p - 1, rng.randrange(p)))) for x, y in pairs]


def memory(values: Sequence[int], spec: FieldSpec) -> U64:
    """Numbers as the kernels store them. Shape (n, limbs) uint64."""
    return ints_to_limbs(values, spec.limbs)


def launch(device: Device, kernel: str, op: int, n: int, **arrays: Any) -> None:
    """Launch an elementwise kernel over n elements: several blocks, the last one partly idle."""
    block = min(32, device.limits.max_threads)
    device.launch(kernel, grid=3 if n else 0, block=block, op=op, n=n, **arrays)


def run_field_op(
    device: Device,
    kernel: str,
    op: str,
    operands: Sequence[Sequence[int]],
    spec: FieldSpec,
    per_element: int = 1,
) -> list[int]:
    """Results of field_op (or fp2_op, with two numbers an element) on columns a, b, c, d."""
    columns = [device.upload(memory(column, spec)) for column in operands]
    n = len(operands[0]) // per_element
    out = device.alloc((len(operands[0]), spec.limbs))
    a, b, c, d = columns
    launch(device, kernel, FIELD_OPS.index(op), n, a=a, b=b, c=c, d=d, dst=out)
    return limbs_to_ints(device.download(out))
