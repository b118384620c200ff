"""One fuzz target in libFuzzer's way: target.py NAME [its options]. An input that shows a fault ends the process."""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(
    include=["cuzk_fuzz.choices", "cuzk_fuzz.targets", "cuzk.formats", "cuzk.csr"]
):
    from cuzk_fuzz.engine import Campaign
    from cuzk_fuzz.registry import get_target


def main(name: str, options: list[str]) -> None:
    """Fuzz until libFuzzer's options say that it is enough."""
    campaign = Campaign(get_target(name), "cpu")

    def one_input(data: bytes) -> None:
        campaign.run_bytes(data)
        for finding in campaign.result.findings:
            path = finding.save(Path("fuzz-out"))
            raise AssertionError(f"{finding.bucket}: {finding.outcome.describe()}; {path}")

    atheris.Setup([sys.argv[0], "-max_len=65536", "-len_control=0", *options], one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
