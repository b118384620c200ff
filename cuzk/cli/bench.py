"""``cuzk bench``: time single operations and whole proofs on a device."""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cuzk.cli.bench_engine import ENGINE_KINDS, EngineBench, bench_engine
from cuzk.cli.bench_synth import ACTING, bench_synth
from cuzk.cli.counting import count_lines
from cuzk.cli.help_text import epilog
from cuzk.cli.options import DeviceOption, JsonOption, VariantOption, check_device_name, open_device
from cuzk.cli.output import note, print_json, print_table, table
from cuzk.cli.paths import check_inputs
from cuzk.errors import InputError

if TYPE_CHECKING:
    from cuzk.cli.bench_cases import Case
    from cuzk.device import Device

__all__ = ["EXAMPLES", "CurveName", "GroupName", "Kind", "bench"]

EXAMPLES = epilog(
    "cuzk bench msm --size 2^10 --size 2^12 --device cpu",
    "cuzk bench ntt --curve bn254 --size 2^10 --repeats 3 --json",
    "cuzk bench prove --size 2^10 --variant M2=none",
    "cuzk bench synth sha256:compression --variant A3=on",
    "cuzk bench stress poseidon:2 --jobs 4",
    note="Wall-clock time from launch to the end of the last kernel, after one run to warm up; copies of the "
    "inputs are not in it. Spread is the distance of the quartiles over the median.",
    no="a job of an engine was not proven",
)


class Kind(StrEnum):
    """What can be timed."""

    NTT = "ntt"
    MSM = "msm"
    FIELD = "field"
    BATCH_ADD = "batch-add"
    SYNTH = "synth"
    PROVE = "prove"
    SINGLE = "single"
    BATCH = "batch"
    STRESS = "stress"
    SYNTH_ONLY = "synth-only"
    PRELOAD = "preload"


class CurveName(StrEnum):
    """Curves to choose from."""

    BLS12_381 = "bls12_381"
    BN254 = "bn254"


class GroupName(StrEnum):
    """Groups to choose from."""

    G1 = "g1"
    G2 = "g2"


#: Variants that act in each kind; naming another would change nothing and is refused. In proofs all act.
_VARIANTS = {Kind.MSM: {"D4", "M1"}, Kind.BATCH_ADD: {"D2", "M1"}, Kind.NTT: {"N1"}, Kind.SYNTH: ACTING}
_SIZE = re.compile(r"2\^(\d{1,2})|(\d{1,10})")
_MAX_SIZE = 1 << 26
_MAX_REPEATS = 1000


_KindArgument = Annotated[
    Kind,
    typer.Argument(
        metavar="ntt|msm|field|batch-add|synth|prove|single|batch|stress|synth-only|preload",
        help="What to time; the last five are jobs of an engine.",
    ),
]
_CircuitArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[CIRCUIT]", show_default=False,
        help="For synth: a built-in circuit or a .r1cs file. For an engine: whose proofs.",
    ),
]  # fmt: skip
_CallgrindOption = Annotated[
    bool, typer.Option("--callgrind", help="For synth: count instructions under valgrind instead of timing.")
]
_JobsOption = Annotated[int, typer.Option("--jobs", metavar="N", help="For an engine: how many jobs.")]
_ConcurrencyOption = Annotated[
    int, typer.Option("--concurrency", metavar="N", help="For stress: clients, each with a job at a time.")
]
_AddressOption = Annotated[
    str | None,
    typer.Option("--address", metavar="ADDRESS", help="A daemon's; by default an engine in this process."),
]
_KeysOption = Annotated[
    Path | None, typer.Option("--keys", metavar="FOLDER", help="Keys; by default one is made of the circuit.")
]
_PayloadOption = Annotated[
    Path | None,
    typer.Option("--payload", metavar="FILE", help="Vanilla proof or .wtns; by default one is made."),
]


def bench(
    kind: _KindArgument,
    circuit: _CircuitArgument = None,
    size: Annotated[
        list[str] | None,
        typer.Option(
            "--size", "--rows", metavar="N|2^K", help="Elements, points or constraints; may be repeated."
        ),
    ] = None,
    device: DeviceOption = "auto",
    curve: Annotated[CurveName, typer.Option("--curve", help="Curve.")] = CurveName.BLS12_381,
    group: Annotated[GroupName, typer.Option("--group", help="Group, for msm and batch-add.")] = GroupName.G1,
    repeats: Annotated[int, typer.Option("--repeats", metavar="N", help="Timed runs.")] = 5,
    variant: VariantOption = None,
    callgrind: _CallgrindOption = False,
    jobs: _JobsOption = 10,
    concurrency: _ConcurrencyOption = 4,
    address: _AddressOption = None,
    keys: _KeysOption = None,
    payload: _PayloadOption = None,
    as_json: JsonOption = False,
) -> int:
    """Time an operation: median and spread of several runs; or put an engine or a daemon under load."""
    check_device_name(device)
    if kind.value in ENGINE_KINDS:
        check_inputs({"--payload": payload})
        where = "cpu" if device == "auto" else device
        engine = EngineBench(kind.value, circuit, jobs, concurrency, address, keys, payload, where)
        return bench_engine(engine, as_json=as_json)
    if not 1 <= repeats <= _MAX_REPEATS:
        raise InputError(
            f"{repeats} repeats", where="--repeats", limit=f"1 to {_MAX_REPEATS}",
            remedy="give a number in between; 5 is the default",
        )  # fmt: skip
    sizes = [_parse_size(text) for text in size or []]
    variants = _check_variants(kind, variant or [])
    from cuzk.cli.bench_cases import default_sizes, make_case
    from cuzk.curves import get_curve
    from cuzk.device.instruments import require_fresh

    chosen = get_curve(curve.value)
    if kind is Kind.SYNTH:
        bench_synth(circuit, sizes, chosen, variants, repeats, callgrind=callgrind, as_json=as_json)
        return 0
    if circuit is not None or callgrind:
        raise InputError(
            f"{circuit or '--callgrind'} with bench {kind.value}", remedy="it is for `cuzk bench synth` alone"
        )
    opened = open_device(device)
    require_fresh(opened)
    results = []
    for n in sizes or default_sizes(kind.value, opened.kind):
        case = make_case(kind.value, opened, chosen, group.value, n, variants)
        note(f"{case.title} of {n} on {opened.name}: {repeats} runs")
        results.append(_measure(case, opened, n, repeats))
    if as_json:
        facts = {"device": opened.name, "kernels": opened.build_key, "variants": variants}
        print_json(facts | {"results": results})
    else:
        _print(opened, results)
    return 0


def _parse_size(text: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    n = 0 if match is None else (1 << int(match[1]) if match[1] else int(match[2]))
    if not 1 <= n <= _MAX_SIZE:
        raise InputError(
            f"size {text!r}",
            where="--size or --rows",
            limit="a number or 2^K from 1 to 2^26",
            remedy="write 4096 or 2^12",
        )
    return n


def _check_variants(kind: Kind, settings: list[str]) -> dict[str, str]:
    """The chosen variants by id; refuses those that do not act in what is timed."""
    from cuzk.variants import VARIANTS, chosen

    found = chosen(settings)
    acting = set(VARIANTS) if kind is Kind.PROVE else _VARIANTS.get(kind, set())
    idle = sorted(found.keys() - acting)
    if idle:
        raise InputError(
            f"variant {', '.join(idle)} does not act in {kind.value}",
            where="--variant",
            limit=f"possible: {', '.join(sorted(acting)) or 'none'}",
            remedy="leave it out, or measure `bench prove`, where every variant acts",
        )
    return found


def _measure(case: Case, device: Device, n: int, repeats: int) -> dict[str, Any]:
    """Warm up once, then time each run between two synchronisations."""
    tell = count_lines("runs", repeats)
    _timed(case.run, device)
    seconds = []
    for done in range(1, repeats + 1):
        seconds.append(_timed(case.run, device))
        tell(done)
    seconds.sort()
    median = statistics.median(seconds)
    quartiles = statistics.quantiles(seconds, n=4, method="inclusive") if repeats > 1 else [median] * 3
    return {
        "what": case.title,
        "curve": case.curve,
        "size": n,
        "repeats": repeats,
        "median_ms": round(median * 1e3, 4),
        "min_ms": round(seconds[0] * 1e3, 4),
        "max_ms": round(seconds[-1] * 1e3, 4),
        "spread": round((quartiles[2] - quartiles[0]) / median, 4),
        "per_second": round(case.units / median, 1),
        "unit": case.unit,
    }


def _timed(run: Callable[[], object], device: Device) -> float:
    device.synchronize()
    start = time.perf_counter()
    run()
    device.synchronize()
    return time.perf_counter() - start


def _print(device: Device, results: list[dict[str, Any]]) -> None:
    columns = ("what", "curve", ">size", ">median ms", ">min", ">max", ">spread", ">rate per s")
    made = table(f"{device.name}, kernels {device.build_key}", *columns)
    for row in results:
        made.add_row(
            row["what"], row["curve"], str(row["size"]), f"{row['median_ms']:.3f}", f"{row['min_ms']:.3f}",
            f"{row['max_ms']:.3f}", f"{row['spread']:.1%}", f"{row['per_second']:.3g} {row['unit']}",
        )  # fmt: skip
    print_table(made)
