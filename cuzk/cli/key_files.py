"""What the commands that make one key file from another share: options, and reading a key with all its checks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cuzk.cli.checked_keys import recall
from cuzk.errors import InputError

if TYPE_CHECKING:
    from cuzk.cli.key_circuit import KeyCircuit
    from cuzk.cli.late import LateProgress
    from cuzk.device import Device
    from cuzk.keys import ProvingKey


__all__ = [
    "CHECK_STEPS",
    "REWRITE_STEPS",
    "CircuitOption",
    "FileRootsOption",
    "ForceOption",
    "KeyArgument",
    "check_word",
    "expect_checks",
    "note_conversion",
    "read_checked",
]

_MANY_PRODUCTS = 20_000  # some seconds on one core
#: A point's check for the subgroup, in checks that it is on the curve.
_SUBGROUP = 60.0

_POINT_STEPS = (("curve", "points on the curve"), ("subgroup", "points in the subgroup"))
#: Steps of `cuzk key check`, and of the commands that write a key in another form.
CHECK_STEPS = (
    ("digest", "hash of the file"),
    ("read", "read and check the key"),
    ("circuit", "compare the circuit"),
    *_POINT_STEPS,
    ("digest_again", "hash of the file once more"),
)
REWRITE_STEPS = (
    ("read", "read and check the key"),
    *_POINT_STEPS,
    ("circuit", "compare and add the circuit"),
    ("convert", "convert the key"),
    ("write", "write the file"),
)

KeyArgument = Annotated[
    Path, typer.Argument(metavar="KEY", help="Proving key: .zkey, .params (with --circuit) or cuzk key.")
]
CircuitOption = Annotated[
    str | None,
    typer.Option(
        "--circuit",
        metavar="C.r1cs|CIRCUIT",
        help="The key's circuit; needed for a .params, gives a .zkey its matrix C, and the key of a built-in "
        "circuit all its matrices, if they are not too large.",
    ),
]
FileRootsOption = Annotated[
    str,
    typer.Option(
        "--file-roots",
        metavar="ROOTS",
        help="Whose roots number the rows of a .params: bellman, or snarkjs if it came from a .zkey.",
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]


def check_word(word: str | None, allowed: Sequence[str], option: str) -> None:
    """Check that the word of an option is one of those there are, if it was given.

    Raises:
        InputError: It is not.
    """
    if word is not None and word not in allowed:
        raise InputError(
            f"there is no {word!r}", where=option, limit=f"possible: {', '.join(allowed)}",
            remedy="write one of these words",
        )  # fmt: skip


def note_conversion(key: ProvingKey, h_form: str | None, progress: LateProgress) -> None:
    """Say how long a change of the H form takes, where that is long enough to wonder."""
    products = key.domain_size * (key.log_domain + 1) // 2
    if h_form not in (None, key.h_form) and products > _MANY_PRODUCTS:
        progress.remark(
            f"changing the H bases to {h_form} form: {products:,} scalar multiplications in G1, once per key"
        )


def expect_checks(progress: LateProgress, key: ProvingKey) -> None:
    """Say how much work the checks of all points are: it grows with the bytes of each group."""
    total = float(sum(points.nbytes for _, _, points in key.points()))
    progress.expect({"curve": total, "subgroup": _SUBGROUP * total})


def read_checked(
    key: Path, circuit: KeyCircuit | None, file_roots: str, device: Device, progress: LateProgress
) -> ProvingKey:
    """Read a key of any kind for writing it in another form.

    A key that was not made here has every point checked, also for the subgroup, unless `cuzk key check` did so
    before: the new file will be taken as checked. With a circuit the key is checked to be its, and gets the matrices
    that it lacks.

    Raises:
        InputError: The key fails a check, or is a .params without its circuit.
    """
    from cuzk.cli.loading import check_every_point, load_proving_key
    from cuzk.formats import detect, load_params
    from cuzk.formats.container import naming_file

    with progress.step("read"):
        kind = detect(key)
        if kind == "params" and circuit is not None:
            loaded = load_params(key, circuit.matrices, root_convention=file_roots)  # type: ignore[arg-type]
        else:
            loaded = load_proving_key(key, device, quiet=True, check_curve=False)
        is_checked = kind == "cuzk_key" or recall(key) is not None
    if not is_checked:
        expect_checks(progress, loaded)
        with naming_file(key):
            check_every_point(loaded.points, device, progress)
        progress.remark(f"{key}: all points are on the curve and in the subgroup")
    if circuit is None:
        return loaded
    with progress.step("circuit"), naming_file(circuit.path or key):
        return circuit.complete(loaded)
