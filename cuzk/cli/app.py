"""The Typer application: which commands there are, and in which order ``--help`` lists them.

A command's module is imported, and its options are declared, when the command line names it: for all of
them that takes longer than some commands run.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import sys
from typing import Annotated

import typer

from cuzk import __version__
from cuzk.cli.guard import guard
from cuzk.cli.help_text import epilog, example_commands

__all__ = ["make_app", "run"]

_CONTEXT = {"help_option_names": ["-h", "--help"]}

# malloc.h
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3

#: Name -> (module, function, name of its examples); or a group's summary and the same for its commands.
_Command = tuple[str, str, str]
_COMMANDS: dict[str, _Command | tuple[str, dict[str, _Command]]] = {
    "setup": ("setup", "setup", "EXAMPLES"),
    "prove": ("prove", "prove", "EXAMPLES"),
    "verify": ("verify", "verify", "EXAMPLES"),
    "info": ("info", "info", "EXAMPLES"),
    "key": (
        "Look at proving keys, check them in full, convert and export them.",
        {
            "info": ("key", "key_info", "INFO_EXAMPLES"),
            "check": ("key", "key_check", "CHECK_EXAMPLES"),
            "convert": ("key_convert", "key_convert", "EXAMPLES"),
            "export": ("key_export", "key_export", "EXAMPLES"),
        },
    ),
    "circuit": (
        "Look at circuits: files, and those that are built in.",
        {
            "list": ("circuit", "circuit_list", "LIST_EXAMPLES"),
            "info": ("circuit", "circuit_info", "EXAMPLES"),
            "vanilla": ("circuit", "circuit_vanilla", "VANILLA_EXAMPLES"),
        },
    ),
    "doctor": ("doctor", "doctor", "EXAMPLES"),
    "variants": ("variants", "variants", "EXAMPLES"),
    "bench": ("bench", "bench", "EXAMPLES"),
    "ab": ("ab", "ab", "EXAMPLES"),
    "check": ("check", "check", "EXAMPLES"),
    "waterfall": ("waterfall", "waterfall", "EXAMPLES"),
    "daemon": ("daemon", "daemon", "EXAMPLES"),
    "submit": ("jobs", "submit", "SUBMIT_EXAMPLES"),
    "await": ("jobs", "await_", "AWAIT_EXAMPLES"),
    "status": ("jobs", "status", "STATUS_EXAMPLES"),
    "cancel": ("jobs", "cancel", "CANCEL_EXAMPLES"),
    "preload": ("jobs", "preload", "PRELOAD_EXAMPLES"),
    "evict": ("jobs", "evict", "EVICT_EXAMPLES"),
    "perf": (
        "Stored performance figures, and the gate over them.",
        {
            "check": ("perf", "perf_check", "CHECK_EXAMPLES"),
            "record": ("perf", "perf_record", "RECORD_EXAMPLES"),
            "accept": ("perf", "perf_accept", "ACCEPT_EXAMPLES"),
            "compare": ("perf_compare", "perf_compare", "EXAMPLES"),
            "report": ("perf_report", "perf_report", "EXAMPLES"),
        },
    ),
}


def _version(wanted: bool) -> None:
    if wanted:
        print(f"cuzk {__version__}")
        raise typer.Exit


def _root(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """A Groth16 prover for GPUs and CPUs that checks itself (BLS12-381, BN254)."""


def _add(group: typer.Typer, name: str, command: _Command) -> None:
    module = importlib.import_module(f"cuzk.cli.{command[0]}")
    function, examples = getattr(module, command[1]), getattr(module, command[2])
    group.command(name, epilog=examples, context_settings=_CONTEXT)(guard(function))


def _first_example(command: _Command) -> str:
    return example_commands(getattr(importlib.import_module(f"cuzk.cli.{command[0]}"), command[2]))[0]


def make_app(word: str | None = None) -> typer.Typer:
    """The application with all commands, or with just the one that a command line starts with.

    Args:
        word: The first word of the command line. One that names no command, such as an option, asks for all.
    """
    made = typer.Typer(
        name="cuzk",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings=_CONTEXT,
        epilog=epilog(
            "cuzk info circuit.r1cs",
            "cuzk setup circuit.r1cs --key circuit.cuzk --vkey vkey.json",
            "cuzk prove --help",
            no="the answer is no",
        ),
    )
    made.callback()(_root)
    for name in [word] if word in _COMMANDS else _COMMANDS:
        entry = _COMMANDS[name]
        if len(entry) == 3:
            _add(made, name, entry)
            continue
        summary, commands = entry
        group = typer.Typer(
            no_args_is_help=True, rich_markup_mode="rich", help=summary, context_settings=_CONTEXT,
            epilog=epilog(*map(_first_example, commands.values()), no="the answer is no"),
        )  # fmt: skip
        for inner, command in commands.items():
            _add(group, inner, command)
        made.add_typer(group, name=name)
    return made


def _keep_freed_memory() -> None:
    """Let blocks of up to 32 MiB come from the heap, and let the heap stay, where the C library is glibc.

    Else every array is mapped anew and zeroed page by page, which took 3 to 6% of the processor time of a proof.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, 32 << 20)
        mallopt(_M_TRIM_THRESHOLD, 1 << 30)


def run() -> None:
    """Run the command that this process's arguments name."""
    # NumPy's linear algebra, which nothing here uses, starts a thread a core, and each spins for tens of
    # milliseconds before it sleeps: on the cores that the proof wants.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _keep_freed_memory()
    make_app(sys.argv[1] if len(sys.argv) > 1 else None)(prog_name="cuzk")
