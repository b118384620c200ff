"""The waterfall as a picture: a PNG by matplotlib, or one HTML file with an inline drawing and nothing to load."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from cuzk.errors import DeviceError
from cuzk.telemetry.waterfall import Bar, Waterfall, seconds_words

__all__ = ["waterfall_html", "write_png"]

#: Fills of phases in order of appearance (lanes say where they ran); the critical path has a dark edge.
_FILLS = (
    "#7eb6d9", "#8fc97a", "#e2c26b", "#d99bc5", "#f0a884", "#9d9be0", "#6fc7b6", "#c5b08a", "#b7d96a", "#e58f8f",
    "#8fb0b8", "#d6c7f0",
)  # fmt: skip
_WAIT = "#d5d5d5"
_EDGE = "#b3261e"
_SLACK = "#c9c9c9"
_ROW_PX, _LANE_GAP_PX, _LEFT_PX, _WIDTH_PX, _TOP_PX = 26, 14, 190, 1000, 56


class _Placed(NamedTuple):
    """A bar and the row of the picture that it stands in."""

    bar: Bar
    row: float


def _rows(fall: Waterfall) -> tuple[list[_Placed], list[tuple[str, float, int]], float]:
    """Place the bars: within a lane, each in the first row that is free; lanes one below the other.

    Returns:
        The placed bars; of each lane its name, its first row and how many rows it has; the number of rows.
    """
    placed: list[_Placed] = []
    lanes: list[tuple[str, float, int]] = []
    top = 0.0
    for lane in fall.lanes:
        ends: list[int] = []
        for bar in lane.bars:
            row = next((i for i, end in enumerate(ends) if end <= bar.start_ns), len(ends))
            ends[row : row + 1] = [bar.end_ns]
            placed.append(_Placed(bar, top + row))
        lanes.append((lane.name, top, len(ends)))
        top += len(ends) + _LANE_GAP_PX / _ROW_PX
    return placed, lanes, top


def _colours(fall: Waterfall) -> dict[str, str]:
    """Phase -> fill; waits share one."""
    phases = list(dict.fromkeys(bar.event.phase for bar in fall.bars if not bar.is_wait))
    found = {phase: _FILLS[i % len(_FILLS)] for i, phase in enumerate(phases)}
    return found | {bar.event.phase: _WAIT for bar in fall.bars if bar.is_wait}


def _facts(bar: Bar, start_ns: int) -> str:
    """What a bar says of itself when pointed at."""
    event = bar.event
    cores = event.cpu_ns / event.duration_ns if event.duration_ns else 0.0
    facts = [
        f"{bar.label}: {seconds_words(event.duration_ns)} from {seconds_words(event.start_ns - start_ns)}",
        f"slack {seconds_words(bar.slack_ns)}" if not bar.is_critical else "on the critical path",
        f"{cores:.1f} cores at work" if event.cpu_ns else "",
        f"{event.bytes_up / 2**20:.1f} MiB up" if event.bytes_up else "",
        f"{event.bytes_down / 2**20:.1f} MiB down" if event.bytes_down else "",
        f"clock {event.sm_mhz} MHz, held back by: {event.throttle}" if event.sm_mhz else "",
        ", ".join(f"{name}={value}" for name, value in event.tags.items()),
    ]
    return "\n".join(fact for fact in facts if fact)


def _ticks(total_ns: int) -> list[int]:
    """Round times for the axis, four to ten of them."""
    step = 10 ** max(len(str(max(total_ns, 1))) - 1, 0)
    for divisor in (1, 2, 5, 10):
        if total_ns // (step // divisor or 1) >= 4:
            step = max(step // divisor, 1)
            break
    return list(range(0, total_ns + 1, step))


def waterfall_html(fall: Waterfall, title: str) -> str:
    """One page, whole in itself: no script, no font, no image from anywhere.

    Args:
        fall: The run.
        title: What ran.
    """
    placed, lanes, rows = _rows(fall)
    colours = _colours(fall)
    total = max(fall.end_ns - fall.start_ns, 1)
    height = round(_TOP_PX + rows * _ROW_PX + 10)

    def x(moment_ns: int) -> float:
        return _LEFT_PX + (moment_ns - fall.start_ns) / total * _WIDTH_PX

    parts = [_axis(total, height)]
    for name, first, count in lanes:
        y = _TOP_PX + (first + count / 2) * _ROW_PX + 4
        parts.append(f'<text x="8" y="{y:.1f}" class="lane">{html.escape(name)}</text>')
    for bar, row in placed:
        parts.append(_svg_bar(bar, x, _TOP_PX + row * _ROW_PX, fall.start_ns, colours[bar.event.phase]))
    slack = [bar for bar in fall.bars if not bar.is_critical and not bar.is_wait]
    listed = "".join(
        f"<li>{html.escape(bar.label)}: {seconds_words(bar.slack_ns)}"
        f"{' (hidden)' if bar.is_hidden else ''}</li>"
        for bar in slack
    )
    path = " &rarr; ".join(html.escape(bar.label) for bar in fall.critical_path)
    legend = "".join(
        f'<span style="background:{colour}">{html.escape(name)}</span> ' for name, colour in colours.items()
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{html.escape(title)}</title>\n<style>body{{font:14px sans-serif;margin:24px;color:#222}}"
        "svg text{font:12px sans-serif}.lane{font-weight:bold}.tick{fill:#666}"
        "p span{padding:2px 8px;border-radius:3px}</style></head><body>\n"
        f"<h1>{html.escape(title)}</h1>\n<p><b>{html.escape(fall.sentence)}</b></p>\n"
        f'<p>{legend}<span style="border:2px solid {_EDGE}">critical path</span> '
        f'<span style="background:{_SLACK};opacity:.5">slack</span></p>\n'
        f'<svg width="{_LEFT_PX + _WIDTH_PX + 60}" height="{height}" role="img">\n'
        + "\n".join(parts)
        + f"\n</svg>\n<p>Critical path: {path}</p>\n"
        + (f"<p>Slack:</p><ul>{listed}</ul>\n" if listed else "")
        + "</body></html>\n"
    )


def _axis(total: int, height: int) -> str:
    lines = []
    for tick in _ticks(total):
        at = _LEFT_PX + tick / total * _WIDTH_PX
        lines.append(
            f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{_TOP_PX - 12}" y2="{height}" stroke="#e5e5e5"/>'
            f'<text class="tick" x="{at:.1f}" y="{_TOP_PX - 18}" text-anchor="middle">{seconds_words(tick)}</text>'
        )
    return "\n".join(lines)


def _svg_bar(bar: Bar, x: Callable[[int], float], top: float, start_ns: int, fill: str) -> str:
    left, right = x(bar.start_ns), x(bar.end_ns)
    width = max(right - left, 1.5)
    edge = f' stroke="{_EDGE}" stroke-width="2"' if bar.is_critical else ' stroke="#666" stroke-width="0.5"'
    words = f"{bar.label} {seconds_words(bar.event.duration_ns)}"
    parts = []
    if bar.slack_ns and not bar.is_critical and not bar.is_wait:
        reach = x(bar.end_ns + bar.slack_ns) - right
        parts.append(
            f'<rect x="{right:.1f}" y="{top + 8:.1f}" width="{reach:.1f}" height="6" fill="{_SLACK}" '
            'fill-opacity="0.5"/>'
        )
    parts.append(
        f'<rect x="{left:.1f}" y="{top + 2:.1f}" width="{width:.1f}" height="{_ROW_PX - 6}" rx="2" '
        f'fill="{fill}"{edge}><title>{html.escape(_facts(bar, start_ns))}</title></rect>'
    )
    if width > 7 * len(words):
        parts.append(f'<text x="{left + 5:.1f}" y="{top + 16:.1f}">{html.escape(words)}</text>')
    elif width > 7 * len(bar.label):
        parts.append(f'<text x="{left + 3:.1f}" y="{top + 16:.1f}">{html.escape(bar.label)}</text>')
    return "<g>" + "".join(parts) + "</g>"


def write_png(fall: Waterfall, path: Path, title: str) -> None:
    """Draw a run with matplotlib.

    Raises:
        DeviceError: matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise DeviceError(
            "pictures need matplotlib, which is not installed",
            remedy="pip install 'cuzk[plots]', or write --html, which needs nothing",
        ) from error
    placed, lanes, rows = _rows(fall)
    colours = _colours(fall)
    figure = Figure(figsize=(14, 1.8 + 0.34 * rows), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    total = max(fall.end_ns - fall.start_ns, 1)
    for bar, row in placed:
        left, width = (bar.start_ns - fall.start_ns) / 1e9, bar.event.duration_ns / 1e9
        edge, line = (_EDGE, 2.0) if bar.is_critical else ("#666666", 0.5)
        axes.barh(
            row, max(width, total / 1e9 / 800), left=left, height=0.78, color=colours[bar.event.phase], edgecolor=edge,
            linewidth=line, hatch="///" if bar.is_wait else None,
        )  # fmt: skip
        if bar.slack_ns and not bar.is_critical and not bar.is_wait:
            axes.barh(row, bar.slack_ns / 1e9, left=left + width, height=0.25, color=_SLACK, alpha=0.6)
        _write_label(axes, bar, left, width / (total / 1e9), row)
    axes.set_yticks([first + (count - 1) / 2 for _, first, count in lanes], [name for name, *_ in lanes])
    axes.set_ylim(max(rows - 0.9, 0.5), -0.6)
    axes.set_xlim(-total / 1e9 * 0.005, total / 1e9 * 1.02)
    axes.set_xlabel("seconds")
    axes.grid(axis="x", color="#e5e5e5")
    axes.set_axisbelow(True)
    axes.set_title(f"{title}\n{_wrapped(fall.sentence, 130)}", loc="left", fontsize=10)
    _legend(figure, colours)
    figure.savefig(path, format="png")


def _write_label(axes: object, bar: Bar, left: float, share: float, row: float) -> None:
    """A bar's words where they fit: 14 inches hold about 150 letters."""
    words = f"{bar.label} {seconds_words(bar.event.duration_ns)}"
    for text in (words, bar.label):
        if len(text) < share * 150:
            axes.text(left, row, f" {text}", va="center", ha="left", fontsize=8)  # type: ignore[attr-defined]
            return


def _legend(figure: object, colours: Mapping[str, str]) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(facecolor=colour, label=name) for name, colour in colours.items()]
    handles += [
        Patch(facecolor="white", edgecolor=_EDGE, linewidth=2, label="critical path"),
        Patch(facecolor=_SLACK, alpha=0.6, label="slack"),
    ]
    figure.legend(  # type: ignore[attr-defined]
        handles=handles, loc="outside lower center", ncols=min(len(handles), 10), fontsize=8, frameon=False
    )


def _wrapped(text: str, width: int) -> str:
    words: Sequence[str] = text.split()
    lines, line = [], ""
    for word in words:
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return "\n".join([*lines, line])
