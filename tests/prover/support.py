"""Circuits, keys and expectations that the prover's tests share."""

from __future__ import annotations

import functools
import warnings
from typing import Any

from cuzk_oracles import groth16 as oracle_groth16
from cuzk_oracles.params import BLS12_381, BN254, TOY, Params

from cuzk.curves import Curve
from cuzk.device import Device, get_device
from cuzk.errors import SecurityWarning
from cuzk.groth16 import Blinding, ToxicWaste
from cuzk.groth16.setup import setup
from cuzk.keys import HForm, ProvingKey
from cuzk.limbs import points_to_ints
from cuzk.proof import Proof
from tests.workloads import Workload, bit_circuit, mimc_merkle, random_r1cs

PARAMS: dict[str, Params] = {"bls12_381": BLS12_381, "bn254": BN254, "toy": TOY}
SEED = 20


@functools.cache
def device(spec: str, **options: Any) -> Device:
    """One device of each kind for the whole run."""
    return get_device(spec, **options)


@functools.cache
def workload(kind: str, curve: str, size: int, num_public: int = 1) -> Workload:
    """A circuit by name."""
    if kind == "random":
        return random_r1cs(curve, size, num_public=num_public, seed=size + num_public)
    if kind == "bits":
        return bit_circuit(curve, size, num_public=num_public)
    return mimc_merkle(curve, max_constraints=size)


def waste(curve: Curve) -> ToxicWaste:
    """The secrets of every key made here."""
    return ToxicWaste.from_seed(curve, SEED)


def oracle_waste(curve: Curve) -> oracle_groth16.Toxic:
    """The same secrets as the oracle takes them."""
    secrets = waste(curve)
    return oracle_groth16.Toxic(
        tau=secrets.tau, alpha=secrets.alpha, beta=secrets.beta, delta=secrets.delta, gamma=secrets.gamma
    )


@functools.cache
def key(
    load: Workload, h_form: HForm = "odd_lagrange", roots: str = "snarkjs", spec: str = "cpu"
) -> ProvingKey:
    """A key with known secrets."""
    return setup(
        load.r1cs,
        device(spec),
        toxic_waste=waste(load.curve),
        h_form=h_form,
        root_convention=roots,  # type: ignore[arg-type]
    )


def blinding(curve: Curve, r: int = 7, s: int = 11) -> Blinding:
    """Given blinding, without the warning that users get."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)
        return Blinding.insecure(curve, r % curve.r, s % curve.r)


def as_oracle(proof: Proof) -> oracle_groth16.Proof:
    """A proof as plain ints."""
    a, b, c = proof.to_ints()
    return oracle_groth16.Proof(a, b, c)


def ints(group: Any, array: Any) -> list[Any]:
    """Points of any number as plain ints."""
    return points_to_ints(group, array.reshape(-1, *group.affine_shape))
