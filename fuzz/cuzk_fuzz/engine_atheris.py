"""Campaigns driven by atheris: libFuzzer's mutations, with coverage of the decoders and of the file readers.

atheris ends its process when it ends, so a campaign runs in a process of its own:
``python -m cuzk_fuzz.engine_atheris CONFIG.json`` reads a campaign and writes its result beside it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cuzk_fuzz.engine import Budget, Result

#: Modules whose branches count as coverage.
INSTRUMENTED = [
    "cuzk_fuzz.choices",
    "cuzk_fuzz.targets",
    "cuzk.formats",
    "cuzk.csr",
    "cuzk.keys",
    "cuzk.relation",
]

_MAX_BYTES = 1 << 16
_SEEDS = 8


def available() -> bool:
    """Whether atheris is installed."""
    return importlib.util.find_spec("atheris") is not None


def run(target: str, spec: str, seed: int, budget: Budget, corpus: Path | None, most_findings: int) -> Result:
    """Run a campaign in a process of its own.

    Raises:
        RuntimeError: The process died; its last words are in the message.
    """
    from cuzk_fuzz.engine import Result

    with tempfile.TemporaryDirectory(prefix="cuzk_fuzz_") as folder:
        config, result = Path(folder, "campaign.json"), Path(folder, "result.json")
        settings: dict[str, Any] = {
            "target": target, "device": spec, "seed": seed, "seconds": budget.seconds, "cases": budget.cases,
            "corpus": str(corpus or Path(folder, "corpus")), "most_findings": most_findings, "result": str(result),
        }  # fmt: skip
        config.write_text(json.dumps(settings))
        command = [sys.executable, "-m", "cuzk_fuzz.engine_atheris", str(config)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not result.exists():
            raise RuntimeError(f"the fuzzing process ended with {done.returncode}:\n{done.stderr[-2000:]}")
        return Result.from_json(json.loads(result.read_text()))


def main(path: str) -> None:
    """The process: fuzz until the budget is spent, write the result, end."""
    import atheris

    config = json.loads(Path(path).read_text())
    with atheris.instrument_imports(include=INSTRUMENTED):
        from cuzk_fuzz import engine
        from cuzk_fuzz.registry import get_target
    target = get_target(config["target"])
    campaign = engine.Campaign(
        target, config["device"], seed=config["seed"], most_findings=config["most_findings"]
    )
    campaign.result.engine = "atheris"
    corpus = Path(config["corpus"])
    for _ in range(_SEEDS):  # inputs to start from: without them libFuzzer begins with empty ones
        engine.save_to_corpus(corpus, campaign.guided())
    budget = engine.Budget(config["seconds"], config["cases"])
    started = time.monotonic()

    def finish() -> None:
        Path(config["result"]).write_text(json.dumps(campaign.result.to_json()))
        sys.stdout.flush()
        os._exit(0)  # libFuzzer offers no other way out of its loop

    def one_input(data: bytes) -> None:
        if campaign.is_over or budget.is_spent(started, campaign.result.cases):
            finish()
        campaign.run_bytes(data)

    options = [f"-seed={config['seed'] + 1}", f"-max_len={_MAX_BYTES}", "-len_control=0", "-rss_limit_mb=0"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1])
