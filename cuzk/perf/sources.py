"""Figures from result files: those of the device suite and those of pytest-benchmark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cuzk.errors import FormatError, RangeError
from cuzk.perf.baseline import Baseline
from cuzk.perf.measured import Measured

__all__ = ["baselines_of", "device_name"]

_Row = Mapping[str, Any]


def device_name(data: Mapping[str, Any]) -> str:
    """The device that a result file names, as "NVIDIA H200"; empty where it names none."""
    said = str(data.get("gpu") or data.get("device") or "")
    if not said and "steps" in data:
        said = next((str(step["device"]) for step in data["steps"].values() if "device" in step), "")
    inside = said.partition("(")[2].rstrip(")")
    return inside or said


def baselines_of(
    data: Mapping[str, Any],
    environment: Mapping[str, str],
    reason: str,
    commit: str,
    date: str,
    sequence: int,
) -> list[Baseline]:
    """All workloads of a result file.

    Args:
        data: The file's object.
        environment: Fingerprint of the machine; what the file says itself is added to it.
        reason: Stored with the figures.
        commit: What was measured, unless the file says so.
        date: Day.
        sequence: Place in the history.

    Raises:
        FormatError: Nothing in it is a figure, or a figure is none that a measurement can give.
    """
    tables: dict[tuple[str, str], Baseline] = {}
    whole = dict(environment)
    if "benchmarks" in data:
        rows, said = list(_benchmark_rows(data)), _benchmark_machine(data)
    else:
        name = device_name(data)
        rows, said = (
            [row for part in _parts(data) for row in _device_rows(part)],
            {"gpu": name} if name else {},
        )
    whole = said | whole
    for workload, load, subject, metric, value in rows:
        made = tables.setdefault(
            ("T2s", workload),
            Baseline(
                "T2s", workload, whole, {}, reason, {}, commit=commit, date=date, sequence=sequence, load=load
            ),
        )
        table: Any = made.measured if isinstance(value, Measured) else made.figures
        table.setdefault(subject, {})[metric] = value
    if not tables:
        raise FormatError(
            "there are no figures in it", remedy="give a file of the device suite or of pytest-benchmark"
        )
    return list(tables.values())


def _parts(data: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The results inside a suite's file, or the file itself."""
    if "steps" in data:
        yield {"rows": list(_engine_rows(data))}
        return
    if "parts" not in data:
        yield data
        return
    for part in data["parts"].values():
        results = part.get("results") or {}
        if "rows" in results:
            yield results
        elif "steps" in results:
            yield {"rows": list(_engine_rows(results))}


def _engine_rows(data: Mapping[str, Any]) -> Iterator[_Row]:
    """Rows of a file of tests/device/engine.py: the proofs of a prover alone with the set-up before, then the workers'.

    A step that failed or was left out has no figures, and the gate says that they are missing.
    """
    steps = data["steps"]
    made, single = (steps.get(name, {}) for name in ("setup", "single"))
    if "setup_s" not in made:
        return
    size = {name: made[name] for name in ("constraints", "variables")}
    if "all" in single:
        peaks = {f"setup_{name}": made[name] for name in ("device_bytes", "host_bytes")}
        yield {**single, **size, **peaks}
    for engine in (steps.get(name, {}) for name in ("engine", "engines")):
        if "stages" in engine:
            yield {**engine, **size, "circuit": data["circuit"]}


_Figure = tuple[str, dict[str, str | int], str, str, Measured | int]


def _device_rows(data: Mapping[str, Any]) -> Iterator[_Figure]:
    for row in data.get("rows", ()):
        if "circuit" in row and "all" in row:
            yield from _circuit(row)
            continue
        if "stages" in row:
            yield from _engine(row)
            continue
        if "resident" in row and "limited" in row:
            yield from _streaming(row)
            continue
        if "median_ms" not in row:
            continue  # left out or failed: its figures are missing, and the gate says so
        if "family" in row:
            yield from _timing(row)
        elif "log_domain" in row and "phases" in row:
            yield from _proof(row)


def _timing(row: _Row) -> Iterator[_Figure]:
    """A row of tests/device/timings.py."""
    variant = (
        ""
        if row["variant"] in ("graph", "window sums", "as proved")
        else "." + row["variant"].replace(" ", "_")
    )
    subject = f"{row['family']}_2^{row['log_n']}{variant}"
    workload, load = f"{row['family']}-bls12_381", {"curve": "bls12_381", "family": row["family"]}
    yield workload, load, subject, "time", _time(row, subject, row.get("floor_ms"))
    yield workload, load, subject, "device_memory", int(row["device_bytes"])


def _proof(row: _Row) -> Iterator[_Figure]:
    """A row of tests/device/proofs.py."""
    shape, log_n = "dense" if row["dense"] else "porep", row["log_domain"]
    workload = f"{shape}-{log_n}-{row['curve']}"
    load: dict[str, str | int] = {
        "shape": shape, "log_domain": log_n, "curve": row["curve"], "constraints": row["constraints"],
        "variables": row["variables"],
    }  # fmt: skip
    yield workload, load, "prove", "time", _time(row, "prove")
    yield workload, load, "prove", "device_memory", int(row["device_bytes"])
    yield workload, load, "prove", "host_memory", int(row["host_peak_bytes"])
    for phase, spread in row["phases"].items():
        yield workload, load, phase, "time", _time(spread, phase)


def _circuit(row: _Row) -> Iterator[_Figure]:
    """A row of tests/device/ladder.py, which has phases of proofs, or of tests/device/synthesis.py.

    Floors of the latter count bytes alone, which do not bound small circuits: they stay in the result files.
    """
    kind = "circuit" if "phases" in row else "synthesis"
    workload = f"{kind}-{row['circuit'].replace(':', '-')}"
    load: dict[str, str | int] = {
        "circuit": row["circuit"],
        "constraints": row["constraints"] if "phases" in row else row["rows"],
        "variables": row["variables"],
    }
    if "phases" not in row:
        for subject in ("witness", "a", "b", "c", "all", "all_in_a_graph"):
            yield workload, load, subject, "time", _time(row[subject], subject)
        yield workload, load, "all", "device_memory", int(row["device_bytes"])
        return
    yield workload, load, "read", "time", _time(row["read"], "read")
    yield workload, load, "vanilla_to_proof", "time", _time(row["all"], "vanilla_to_proof")
    for phase, spread in row["phases"].items():
        yield workload, load, phase, "time", _time(spread, phase)
    yield workload, load, "setup", "device_memory", int(row["setup_device_bytes"])
    yield workload, load, "setup", "host_memory", int(row["setup_host_bytes"])
    yield workload, load, "prove", "device_memory", int(row["device_bytes"])
    yield workload, load, "prove", "host_memory", int(row["host_bytes"])


def _engine(row: _Row) -> Iterator[_Figure]:
    """Partitions through one worker or several, of tests/device/engine.py: stages, and the most that a worker held.

    Waiting for a key that is loaded takes microseconds, of which a clock says nothing.
    """
    devices = len(row["devices"])
    workload = f"engine-{'' if devices == 1 else f'x{devices}-'}{row['circuit'].replace(':', '-')}"
    load: dict[str, str | int] = {
        name: row[name] for name in ("circuit", "constraints", "variables", "partitions")
    }
    for stage in ("synthesis", "gpu", "finish"):
        yield workload, load, stage, "time", _time(row["stages"][stage], stage)
    for name, figure in (("device_used", "device_memory"), ("rss", "host_memory")):
        most = max(int(row["peaks"][f"worker{i}_{name}"]) for i in range(devices))
        yield workload, load, "worker", figure, most


def _streaming(row: _Row) -> Iterator[_Figure]:
    """A row of tests/device/streaming.py: a proof with all of its key on the device, and one within a limit."""
    workload = f"streaming-{row['log_domain']}"
    load: dict[str, str | int] = {"log_domain": row["log_domain"], "limit": row["limit"]}
    for side in ("resident", "limited"):
        yield workload, load, side, "time", _time(row[side], side)
        yield workload, load, side, "device_memory", int(row[side]["device_bytes"])


def _time(row: _Row, subject: str, floor: float | None = None) -> Measured:
    """Samples where they were kept, else median, least and most."""
    try:
        if samples := row.get("samples_ms"):
            return Measured.from_samples(samples, "ms", floor)
        return Measured(row["median_ms"], row["min_ms"], row["max_ms"], row["repeats"], "ms", floor=floor)
    except (RangeError, KeyError) as error:
        raise FormatError(f"{subject}: {error}") from error


def _benchmark_rows(data: Mapping[str, Any]) -> Iterator[_Figure]:
    """Rows of pytest-benchmark, whose times are of one iteration, in seconds."""
    for bench in data["benchmarks"]:
        extra = bench.get("extra_info", {})
        group = str(bench.get("group") or "bench")
        load: dict[str, str | int] = {"group": group}
        subject = str(extra.get("subject") or bench["name"])
        samples = [1e3 * seconds for seconds in bench["stats"].get("data", ())]
        if not samples:
            raise FormatError(
                f"{bench['name']} has no samples", remedy="run pytest with --benchmark-save-data"
            )
        try:
            value = Measured.from_samples(samples, "ms")
        except RangeError as error:
            raise FormatError(f"{bench['name']}: {error}") from error
        yield f"bench-{group}", load, subject, str(extra.get("metric", "time")), value


def _benchmark_machine(data: Mapping[str, Any]) -> dict[str, str]:
    machine = data.get("machine_info", {})
    brand = machine.get("cpu", {}).get("brand_raw") or machine.get("machine", "unknown")
    return {"cpu": str(brand), "python": str(machine.get("python_version", "unknown"))}
