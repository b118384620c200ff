"""Campaigns driven by atheris: libFuzzer's mutations, with coverage of the decoders and of the file readers.

Modules count only if they are imported while atheris instruments imports, so the worker's process imports this module
before anything that it looks at, and a campaign whose corpus never grows fails. Where the native kernels were built
with clang's ``fuzzer-no-link`` (docs/fuzzing.md), their edges count too.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cuzk_fuzz.worker import Session

#: Modules whose branches count as coverage.
INSTRUMENTED = [
    "cuzk_fuzz.choices",
    "cuzk_fuzz.targets",
    "cuzk.circuits.vanilla",
    "cuzk.formats",
    "cuzk.csr",
    "cuzk.keys",
    "cuzk.relation",
]

_MAX_BYTES = 1 << 16
_SEEDS = 8
#: Batches after which a corpus that did not grow means that no coverage is seen.
_ENOUGH = 400


def available() -> bool:
    """Whether atheris is installed."""
    return importlib.util.find_spec("atheris") is not None


def imported_too_early() -> list[str]:
    """Modules that were imported before they could be instrumented; their branches would not count."""
    return sorted(name for name in sys.modules if any(_inside(name, wanted) for wanted in INSTRUMENTED))


def main(path: str) -> None:
    """Fuzz until the budget is spent; the process ends here, as libFuzzer's loop has no other way out.

    Raises:
        RuntimeError: A module that should be instrumented was imported before.
    """
    import atheris

    if early := imported_too_early():
        raise RuntimeError(f"imported before they were instrumented: {', '.join(early)}")
    with _files_first(), atheris.instrument_imports(include=INSTRUMENTED):
        from cuzk_fuzz import corpus, engine, worker
    settings = worker.Settings.load(Path(path))
    session = worker.Session(settings)
    signal.signal(signal.SIGTERM, session.stop)
    folder = Path(settings.corpus or tempfile.mkdtemp(prefix="cuzk_fuzz_"))
    for _ in range(
        _SEEDS if not corpus.files_of(folder) else 0
    ):  # without inputs libFuzzer begins with empty ones
        corpus.save(folder, session.campaign.guided()[0])
    before = len(corpus.files_of(folder))

    def one_input(data: bytes) -> None:
        if session.is_over:
            session.campaign.result.corpus_new = len(corpus.files_of(folder)) - before
            session.finish()
            _end(blind_reason(session))
        try:
            session.campaign.run_bytes(data)
        except engine.DeviceLostError as error:
            session.write("lost")
            sys.stderr.write(f"{error}\n")
            os._exit(worker.LOST)
        session.after(data, is_new=False)  # libFuzzer itself keeps what is new

    options = [f"-seed={settings.seed + 1}", f"-max_len={_MAX_BYTES}", "-len_control=0", "-rss_limit_mb=0"]
    atheris.Setup([sys.argv[0], *options, str(folder)], one_input)
    atheris.Fuzz()


@contextmanager
def _files_first() -> Iterator[None]:
    """Python's own finder before that of an editable install, whose loaders atheris cannot instrument."""
    before = list(sys.meta_path)
    sys.meta_path.insert(0, PathFinder)
    try:
        yield
    finally:
        sys.meta_path[:] = before


def blind_reason(session: Session) -> str:
    """Why a campaign saw no coverage, or nothing."""
    result = session.campaign.result
    if result.batches < _ENOUGH or result.corpus_new or result.findings:
        return ""
    return f"{result.target}: {result.batches} batches, and the corpus did not grow: no coverage is seen"


def _end(reason: str) -> None:
    if reason:
        sys.stderr.write(reason + "\n")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1 if reason else 0)


def _inside(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


if __name__ == "__main__":
    main(sys.argv[1])
