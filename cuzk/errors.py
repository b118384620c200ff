"""Every exception that cuzk raises on purpose, and the two warnings about unsafe keys and blinding.

::

    CuzkError
    +-- InputError (also ValueError)        the caller or a file is wrong          exit code 2
    |   +-- FormatError                     bytes that do not parse: file, section, offset
    |   +-- ShapeError                      array, key, circuit or witness sizes disagree
    |   +-- CurveMismatchError              parts made for different curves or fields
    |   +-- RangeError                      a number outside its allowed interval
    |   +-- NotOnCurveError                 a point that does not satisfy the curve equation
    |   +-- NotInSubgroupError              a curve point outside the prime-order subgroup
    |   +-- UnsatisfiedError                a witness that breaks a constraint (row and values)
    +-- DeviceError (also RuntimeError)     device, driver, compiler or memory     exit code 3
    |   +-- CompileError                    a kernel does not build
    |   +-- LaunchError                     a kernel does not start or dies
    |   +-- OutOfMemoryError                a buffer does not fit the device
    |   +-- KernelFault                     a kernel wrote its fault word: kernel, code, index
    +-- EngineError (also RuntimeError)     a daemon or its worker cannot go on      exit code 3
    |   +-- BusyError                       the queue is full: submit later
    |   +-- CancelledError                  stopped at a phase boundary, as asked
    +-- InternalError                       one of our own invariants failed       exit code 3

    SecurityWarning (UserWarning)           the result is correct, the secrecy or soundness is not

A message has up to four parts: what is wrong, where, which limit was passed, and what to do about it::

    >>> raise FormatError("section 5 ends after the file", path="k.zkey", section=5, offset=964,
    ...                   limit="96 bytes are left", remedy="copy the file again")
    Traceback (most recent call last):
    ...
    cuzk.errors.FormatError: k.zkey: section 5: byte 964: section 5 ends after the file \
(limit: 96 bytes are left). To fix: copy the file again

Bad input raises; a false statement (a proof that does not verify) is the answer ``False``, never an
exception.
"""

from __future__ import annotations

import os

__all__ = [
    "BusyError",
    "CancelledError",
    "CompileError",
    "CurveMismatchError",
    "CuzkError",
    "DeviceError",
    "EngineError",
    "FormatError",
    "InputError",
    "InternalError",
    "KernelFault",
    "LaunchError",
    "NotInSubgroupError",
    "NotOnCurveError",
    "OutOfMemoryError",
    "RangeError",
    "SecurityWarning",
    "ShapeError",
    "UnsatisfiedError",
]


class CuzkError(Exception):
    """Base of all errors raised on purpose.

    Args:
        what: What is wrong, in one sentence without a full stop.
        where: The place: a file, a field, an index.
        limit: The bound that was passed, with its value.
        remedy: What the reader can do about it.
    """

    exit_code = 3
    #: What helps in most cases, where the place that raises knows nothing better.
    usual_remedy: str | None = None

    def __init__(
        self, what: str, *, where: str | None = None, limit: str | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.limit = limit
        self.remedy = remedy or self.usual_remedy

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        if self.limit:
            text += f" (limit: {self.limit})"
        if self.remedy:
            text += f". To fix: {self.remedy}"
        return text


class InputError(CuzkError, ValueError):
    """The caller, or a file the caller named, is wrong."""

    exit_code = 2


class FormatError(InputError):
    """Bytes that do not parse.

    Args:
        what: As in CuzkError.
        path: The file, if the bytes came from one.
        section: Section number or name inside the file.
        offset: Byte offset from the start of the file.
        index: Index of the item (point, coefficient, entry) that is wrong.
        limit: As in CuzkError.
        remedy: As in CuzkError.
    """

    usual_remedy = "make or fetch it again; `cuzk info FILE` says what a file is"

    def __init__(
        self,
        what: str,
        *,
        path: str | os.PathLike[str] | None = None,
        section: int | str | None = None,
        offset: int | None = None,
        index: int | None = None,
        limit: str | None = None,
        remedy: str | None = None,
    ) -> None:
        self.path = None if path is None else os.fspath(path)
        self.section = section
        self.offset = offset
        self.index = index
        places = [
            None if self.path is None else self.path,
            None if section is None else f"section {section}",
            None if offset is None else f"byte {offset}",
            None if index is None else f"item {index}",
        ]
        super().__init__(
            what, where=": ".join(p for p in places if p is not None) or None, limit=limit, remedy=remedy
        )


class ShapeError(InputError):
    """Sizes of arrays, keys, circuits or witnesses disagree."""

    usual_remedy = "give parts that were made together, of the sizes that the limit names"


class CurveMismatchError(InputError):
    """Parts that were made for different curves, or a field no known curve has."""

    usual_remedy = "use a circuit, witness, key and proof that were made for one curve"


class RangeError(InputError):
    """A number outside its allowed interval, such as a scalar >= r."""

    usual_remedy = "give a value within the limit"


class NotOnCurveError(InputError):
    """A point whose coordinates do not satisfy the curve equation."""

    usual_remedy = "make or fetch it again; do not trust where it came from"


class NotInSubgroupError(InputError):
    """A point on the curve but outside the subgroup of prime order r."""

    usual_remedy = "make or fetch it again; do not trust where it came from"


class UnsatisfiedError(InputError):
    """A witness that breaks a constraint; the message names the row and its three values."""


class DeviceError(CuzkError, RuntimeError):
    """The device, its driver, its compiler or its memory failed."""

    usual_remedy = "see `cuzk doctor`; `--device cpu` needs no GPU"


class CompileError(DeviceError):
    """A kernel does not build."""


class LaunchError(DeviceError):
    """A kernel does not start, or ends abnormally."""


class OutOfMemoryError(DeviceError):
    """A buffer does not fit into the memory of the device."""


class KernelFault(DeviceError):
    """A kernel met a value that its contract excludes and wrote its fault word.

    Args:
        kernel: Exported kernel name.
        code: Fault code, as kernels/fault codes define it.
        index: Index of the element that the kernel was working on.
        meaning: The code in words, where known.
    """

    def __init__(self, kernel: str, code: int, index: int, meaning: str | None = None) -> None:
        self.kernel = kernel
        self.code = code
        self.index = index
        self.meaning = meaning
        words = f" ({meaning})" if meaning else ""
        super().__init__(f"kernel {kernel} reported fault {code}{words} at index {index}")
        self.args = (kernel, code, index, meaning)  # so that a pickled fault can be rebuilt


class EngineError(CuzkError, RuntimeError):
    """A proving engine, or a process of it, cannot do what it was asked to."""

    usual_remedy = "see the daemon's log and `cuzk status`"


class BusyError(EngineError):
    """More is queued than the limits allow; nothing was accepted."""

    usual_remedy = "submit again later"


class CancelledError(EngineError):
    """Work was stopped at a phase boundary because someone asked for it."""


class InternalError(CuzkError):
    """An invariant of cuzk itself does not hold: a defect of ours, never of the input."""

    usual_remedy = "this is a defect of cuzk: report it with the command and its input"


class SecurityWarning(UserWarning):
    """The result is correct, but secrecy or soundness is weaker than a user would expect."""
