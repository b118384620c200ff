"""The toy engine: Groth16 on the toy curve, where every discrete logarithm is in a table.

G1 and G2 of the toy curve have r = 61441 points, so the tables list all of them; the "pairing" is
e([x]G1, [y]G2) = x y mod r. It is no pairing of the curve but has the one property that a verifier uses, and
it makes every key element, every intermediate sum and every proof element readable as a number.
Idea: bellperson's DummyEngine.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from cuzk_oracles import curve
from cuzk_oracles.curve import C, Group
from cuzk_oracles.groth16 import G1Point, G2Point, Proof, ProvingKey, VerifyingKey
from cuzk_oracles.params import TOY


def _log_table(group: Group[C]) -> dict[tuple[C, C] | None, int]:
    table: dict[tuple[C, C] | None, int] = {}
    point: tuple[C, C] | None = None
    for log in range(group.r):
        table[point] = log
        point = curve.add(group, point, group.generator)
    if point is not None or len(table) != group.r:
        raise ValueError(f"the generator of {group.name} has not order {group.r}")
    return table


@cache
def _g1_table() -> dict[G1Point, int]:
    return _log_table(TOY.g1)


@cache
def _g2_table() -> dict[G2Point, int]:
    return _log_table(TOY.g2)


def log_g1(point: G1Point) -> int:
    """The discrete logarithm of a G1 point of the toy curve; KeyError for anything else."""
    return _g1_table()[point]


def log_g2(point: G2Point) -> int:
    """The discrete logarithm of a G2 point of the toy curve; KeyError for anything else."""
    return _g2_table()[point]


@cache
def g1_points() -> list[G1Point]:
    """All points of toy G1 by logarithm: [infinity, G, 2G, ...]."""
    return list(_g1_table())


@cache
def g2_points() -> list[G2Point]:
    """All points of toy G2 by logarithm."""
    return list(_g2_table())


def add_g1(left: G1Point, right: G1Point) -> G1Point:
    """P + Q by adding logarithms: no formula, so it checks every formula on every pair."""
    return g1_points()[(log_g1(left) + log_g1(right)) % TOY.r]


def add_g2(left: G2Point, right: G2Point) -> G2Point:
    """P + Q in G2 by adding logarithms."""
    return g2_points()[(log_g2(left) + log_g2(right)) % TOY.r]


def pairing(left: G1Point, right: G2Point) -> int:
    """e(P, Q) as an element of Z/r, written additively."""
    return log_g1(left) * log_g2(right) % TOY.r


@dataclass(frozen=True)
class KeyLogs:
    """Discrete logarithms of every element of a proving key."""

    alpha_g1: int
    beta_g1: int
    beta_g2: int
    gamma_g2: int
    delta_g1: int
    delta_g2: int
    ic: list[int]
    a_query: list[int]
    b_g1_query: list[int]
    b_g2_query: list[int]
    h_query: list[int]
    l_query: list[int]


def key_logs(key: ProvingKey) -> KeyLogs:
    """Read a whole key as numbers."""
    return KeyLogs(
        alpha_g1=log_g1(key.alpha_g1),
        beta_g1=log_g1(key.beta_g1),
        beta_g2=log_g2(key.beta_g2),
        gamma_g2=log_g2(key.gamma_g2),
        delta_g1=log_g1(key.delta_g1),
        delta_g2=log_g2(key.delta_g2),
        ic=[log_g1(point) for point in key.ic],
        a_query=[log_g1(point) for point in key.a_query],
        b_g1_query=[log_g1(point) for point in key.b_g1_query],
        b_g2_query=[log_g2(point) for point in key.b_g2_query],
        h_query=[log_g1(point) for point in key.h_query],
        l_query=[log_g1(point) for point in key.l_query],
    )


def proof_logs(proof: Proof) -> tuple[int, int, int]:
    """The three proof elements as numbers."""
    return log_g1(proof.a), log_g2(proof.b), log_g1(proof.c)


def verify(vk: VerifyingKey, public: Sequence[int], proof: Proof) -> bool:
    """e(A, B) = e(alpha, beta) + e(IC, gamma) + e(C, delta) as logs; public has no leading one."""
    if len(public) + 1 != len(vk.ic):
        raise ValueError(f"{len(public)} public inputs but the key has {len(vk.ic) - 1}")
    statement = sum(x * log_g1(point) for x, point in zip([1, *public], vk.ic, strict=True))
    right = pairing(vk.alpha_g1, vk.beta_g2) + pairing(proof.c, vk.delta_g2)
    right += statement * log_g2(vk.gamma_g2)
    return (pairing(proof.a, proof.b) - right) % TOY.r == 0
