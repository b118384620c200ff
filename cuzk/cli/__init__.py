"""The command line: one file per sub-command, errors mapped to exit codes in ``guard``.

Sub-commands import what they need when they run, so that ``cuzk --help`` starts without NumPy or a device. This file
imports nothing at all, so that an interruption has its message and its exit code from the first moment on.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers go by the name
if TYPE_CHECKING:
    from typing import Any

    from cuzk.cli.app import make_app

__all__ = ["main", "make_app"]


def main() -> None:
    """Entry point of the ``cuzk`` command; ends the process with the command's exit code."""
    import signal

    interrupted = False
    try:

        def note(number: int, frame: Any) -> None:
            nonlocal interrupted
            interrupted = True
            signal.default_int_handler(number, frame)

        # Where the shell starts a command in the background, Ctrl-C is ignored and stays so.
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, note)
        from cuzk.cli.app import run

        run()
    except KeyboardInterrupt:
        _end_interrupted()
    except SystemExit as end:
        # Between commands Typer turns an interruption into "Aborted" and 1.
        if interrupted and end.code == 1:
            _end_interrupted()
        raise
    finally:
        # The command is over and its result stands; while the interpreter ends, Ctrl-C would turn it into a failure.
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end_interrupted() -> None:
    import sys

    print("interrupted: no unfinished output was left behind", file=sys.stderr)
    raise SystemExit(130) from None


def __getattr__(name: str) -> Any:
    if name == "make_app":
        from cuzk.cli import app

        return app.make_app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
