"""The one place where errors become messages and exit codes.

0 done, 1 the answer is "no", 2 bad input or usage, 3 device or environment, 130 interrupted. Messages go to
stderr; a traceback appears only with ``--debug``. With ``--json`` stdout gets the error as an object too.
"""

from __future__ import annotations

import errno
import functools
import inspect
import json
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, TextIO

import typer

from cuzk.errors import CuzkError, InputError, SecurityWarning

__all__ = ["INTERRUPTED", "guard"]

INTERRUPTED = 130
_ENVIRONMENT = 3

_DEBUG = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
_MORE_MEMORY = "close other programs, or use a machine with more memory"
_OS_REMEDIES = {
    errno.ENOMEM: _MORE_MEMORY,
    errno.ENOSPC: "free some space, or write to another disk",
    errno.EDQUOT: "free some space, or write to another disk",
    errno.EIO: "the disk may be failing: try another one",
    errno.EROFS: "write to another disk",
    errno.EMFILE: "raise the limit of open files: ulimit -n",
    errno.ENAMETOOLONG: "choose a shorter name",
}
_BAD_PATH_ERRORS = (errno.ENAMETOOLONG, errno.ELOOP, errno.EROFS)
_BAD_PATH = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError)


def guard(command: Callable[..., int | None]) -> Callable[..., None]:
    """Wrap a command: it gets ``--debug``, and whatever it raises becomes a message and an exit code.

    Args:
        command: Returns its exit code, None for 0. A parameter ``as_json`` says that ``--json`` was given.
    """
    signature = inspect.signature(command, eval_str=True)  # Typer needs the annotations as objects
    debug = inspect.Parameter("debug", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_DEBUG)

    @functools.wraps(command)
    def run(*, debug: bool = False, **arguments: Any) -> None:
        as_json = bool(arguments.get("as_json"))
        raise typer.Exit(_run(functools.partial(command, **arguments), debug=debug, as_json=as_json))

    parameters = [*signature.parameters.values(), debug]
    # Typer reads these two to build the command's options.
    run.__dict__["__signature__"] = signature.replace(parameters=parameters)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _run(command: Callable[[], int | None], *, debug: bool, as_json: bool) -> int:
    try:
        with _security_warnings():
            return command() or 0
    except (typer.Exit, BrokenPipeError):
        raise
    except KeyboardInterrupt:
        typer.secho("interrupted: no unfinished output was left behind", err=True, fg="yellow")
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last stop before the user: nothing may pass as a traceback
        if debug:
            traceback.print_exc()
        failure = _as_cuzk_error(error)
        _print_error(failure)
        if as_json:
            print(json.dumps({"error": _error_fields(failure, type(error).__name__)}, indent=2))
        return failure.exit_code


def _as_cuzk_error(error: Exception) -> CuzkError:
    """The error itself if it is ours, else one of ours that says the same."""
    if isinstance(error, CuzkError):
        return error
    if isinstance(error, OSError):
        is_input = isinstance(error, _BAD_PATH) or error.errno in _BAD_PATH_ERRORS
        kind = InputError if is_input else CuzkError
        where = None if error.filename is None else str(error.filename)
        remedy = _OS_REMEDIES.get(error.errno or 0, "check the path and its permissions")
        return kind(error.strerror or str(error), where=where, remedy=remedy)
    if isinstance(error, MemoryError):
        return CuzkError(f"out of memory: {error}", remedy=_MORE_MEMORY)
    return CuzkError(
        f"unexpected {type(error).__name__}: {error}",
        remedy="this is a defect of cuzk; run again with --debug and report what it prints",
    )


def _print_error(error: CuzkError) -> None:
    place = f"{error.where}: " if error.where else ""
    typer.secho("error: ", err=True, fg="red", bold=True, nl=False)
    typer.secho(f"{place}{error.what}", err=True)
    if error.limit:
        typer.secho(f"  limit: {error.limit}", err=True)
    if error.remedy:
        typer.secho(f"  to fix: {error.remedy}", err=True)


def _error_fields(error: CuzkError, kind: str) -> dict[str, Any]:
    return {
        "type": kind,
        "what": error.what,
        "where": error.where,
        "limit": error.limit,
        "remedy": error.remedy,
        "exit_code": error.exit_code,
    }


@contextmanager
def _security_warnings() -> Iterator[None]:
    """Print each SecurityWarning as one line on stderr, once; leave other warnings to Python."""
    seen: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("always", SecurityWarning)
        others = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            text = str(message)
            if not issubclass(category, SecurityWarning):
                others(message, category, filename, lineno, file, line)
            elif text not in seen:
                seen.add(text)
                typer.secho(f"warning: {text}", err=True, fg="yellow")
                sys.stderr.flush()

        warnings.showwarning = show
        yield
