"""Loading keys for a device, with the checks that a key's origin asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuzk.cli.checked_keys import recall
from cuzk.cli.output import note
from cuzk.errors import CurveMismatchError

if TYPE_CHECKING:
    from cuzk.cli.late import LateProgress
    from cuzk.curves import Curve, GroupSpec
    from cuzk.device import Device
    from cuzk.formats.deferred import Deferred
    from cuzk.key_checks import NamedPoints
    from cuzk.keys import ProvingKey
    from cuzk.relation import R1CS
    from cuzk.telemetry import Recorder

__all__ = [
    "check_every_point",
    "curve_checker",
    "load_kernels",
    "load_proving_key",
    "map_proving_key",
    "require_curve",
    "subgroup_checker",
]

_Checker = Callable[["GroupSpec", Any], int | None]
#: Points that are checked at a time: some seconds on one core.
_POINTS_AT_A_TIME = 1 << 18


def curve_checker(device: Device, on_points: Callable[[int], object] = lambda _: None) -> _Checker:
    """A bulk check that points are on their curve, for ``key.check_points``; see subgroup_checker."""
    from cuzk.ops.points import first_off_curve

    return _by_parts(lambda group, points: first_off_curve(device, group, device.upload(points)), on_points)


def subgroup_checker(device: Device, on_points: Callable[[int], object] = lambda _: None) -> _Checker:
    """A bulk check that points on the curve lie in the group of order r.

    Args:
        device: Where they are checked.
        on_points: Called with the bytes of points that have passed, each time some have.
    """
    from cuzk.ops.points import first_outside_subgroup

    return _by_parts(
        lambda group, points: first_outside_subgroup(device, group, device.upload(points)), on_points
    )


def _by_parts(checker: _Checker, on_points: Callable[[int], object]) -> _Checker:
    """The same check, of some points at a time."""

    def check(group: GroupSpec, points: Any) -> int | None:
        for first in range(0, len(points), _POINTS_AT_A_TIME):
            part = points[first : first + _POINTS_AT_A_TIME]
            bad = checker(group, part)
            if bad is not None:
                return first + bad
            on_points(part.nbytes)
        return None

    return check


def check_every_point(
    parts: Callable[[], Iterator[NamedPoints]], device: Device, progress: LateProgress
) -> None:
    """Check points of a key or of powers of tau in full: on the curve (step "curve"), in the subgroup ("subgroup").

    Args:
        parts: Name, group and array of every part, each time it is called.
        device: Where they are checked.
        progress: Has both steps.

    Raises:
        NotOnCurveError, NotInSubgroupError: A point is not; the error has its place.
    """
    from cuzk.errors import NotInSubgroupError, NotOnCurveError
    from cuzk.key_checks import check_points

    total = sum(points.nbytes for _, _, points in parts())
    for step, checker, error in (
        ("curve", curve_checker, NotOnCurveError),
        ("subgroup", subgroup_checker, NotInSubgroupError),
    ):
        done = 0

        def count(num_bytes: int) -> None:
            nonlocal done
            done += num_bytes
            advance(done / total)

        with progress.step(step) as advance:
            check_points(parts(), checker(device, count), error)


def load_kernels(device: Device, curve: Curve, recorder: Recorder) -> None:
    """Compile (the first time) and load a curve's kernels at once, where the device does that at run time."""
    if device.kind == "cuda":
        with recorder.phase("kernel_build"):
            device.load(curve.name)


def load_proving_key(
    path: Path,
    device: Device,
    *,
    circuit: R1CS | None = None,
    strict: bool = False,
    quiet: bool = False,
    check_curve: bool = True,
) -> ProvingKey:
    """Read a proving key and check its points as far as its origin asks for.

    A key of our own format is compared with its checksums, all of it. Of any other key every point is checked
    to be on the curve; the subgroup is not checked here, which a line on stderr says. Neither is needed where
    `cuzk key check` has passed this very content before.

    Args:
        path: A .zkey, a .params or a cuzk key.
        device: Where points are checked.
        circuit: The circuit, which a .params needs.
        strict: Refuse a key that nobody contributed to.
        quiet: Leave out the line.
        check_curve: Leave out the check of points, too, where False.

    Raises:
        FormatError: Not a key, or damaged.
        NotOnCurveError: A point is off the curve.
        RangeError: A degenerate key.
    """
    from cuzk.formats import detect, load_cuzk_key, load_key
    from cuzk.formats.container import naming_file

    if detect(path) == "cuzk_key":
        return load_cuzk_key(path, verify="all", strict=strict)
    key = load_key(path, circuit=circuit, strict=strict)
    if not check_curve or recall(path) is not None:
        return key
    with naming_file(path):
        key.check_points(curve_checker(device))
    if not quiet:
        note(
            f"{path}: all points are on the curve; whether they lie in the subgroup was not checked "
            "(`cuzk key check` does that)"
        )
    return key


def map_proving_key(
    path: Path, device: Device, *, circuit: R1CS | None = None
) -> tuple[ProvingKey, Deferred]:
    """As load_proving_key, but the checksums of a cuzk key's points are compared while the key is in use.

    Returns:
        The key, and the checks; what is made with the key must not be given out before they have been waited for.
    """
    from cuzk.formats import detect
    from cuzk.formats.cuzk_key import map_cuzk_key
    from cuzk.formats.deferred import Deferred

    if detect(path) == "cuzk_key":
        return map_cuzk_key(path)
    return load_proving_key(path, device, circuit=circuit), Deferred([])


def require_curve(found: Curve, wanted: Curve, path: Path, what: str) -> None:
    """Check that a file is for the same curve as those before it.

    Raises:
        CurveMismatchError: It is not.
    """
    if found is not wanted:
        raise CurveMismatchError(
            f"the {what} is over {found.name}, the files before it over {wanted.name}",
            where=str(path),
            remedy="use a circuit, key and witness that were made for one curve",
        )
