"""The whole prover: random circuits with known secrets, every proof element against the trapdoor oracle."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from cuzk_oracles import groth16 as oracle
from cuzk_oracles import params, qap, samples, trapdoor

from cuzk.csr import CsrMatrix, csr_from_indexed
from cuzk.curves import Curve, GroupSpec, get_curve
from cuzk.device import Device
from cuzk.errors import SecurityWarning
from cuzk.groth16 import Blinding, Prover, ToxicWaste, setup
from cuzk.limbs import fr_from_ints, points_from_ints
from cuzk.relation import R1CS
from cuzk.witness import Witness
from cuzk_fuzz.batch import Batch, Rows, Scope
from cuzk_fuzz.choices import Choices
from cuzk_fuzz.classes import row_ids, scalar_groups, scalar_hits, single_hits
from cuzk_fuzz.settings import Settings, chosen, draw_settings, setting_id
from cuzk_fuzz.subjects import CURVES

HForm = Literal["monomial", "odd_lagrange"]

_WINDOW = 8  # of class K, from which blinding and secrets are drawn


@dataclass(frozen=True, eq=False)
class ProofBatch(Batch):
    """One circuit, one key, one proof; the row of answers is A, B and C.

    Attributes:
        subject: The curve.
        seed: Of the random circuit, and of the set-up.
        shape: Constraints, public variables, other variables.
        h_form: Form of the H bases.
        roots: Whose roots of unity.
        blinding: r and s.
        settings: (variant, value) of the optimisation variants.
        circuits: Proofs in the batch, all of one witness, with the blinding's halves in turn.
    """

    target: ClassVar[str] = "groth16"
    subject: str
    seed: int
    shape: tuple[int, int, int]
    h_form: HForm
    roots: Literal["snarkjs", "bellman"]
    blinding: tuple[int, int]
    settings: Settings = ()
    circuits: int = 1
    op: str = "prove"

    @classmethod
    def decode(cls, choices: Choices, scope: Scope) -> Self:
        """A circuit of up to a few dozen rows; mostly over the toy curve."""
        names = [n for n in CURVES if f"msm_accumulate_{n}_g2" in scope.kernels]
        toy = [n for n in names if n == "toy"]
        mostly_toy = toy and not choices.one_in(16 if scope.small else 5)
        curve = get_curve(choices.pick(toy if mostly_toy else names))
        most = 20 if scope.small else 60
        shape = choices.below(most), choices.pick((0, 1, 2, 5)), choices.between(1, most // 2)
        singles = scalar_groups(curve.r, _WINDOW)
        h_form: HForm = choices.pick(("monomial", "odd_lagrange"))
        roots: Literal["snarkjs", "bellman"] = choices.pick(("snarkjs", "bellman"))
        blinding = choices.pick_class(singles), choices.pick_class(singles)
        settings = draw_settings(choices, scope.device, heavy=scope.heavy) if curve.name == "toy" else ()
        circuits, h_form = choices.pick((1, 1, 2, 3)), h_form_for(settings, h_form)
        return cls(curve.name, choices.below(1 << 32), shape, h_form, roots, blinding, settings, circuits)

    @property
    def curve(self) -> Curve:
        """The curve."""
        return get_curve(self.subject)

    @property
    def num_cases(self) -> int:
        """One."""
        return 1

    @property
    def words_per_element(self) -> int:
        """A base field element."""
        return self.curve.fp.limbs

    def _system(self) -> tuple[qap.R1CS, list[int]]:
        return samples.random_r1cs(self.seed, self.curve.r, *self.shape)

    def _secrets(self) -> oracle.Toxic:
        """Secrets of a set-up that does not refuse them: tau outside the domain, which a toy field cannot ignore."""
        r, seed = self.curve.r, self.seed
        # Bases at the odd points lie in the double domain.
        n = 2 << (self.shape[0] + self.shape[1]).bit_length()
        while pow((secrets := samples.random_secret(seed, r, 5))[0], n, r) == 1:
            seed += 1
        return oracle.Toxic(*secrets)

    def answers(self, device: Device) -> Rows:
        """Set-up and proof on the device."""
        curve, secrets = self.curve, self._secrets()
        system, w = self._system()
        a, b, c = (_matrix(curve, system.num_variables, rows) for rows in (system.a, system.b, system.c))
        r1cs = R1CS(curve, system.num_variables, system.num_public, a, b, c)
        waste = ToxicWaste(secrets.tau, secrets.alpha, secrets.beta, secrets.gamma, secrets.delta)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SecurityWarning)
            key = setup(r1cs, device, toxic_waste=waste, h_form=self.h_form, root_convention=self.roots)
            blindings = [Blinding.insecure(curve, *pair) for pair in self._blindings()]
        witness = Witness.from_ints(curve, w)
        prover = Prover(
            key, device, variants=dict(self.settings), circuit=r1cs if self._needs_circuit else None
        )
        proofs = prover.prove_batch([witness] * self.circuits, blindings=blindings, self_check=False)
        return np.concatenate([_row(curve, proof.to_ints()) for proof in proofs], axis=1)

    def _blindings(self) -> list[tuple[int, int]]:
        r, s = self.blinding
        return [(r, s), (s, r), (r, r)][: self.circuits]

    @property
    def _needs_circuit(self) -> bool:
        """Synthesis by other means than the key's matrices works on the circuit."""
        chosen = dict(self.settings)
        return chosen.get("P5", "pce") != "pce" or chosen.get("Q1") == "four_ntt"

    def expected(self) -> Rows:
        """From the secrets, without key, transform or sum."""
        system, w = self._system()
        rows = []
        for pair in self._blindings():
            proof = trapdoor.expected_proof(
                params.get_params(self.subject), system, self._secrets(), w, *pair, self.roots
            )
            rows.append(_row(self.curve, (proof.a, proof.b, proof.c)))
        return np.concatenate(rows, axis=1)

    def classes(self) -> Counter[str]:
        """Ids of the circuit's rows, and of the blinding and the witness."""
        r = self.curve.r
        system, w = self._system()
        hits: Counter[str] = Counter()
        for row in (*system.a, *system.b, *system.c):
            hits.update(row_ids(row, min(system.num_variables, 24), r))
        hits += scalar_hits(w, r, _WINDOW)
        hits.update(setting_id(*setting) for setting in self.settings)
        return +(hits + single_hits(self.blinding, r, _WINDOW))

    def keep(self, indices: Sequence[int]) -> Self:  # noqa: ARG002 - there is only one
        """Itself."""
        return self

    @property
    def size(self) -> tuple[int, ...]:
        """Rows and variables, then bits of the blinding, then settings."""
        return sum(self.shape), sum(v.bit_count() for v in self.blinding), len(self.settings), self.circuits

    @property
    def variant(self) -> str:
        """As buckets name it."""
        return ",".join(f"{name}={value}" for name, value in chosen(self.settings, "cpu"))

    def divergence(self, element: int) -> str:
        """Which element of the proof."""
        degree = self.curve.fp.limbs
        a, b = self.curve.g1.affine_bytes // 8 // degree, self.curve.g2.affine_bytes // 8 // degree
        element %= 2 * a + b
        return "A" if element < a else "B" if element < a + b else "C"

    def smaller(self) -> Iterator[Self]:
        """Other circuits with fewer rows and variables; plain blinding."""
        rows, public, private = self.shape
        shapes = [(rows // 2, public, private), (rows - 1, public, private), (rows, 0, private + public)]
        shapes += [(rows, public, private // 2), (rows, public, private - 1), (rows, public - 1, private)]
        for shape in shapes:
            if min(shape) >= 0 and shape[1] + shape[2] >= 1:
                yield replace(self, shape=shape)
        for blinding in ((0, 0), (0, self.blinding[1]), (self.blinding[0], 0), (1, 0), (0, 1)):
            yield replace(self, blinding=blinding)
        if self.circuits > 1:
            yield replace(self, circuits=1)
        for i in range(len(self.settings)):
            yield replace(self, settings=(*self.settings[:i], *self.settings[i + 1 :]))

    def to_json(self) -> dict[str, Any]:
        """The circuit by its seed and shape, as `cuzk_oracles.samples` makes it."""
        return {
            "target": self.target, "subject": self.subject, "op": self.op,
            "h_form": self.h_form, "roots": self.roots, "variants": dict(self.settings),
            "circuits": self.circuits,
            "inputs": {
                "seed": self.seed, "constraints": self.shape[0], "public": self.shape[1],
                "private": self.shape[2], "blinding": [hex(v) for v in self.blinding],
            },
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of to_json."""
        x = data["inputs"]
        r_blind, s_blind = (int(v, 16) for v in x["blinding"])
        shape = (x["constraints"], x["public"], x["private"])
        settings = tuple(data.get("variants", {}).items())
        return cls(
            data["subject"], x["seed"], shape, data["h_form"], data["roots"], (r_blind, s_blind), settings,
            data.get("circuits", 1),  # findings from before there were batches lack them
        )  # fmt: skip


def h_form_for(settings: Settings, usual: HForm) -> HForm:
    """The form of the H bases that a setting of the quotient needs; the usual one where it takes any."""
    needed: dict[str, HForm] = {
        "seven_ntt": "monomial", "six_ntt": "odd_lagrange", "four_ntt": "odd_lagrange",
    }  # fmt: skip
    return needed.get(dict(settings).get("Q1", ""), usual)


def _matrix(curve: Curve, num_columns: int, rows: list[list[tuple[int, int]]]) -> CsrMatrix:
    entries = [(i, column, value) for i, row in enumerate(rows) for column, value in row]
    index = np.arange(len(entries))
    return csr_from_indexed(
        curve, (len(rows), num_columns), np.array([e[0] for e in entries], np.int64),
        np.array([e[1] for e in entries], np.uint32), index, fr_from_ints(curve, [e[2] for e in entries]),
    )  # fmt: skip


def _row(curve: Curve, proof: Any) -> Rows:
    groups: tuple[GroupSpec, ...] = (curve.g1, curve.g2, curve.g1)
    flat = [points_from_ints(group, [point]).reshape(-1) for group, point in zip(groups, proof, strict=True)]
    return np.concatenate(flat).reshape(1, -1)
