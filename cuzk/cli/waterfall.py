"""``cuzk waterfall``: the phases of a run on one time axis, its critical path, and what bounds it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cuzk.cli.help_text import epilog
from cuzk.cli.options import JsonOption
from cuzk.cli.output import print_json, report_console
from cuzk.cli.paths import check_inputs, check_outputs

__all__ = ["EXAMPLES", "waterfall"]

EXAMPLES = epilog(
    "cuzk waterfall events.jsonl",
    "cuzk waterfall events.jsonl --png run.png",
    "cuzk waterfall events.jsonl --html run.html",
    note="`cuzk prove --events events.jsonl` writes the events. * marks the critical path; a phase's slack is how "
    "much later it could have ended without making the run longer.",
)


def waterfall(
    events: Annotated[Path, typer.Argument(metavar="E.jsonl", help="Events of a run.")],
    png: Annotated[
        Path | None, typer.Option("--png", metavar="F", help="Write a picture; needs matplotlib.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="F", help="Write one page that loads nothing else.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Draw a run: lanes for threads, kernels and copies, the critical path, slack, and what bounds it."""
    inputs = {"E.jsonl": events}
    check_inputs(inputs)
    check_outputs({"--png": png, "--html": html}, inputs)
    from cuzk.formats.atomic import atomic_write
    from cuzk.telemetry import read_events
    from cuzk.telemetry.waterfall import build_waterfall
    from cuzk.telemetry.waterfall_picture import waterfall_html, write_png
    from cuzk.telemetry.waterfall_text import waterfall_text

    fall = build_waterfall(read_events(events))
    title = f"cuzk: {events.name}"
    if png is not None:
        write_png(fall, png, title)
    if html is not None:
        with atomic_write(html) as file:
            file.write(waterfall_html(fall, title).encode())
    if as_json:
        print_json(
            {
                "seconds": (fall.end_ns - fall.start_ns) / 1e9,
                "bound": fall.sentence,
                "critical_path": [bar.label for bar in fall.critical_path],
                "phases": [
                    {
                        "phase": bar.label, "lane": lane.name, "start_ms": (bar.start_ns - fall.start_ns) / 1e6,
                        "ms": bar.event.duration_ns / 1e6, "slack_ms": bar.slack_ns / 1e6,
                        "critical": bar.is_critical, "hidden": bar.is_hidden,
                    }
                    for lane in fall.lanes
                    for bar in lane.bars
                ],
            }
        )  # fmt: skip
        return
    print(waterfall_text(fall, report_console().width))
