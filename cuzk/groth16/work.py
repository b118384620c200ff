"""How much work the phases of a set-up and of a proof are, before they run: what progress displays divide by.

The unit is one multiplication in Fr on a processor. The figures are proportions, good to some tens of percent, as
measured on the cpu device; what a unit takes is measured while a run goes on. They choose nothing and change nothing.
What one thread does while the others wait counts once for each worker, so that units stand for time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cuzk.csr import CsrMatrix, IntArray
from cuzk.curves import Curve, GroupSpec
from cuzk.device.base import Device
from cuzk.keys import HForm, ProvingKey
from cuzk.limbs import U64Array, fr_to_ints
from cuzk.pieces import CompiledCircuit, Opcode
from cuzk.powers_of_tau import PowersOfTau
from cuzk.relation import R1CS, domain_log2
from cuzk.witness import Witness

__all__ = ["num_workers", "powers_work", "prove_work", "setup_work"]

# Multiplications of the group's coordinates for one addition, in units of one product in Fp.
_MADD = {"g1": 11.0, "g2": 25.0}
#: Units an entry of a table of multiples, without its addition, in units of one product in Fp.
_NORMALISED = {"g1": 16.0, "g2": 36.0}
#: A point times a number of any size by halves, and checked for the subgroup and the curve, in units of one product
#: in Fp. A point times a number as column_terms does it takes twice as much as by halves.
_SCALED = {"g1": 1300.0, "g2": 3000.0}
_IN_SUBGROUP = {"g1": 1000.0, "g2": 2600.0}
_ON_CURVE = {"g1": 5.0, "g2": 13.0}
#: Units a matrix entry: a product, and a value from anywhere in memory; in set-up its transposition besides, which
#: one thread does.
_ENTRY, _TRANSPOSED = 4.0, 5.0
#: Units a butterfly, memory included.
_BUTTERFLY = 1.6
#: Units of the pairings that verify a proof.
_PAIRINGS = 1.5e5
#: Units a byte of a key that is hashed and written.
_WRITTEN = 0.12
#: Of so many values the share of zeros and ones is taken.
_SAMPLE = 1 << 14


#: Cores that a multiprocessor of a GPU is worth.
_CORES_A_MULTIPROCESSOR = 6


def num_workers(device: Device) -> int:
    """How many cores of a processor a device is worth."""
    each = _CORES_A_MULTIPROCESSOR if device.kind == "cuda" else 1
    return device.limits.num_sms * each


def _product(curve: Curve) -> float:
    """One product in Fp, in units."""
    return (curve.fp.limbs / curve.fr.limbs) ** 2


def _msm(n: float, group: GroupSpec) -> float:
    """A multi-scalar multiplication of n full-width scalars: windows as wide as log n allows."""
    if n < 1:
        return 0.0
    window = max(np.log2(n) - 4, 3.0)
    windows = group.curve.fr.bits / window
    return float(windows * (n + 2.0**window) * _MADD[group.name] * _product(group.curve))


def _multiples(n: float, group: GroupSpec) -> tuple[float, float]:
    """Units of a table of multiples for n scalars, and of each scalar: the table grows with n up to 16 bits."""
    window = min(max(round(np.log2(n)) - 4, 2), 16)
    windows, product = group.curve.fr.bits / window + 1, _product(group.curve)
    entry = (_MADD[group.name] + _NORMALISED[group.name]) * product
    return windows * 2.0 ** (window - 1) * entry, windows * _MADD[group.name] * product


def _key_bytes(num_variables: int, domain_size: int, curve: Curve, nnz: int) -> int:
    """About the size of a cuzk key."""
    g1, g2 = curve.g1.affine_bytes, curve.g2.affine_bytes
    return num_variables * (3 * g1 + g2) + domain_size * g1 + (5 * nnz + 24 * domain_size if nnz else 0)


def _entries(circuit: CompiledCircuit) -> int:
    """Entries of a compiled circuit's matrices."""
    return sum(len(p.instances) * sum(len(rows.var) for rows in p.rows) for p in circuit.pieces)


def setup_work(circuit: R1CS | CompiledCircuit, workers: int = 1) -> dict[str, float]:
    """Phase -> units, in the order of a set-up.

    Args:
        circuit: The circuit.
        workers: num_workers of the device.
    """
    curve, variables = circuit.curve, circuit.num_variables
    if isinstance(circuit, CompiledCircuit):
        n = 1 << domain_log2(circuit.num_rows, circuit.num_inputs - 1)
        nnz, written, transposed = _entries(circuit), 0, 0.0
    else:
        n = 1 << circuit.domain_log2
        nnz = written = sum(matrix.nnz for matrix in circuit.matrices.values())
        transposed = _TRANSPOSED * workers
    table_g1, g1 = _multiples(3 * variables + n, curve.g1)
    table_g2, g2 = _multiples(variables, curve.g2)
    return {
        "tau_columns": nnz * (_ENTRY + transposed) + 8.0 * n,
        "points_single": table_g1 + table_g2,
        "points_a": variables * g1,
        "points_l": variables * g1,
        "points_b_g1": variables * g1,
        "points_b_g2": variables * g2,
        "points_h": n * g1,
        "key_write": _key_bytes(variables, n, curve, written) * _WRITTEN * workers,
    }


def powers_work(r1cs: R1CS, powers: PowersOfTau, workers: int = 1) -> dict[str, float]:
    """Phase -> units, in the order of a set-up from powers of tau that are read.

    Args:
        r1cs: The circuit.
        powers: As they are in the file: in Lagrange form they need no transform.
        workers: num_workers of the device.
    """
    curve, n, variables = r1cs.curve, 1 << powers.log_n, r1cs.num_variables
    g1, g2, product = curve.g1, curve.g2, _product(curve)
    scaled = {name: units * product for name, units in _SCALED.items()}
    a, b, c = (
        (matrix.nnz * 2 * _MADD["g1"] * product + 2 * scaled["g1"] * _num_scaled(matrix), matrix)
        for matrix in r1cs.with_binding_rows()
    )
    in_g2 = b[1].nnz * 2 * _MADD["g2"] * product + 2 * scaled["g2"] * _num_scaled(b[1])
    counts = {
        group: sum(p.nbytes for _, g, p in powers.points() if g is group) // group.affine_bytes
        for group in (g1, g2)
    }
    check = sum(
        count * (_ON_CURVE[group.name] + (_IN_SUBGROUP[group.name] if group.cofactor > 1 else 0.0)) * product
        for group, count in counts.items()
    )
    transform = 0.0 if powers.is_lagrange else n * (0.45 * (powers.log_n - 1) + 1)
    nnz = sum(matrix.nnz for matrix in r1cs.matrices.values())
    return {
        "powers_check": check,
        "powers_lagrange": transform * (3 * scaled["g1"] + scaled["g2"]),
        "points_single": scaled["g1"] + scaled["g2"],
        "points_l": a[0] + b[0] + c[0] + (variables - r1cs.num_public) * scaled["g1"],
        "points_a": a[0],
        "points_b_g1": b[0],
        "points_b_g2": in_g2,
        "points_h": n * scaled["g1"] * (1 if powers.is_lagrange else 2),
        "key_write": _key_bytes(variables, n, curve, nnz) * _WRITTEN * workers,
    }


def _num_scaled(matrix: CsrMatrix) -> int:
    """Entries of a matrix that are neither 1 nor -1."""
    values = fr_to_ints(matrix.curve, matrix.dictionary)
    other = np.array([value not in (1, matrix.curve.r - 1) for value in values], dtype=bool)
    return int(other[matrix.coeff].sum()) if len(values) else 0


def prove_work(
    key: ProvingKey, witness: Witness | CompiledCircuit, workers: int = 1, *, self_check: bool = True
) -> dict[str, float]:
    """Phase -> units, in the order of a proof whose key and witness are loaded.

    Args:
        key: The key.
        witness: A sample of its values says how many scalars are 0, 1, or neither. Of a circuit whose programs make
            the witness, bits are taken to be one half of the time.
        workers: num_workers of the device.
        self_check: Whether the proof is verified.
    """
    curve, n, variables = key.curve, key.domain_size, key.num_variables
    g1, g2 = curve.g1, curve.g2
    nnz = key.compiled.num_entries if key.compiled else sum(matrix.nnz for matrix in key.matrices.values())
    sample = np.arange(0, variables, max(1, variables // _SAMPLE))
    if isinstance(witness, CompiledCircuit):
        bits = _is_bit(witness, len(sample))
        is_small, is_one = bits, bits & (np.arange(len(sample)) % 2 == 0)
    else:
        values = witness.values[sample]
        is_small = ~values[:, 1:].any(axis=1) & (values[:, 0] <= 1)
        is_one = is_small & (values[:, 0] == 1)
    share = variables / len(sample)
    in_query = {"l": np.ones(len(sample), bool), "a": _is_used(key.a_query, sample)}
    in_query["b"] = (
        _is_used(key.b_g1_query, sample) if key.b_places is None else _are_among(key.b_places, sample)
    )
    ones = {name: float((is_one & used).sum()) * share for name, used in in_query.items()}
    rest = {name: float((~is_small & used).sum()) * share for name, used in in_query.items()}
    transforms = 6 if key.h_form == _ODD else 7
    one_g1, one_g2 = (0.7 * _MADD[name] * _product(curve) for name in ("g1", "g2"))
    return {
        "synthesis": nnz * _ENTRY + 2.0 * variables,
        "ntt_h": transforms * n / 2 * key.log_domain * _BUTTERFLY,
        "msm_h": _msm(n, g1),
        "prep_msm": 2.0 * variables,
        "batch_add": (ones["l"] + ones["a"] + ones["b"]) * one_g1 + ones["b"] * one_g2,
        "tail_msm": sum(_msm(rest[name], g1) for name in ("l", "a", "b")),
        "b_g2_msm": _msm(rest["b"], g2),
        "proof_assembly": 0.3 * _PAIRINGS * workers,
        "self_check": _PAIRINGS * workers if self_check else 0.0,
    }


def _is_bit(circuit: CompiledCircuit, count: int) -> NDArray[np.bool_]:
    """So many booleans, of which as large a share is true as of a circuit's variables are bits, evenly spread."""
    bits = 0
    for piece in circuit.pieces:
        bundles = piece.program.bundles
        made = bundles[np.isin(bundles[:, 0], (Opcode.LOGIC, Opcode.SUM, Opcode.BITS)), 1].sum()
        bits += int(made) * len(piece.instances)
    share = min(1.0, bits / circuit.num_variables)
    steps: NDArray[np.float64] = np.floor(np.arange(count + 1) * share)
    return steps[1:] > steps[:-1]


_ODD: HForm = "odd_lagrange"


def _is_used(query: U64Array, sample: IntArray) -> NDArray[np.bool_]:
    """Which of some variables stand in a matrix: those whose base is not infinity."""
    used: NDArray[np.bool_] = (query[sample].reshape(len(sample), -1) != 0).max(axis=1, initial=False)
    return used


def _are_among(places: IntArray, sample: IntArray) -> NDArray[np.bool_]:
    """Which numbers are among others that ascend."""
    if not len(places):
        return np.zeros(len(sample), np.bool_)
    found = np.minimum(np.searchsorted(places, sample.astype(places.dtype)), len(places) - 1)
    return np.equal(places[found], sample)
