"""``cuzk setup``: a proving and a verifying key for a circuit, made by one party."""

from __future__ import annotations

import time
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cuzk.cli.circuits import is_built_in, load_circuit
from cuzk.cli.help_text import epilog
from cuzk.cli.key_files import check_word
from cuzk.cli.options import DeviceOption, JsonOption, check_device_name, open_device
from cuzk.cli.output import note, print_facts, print_json
from cuzk.cli.paths import check_inputs, check_outputs
from cuzk.cli.progress import EventsOption, QuietOption

if TYPE_CHECKING:
    from cuzk.cli.progress import Progress
    from cuzk.device import Device
    from cuzk.keys import ProvingKey
    from cuzk.relation import R1CS
    from cuzk.telemetry import Recorder

__all__ = ["EXAMPLES", "setup"]

EXAMPLES = epilog(
    "cuzk setup circuit.r1cs --key circuit.cuzk --vkey vkey.json",
    "cuzk setup circuit.r1cs --key circuit.cuzk --vkey vkey.json\n--insecure-seed 1 --force",
    "cuzk setup circuit.r1cs --ptau powers.ptau\n--key circuit.cuzk --vkey vkey.json",
    "cuzk setup poseidon:8 --key poseidon.cuzk --vkey vkey.json",
    note="For keys that others must trust, run a ceremony (snarkjs) and pass its .zkey to `cuzk prove`.",
)

_SINGLE_PARTY = (
    "single-party set-up: whoever runs this could keep the secrets and forge proofs. None of them is stored, "
    "but nobody else can know that. Use it for development and tests, or where you are the only verifier."
)

_SECOND_PHASE = (
    "second phase of a ceremony with one contribution, which is not recorded: forging proofs takes this run's "
    "secret and those of everybody in the first phase. That the .ptau is sound, check with "
    "`snarkjs powersoftau verify`."
)


def setup(
    circuit: Annotated[
        str, typer.Argument(metavar="C.r1cs|CIRCUIT", help="A file, or the name of a built-in circuit.")
    ],
    key: Annotated[Path, typer.Option("--key", metavar="K.cuzk", help="Proving key to write.")],
    vkey: Annotated[Path, typer.Option("--vkey", metavar="vkey.json", help="Verifying key to write.")],
    device: DeviceOption = "auto",
    insecure_seed: Annotated[
        int | None,
        typer.Option(
            "--insecure-seed",
            metavar="N",
            help="Derive all secrets from N: the same keys each time, and no security.",
        ),
    ] = None,
    roots: Annotated[
        str,
        typer.Option(
            "--roots", metavar="ROOTS", help="Whose roots of unity number the rows: snarkjs or bellman."
        ),
    ] = "snarkjs",
    ptau: Annotated[
        Path | None,
        typer.Option(
            "--ptau",
            metavar="F.ptau",
            help="Powers of tau of a ceremony's first phase; only delta is then a secret of this run.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
    events: EventsOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Make a key pair for a circuit.

    This is a single-party set-up: whoever runs it could forge proofs. It refuses to overwrite files.
    """
    from cuzk.curves import ROOT_CONVENTIONS

    check_device_name(device)
    check_word(roots, ROOT_CONVENTIONS, "--roots")
    inputs = {"CIRCUIT": None if is_built_in(circuit) else Path(circuit), "--ptau": ptau}
    check_inputs(inputs)
    check_outputs({"--key": key, "--vkey": vkey}, inputs, overwrite=force)
    check_outputs({"--events": events}, inputs | {"--key": key, "--vkey": vkey})
    note(_SINGLE_PARTY if ptau is None else _SECOND_PHASE)
    start = time.perf_counter()
    with ExitStack() as stack:
        progress, recorder = _telemetry(stack, circuit, events, quiet=quiet or as_json)
        r1cs = _read(circuit, progress, recorder)
        stack.enter_context(progress)
        where = open_device(device, progress.kernel_build)
        made = _run(r1cs, where, insecure_seed, roots, ptau, progress, recorder)
        with recorder.phase("key_write"):
            _write(made, key, vkey, force)
    report = _report(made, where, key, vkey, time.perf_counter() - start)
    if as_json:
        print_json(report | {"insecure_seed": insecure_seed is not None})
    else:
        print_facts(report)


def _telemetry(
    stack: ExitStack, circuit: str, events: Path | None, *, quiet: bool
) -> tuple[Progress, Recorder]:
    """What shows progress, and what records phases; the file of events is closed with the stack."""
    from cuzk.cli.progress import SETUP_STEPS, Progress
    from cuzk.telemetry import EventSink, JsonlWriter, Recorder

    progress = Progress(f"set-up of {Path(circuit).name}", SETUP_STEPS, quiet=quiet)
    sinks: list[EventSink] = [progress]
    if events is not None:
        sinks.append(stack.enter_context(JsonlWriter(events)))
    return progress, Recorder(sinks)


def _read(circuit: str, progress: Progress, recorder: Recorder) -> R1CS:
    with recorder.phase("circuit_load"):
        r1cs = load_circuit(circuit)
    progress.title = f"set-up of {r1cs.num_constraints} constraints over {r1cs.curve.name}"
    return r1cs


def _run(
    r1cs: R1CS,
    device: Device,
    seed: int | None,
    roots: str,
    ptau: Path | None,
    progress: Progress,
    recorder: Recorder,
) -> ProvingKey:
    from cuzk.cli.loading import load_kernels
    from cuzk.errors import SecurityWarning
    from cuzk.groth16 import ToxicWaste
    from cuzk.groth16 import setup as make_keys
    from cuzk.groth16.work import num_workers, setup_work

    waste = None
    if seed is not None:
        warnings.warn(
            f"all secrets are derived from the seed {seed}: anybody who learns it can forge proofs",
            SecurityWarning,
            stacklevel=2,
        )
        waste = ToxicWaste.from_seed(r1cs.curve, seed)
    load_kernels(device, r1cs.curve, recorder)
    if ptau is not None:
        with recorder.phase("setup"):
            return _from_powers(r1cs, ptau, device, None if waste is None else waste.delta, roots)
    if progress.is_shown:
        progress.expect(setup_work(r1cs, num_workers(device)))
    return make_keys(
        r1cs,
        device,
        toxic_waste=waste,
        root_convention=roots,  # type: ignore[arg-type]
        recorder=recorder,
    )


def _from_powers(r1cs: R1CS, ptau: Path, device: Device, delta: int | None, roots: str) -> ProvingKey:
    from cuzk.cli.loading import curve_checker, require_curve, subgroup_checker
    from cuzk.errors import NotInSubgroupError, NotOnCurveError
    from cuzk.formats import load_ptau
    from cuzk.formats.container import naming_file
    from cuzk.groth16.phase2 import setup_from_powers
    from cuzk.key_checks import check_points

    powers = load_ptau(ptau, r1cs.domain_log2, root_convention=roots)  # type: ignore[arg-type]
    require_curve(powers.curve, r1cs.curve, ptau, "file with powers of tau")
    with naming_file(ptau):
        check_points(powers.points(), curve_checker(device), NotOnCurveError)
        check_points(powers.points(), subgroup_checker(device), NotInSubgroupError)
    return setup_from_powers(r1cs, powers, device, delta=delta, root_convention=roots)  # type: ignore[arg-type]


def _write(made: ProvingKey, key: Path, vkey: Path, force: bool) -> None:
    """Write both files; if the key cannot be written, the verifying key does not appear either."""
    from cuzk.formats import vkey_to_json
    from cuzk.formats.atomic import atomic_files
    from cuzk.formats.cuzk_key import write_cuzk_key
    from cuzk.formats.json_proof import dump_json
    from cuzk.groth16.alpha_beta import alpha_beta_of

    with atomic_files(vkey, key, overwrite=force) as (vkey_file, key_file):
        vkey_file.write(dump_json(vkey_to_json(made.verifying_key(), alpha_beta_of(made.curve))))
        write_cuzk_key(key_file, made)


def _report(made: ProvingKey, device: Device, key: Path, vkey: Path, seconds: float) -> dict[str, Any]:
    return {
        "proving_key": str(key),
        "verifying_key": str(vkey),
        "curve": made.curve.name,
        "constraints": made.num_constraints,
        "variables": made.num_variables,
        "public": made.num_public,
        "domain": f"2^{made.log_domain}",
        "circuit_digest": made.circuit_digest,
        "device": device.name,
        "seconds": round(seconds, 3),
    }
