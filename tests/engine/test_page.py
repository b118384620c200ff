"""The status page in a real browser: what a daemon does must be on it, as people see it."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cuzk.engine.core import Engine
from cuzk.engine.http import StatusServer
from tests.engine.engines import ENDLESS, PATIENCE_S, job, make_engine, run, script, until

_NAMES = ("chromium", "chromium-browser", "google-chrome")
#: The first that is installed; none is no failure.
BROWSERS = list(filter(None, map(shutil.which, _NAMES)))[:1]


async def browse(browser: str, url: str, folder: Path, *options: str) -> str:
    """Load a page without a display; what the browser prints."""
    words = [
        browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
        f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=4000", *options, url,
    ]  # fmt: skip
    done = await asyncio.to_thread(
        subprocess.run, words, capture_output=True, timeout=PATIENCE_S, check=False
    )
    return done.stdout.decode("utf-8", "replace")


def text_of(html: str, table: str) -> str:
    """The visible text of a table, or of an element, by its identifier."""
    found = re.search(rf'<(\w+)[^>]* id="{table}".*?</\1>', html, re.DOTALL) or re.search(
        rf'<(\w+) id="{table}".*?</\1>', html, re.DOTALL
    )
    assert found is not None, f"there is no {table} on the page"
    return re.sub(r"<[^>]+>", " ", found.group())


async def busy(engine: Engine) -> None:
    """One job proven, one on the device, one waiting."""
    await until(lambda: engine.workers[0].state.ready)
    engine.submit(job(script(gpu=1), 2, "porep:2KiB", name="sector-6"))
    await engine.board.wait("sector-6", None)
    engine.submit(job(ENDLESS, 3, "porep:2KiB", name="sector-7"))
    engine.submit(job(script(gpu=1), 4, "window-post:2KiB", name="deadline-<3>"[:8]))
    await until(lambda: any(stage == "gpu" for stage, _ in engine.workers[0].state.stages.values()))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("browser", BROWSERS)  # where there is none, pytest says so
def test_the_page_shows_what_is_going_on(tmp_path: Path, browser: str) -> None:
    async def scenario(engine: Engine) -> None:
        server = StatusServer(engine, "127.0.0.1:0")
        try:
            await busy(engine)
            html = await browse(browser, f"http://127.0.0.1:{server.port}/", tmp_path, "--dump-dom")
        finally:
            await asyncio.to_thread(server.close)
        assert 'class="pill ok"' in html
        jobs = text_of(html, "jobs")
        assert "sector-7" in jobs
        assert "deadline" in jobs
        assert html.count('title="partition') == 7
        assert 'class="gpu" title="partition 0: gpu"' in html
        workers = text_of(html, "workers")
        assert "rehearsal 0" in workers
        assert "gpu sector-7/0" in workers
        assert "porep:2KiB hot 200 B" in workers
        assert ">ntt_msm_h<" in html, "the last proof's phases are not shown"
        assert "only one free" in text_of(html, "decisions")
        for name in ("sector-7", "deadline"):
            engine.cancel(name)

    run(scenario, lambda: make_engine(tmp_path / "state"))


def main() -> None:
    """Make a screenshot: python -m tests.engine.test_page OUT.png."""
    import tempfile

    target = Path(sys.argv[1]).resolve()

    async def scenario(engine: Engine) -> None:
        server = StatusServer(engine, "127.0.0.1:0")
        await busy(engine)
        options = (f"--screenshot={target}", "--window-size=1100,900")
        with tempfile.TemporaryDirectory() as folder:
            await browse(BROWSERS[0], f"http://127.0.0.1:{server.port}/", Path(folder), *options)
        await asyncio.to_thread(server.close)
        for one in engine.board.open_jobs():
            engine.cancel(one.id)

    with tempfile.TemporaryDirectory() as folder:
        run(scenario, lambda: make_engine(Path(folder)))


if __name__ == "__main__":
    main()
