"""``cuzk perf report``: the ledger as one HTML file, with the waterfall of a run."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Annotated

import typer

from cuzk.cli.help_text import epilog
from cuzk.cli.output import note

__all__ = ["EXAMPLES", "perf_report"]

EXAMPLES = epilog(
    "cuzk perf report --out ledger.html",
    "cuzk perf report --out ledger.html --events run.jsonl",
    note="One file that loads nothing: plots of every phase's history with change points, times over their floors, "
    "and the waterfall of the run whose events are given (`cuzk prove --events run.jsonl`).",
)
_FOLDER = Path("perf_baselines")
#: Height of the frame that holds the waterfall's own page, in pixels.
_FRAME = 420


def perf_report(
    out: Annotated[Path, typer.Option("--out", help="The HTML file to write.")] = Path("ledger.html"),
    baselines: Annotated[Path, typer.Option("--baselines", help="Folder of the stored figures.")] = _FOLDER,
    events: Annotated[Path | None, typer.Option("--events", help="Events of the last run.")] = None,
) -> None:
    """Write the ledger as a page: history of every phase, change points, the last run."""
    from cuzk.cli.perf_gather import origin
    from cuzk.formats.atomic import atomic_write
    from cuzk.perf import Ledger
    from cuzk.perf.html import report

    page = report(Ledger(baselines), "" if events is None else _last_run(events), origin(baselines).commit)
    with atomic_write(out) as file:
        file.write(page.encode())
    note(f"wrote {out}: {len(page) >> 10} KiB")


def _last_run(path: Path) -> str:
    """The waterfall's own page, in a frame that carries it along."""
    from cuzk.telemetry import read_events
    from cuzk.telemetry.waterfall import build_waterfall
    from cuzk.telemetry.waterfall_picture import waterfall_html

    page = waterfall_html(build_waterfall(read_events(path)), path.name)
    return f'<iframe title="waterfall" style="width:100%;height:{_FRAME}px;border:0" srcdoc="{escape(page)}"></iframe>'
