"""The waterfall for a terminal: a row a bar, `prep_msm  [= 1.7s =]`, with its critical path and slack."""

from __future__ import annotations

from cuzk.telemetry.waterfall import Bar, Waterfall, seconds_words

__all__ = ["waterfall_text"]

#: Fewer columns than this for the time axis would show nothing.
_LEAST_COLUMNS = 24


def waterfall_text(fall: Waterfall, width: int = 100) -> str:
    """Draw a run in text.

    Args:
        fall: The run.
        width: Columns of the terminal.

    Returns:
        Lines: the lanes with a row for each bar (`*` marks the critical path), then the path, each phase's slack,
        and the sentence that names what bounds the run.
    """
    bars = fall.bars
    name_width = max(len(bar.label) for bar in bars) + 1
    columns = max(width - name_width - 6, _LEAST_COLUMNS)
    lines = [f"{'':{name_width + 4}}0{seconds_words(fall.end_ns - fall.start_ns):>{columns - 1}}"]
    for lane in fall.lanes:
        lines.append(lane.name)
        lines += [_row(fall, bar, name_width, columns) for bar in lane.bars]
    path = " -> ".join(bar.label for bar in fall.critical_path)
    lines += ["", f"critical path (*): {path}"]
    loose = [bar for bar in bars if not bar.is_critical and not bar.is_wait]
    if loose:
        slack = ", ".join(f"{bar.label} {seconds_words(bar.slack_ns)}" for bar in loose)
        lines.append(f"slack: {slack}")
    return "\n".join([*lines, fall.sentence])


def _row(fall: Waterfall, bar: Bar, name_width: int, columns: int) -> str:
    """One bar: its words stand inside where there is room, else behind it."""
    scale = columns / max(fall.end_ns - fall.start_ns, 1)
    first = min(round((bar.start_ns - fall.start_ns) * scale), columns - 2)
    length = max(min(round((bar.end_ns - fall.start_ns) * scale), columns) - first, 2)
    notes = [] if bar.where == "GPU" else [bar.where]
    if bar.is_wait:
        notes = ["waiting"]
    elif bar.is_hidden:
        notes.append("hidden")
    words = seconds_words(bar.event.duration_ns) + (f" ({', '.join(notes)})" if notes else "")
    fill = "." if bar.is_wait else "="
    inner = length - 2
    if len(words) + 4 <= inner:
        body = f"[{f' {words} ':{fill}^{inner}}]"
    elif first + length + len(words) + 1 <= columns:
        body = f"[{fill * inner}] {words}"
    else:
        body = f"[{fill * inner}]"
        first_of_words = first - len(words) - 1
        if first_of_words >= 0:
            return f"  {_mark(bar)} {bar.label:{name_width}}{'':{first_of_words}}{words} {body}"
    return f"  {_mark(bar)} {bar.label:{name_width}}{'':{first}}{body}"


def _mark(bar: Bar) -> str:
    return "*" if bar.is_critical else " "
