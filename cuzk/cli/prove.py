"""``cuzk prove``: from a key and a witness to a proof."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cuzk.cli.circuits import blaming_vanilla, check_source, load_compiled, read_hints
from cuzk.cli.help_text import epilog
from cuzk.cli.options import (
    DeviceOption,
    JsonOption,
    MemoryLimitOption,
    VariantOption,
    check_device_name,
    open_device,
    parse_bytes,
    parse_int,
)
from cuzk.cli.output import json_names, note, print_facts, print_json, print_table
from cuzk.cli.paths import check_inputs, check_outputs, write_together
from cuzk.cli.progress import CountersOption, EventsOption, IntervalOption, MemoryOption, QuietOption
from cuzk.errors import InputError

if TYPE_CHECKING:
    from cuzk.cli.progress import Progress
    from cuzk.curves import Curve
    from cuzk.device import Device
    from cuzk.groth16 import Blinding
    from cuzk.pieces import CompiledCircuit
    from cuzk.proof import Proof
    from cuzk.relation import R1CS
    from cuzk.telemetry import EventSink, MemoryMonitor, Recorder
    from cuzk.witness import Hints, Witness

__all__ = ["EXAMPLES", "prove"]

EXAMPLES = epilog(
    "cuzk prove --key circuit.cuzk --witness circuit.wtns\n--proof proof.json --public public.json",
    "cuzk prove --key circuit.zkey --circuit circuit.r1cs\n--witness circuit.wtns --proof proof.json\n"
    "--public public.json --proof-bytes proof.bin --json",
    "cuzk prove --key circuit.zkey --witness circuit.wtns\n--proof proof.json --public public.json\n"
    "--device cpu --variant D4=8 --timing --events events.jsonl",
    "cuzk prove --key porep.cuzk --circuit porep:2KiB --vanilla c1.json\n--proof proof.json --public public.json",
)


@dataclass(frozen=True)
class _Request:
    """What the command line asks for, checked as far as that needs no file's content."""

    inputs: dict[str, Path | None]
    outputs: dict[str, Path | None]
    device: str
    memory_limit: int | None
    variants: dict[str, str]
    blinding: tuple[int, int] | None
    self_check: bool
    timing: bool
    counters: bool
    interval_ms: int
    quiet: bool
    built_in: str
    partition: int

    @property
    def source(self) -> Path:
        """What the proof is made from: a witness or a vanilla proof."""
        return self.file("--vanilla" if self.inputs["--vanilla"] is not None else "--witness")

    def file(self, option: str) -> Path:
        """The path of an option that is always given."""
        path = self.inputs.get(option) or self.outputs.get(option)
        assert path is not None
        return path


@dataclass
class _Result:
    """What a run produced."""

    proof: Proof
    public: list[int]
    device: Device
    recorder: Recorder
    num_constraints: int
    monitor: MemoryMonitor | None = None


_CircuitOption = Annotated[
    str | None,
    typer.Option(
        "--circuit",
        metavar="C.r1cs|CIRCUIT",
        help="The circuit: needed with a .params, with --vanilla, and with a key made of a built-in circuit; names "
        "the constraint that a wrong witness breaks.",
    ),
]
_VanillaOption = Annotated[
    Path | None,
    typer.Option(
        "--vanilla",
        metavar="FILE",
        help="Instead: what a built-in --circuit is proven from, of PoReps and PoSts a vanilla proof; `cuzk circuit "
        "vanilla` makes one to try.",
    ),
]
_BytesOption = Annotated[
    Path | None,
    typer.Option("--proof-bytes", metavar="p.bin", help="The proof as compressed points, to write as well."),
]
_BlindingOption = Annotated[
    str | None,
    typer.Option(
        "--insecure-blinding", metavar="R,S", help="Use these blinding scalars: the proof hides nothing."
    ),
]


def prove(
    key: Annotated[Path, typer.Option("--key", metavar="KEY", help="A .zkey, .params or cuzk key.")],
    proof: Annotated[Path, typer.Option("--proof", metavar="proof.json", help="Proof to write.")],
    public: Annotated[Path, typer.Option("--public", metavar="public.json", help="Public inputs to write.")],
    witness: Annotated[Path | None, typer.Option("--witness", metavar="W.wtns", help="Witness.")] = None,
    vanilla: _VanillaOption = None,
    partition: Annotated[
        int, typer.Option("--partition", metavar="N", help="Which partition of a vanilla proof, from 0.")
    ] = 0,
    circuit: _CircuitOption = None,
    proof_bytes: _BytesOption = None,
    device: DeviceOption = "auto",
    memory_limit: MemoryLimitOption = None,
    variant: VariantOption = None,
    insecure_blinding: _BlindingOption = None,
    no_self_check: Annotated[
        bool, typer.Option("--no-self-check", help="Do not verify the proof before it is written.")
    ] = False,
    timing: Annotated[
        bool, typer.Option("--timing", help="CUZK_TIMING lines on stderr, and a table of the phases.")
    ] = False,
    events: EventsOption = None,
    memory: MemoryOption = None,
    memory_interval: IntervalOption = 100,
    counters: CountersOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Prove that a witness satisfies a key's circuit, or that a vanilla proof is right.

    The proof is verified before it is written. Existing output files are replaced.
    """
    built_in = check_source(circuit, witness, vanilla, partition)
    request = _Request(
        inputs={
            "--key": key, "--witness": witness, "--vanilla": vanilla,
            "--circuit": None if built_in or circuit is None else Path(circuit),
        },
        outputs={
            "--proof": proof, "--public": public, "--proof-bytes": proof_bytes,
            "--events": events, "--memory": memory,
        },
        device=check_device_name(device),
        memory_limit=None if memory_limit is None else parse_bytes(memory_limit, "--memory-limit"),
        variants=_check_variants(variant),
        blinding=_parse_blinding(insecure_blinding),
        self_check=not no_self_check,
        timing=timing,
        counters=counters,
        interval_ms=memory_interval,
        quiet=quiet or timing or as_json,
        built_in=built_in,
        partition=partition,
    )  # fmt: skip
    check_inputs(request.inputs)
    check_outputs(request.outputs, request.inputs)
    start = time.perf_counter()
    result = _run(request)
    _write(request, result)
    _print(request, result, time.perf_counter() - start, as_json)


def _check_variants(settings: list[str] | None) -> dict[str, str]:
    from cuzk.variants import chosen

    return chosen(settings or [])


def _parse_blinding(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    r_text, comma, s_text = text.partition(",")
    if not comma or "," in s_text:
        raise InputError(
            f"blinding {text!r} is not of the form R,S",
            where="--insecure-blinding",
            remedy="write for example 7,11",
        )
    return parse_int(r_text, "blinding R"), parse_int(s_text, "blinding S")


def _run(request: _Request) -> _Result:
    from cuzk.cli.instruments import open_counters
    from cuzk.cli.progress import PROVE_STEPS, Progress
    from cuzk.telemetry import JsonlWriter, MemoryMonitor, Recorder, TimingLines

    with ExitStack() as stack:
        # Before any other thread starts: the counters count those that start later.
        counters = open_counters(stack) if request.counters else None
        monitor = None
        progress = Progress(f"prove with {request.file('--key').name}", PROVE_STEPS, quiet=request.quiet)
        sinks: list[EventSink] = [progress]
        if request.timing:
            sinks.append(TimingLines())
        events, memory = request.outputs["--events"], request.outputs["--memory"]
        if events is not None:
            sinks.append(stack.enter_context(JsonlWriter(events)))
        if memory is not None:
            monitor = stack.enter_context(MemoryMonitor(memory, interval_ms=request.interval_ms))
        stack.enter_context(progress)
        recorder = Recorder(sinks, counters=counters).scoped(job=request.source.stem)
        return _compute(request, progress, recorder, monitor)


def _compute(
    request: _Request, progress: Progress, recorder: Recorder, monitor: MemoryMonitor | None
) -> _Result:
    from cuzk.cli.instruments import attach, book_copies
    from cuzk.cli.loading import load_kernels, map_proving_key
    from cuzk.formats.container import naming_file
    from cuzk.groth16 import Prover
    from cuzk.groth16.work import num_workers, prove_work
    from cuzk.relation import R1CS
    from cuzk.variants import resolve
    from cuzk.witness import Witness

    with recorder.phase("witness_load"):
        source = _read_source(request)
    blinding = _blinding(request, source.curve)
    device = open_device(request.device, progress.kernel_build, request.memory_limit)
    recorder = attach(recorder, device, monitor)
    resolve(request.variants, device.kind)  # what is impossible there is refused before the key is read
    load_kernels(device, source.curve, recorder)
    with recorder.phase("key_load"):
        circuit = _read_circuit(request)
        of_file = circuit if isinstance(circuit, R1CS) else None
        key, checks = map_proving_key(request.file("--key"), device, circuit=of_file)
        if isinstance(source, Witness):
            with naming_file(request.source):
                key.check_witness(source)
    with checks:
        with naming_file(request.inputs["--circuit"] or request.file("--key")):
            prover = Prover(key, device, variants=request.variants, recorder=recorder, circuit=circuit)
        if progress.is_shown:
            sample = source if isinstance(source, Witness) else circuit
            assert sample is not None
            assert not isinstance(sample, R1CS)
            progress.expect(prove_work(key, sample, num_workers(device), self_check=request.self_check))
        with blaming_vanilla(request.inputs["--vanilla"]):
            proof, public = prover.prove_with_public(source, blinding=blinding, self_check=request.self_check)
        book_copies(recorder, device)
        with recorder.phase("wait_check"):
            checks.wait()
    return _Result(proof, public, device, recorder, key.num_constraints, monitor)


def _read_source(request: _Request) -> Witness | Hints:
    """The witness, or what a vanilla proof gives the circuit's programs."""
    from cuzk.formats import load_witness

    if request.inputs["--vanilla"] is None:
        return load_witness(request.source)
    return read_hints(request.built_in, request.source, request.partition)


def _read_circuit(request: _Request) -> R1CS | CompiledCircuit | None:
    """The circuit, where the command line names one."""
    from cuzk.formats import load_r1cs

    if request.built_in:
        return load_compiled(request.built_in)
    return None if request.inputs["--circuit"] is None else load_r1cs(request.file("--circuit"))


def _blinding(request: _Request, curve: Curve) -> Blinding | None:
    from cuzk.groth16 import Blinding

    return None if request.blinding is None else Blinding.insecure(curve, *request.blinding)


def _write(request: _Request, result: _Result) -> None:
    from cuzk.formats import encode_proof, proof_to_json, public_to_json
    from cuzk.formats.json_proof import dump_json

    curve = result.proof.curve
    # The proof comes last, so that where there is a new one, everything else is there as well.
    files = {request.file("--public"): dump_json(public_to_json(result.public, curve))}
    if request.outputs["--proof-bytes"] is not None:
        files[request.file("--proof-bytes")] = encode_proof(result.proof)
    files[request.file("--proof")] = dump_json(proof_to_json(result.proof))
    write_together(files)


def _print(request: _Request, result: _Result, seconds: float, as_json: bool) -> None:
    from cuzk.cli.instruments import peaks_json, peaks_table
    from cuzk.telemetry import timing_rows, timing_table

    written = {
        name.removeprefix("--"): str(path) for name, path in request.outputs.items() if path is not None
    }
    report: dict[str, Any] = {
        **written,
        "curve": result.proof.curve.name,
        "constraints": result.num_constraints,
        "public_inputs": len(result.public),
        "device": result.device.name,
        "verified": request.self_check,
        "seconds": round(seconds, 3),
    }
    if not request.self_check:
        note("the proof was not verified (--no-self-check): it may be wrong")
    if as_json:
        from cuzk.variants import resolve

        in_force = resolve(request.variants, result.device.kind)
        report |= {"variants": in_force, "kernels": result.device.build_key}
        if request.timing:
            report["timing"] = [row._asdict() for row in timing_rows(result.recorder.events)]
            report |= (
                {}
                if result.monitor is None
                else {"memory_peaks": peaks_json(result.monitor, result.recorder)}
            )
        print_json(json_names(report))
        return
    print_facts(report)
    if request.timing:
        print_table(timing_table(result.recorder.events))
        if result.monitor is not None:
            print_table(peaks_table(result.monitor, result.recorder))
