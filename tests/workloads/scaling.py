"""Whole commands over growing circuits: time and memory of ``cuzk setup`` and ``cuzk prove`` on a CPU.

    python -m tests.workloads.scaling OUTDIR --logs 16,18,20 --curve bn254 --repeats 2

For each size a circuit of 2^log constraints is made (tests/workloads/mixed.py), and the two commands run as processes
of their own. Of each command the processor time, the wall time and the peak memory are the system's (wait4), of each
phase they come from the command's events. Of several repeats the least counts, phase by phase: what else runs on the
machine only ever adds. How long a key takes to load is the least of a few more starts, each interrupted at
its first kernel. OUTDIR gets scaling-CURVE.json and scaling-CURVE.svg; a table goes to standard output. Exit
code 1 if one of these limits is not kept:

* peak memory of every command at most 16 GiB;
* processor time per constraint of every phase at the largest size at most 1.3 times that at the smallest, of the
  transforms per n log n, where the phase takes at least 2% of its command;
* at most one second from the start of the key's loading to the first kernel.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.workloads.scaling_plot import plot

__all__ = ["Measured", "Size", "judge", "main", "table"]

MOST_MEMORY_BYTES = 16 << 30
MOST_GROWTH = 1.3
MOST_KEY_LOAD_S = 1.0
#: Phases below this share of their command are reported, not judged.
JUDGED_SHARE = 0.02
_ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Measured:
    """One command at one size.

    Args:
        wall_s: From start to end of the process.
        cpu_s: Processor time, user and system.
        peak_bytes: Most resident memory, mapped files included.
        phases: Phase -> (processor time in seconds, wall time in seconds, peak memory so far in bytes).
    """

    wall_s: float
    cpu_s: float
    peak_bytes: int
    phases: dict[str, tuple[float, float, int]]


@dataclass
class Size:
    """One size.

    Args:
        log: log2 of the constraints.
        log_domain: log2 of the evaluation domain.
        key_bytes: Size of the key file.
        key_load_s: From the start of the key's loading to the first kernel, wall time.
        setup: The command ``cuzk setup``.
        prove: The command ``cuzk prove``.
    """

    log: int
    log_domain: int
    key_bytes: int
    key_load_s: float
    setup: Measured
    prove: Measured


@dataclass
class Verdicts:
    """Limits and whether they are kept."""

    rows: list[tuple[bool, str]] = field(default_factory=list)

    def add(self, name: str, value: float, limit: float, unit: str) -> None:
        """Compare one value with its limit."""
        self.rows.append((value <= limit, f"{name}: {value:.2f}{unit}, at most {limit:g}{unit}"))


def judge(sizes: list[Size]) -> Verdicts:
    """Compare the figures with the limits of this module."""
    verdicts = Verdicts()
    for size in sizes:
        for name, run in (("setup", size.setup), ("prove", size.prove)):
            peak, limit = run.peak_bytes / 2**30, MOST_MEMORY_BYTES / 2**30
            verdicts.add(f"{name} 2^{size.log} peak memory", peak, limit, " GiB")
    small, large = sizes[0], sizes[-1]
    for command in ("setup", "prove"):
        before, after = getattr(small, command), getattr(large, command)
        for phase, (cpu_s, _, _) in after.phases.items():
            if cpu_s < JUDGED_SHARE * after.cpu_s or phase not in before.phases:
                continue
            work = {
                size.log: 2.0**size.log * (size.log_domain if phase == "ntt_h" else 1)
                for size in (small, large)
            }
            growth = (cpu_s / work[large.log]) / (before.phases[phase][0] / work[small.log])
            unit = "n log n" if phase == "ntt_h" else "constraint"
            verdicts.add(
                f"{command} {phase}, time per {unit}, 2^{large.log} to 2^{small.log}", growth, MOST_GROWTH, ""
            )
    verdicts.add(f"key load 2^{large.log}", large.key_load_s, MOST_KEY_LOAD_S, " s")
    return verdicts


def _run(words: list[str], events: Path) -> Measured:
    """Run a command."""
    start = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "cuzk", *words, "--events", str(events), "--json"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=_ROOT,
    )  # fmt: skip
    assert process.stderr is not None
    text = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.monotonic() - start
    process.stderr.close()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"cuzk {' '.join(words)} ended with {process.returncode}: {text.decode()}")
    rows = [json.loads(line) for line in events.read_text().splitlines()]
    parents = {row["parent"] for row in rows}
    phases: dict[str, tuple[float, float, int]] = {}
    for row in rows:
        # Parts of a query are told with their phase, so that each second stands once.
        if row["phase"].startswith("query_") or (row["id"] in parents and row["phase"] in _PARENTS):
            continue
        cpu_s, took_s, peak = phases.get(row["phase"], (0.0, 0.0, 0))
        took_s += (row["end_ns"] - row["start_ns"]) / 1e9
        phases[row["phase"]] = cpu_s + row["cpu_ns"] / 1e9, took_s, max(peak, row["peak_rss_bytes"])
    return Measured(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, phases)


#: The phase that brings the witness into Montgomery form.
_FIRST_KERNELS = "witness"
#: Starts whose least time from key to kernel counts.
_STARTS = 5
#: Phases whose parts say all about them.
_PARENTS = ("setup", "prove", "synthesis", "ntt_msm_h")


def _key_load_s(words: list[str], events: Path) -> float:
    """Start a proof and interrupt it when its first kernels have run.

    Returns:
        From the start of the first key_load to the start of the first phase that runs kernels, seconds.
    """
    events.unlink(missing_ok=True)
    command = [sys.executable, "-m", "cuzk", *words, "--events", str(events), "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=_ROOT
    ) as process:
        rows: list[dict[str, Any]] = []
        while process.poll() is None and not any(row["phase"] == _FIRST_KERNELS for row in rows):
            time.sleep(0.01)
            lines = events.read_text().split("\n")[:-1] if events.exists() else []
            rows = [json.loads(line) for line in lines]
        process.send_signal(signal.SIGINT)
    loads = [row["start_ns"] for row in rows if row["phase"] == "key_load"]
    kernels = [row["start_ns"] for row in rows if row["phase"] == _FIRST_KERNELS]
    return float(min(kernels) - min(loads)) / 1e9


def _least(first: Measured, second: Measured) -> Measured:
    """The lower figure of each pair."""
    phases = {}
    for name, (cpu_s, wall_s, peak) in first.phases.items():
        other = second.phases.get(name, (cpu_s, wall_s, peak))
        phases[name] = min(cpu_s, other[0]), min(wall_s, other[1]), min(peak, other[2])
    return Measured(
        wall_s=min(first.wall_s, second.wall_s),
        cpu_s=min(first.cpu_s, second.cpu_s),
        peak_bytes=min(first.peak_bytes, second.peak_bytes),
        phases=phases,
    )


def _lesser(first: Size, second: Size) -> Size:
    """The lower figures of two runs of one size."""
    return Size(
        first.log, first.log_domain, first.key_bytes, min(first.key_load_s, second.key_load_s),
        _least(first.setup, second.setup), _least(first.prove, second.prove),
    )  # fmt: skip


def measure(folder: Path, curve: str, log: int, device: str) -> Size:
    """Run both commands once at one size; the circuit's files are made if they are not there."""
    circuit, witness, key = (folder / f"{curve}-{log}{suffix}" for suffix in (".r1cs", ".wtns", ".cuzk"))
    if not witness.exists():
        words = ["--make", curve, str(log), str(circuit), str(witness)]
        # In a process of its own: a child's peak memory starts at that of the process it comes from.
        subprocess.run([sys.executable, "-m", "tests.workloads.scaling", *words], check=True, cwd=_ROOT)
    vkey, proof, public, events = (
        folder / name for name in ("vkey.json", "proof.json", "public.json", "e.jsonl")
    )
    made = _run(
        ["setup", str(circuit), "--key", str(key), "--vkey", str(vkey), "--force", "--device", device], events
    )
    words = ["prove", "--key", str(key), "--witness", str(witness), "--proof", str(proof),
             "--public", str(public), "--device", device]  # fmt: skip
    proved = _run(words, events)
    done = subprocess.run(
        [sys.executable, "-m", "cuzk", "verify", "--vkey", vkey, "--public", public, "--proof", proof],
        capture_output=True, check=False, cwd=_ROOT,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"the proof of 2^{log} constraints does not verify: {done.stderr.decode()}")
    key_load_s = min(_key_load_s(words, events) for _ in range(_STARTS))
    return Size(log, log + 1, key.stat().st_size, key_load_s, made, proved)


def _make(curve: str, log: str, circuit: str, witness: str) -> None:
    from cuzk.formats import save_r1cs, save_witness
    from tests.workloads.mixed import mixed_circuit

    r1cs, values = mixed_circuit(curve, 1 << int(log))
    save_r1cs(circuit, r1cs)
    save_witness(witness, values)


def table(sizes: list[Size]) -> str:
    """The figures as a Markdown table."""
    head = "| constraints | domain | key, MiB | set-up, CPU s | peak, MiB | proof, CPU s | peak, MiB | key load, s |"
    lines = [head, "|---|---|---|---|---|---|---|---|"]
    for s in sizes:
        cells = (
            f"2^{s.log}", f"2^{s.log_domain}", f"{s.key_bytes / 2**20:.0f}", f"{s.setup.cpu_s:.2f}",
            f"{s.setup.peak_bytes / 2**20:.0f}", f"{s.prove.cpu_s:.2f}", f"{s.prove.peak_bytes / 2**20:.0f}",
            f"{s.key_load_s:.2f}",
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _environment() -> dict[str, object]:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False, cwd=_ROOT
    )
    return {
        "processor": model, "cores": len(os.sched_getaffinity(0)), "python": platform.python_version(),
        "commit": commit.stdout.strip(), "date": time.strftime("%Y-%m-%d"), "load": os.getloadavg()[0],
    }  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, write, judge."""
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] == ["--make"]:
        _make(*words[1:])
        return 0
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("outdir", type=Path)
    parser.add_argument("--logs", default="16,18,20", help="log2 of the constraints, rising")
    parser.add_argument("--curve", choices=["bn254", "bls12_381"], default="bn254")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args(words)
    logs = sorted(int(log) for log in options.logs.split(","))
    best: dict[int, Size] = {}
    facts: dict[str, object] = {
        "command": f"python -m tests.workloads.scaling OUTDIR {' '.join(words[1:])}".rstrip(),
        "curve": options.curve, "device": options.device, "environment": _environment(),
    }  # fmt: skip
    options.outdir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="cuzk-scaling-") as folder:
        # All sizes before the next repeat, so that they share the weather.
        for repeat in range(options.repeats):
            for log in logs:
                size = measure(Path(folder), options.curve, log, options.device)
                best[log] = _lesser(best[log], size) if log in best else size
                print(f"repeat {repeat}, 2^{log}: set-up {best[log].setup.cpu_s:.1f} s, proof "
                      f"{best[log].prove.cpu_s:.1f} s of processor time", file=sys.stderr, flush=True)  # fmt: skip
            _write(
                options.outdir, options.curve, facts | {"repeats": repeat + 1}, [best[log] for log in logs]
            )
    sizes = [best[log] for log in logs]
    print(table(sizes))
    rows = judge(sizes).rows
    for kept, text in rows:
        print(f"{'kept  ' if kept else 'BROKEN'}  {text}")
    return 0 if all(kept for kept, _ in rows) else 1


def _write(folder: Path, curve: str, facts: dict[str, object], sizes: list[Size]) -> None:
    """Write report and chart; after every repeat, since a run takes long."""
    report = facts | {
        "sizes": [asdict(size) for size in sizes],
        "limits": [{"kept": kept, "what": text} for kept, text in judge(sizes).rows],
    }
    (folder / f"scaling-{curve}.json").write_text(json.dumps(report, indent=1) + "\n")
    (folder / f"scaling-{curve}.svg").write_text(plot(sizes, curve))


if __name__ == "__main__":
    sys.exit(main())
