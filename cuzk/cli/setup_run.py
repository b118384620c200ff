"""One run of ``cuzk setup``: from a circuit that is read to both key files."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cuzk.cli.progress import Progress
    from cuzk.device import Device
    from cuzk.groth16 import ToxicWaste
    from cuzk.keys import ProvingKey, VerifyingKey
    from cuzk.pieces import CompiledCircuit
    from cuzk.powers_of_tau import PowersOfTau
    from cuzk.relation import R1CS
    from cuzk.telemetry import Recorder

__all__ = ["SetupRun", "circuit_rows"]


@dataclass
class SetupRun:
    """What a run is given.

    Args:
        circuit: Matrices; or pieces, whose key gets none and is written while it is made.
        name: What the circuit is called.
        device: Where to compute.
        waste: The secrets, where a seed gives them.
        roots: Whose roots of unity number the rows.
        progress: Told how much work lies ahead.
        recorder: Where phases are booked.
        key: File of the proving key.
        vkey: File of the verifying key. It does not appear either if the other can't be written.
        force: Whether files may be replaced.
    """

    circuit: R1CS | CompiledCircuit
    name: str
    device: Device
    waste: ToxicWaste | None
    roots: Any
    progress: Progress
    recorder: Recorder
    key: Path
    vkey: Path
    force: bool

    def make(self, ptau: Path | None) -> ProvingKey:
        """Make and write both keys; from the first phase of a ceremony where its file is given."""
        from cuzk.cli.loading import load_kernels
        from cuzk.groth16 import setup
        from cuzk.groth16.work import num_workers, setup_work
        from cuzk.pieces import CompiledCircuit

        self._check_room(from_powers=ptau is not None)
        load_kernels(self.device, self.circuit.curve, self.recorder)
        if self.progress.is_shown and ptau is None:
            self.progress.expect(setup_work(self.circuit, num_workers(self.device)))
        if isinstance(self.circuit, CompiledCircuit):
            return self._streamed(self.circuit)
        if ptau is not None:
            delta = None if self.waste is None else self.waste.delta
            made = self._from_powers(self.circuit, ptau, delta)
        else:
            made = setup(
                self.circuit, self.device, toxic_waste=self.waste, root_convention=self.roots,
                recorder=self.recorder,
            )  # fmt: skip
        with self.recorder.phase("key_write"):
            self._write(made)
        return made

    def _from_powers(self, r1cs: R1CS, ptau: Path, delta: int | None) -> ProvingKey:
        """The key from a file of the first phase, every point of which is checked."""
        from cuzk.cli.loading import require_curve
        from cuzk.formats import load_ptau
        from cuzk.groth16.phase2 import setup_from_powers
        from cuzk.groth16.work import num_workers, powers_work

        with self.recorder.phase("setup"):
            with self.recorder.phase("powers_load"):
                powers = load_ptau(ptau, r1cs.domain_log2, root_convention=self.roots)
            require_curve(powers.curve, r1cs.curve, ptau, "file with powers of tau")
            if self.progress.is_shown:
                self.progress.expect(powers_work(r1cs, powers, num_workers(self.device)))
            with self.recorder.phase("powers_check"):
                self._check_powers(powers, ptau)
            return setup_from_powers(
                r1cs, powers, self.device, delta=delta, root_convention=self.roots, recorder=self.recorder
            )

    def _check_powers(self, powers: PowersOfTau, ptau: Path) -> None:
        """Every point on the curve, which is quick, and in the subgroup, which is not."""
        from cuzk.cli.loading import curve_checker, subgroup_checker
        from cuzk.errors import NotInSubgroupError, NotOnCurveError
        from cuzk.formats.container import naming_file
        from cuzk.key_checks import check_points

        total, done = sum(points.nbytes for _, _, points in powers.points()), 0

        def count(num_bytes: int) -> None:
            nonlocal done
            done += num_bytes
            self.recorder.advance(done / total)

        with naming_file(ptau):
            check_points(powers.points(), curve_checker(self.device), NotOnCurveError)
            check_points(powers.points(), subgroup_checker(self.device, count), NotInSubgroupError)

    def _check_room(self, *, from_powers: bool) -> None:
        """Say what the set-up takes; refuse one that takes more than there is.

        Of one from powers of tau, whose memory is not modelled, only the key's file.
        """
        from cuzk.cli.setup_room import check_disk, check_room, need_of, need_words
        from cuzk.device.arena import format_bytes

        need, name = need_of(self.circuit, self.device), Path(self.name).name
        if from_powers:
            self.progress.say(f"takes {format_bytes(need.file)} on the disk")
            check_disk(need, self.key, name)
        else:
            self.progress.say(f"takes {need_words(need)}")
            check_room(need, self.device, self.key, name)

    def _streamed(self, circuit: CompiledCircuit) -> ProvingKey:
        """Points go to the file as they are made."""
        from cuzk.formats.atomic import atomic_files
        from cuzk.formats.key_builder import KeyBuilder
        from cuzk.groth16 import setup
        from cuzk.groth16.setup import default_h_form
        from cuzk.relation import domain_log2

        form = default_h_form(circuit.curve, domain_log2(circuit.num_rows, circuit.num_inputs - 1))
        with ExitStack() as stack:
            files = stack.enter_context(atomic_files(self.vkey, self.key, overwrite=self.force))
            builder = KeyBuilder(
                files[1], self.key, circuit, self.name, h_form=form, root_convention=self.roots
            )
            stack.enter_context(builder)
            made = setup(
                circuit, self.device, name=self.name, toxic_waste=self.waste, h_form=form,
                root_convention=self.roots, recorder=self.recorder, place=builder.place,
            )  # fmt: skip
            with self.recorder.phase("key_write"):
                files[0].write(_vkey_bytes(made.verifying_key()))
                builder.finish(made, self.recorder.advance)
                stack.close()  # both are forced to disk, and get their names
        return made

    def _write(self, made: ProvingKey) -> None:
        from cuzk.formats.atomic import atomic_files
        from cuzk.formats.cuzk_key import write_cuzk_key

        with atomic_files(self.vkey, self.key, overwrite=self.force) as (vkey_file, key_file):
            vkey_file.write(_vkey_bytes(made.verifying_key()))
            write_cuzk_key(key_file, made)


def circuit_rows(circuit: R1CS | CompiledCircuit) -> int:
    """Constraints of a circuit in either form."""
    from cuzk.pieces import CompiledCircuit

    return circuit.num_rows if isinstance(circuit, CompiledCircuit) else circuit.num_constraints


def _vkey_bytes(vkey: VerifyingKey) -> bytes:
    from cuzk.formats import vkey_to_json
    from cuzk.formats.json_proof import dump_json
    from cuzk.groth16.alpha_beta import alpha_beta_of

    return dump_json(vkey_to_json(vkey, alpha_beta_of(vkey.curve)))
