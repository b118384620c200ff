"""The Typer application: which commands there are, and in which order ``--help`` lists them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from cuzk import __version__
from cuzk.cli import (
    bench,
    circuit,
    doctor,
    info,
    key,
    key_convert,
    key_export,
    perf,
    prove,
    setup,
    variants,
    verify,
)
from cuzk.cli.guard import guard
from cuzk.cli.help_text import epilog

__all__ = ["app", "main"]

_CONTEXT = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
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
        note="Exit codes: 0 done; 1 the answer is no; 2 bad input or usage; 3 device or environment.",
    ),
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"cuzk {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """A Groth16 prover for GPUs and CPUs that checks itself (BLS12-381, BN254)."""


def _add(group: typer.Typer, name: str, command: Callable[..., Any], examples: str) -> None:
    group.command(name, epilog=examples, context_settings=_CONTEXT)(guard(command))


def _subgroup(name: str, summary: str) -> typer.Typer:
    group = typer.Typer(
        no_args_is_help=True, rich_markup_mode="rich", help=summary, context_settings=_CONTEXT
    )
    app.add_typer(group, name=name)
    return group


_add(app, "setup", setup.setup, setup.EXAMPLES)
_add(app, "prove", prove.prove, prove.EXAMPLES)
_add(app, "verify", verify.verify, verify.EXAMPLES)
_add(app, "info", info.info, info.EXAMPLES)
_keys = _subgroup("key", "Look at proving keys, check them in full, convert and export them.")
_add(_keys, "info", key.key_info, key.INFO_EXAMPLES)
_add(_keys, "check", key.key_check, key.CHECK_EXAMPLES)
_add(_keys, "convert", key_convert.key_convert, key_convert.EXAMPLES)
_add(_keys, "export", key_export.key_export, key_export.EXAMPLES)
_circuits = _subgroup("circuit", "Look at circuits.")
_add(_circuits, "info", circuit.circuit_info, circuit.EXAMPLES)
_add(app, "doctor", doctor.doctor, doctor.EXAMPLES)
_add(app, "variants", variants.variants, variants.EXAMPLES)
_add(app, "bench", bench.bench, bench.EXAMPLES)
_perf = _subgroup("perf", "Stored performance figures, and the gate over them.")
_add(_perf, "check", perf.perf_check, perf.CHECK_EXAMPLES)
_add(_perf, "record", perf.perf_record, perf.RECORD_EXAMPLES)


def main() -> None:
    """Entry point of the ``cuzk`` command; ends the process with the command's exit code."""
    app(prog_name="cuzk")
