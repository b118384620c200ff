"""``cuzk setup``: a proving and a verifying key for a circuit, made by one party."""

from __future__ import annotations

import time
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cuzk.cli.circuits import is_built_in, load_circuit, load_compiled
from cuzk.cli.help_text import epilog
from cuzk.cli.key_files import check_word
from cuzk.cli.options import DeviceOption, JsonOption, check_device_name, open_device
from cuzk.cli.output import note, print_facts, print_json
from cuzk.cli.paths import check_inputs, check_outputs
from cuzk.cli.progress import EventsOption, QuietOption
from cuzk.cli.setup_run import SetupRun, circuit_rows

if TYPE_CHECKING:
    from cuzk.cli.progress import Progress
    from cuzk.curves import Curve
    from cuzk.device import Device
    from cuzk.groth16 import ToxicWaste
    from cuzk.keys import ProvingKey
    from cuzk.pieces import CompiledCircuit
    from cuzk.relation import R1CS
    from cuzk.telemetry import Recorder

__all__ = ["EXAMPLES", "setup"]

EXAMPLES = epilog(
    "cuzk setup circuit.r1cs --key circuit.cuzk --vkey vkey.json",
    "cuzk setup circuit.r1cs --key circuit.cuzk --vkey vkey.json\n--insecure-seed 1 --force",
    "cuzk setup circuit.r1cs --ptau powers.ptau\n--key circuit.cuzk --vkey vkey.json",
    "cuzk setup poseidon:8 --key poseidon.cuzk --vkey vkey.json",
    "cuzk setup poseidon:8 --key poseidon.cuzk --vkey vkey.json --matrices",
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

_SeedOption = Annotated[
    int | None,
    typer.Option(
        "--insecure-seed",
        metavar="N",
        help="Derive all secrets from N: the same keys each time, and no security.",
    ),
]
_MatricesOption = Annotated[
    bool,
    typer.Option(
        "--matrices",
        help="Let the key of a built-in circuit hold its matrices, as that of a file does: larger, but "
        "`cuzk prove` needs no --circuit then, and it can become a .zkey.",
    ),
]
_PtauOption = Annotated[
    Path | None,
    typer.Option(
        "--ptau",
        metavar="F.ptau",
        help="Powers of tau of a ceremony's first phase; only delta is then a secret of this run.",
    ),
]


def setup(
    circuit: Annotated[
        str, typer.Argument(metavar="C.r1cs|CIRCUIT", help="A file, or the name of a built-in circuit.")
    ],
    key: Annotated[Path, typer.Option("--key", metavar="K.cuzk", help="Proving key to write.")],
    vkey: Annotated[Path, typer.Option("--vkey", metavar="vkey.json", help="Verifying key to write.")],
    device: DeviceOption = "auto",
    insecure_seed: _SeedOption = None,
    roots: Annotated[
        str,
        typer.Option(
            "--roots", metavar="ROOTS", help="Whose roots of unity number the rows: snarkjs or bellman."
        ),
    ] = "snarkjs",
    ptau: _PtauOption = None,
    matrices: _MatricesOption = False,
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
    built_in = is_built_in(circuit)
    inputs = {"CIRCUIT": None if built_in else Path(circuit), "--ptau": ptau}
    check_inputs(inputs)
    check_outputs({"--key": key, "--vkey": vkey}, inputs, overwrite=force)
    check_outputs({"--events": events}, inputs | {"--key": key, "--vkey": vkey})
    note(_SINGLE_PARTY if ptau is None else _SECOND_PHASE)
    start = time.perf_counter()
    with ExitStack() as stack:
        progress, recorder = _telemetry(stack, circuit, ptau, events, quiet=quiet or as_json)
        stack.enter_context(progress)
        found = _read(circuit, built_in and not matrices and ptau is None, progress, recorder)
        where = open_device(device, progress.kernel_build)
        run = SetupRun(
            found, circuit, where, _waste(found.curve, insecure_seed), roots, progress, recorder,
            key=key, vkey=vkey, force=force,
        )  # fmt: skip
        made = run.make(ptau)
    report = _report(made, where, key, vkey, time.perf_counter() - start)
    if as_json:
        print_json(report | {"insecure_seed": insecure_seed is not None})
    else:
        print_facts(report)


def _telemetry(
    stack: ExitStack, circuit: str, ptau: Path | None, events: Path | None, *, quiet: bool
) -> tuple[Progress, Recorder]:
    """What shows progress, and what records phases; the file of events is closed with the stack."""
    from cuzk.cli.progress import PTAU_STEPS, SETUP_STEPS, Progress
    from cuzk.telemetry import EventSink, JsonlWriter, Recorder

    steps = SETUP_STEPS if ptau is None else PTAU_STEPS
    progress = Progress(f"set-up of {Path(circuit).name}", steps, quiet=quiet)
    sinks: list[EventSink] = [progress]
    if events is not None:
        sinks.append(stack.enter_context(JsonlWriter(events)))
    return progress, Recorder(sinks)


def _read(circuit: str, compiled: bool, progress: Progress, recorder: Recorder) -> R1CS | CompiledCircuit:
    with recorder.phase("circuit_load"):
        found = load_compiled(circuit) if compiled else load_circuit(circuit)
    progress.say(f"{circuit_rows(found)} constraints over {found.curve.name}")
    return found


def _waste(curve: Curve, seed: int | None) -> ToxicWaste | None:
    """The secrets of a seed, where there is one."""
    from cuzk.errors import SecurityWarning
    from cuzk.groth16 import ToxicWaste

    if seed is None:
        return None
    warnings.warn(
        f"all secrets are derived from the seed {seed}: anybody who learns it can forge proofs",
        SecurityWarning,
        stacklevel=3,
    )
    return ToxicWaste.from_seed(curve, seed)


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
