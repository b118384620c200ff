""".ptau files from known secrets, laid out as snarkjs does."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from cuzk_oracles import ntt as oracle

from cuzk.curves import Curve, GroupSpec
from cuzk.device import get_device
from cuzk.limbs import fr_from_ints
from cuzk.ops.fixed_base import fixed_base_mul
from tests.formats.builders import Sections, container, le


class Secrets(NamedTuple):
    """What a ceremony's participants forget."""

    tau: int
    alpha: int
    beta: int


def multiples(group: GroupSpec, exponents: list[int]) -> bytes:
    """Multiples of the generator as the file has them: our own memory form."""
    cpu = get_device("cpu")
    scalars = cpu.upload(fr_from_ints(group.curve, exponents))
    return np.asarray(cpu.download(fixed_base_mul(cpu, group, scalars))).tobytes()


def ptau_sections(curve: Curve, power: int, secrets: Secrets, *, prepared: bool) -> Sections:
    """The sections of a file, in snarkjs's order."""
    r, n, g1, g2 = curve.r, 1 << power, curve.g1, curve.g2
    tau = oracle.powers(secrets.tau, 2 * n - 1, r)
    header = le(curve.fp.nbytes, 4) + le(curve.p, curve.fp.nbytes) + le(power, 4) + le(power, 4)

    def scaled(factor: int, values: list[int]) -> list[int]:
        return [factor * value % r for value in values]

    sections = [
        (1, header),
        (2, multiples(g1, tau)),
        (3, multiples(g2, tau[:n])),
        (4, multiples(g1, scaled(secrets.alpha, tau[:n]))),
        (5, multiples(g1, scaled(secrets.beta, tau[:n]))),
        (6, multiples(g2, [secrets.beta])),
        (7, le(0, 4)),
    ]
    if not prepared:
        return sections

    def lagrange(count: int) -> list[int]:
        """The interpolation of the powers that are in the file: the last one of the largest block is not."""
        present = [*tau[:count], *[0] * (count - len(tau))]
        return oracle.ifft(present, curve.root_of_unity(count.bit_length() - 1, "snarkjs"), r)

    small = [value for k in range(power + 1) for value in lagrange(1 << k)]
    return [
        *sections,
        (12, multiples(g1, [*small, *lagrange(2 * n)])),
        (13, multiples(g2, small)),
        (14, multiples(g1, scaled(secrets.alpha, small))),
        (15, multiples(g1, scaled(secrets.beta, small))),
    ]


def ptau_bytes(curve: Curve, power: int, secrets: Secrets, *, prepared: bool) -> bytes:
    """The bytes of a file."""
    return container(b"ptau", 1, ptau_sections(curve, power, secrets, prepared=prepared))
