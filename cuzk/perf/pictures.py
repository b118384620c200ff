"""Pictures of a history as SVG text: one small plot of a figure over its records, with its change points."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from cuzk.perf.ledger import Point
from cuzk.perf.trend import Change, Creep

__all__ = ["history_plot"]

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 340, 130, 58, 12, 12, 24


def _shown(value: float) -> str:
    if value >= 1e6:
        return f"{value / 1e6:.4g}M"
    return f"{value:.0f}" if value >= 1000 and float(value).is_integer() else f"{value:.4g}"


def history_plot(
    title: str,
    points: Sequence[Point],
    changes: Sequence[Change] = (),
    creep: Creep | None = None,
    unit: str = "",
) -> str:
    """Draw a series.

    Args:
        title: Above it.
        points: Oldest first, at least one.
        changes: Steps, by index into points; marked with a vertical line.
        creep: Marked with the level that the last points are compared with.
        unit: Of the values.

    Returns:
        An <svg> element that needs nothing else.
    """
    values = [point.value for point in points]
    low, high = min(values), max(values)
    margin = (high - low) * 0.15 or max(high, 1.0) * 0.1
    low, high = max(0.0, low - margin), high + margin
    across = (_WIDTH - _LEFT - _RIGHT) / max(1, len(points) - 1)

    def x(i: float) -> float:
        return _LEFT + (across * i if len(points) > 1 else (_WIDTH - _LEFT - _RIGHT) / 2)

    def y(value: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - value) / (high - low)

    parts = [
        f'<svg class="plot" width="{_WIDTH}" height="{_HEIGHT + 18}" viewBox="0 -18 {_WIDTH} {_HEIGHT + 18}" '
        f'role="img" aria-label="{escape(title)}">',
        f'<text x="0" y="-4" class="title">{escape(title)}</text>',
    ]
    for value in (low + margin * 0.5, (low + high) / 2, high - margin * 0.5):
        parts.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}" class="grid"/>'
            f'<text x="{_LEFT - 5}" y="{y(value) + 4:.1f}" class="axis" text-anchor="end">{_shown(value)}</text>'
        )
    parts += [_label(points, i, x(i)) for i in dict.fromkeys((0, len(points) - 1))]
    for change in changes:
        at = x(change.index - 0.5)
        parts.append(
            f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}" class="change"/>'
            f'<text x="{at + 3:.1f}" y="{_TOP + 8}" class="change-label">{change.share:+.1%}</text>'
        )
    if creep is not None:
        at = y(creep.best)
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{at:.1f}" y2="{at:.1f}" class="best"/>')
    line = " ".join(f"{x(i):.1f},{y(value):.1f}" for i, value in enumerate(values))
    parts.append(f'<polyline points="{line}" class="line"/>')
    for i, point in enumerate(points):
        said = f"{point.date} {point.commit}: {_shown(point.value)} {unit}. {point.reason}"
        parts.append(
            f'<circle cx="{x(i):.1f}" cy="{y(point.value):.1f}" r="3.5"><title>{escape(said)}</title></circle>'
        )
    return "".join([*parts, "</svg>"])


def _label(points: Sequence[Point], i: int, at: float) -> str:
    anchor = "start" if i == 0 and len(points) > 1 else "end" if len(points) > 1 else "middle"
    return f'<text x="{at:.1f}" y="{_HEIGHT - 8}" class="axis" text-anchor="{anchor}">{points[i].commit[:8]}</text>'
