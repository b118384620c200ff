"""Short campaigns on devices with a planted fault."""

from __future__ import annotations

from collections.abc import Callable

from cuzk_fuzz.devices import DeviceChoice
from cuzk_fuzz.engine import Budget, Campaign, Result, run_campaign
from cuzk_fuzz.registry import TARGETS

from cuzk.device import Device


def always(device: Device) -> Callable[[DeviceChoice], Device]:
    """An opener that gives the same device for every choice."""
    return lambda choice: device


def campaign_on(device: Device, target: str, cases: int, seed: int = 1) -> Result:
    """A campaign of a target on a device, until a finding or so many cases."""
    campaign = Campaign(TARGETS[target], "cpu", seed=seed, opener=always(device))
    return run_campaign(campaign, Budget(cases=cases))
