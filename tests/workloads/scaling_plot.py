"""Two charts as one SVG, written by hand: processor time per constraint of each phase, and peak memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.workloads.scaling import Size

__all__ = ["plot"]

_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 560, 380, 64, 40, 170, 44
_COLOURS = (
    "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#e377c2", "#17becf", "#7f7f7f", "#bcbd22",
)  # fmt: skip
#: Phases shown: those with at least this share of their command at the largest size.
_SHOWN_SHARE = 0.03

Line = tuple[str, list[float]]


def plot(sizes: Sequence[Size], curve: str) -> str:
    """The SVG's text.

    Args:
        sizes: In order of size, at least one.
        curve: For the title.
    """
    logs = [size.log for size in sizes]
    lines: list[Line] = []
    for command in ("setup", "prove"):
        last = getattr(sizes[-1], command)
        for phase, (cpu_s, _, _) in last.phases.items():
            if cpu_s >= _SHOWN_SHARE * last.cpu_s:
                values = [1e6 * getattr(s, command).phases.get(phase, (0.0,))[0] / 2**s.log for s in sizes]
                lines.append((f"{command}: {phase}", values))
    memory: list[Line] = [
        (f"cuzk {command}", [getattr(size, command).peak_bytes / 2**20 for size in sizes])
        for command in ("setup", "prove")
    ]
    memory.append(("key file", [size.key_bytes / 2**20 for size in sizes]))
    charts = [
        _chart(f"Processor time per constraint, µs ({curve})", logs, lines, 0),
        _chart(f"Peak memory, MiB ({curve})", logs, memory, _HEIGHT),
    ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{2 * _HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {2 * _HEIGHT}" font-family="sans-serif" font-size="12">'
    )
    background = f'<rect width="{_WIDTH}" height="{2 * _HEIGHT}" fill="white"/>'
    return "\n".join([head, background, *charts, "</svg>"]) + "\n"


def _chart(title: str, logs: list[int], lines: list[Line], down: int) -> str:
    """One chart with both axes logarithmic, moved down by so many pixels."""
    positive = [value for _, values in lines for value in values if value > 0] or [1.0]
    low, high = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
    high = max(high, low + 1)
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def x(log: float) -> float:
        return _LEFT + width * (log - logs[0]) / max(logs[-1] - logs[0], 1)

    def y(value: float) -> float:
        return down + _TOP + height * (high - math.log10(max(value, 10.0**low))) / (high - low)

    parts = [f'<text x="{_LEFT}" y="{down + 22}" font-weight="bold">{escape(title)}</text>']
    for power in range(low, high + 1):
        at = y(10.0**power)
        parts.append(f'<line x1="{_LEFT}" y1="{at:.1f}" x2="{_LEFT + width}" y2="{at:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{10.0**power:g}</text>')
    for log in logs:
        parts.append(
            f'<text x="{x(log):.1f}" y="{down + _TOP + height + 20}" text-anchor="middle">2^{log}</text>'
        )
    ends: list[float] = []
    for (name, values), colour in zip(lines, _COLOURS * len(lines), strict=False):
        points = " ".join(f"{x(log):.1f},{y(value):.1f}" for log, value in zip(logs, values, strict=True))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        at = y(values[-1])
        while any(abs(at - other) < 13 for other in ends):  # labels do not lie on each other
            at += 1
        ends.append(at)
        parts.append(f'<text x="{_LEFT + width + 8}" y="{at + 4:.1f}" fill="{colour}">{escape(name)}</text>')
    return "\n".join(parts)
