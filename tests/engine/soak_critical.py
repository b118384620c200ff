"""What critical partitions waited for, read from decision logs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

__all__ = ["overtaken"]

_CRITICAL = 4


def overtaken(logs: Iterable[Path]) -> tuple[int, int]:
    """Count, for each critical partition, the less urgent ones that it waited for once it was ready for the device.

    That is the one that was on its worker's device then, and every one that went there before it.

    Returns:
        How many critical partitions there were, and the most that one of them waited for.
    """
    count = most = 0
    for path in logs:
        critical: set[str] = set()
        on_device: dict[int, tuple[str, int]] = {}
        waiting: dict[tuple[str, int], tuple[int, int]] = {}
        for line in path.read_text().splitlines():
            found = json.loads(line)
            if found["do"] == "add" and found["priority"] == _CRITICAL:
                critical |= {task[2] for task in found["tasks"]}
            if found["do"] != "stage":
                continue
            worker, task, stage = found["worker"], (found["task"][2], found["task"][1]), found["stage"]
            is_critical = task[0] in critical
            if stage == "gpu":
                if task in waiting:
                    count += 1
                    most = max(most, waiting.pop(task)[1])
                if not is_critical:
                    for other, (where, so_far) in waiting.items():
                        waiting[other] = (where, so_far + (where == worker))
                on_device[worker] = task
            elif on_device.get(worker) == task:
                del on_device[worker]
            if stage == "ready" and is_critical and task not in waiting:
                busy = worker in on_device and on_device[worker][0] not in critical
                waiting[task] = (worker, int(busy))
            elif stage in ("finish", "over"):
                waiting.pop(task, None)
    return count, most
