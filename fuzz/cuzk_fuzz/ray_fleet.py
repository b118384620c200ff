"""Campaigns on the machines of a Ray cluster: rounds of workers that share what their corpora gained and found."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from cuzk_fuzz import corpus, fleet
from cuzk_fuzz.commands import say
from cuzk_fuzz.engine import Result
from cuzk_fuzz.worker import Settings

#: Seconds of a round, after which corpora are exchanged.
ROUND_SECONDS = 60.0


class RayMissingError(ValueError):
    """The package `ray` is not installed."""


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise RayMissingError(
            "--ray needs the package ray, which is not installed. To fix: pip install 'cuzk[ray]'"
        ) from error
    return ray


def work(settings: dict[str, Any], batches: Sequence[bytes]) -> dict[str, Any]:
    """One worker's round, on the machine where Ray runs it: everything travels as values.

    Args:
        settings: As asdict() makes them; paths and budgets are replaced by the round's own.
        batches: The corpus to start from.

    Returns:
        "result" as JSON, and "batches", the corpus afterwards.
    """
    with tempfile.TemporaryDirectory(prefix="cuzk_fuzz_") as name:
        folder = Path(name)
        for data in batches:
            corpus.save(folder / "corpus", data)
        here = replace(
            Settings(**settings),
            folder=str(folder),
            findings=str(folder / "findings"),
            corpus=str(folder / "corpus"),
        )
        results = fleet.Fleet([here], 1).run()
        files = [path.read_bytes() for path in corpus.files_of(folder / "corpus")]
        return {"result": [result.to_json() for result in results], "batches": files}


def run(address: str, names: Sequence[str], base: Settings, workers: int) -> list[Result]:
    """Run a campaign in rounds until its budget is spent.

    Args:
        address: Of the cluster, as ray.init() takes it; "local" starts one on this machine.
        names: Targets.
        base: As for fleet.plan(); seconds and cases are a target's whole budget.
        workers: Tasks a target.

    Raises:
        RayMissingError: Ray is not installed.
    """
    ray = _ray()
    ray.init(address=None if address == "local" else address, ignore_reinit_error=True, log_to_driver=False)
    gpus = 1 if base.device.startswith("cuda") else 0
    task = ray.remote(num_cpus=1, num_gpus=gpus)(work)
    plan = fleet.plan(names, base, workers)
    shared = {one.target: _stored(one) for one in plan}
    results: list[Result] = []
    left = base.seconds if base.seconds is not None else float("inf")
    number = 0
    while plan and left > 0:
        seconds = min(left, ROUND_SECONDS)
        tasks = []
        for one in plan:  # each round draws with seeds of its own
            budget = replace(
                one, seconds=None if base.seconds is None else seconds, seed=one.seed + 100_000 * number
            )
            tasks.append(task.remote(asdict(budget), sorted(shared[one.target])))
        for one, done in zip(plan, ray.get(tasks), strict=True):
            shared[one.target] |= set(done["batches"])
            results += [Result.from_json(json.loads(json.dumps(data))) for data in done["result"]]
        if base.seconds is None:
            break
        left, number = left - seconds, number + 1
        over = {finding.batch.target for result in results for finding in result.findings}
        plan = [one for one in plan if one.target not in over]
        say(
            f"round {number}: {sum(result.cases for result in results):,} cases, {len(over)} targets with findings"
        )
    for one in fleet.plan(names, base, 1):
        for data in shared[one.target] if one.corpus is not None else ():
            corpus.save(Path(one.corpus or ""), data)
    return results


def _stored(one: Settings) -> set[bytes]:
    """The corpus that is there already."""
    return {path.read_bytes() for path in corpus.files_of(Path(one.corpus))} if one.corpus else set()
