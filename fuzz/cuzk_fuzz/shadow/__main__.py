"""``python -m cuzk_fuzz.shadow``: every plan's kernels over the toy curve, on the emulator with shadow memory."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from cuzk_fuzz.devices import DeviceChoice
from cuzk_fuzz.engine import Budget, Campaign, Result, demand_comparisons, run_campaign
from cuzk_fuzz.mutation.build import KERNELS
from cuzk_fuzz.mutation.plans import PLANS, Plan
from cuzk_fuzz.registry import TARGETS
from cuzk_fuzz.shadow.build import build_kernels, build_runtime
from cuzk_fuzz.shadow.device import ShadowDevice, ShadowKernels


def toy_plans() -> list[Plan]:
    """The plans for the emulator, their curves' kernels cut down to the toy curve's."""
    found: dict[str, Plan] = {}
    for plan in PLANS.values():
        small = dataclasses.replace(
            plan,
            kernels=tuple(kernel for kernel in plan.kernels if not kernel[2].startswith("bls12_381")),
            lists=tuple(one for one in plan.lists if one[2].startswith("toy")),
        )
        if "emu" in plan.platforms and (small.kernels or small.lists):
            found[small.source()] = small
    return list(found.values())


def check(kernels: ShadowKernels, target: str, seconds: float, seed: int) -> Result:
    """A campaign of so much processor time under eight schedules."""
    devices: dict[DeviceChoice, ShadowDevice] = {}

    def opener(choice: DeviceChoice) -> ShadowDevice:
        if choice not in devices:
            devices[choice] = ShadowDevice(kernels, choice.schedule, choice.seed, choice.resident)  # type: ignore[arg-type]
        return devices[choice]

    campaign = Campaign(TARGETS[target], "emu", seed=seed, opener=opener)
    return run_campaign(campaign, Budget(seconds=seconds, of_processor=True))


def main(argv: Sequence[str] | None = None) -> int:
    """Run it; 1 where something was reported."""
    parser = argparse.ArgumentParser(prog="python -m cuzk_fuzz.shadow", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="processor time a target (default: 10)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the results there as JSON")
    args = parser.parse_args(argv)
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="cuzk_shadow_") as name:
        folder = Path(name)
        runtime = build_runtime(folder)
        done: set[str] = set()
        for number, plan in enumerate(toy_plans()):
            kernels = ShadowKernels(build_kernels(plan, KERNELS, runtime, folder / f"{number}.so"))
            for target in (name for name, _ in plan.battery if name not in done):
                done.add(target)
                result = check(kernels, target, args.seconds, args.seed)
                results.append(result)
                sys.stdout.write(f"{target:10} {result.cases:9} cases, {len(result.findings)} reports\n")
                for finding in result.findings:
                    sys.stdout.write(f"    {finding.outcome.describe()}\n")
                sys.stdout.flush()
    demand_comparisons(results)
    if args.json is not None:
        args.json.write_text(json.dumps([result.to_json() for result in results], indent=1) + "\n")
    return 1 if any(result.findings for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
