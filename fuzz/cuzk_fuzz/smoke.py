"""A short run of every target on cpu and emu that must find nothing and miss no required edge class."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from cuzk_fuzz.devices import Opener, open_choice
from cuzk_fuzz.engine import Budget, Campaign, Result, demand_comparisons, run_campaign
from cuzk_fuzz.registry import Target

DEVICES = ("cpu", "emu")

#: After its share of the time a target goes on while an id is missing, up to so many times the whole time.
_PATIENCE = 8.0


@dataclass
class SmokeReport:
    """What the smoke came to.

    Attributes:
        results: One per target and device.
        missing: Ids that a target had to hit and did not, per target.
        seconds: How long it took.
    """

    results: list[Result] = field(default_factory=list)
    missing: dict[str, list[str]] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """No finding, no id missing."""
        return not any(result.findings for result in self.results) and not any(self.missing.values())

    def to_json(self) -> dict[str, Any]:
        """As --json writes it."""
        return {
            "passed": self.passed, "seconds": round(self.seconds, 1), "missing": self.missing,
            "results": [result.to_json() for result in self.results],
        }  # fmt: skip


def missing_ids(target: Target, campaigns: Sequence[Campaign], least: int) -> list[str]:
    """Required ids with fewer hits than the least, on all devices together."""
    hits: Counter[str] = Counter()
    kinds = {campaign.result.device.partition(":")[0] for campaign in campaigns}
    for campaign in campaigns:
        hits += campaign.result.hits
    return sorted(edge_id for edge_id in target.required_on(kinds) if hits[edge_id] < least)


def smoke(
    targets: Sequence[Target],
    seconds: float,
    *,
    seed: int = 0,
    least: int = 1,
    devices: Sequence[str] = DEVICES,
    opener: Opener = open_choice,
    progress: Callable[[Result], None] = lambda result: None,
) -> SmokeReport:
    """Run the targets in equal shares of the time.

    Args:
        targets: Which.
        seconds: For all together, of processor time: a busy machine must not see less.
        seed: The same seed draws the same batches; how many of them is a matter of the machine.
        least: Hits that every required id needs.
        devices: Where.
        opener: Opens devices.
        progress: Called after every campaign.

    Raises:
        BlindHarnessError: A comparison that sees nothing, or a device on which nothing was compared.
    """
    started = time.monotonic()
    groups = [
        (target, [Campaign(target, spec, seed=seed, opener=opener) for spec in _devices_of(target, devices)])
        for target in targets
    ]
    share = seconds / max(1, sum(len(campaigns) for _, campaigns in groups))
    deadline = time.process_time() + _PATIENCE * seconds
    report = SmokeReport()
    for target, campaigns in groups:
        for campaign in campaigns:
            run_campaign(campaign, Budget(seconds=share, of_processor=True))
        while time.process_time() < deadline and not any(c.is_over for c in campaigns):
            if not missing_ids(target, campaigns, least):
                break
            # Equal times, not equal numbers of batches: what only the faster device can draw must come up too.
            cheapest = min(campaigns, key=lambda campaign: campaign.result.processor_seconds)
            run_campaign(cheapest, Budget(cases=cheapest.result.cases + 1))
        report.missing[target.name] = missing_ids(target, campaigns, least)
        for campaign in campaigns:
            report.results.append(campaign.result)
            progress(campaign.result)
    demand_comparisons(report.results)
    report.seconds = time.monotonic() - started
    return report


def _devices_of(target: Target, devices: Sequence[str]) -> Sequence[str]:
    return devices if target.needs_device else devices[:1]
