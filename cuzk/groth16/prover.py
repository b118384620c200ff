"""The order of the phases, and what happens when a proof does not verify."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import cached_property, partial

from cuzk.device.base import Array, Device
from cuzk.errors import ShapeError, UnsatisfiedError
from cuzk.groth16.assemble import assemble
from cuzk.groth16.b_g2 import BesideDevice, runs_beside
from cuzk.groth16.blinding import Blinding
from cuzk.groth16.commit import commit_hs, commit_witnesses
from cuzk.groth16.diagnosis import diagnose
from cuzk.groth16.disposal import Disposal
from cuzk.groth16.evaluate import evaluate, first_unsatisfied_row, make_witness
from cuzk.groth16.fold import folded_l_query, quotient_form
from cuzk.groth16.host_rows import HostRows, RowPool
from cuzk.groth16.job import Assignment, Committed, Job, Started, check_assignment, wipe
from cuzk.groth16.msm_choice import check_windows
from cuzk.groth16.query_sums import in_force
from cuzk.groth16.quotient import prepare_quotient, quotient
from cuzk.groth16.resident import ResidentKey, Rows
from cuzk.groth16.row_forms import check_compiled
from cuzk.groth16.verify import PreparedVerifyingKey
from cuzk.keys import ProvingKey
from cuzk.limbs import U64Array, fr_to_ints
from cuzk.pieces import CompiledCircuit
from cuzk.proof import Proof
from cuzk.relation import R1CS
from cuzk.telemetry import Recorder, Span
from cuzk.variants import chosen, resolve
from cuzk.witness import Hints

__all__ = ["Prover"]


class Prover:
    """A proving key loaded on a device, ready to prove.

    Safe to call from several threads: proofs queue up for the device.  A prover does not survive ``fork``; the
    child gets a DeviceError and opens its own.

    Args:
        key: The proving key; its points are taken as checked (``cuzk key check``, or the loader's curve check).
        device: Where to prove.
        variants: Variant id -> value; the rest stay at their defaults.
        recorder: Where phases are booked; a fresh one by default.
        circuit: The circuit, where at hand: with it an unsatisfied witness is reported with its row even for
            keys that lack matrix C. A compiled one makes witnesses of hints, and its pieces stand for the key's
            matrices unless P5 says otherwise.

    Raises:
        InputError: Unknown variant or value; a circuit that is not the key's.
        OutOfMemoryError: The key does not fit the device.
    """

    def __init__(
        self,
        key: ProvingKey,
        device: Device,
        *,
        variants: Mapping[str, str] | None = None,
        recorder: Recorder | None = None,
        circuit: R1CS | CompiledCircuit | None = None,
    ) -> None:
        self._compiled = circuit if isinstance(circuit, CompiledCircuit) else None
        if isinstance(circuit, R1CS):
            key = key.with_circuit(circuit)
        self.key = key
        self.device = device
        self.variants = self._settings(variants or {})
        check_windows(self.variants, device.limits)
        self._form = quotient_form(key, self.variants["Q1"])
        self._recorder = (recorder or Recorder()).scoped(
            device=device.name.partition(" ")[0], build_key=device.build_key, variants=self.variants,
            counters=device.counters, sync=self._settle,
        )  # fmt: skip
        self._nothing = device.alloc((0,))
        self._lock = threading.Lock()
        with self._recorder.phase("key_load") as span:
            folded = folded_l_query(device, key) if self._form == "four_ntt" else None
            self._resident = ResidentKey.upload(
                device, key, self._asked_circuits or 1, folded_l=folded,
                compiled=self._compiled, by_pieces=self.variants["P5"] == "template",
            )  # fmt: skip
            prepare_quotient(self._resident, self.variants["N1"])
            if self.variants["P5"] == "closures":
                _ = self._resident.tape
            left_out = [query.name for query in self._resident.queries.values() if query.places is not None]
            span.tag(streamed=",".join(self._resident.plan.streamed), infinite_left_out=",".join(left_out))
        self._row_pool = RowPool(device)
        self._disposal = Disposal(self.variants["B2"], device, self._recorder)
        # The curve without a pairing (the toy curve) has no verifier; its proofs are checked in the exponent.
        self._verifier = PreparedVerifyingKey.supports(key.curve)

    def _settings(self, variants: Mapping[str, str]) -> dict[str, str]:
        """Every variant's value; pieces, where there are any and the key's rows are in the circuit's order."""
        settings = chosen(variants, self.device.kind)
        if self._compiled is not None:
            check_compiled(self.key, self._compiled)
            if not self.key.is_renumbered:
                settings = {"P5": "template", **settings}
            elif settings.get("P5") == "template":
                raise ShapeError(
                    "the key's rows are not in the circuit's order, so its pieces cannot stand for them",
                    remedy="choose P5=pce, or make the key for this circuit again",
                )
        elif self.key.compiled is not None:
            raise self.key.compiled.no_matrices()
        return resolve(settings, self.device.kind)

    @property
    def _asked_circuits(self) -> int | None:
        """Most circuits at once, where C1 says so."""
        return int(self.variants["C1"]) if self.variants["C1"].isdigit() else None

    def _settle(self) -> None:
        """Wait for what is launched, and see what it says of bad data.

        Not for copies beside the launches, as device.synchronize() does: the next phase's bases may be on their way.
        """
        self.device.download(self._nothing)

    def public_inputs(self, hints: Hints) -> list[int]:
        """The public inputs, ONE not included, that a compiled circuit's programs make of hints."""
        check_assignment(self._resident, hints)
        with self._lock:
            w = make_witness(self._resident, hints, Recorder())
            return fr_to_ints(self.key.curve, self.device.download(w[1 : self.key.num_public + 1]))

    def prove(
        self, witness: Assignment, *, blinding: Blinding | None = None, self_check: bool = True
    ) -> Proof:
        """Prove one witness: prove_batch of one."""
        return self.prove_batch(
            [witness], blindings=None if blinding is None else [blinding], self_check=self_check
        )[0]

    def prove_batch(
        self,
        witnesses: Sequence[Assignment],
        *,
        blindings: Sequence[Blinding] | None = None,
        self_check: bool = True,
    ) -> list[Proof]:
        """Prove several witnesses of the key's circuit.

        Args:
            witnesses: One per proof; hints instead where the prover has the compiled circuit.
            blindings: One per proof; drawn from the operating system where None. Wiped after use.
            self_check: Verify each proof before it is returned. Without it an unsatisfied witness of a circuit
                whose matrix C is unknown gives a proof that does not verify.

        Returns:
            The proofs, in order.

        Raises:
            CurveMismatchError, ShapeError: A witness of another circuit; not one blinding per witness.
            UnsatisfiedError: A witness breaks a constraint; named with its values where matrix C is known.
            InputError: The key is damaged or not this circuit's.
            DeviceError: The device fails, or computed a wrong proof.
        """
        return self._prove(self._jobs(witnesses, blindings, self_check))

    def prove_with_public(
        self, witness: Assignment, *, blinding: Blinding | None = None, self_check: bool = True
    ) -> tuple[Proof, list[int]]:
        """As prove, and the public inputs, ONE not included: those of hints are known once the witness is made."""
        jobs = self._jobs([witness], None if blinding is None else [blinding], self_check)
        return self._prove(jobs)[0], list(jobs[0].public or [])

    def _prove(self, jobs: Sequence[Job]) -> list[Proof]:
        try:
            with self._lock, self._phase(len(jobs)) as span:
                committed = self._commit(jobs, span, assembled=True)
                return self._checked(committed)
        finally:
            wipe(jobs)

    def start(
        self,
        witnesses: Sequence[Assignment],
        *,
        blindings: Sequence[Blinding] | None = None,
        self_check: bool = True,
    ) -> Started:
        """The device's part of prove_batch, with its arguments and errors; finish() does the rest.

        So that one thread can assemble and verify proofs while another gives the device the next ones.
        """
        jobs = self._jobs(witnesses, blindings, self_check)
        try:
            with self._lock, self._phase(len(jobs)) as span:
                span.tag(P12="start")
                return Started(self, self._commit(jobs, span, assembled=False))
        except BaseException:
            wipe(jobs)
            raise

    def finish(self, started: Started) -> list[Proof]:
        """Assemble and verify what start() began, once; errors as of prove_batch."""
        committed = started.take(self)
        # A GPU's host works beside it, and so do threads of the cpu; the emulator runs one thing at a time.
        alone = self._lock if self.device.kind == "emu" else nullcontext()
        try:
            with alone, self._phase(len(committed)) as span:
                span.tag(P12="finish")
                self._assemble(committed)
                return self._checked(committed)
        finally:
            wipe([one.job for one in committed])

    def _phase(self, circuits: int) -> AbstractContextManager[Span]:
        tags = in_force(self.variants, "B2", "C1")
        return self._recorder.phase("prove", circuits=circuits, **tags)

    def _jobs(
        self, witnesses: Sequence[Assignment], blindings: Sequence[Blinding] | None, self_check: bool
    ) -> list[Job]:
        """The proofs to be, after the checks that need no device."""
        if blindings is not None and len(blindings) != len(witnesses):
            raise ShapeError(
                f"{len(blindings)} blindings for {len(witnesses)} witnesses", limit="one per witness"
            )
        for witness in witnesses:
            check_assignment(self._resident, witness)
        curve, checked = self.key.curve, self_check and self._verifier
        used = blindings if blindings is not None else [Blinding.random(curve) for _ in witnesses]
        return [Job(self, *job, checked) for job in zip(witnesses, used, strict=True)]

    def _commit(self, jobs: Sequence[Job], span: Span | None, *, assembled: bool) -> list[Committed]:
        """Run the phases, each over as many circuits as fit the device, or as C1 asks for, before the next."""
        at_once = min(self._resident.plan.circuits, self._asked_circuits or len(jobs) or 1)
        parts = [jobs[first : first + at_once] for first in range(0, len(jobs), at_once)]
        if span is not None:
            span.tag(calls=len(parts), circuits_a_call=at_once)
        return [one for part in parts for one in self._commit_together(part, span, assembled)]

    def _commit_together(self, jobs: Sequence[Job], span: Span | None, assembled: bool) -> list[Committed]:
        """Run the phases, each over all circuits before the next."""
        resident, recorder, stream = self._resident, self._recorder, self._resident.stream
        rows = HostRows(resident, self.variants, recorder, self._row_pool, len(jobs))
        with ExitStack() as undo:
            undo.callback(rows.abandon)
            rows.begin()
            with recorder.phase("synthesis"), self.device.label("synthesis"):
                ws = [job.witness_on_device(resident, recorder) for job in jobs]
                abcs = [evaluate(resident, w, recorder, self.variants) for w in ws]
                if stream is not None:
                    stream.begin()  # the first bases are on their way while rows are checked and transformed
                with recorder.phase("row_check"):
                    self._check_rows(abcs)
                    for i, job in enumerate(jobs):  # no name for a witness: the last reference is to be B2's
                        job.read_public(resident, ws[i])
                while abcs:
                    rows.keep(abcs.pop(0))
            rows.lock()
            beside = None
            if runs_beside(self.device, self.variants):
                values = [job.values(resident, w) for job, w in zip(jobs, ws, strict=True)]
                beside = BesideDevice(resident, self.variants, recorder, span, values)
                undo.callback(beside.close)
            with recorder.phase("ntt_msm_h"), self.device.label("ntt_msm_h"):
                sums_h = self._commit_h(jobs, rows)
            with self.device.label("commit"):
                sums = commit_witnesses(resident, ws, self.variants, recorder, beside)
            committed = [Committed(*one) for one in zip(jobs, sums, sums_h, strict=True)]
            if assembled:
                self._assemble(committed)
            left = rows.end() + ws
            ws = []
            self._disposal.dispose(left)
            return committed

    def _commit_h(self, jobs: Sequence[Job], rows: HostRows) -> list[U64Array]:
        """The sums over the H query: circuit by circuit, or in one pass over bases that are streamed."""
        resident, recorder = self._resident, self._recorder
        together = resident.queries["h"].bases is None
        hs: list[Array] = []
        sums: list[U64Array] = []
        for job in jobs:
            with recorder.phase("ntt_h", quotient=self._form, **in_force(self.variants, "B1", "N1", "Q1")):
                hs.append(quotient(resident, rows.take(), self.variants["N1"]))
            recorder.show(**{f"h_{'folded' if resident.is_folded else self.key.h_form}": hs[-1]})
            if not together:
                # Its memory is wanted by the next circuit, and by the lists of the next phase.
                h = [hs.pop()]
                sums += commit_hs(resident, h, self.variants, recorder, job.meanwhile, alive=len(jobs))
                h.clear()
        if together:
            sums = commit_hs(resident, hs, self.variants, recorder, partial(_meanwhile, jobs))
        return sums

    def _check_rows(self, abcs: Sequence[Rows]) -> None:
        """Raise UnsatisfiedError for the first row that does not hold, where matrix C is known."""
        for abc in abcs:
            row = first_unsatisfied_row(self._resident, abc)
            if row is not None:
                rows = [self.device.download(abc[i][row : row + 1]) for i in range(3)]
                a, b, c = (fr_to_ints(self.key.curve, one)[0] for one in rows)
                row = self.key.constraint_of_row(row)
                raise UnsatisfiedError(
                    f"the witness breaks constraint {row}: A w = {a}, B w = {b}, so C w must be "
                    f"{a * b % self.key.curve.r}, but it is {c}",
                    where=f"row {row}",
                    remedy="compute the witness again from correct inputs with this circuit's own program",
                )

    def _assemble(self, committed: Sequence[Committed]) -> None:
        with self._recorder.phase("proof_assembly"):
            for one in committed:
                job = one.job
                one.proof = assemble(self.device.host, self.key, one.sums, one.sum_h, job.blinding, job.terms)

    def _checked(self, committed: Sequence[Committed]) -> list[Proof]:
        """The proofs, verified where that was asked for."""
        if any(one.job.checked for one in committed):
            with self._recorder.phase("self_check"):
                for one in committed:
                    verdict = self._prepared.verify(one.job.statement, one.made)
                    if not verdict:
                        raise diagnose(
                            self.key, self.device.name, one.made, self._recomputed(one.job), verdict.reason,
                            rows_hold=self._resident.rows.has_c,
                        )  # fmt: skip
        return [one.made for one in committed]

    @cached_property
    def _prepared(self) -> PreparedVerifyingKey:
        """The key's verifier, made when the first proof is checked."""
        return PreparedVerifyingKey(self.key.verifying_key())

    def _recomputed(self, job: Job) -> Proof:
        """The same proof from the cpu device, phase by phase, without a self-check."""
        # With a recorder of its own: it is no phase of this proof.
        again = Prover(self.key, self.device.reference, circuit=self._compiled)
        return again._commit([Job(again, job.witness, job.blinding, False)], None, assembled=True)[0].made


def _meanwhile(jobs: Sequence[Job]) -> None:
    """What the host can do for all of some proofs."""
    for job in jobs:
        job.meanwhile()
