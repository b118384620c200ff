"""Which lines of the prover each check enters, and which checks a mutant is put to.

A check is a batch of a fuzz target or one of the project's tests. One that does not enter a statement cannot see a
fault in it, so a mutant is put only to those that do, the cheapest first. What they enter is recorded once, in a child
process, on modules whose code was swapped for itself: a check that fails then is left out, since it would count every
mutant as killed.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import sys
import threading
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from cuzk_fuzz.mutation.python_code import forked, source_of, swap_all

#: Lines of modules that ran, by module.
Lines = Mapping[str, frozenset[int]]
#: Processor time that the checks of one mutant may take in all, as recorded; beyond it one of each kind looks on.
_MOST_SECONDS = 8.0


@dataclass(frozen=True)
class Check:
    """One check.

    Attributes:
        name: Of the batch or test.
        version: Of what it does: another one is another check.
        run: Empty where it sees nothing, otherwise what it sees.
        seconds: Of processor time on the prover as it is, recording included.
        lines: What it enters.
    """

    name: str
    version: str
    run: Callable[[], str]
    seconds: float = 0.0
    lines: Lines = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The name without parameters or number, but with the operation that a footprint is of."""
        function, _, parameters = self.name.partition(" #")[0].partition("[")
        operation, blank, _ = parameters.partition(" ")
        return f"{function}[{operation}" if blank else function


class _Tracer:
    """Collects the lines of some files that any thread runs."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        self.modules = modules
        self.seen: defaultdict[str, set[int]] = defaultdict(set)
        self.known: dict[CodeType, Any] = {}

    def _call(self, frame: FrameType, event: str, arg: Any) -> Any:  # noqa: ARG002 - as sys.settrace() wants it
        code = frame.f_code
        if code in self.known:
            return self.known[code]
        module = self.modules.get(code.co_filename)
        self.known[code] = None if module is None else self._of(module)
        return self.known[code]

    def _of(self, module: str) -> Any:
        add = self.seen[module].add

        def local(frame: FrameType, event: str, arg: Any) -> Any:  # noqa: ARG001 - as sys.settrace() wants it
            add(frame.f_lineno)
            return local

        return local

    def __enter__(self) -> _Tracer:
        threading.settrace(self._call)
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)
        threading.settrace(None)


def recorded(checks: Sequence[Check], modules: Sequence[str], file: Path) -> list[Check]:
    """The checks with what they enter and how long they take; without those that fail on the prover as it is.

    Args:
        checks: All of them.
        modules: Whose lines count.
        file: What was recorded before, a line each; what is missing, or entered a module that has changed, is added.

    Raises:
        RuntimeError: The recording ends early, or more than one check in fifty fails: the prover is not sound.
    """
    known = _rows(file)
    if any((check.name, check.version) not in known for check in checks):
        ended = forked(lambda note: _record(checks, modules, file, note))
        if ended:
            raise RuntimeError(f"what checks enter could not be recorded: {ended}")
    rows, found = _rows(file), []
    for check in checks:
        row = rows[check.name, check.version]
        if not row["said"]:
            lines = {module: frozenset(at) for module, at in row["lines"].items()}
            found.append(replace(check, seconds=row["seconds"], lines=lines))
    if 50 * len(found) < 49 * len(checks):
        raise RuntimeError(
            f"{len(checks) - len(found)} of {len(checks)} checks fail without a fault in the prover"
        )
    return found


@cache
def _texts(modules: frozenset[str]) -> str:
    """A checksum over modules."""
    return f"{zlib.crc32(''.join(source_of(module)[1] for module in sorted(modules)).encode()):08x}"


def _rows(file: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """What was recorded, by check and its version, where no module that the check enters has changed since."""
    if not file.exists():
        return {}
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    there = {module for row in rows for module in row["lines"] if importlib.util.find_spec(module)}
    return {
        (row["name"], row["version"]): row
        for row in rows
        if there.issuperset(row["lines"]) and row["texts"] == _texts(frozenset(row["lines"]))
    }


def _record(checks: Sequence[Check], modules: Sequence[str], file: Path, note: Callable[[str], None]) -> str:
    files = {str(source_of(module)[0]): module for module in modules}
    with _Tracer(files) as tracer:
        forget = swap_all(modules)
    at_import, known = tracer.seen, _rows(file)
    with file.open("a") as out:
        for check in checks:
            if (check.name, check.version) in known:
                continue
            note(check.name)
            forget()
            started = time.process_time()
            with _Tracer(files) as tracer:
                said = check.run()
            # What a module makes at its import, every check that enters it works with.
            lines = {module: sorted(own | at_import[module]) for module, own in tracer.seen.items() if own}
            row = {
                "name": check.name, "version": check.version, "texts": _texts(frozenset(lines)), "said": said,
                "seconds": round(time.process_time() - started, 3), "lines": lines,
            }  # fmt: skip
            out.write(json.dumps(row) + "\n")
            out.flush()
    return ""


def statement_lines(source: str, line: int) -> tuple[range, range]:
    """The innermost statement around a line (of a compound one its head), and the outermost function around it."""
    best, function = range(line, line + 1), range(line, line + 1)
    for node, inside in _statements(ast.parse(source), None):
        end = (node.end_lineno or node.lineno) + 1
        body = getattr(node, "body", None) or getattr(node, "cases", None)
        first = min((d.lineno for d in getattr(node, "decorator_list", [])), default=node.lineno)
        head = range(node.lineno, max(body[0].lineno if body else end, node.lineno + 1))
        if line in head:
            best = head
            outer = inside or (range(first, end) if isinstance(node, ast.FunctionDef) else None)
            function = outer or function
    return best, function


@cache
def code_lines(source: str) -> frozenset[int]:
    """The lines that tracing can tell of."""
    found: set[int] = set()
    todo = [compile(source, "", "exec")]
    while todo:
        code = todo.pop()
        found.update(line for _, _, line in code.co_lines() if line)
        todo += [const for const in code.co_consts if isinstance(const, CodeType)]
    return frozenset(found)


def _statements(node: ast.AST, inside: range | None) -> Iterator[tuple[Any, range | None]]:
    """Statements, outer ones first, each with the lines of the outermost function that it is in."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child, inside
        here = inside
        if here is None and isinstance(child, ast.FunctionDef):
            here = range(child.lineno, (child.end_lineno or child.lineno) + 1)
        yield from _statements(child, here)


class Chooser:
    """Which checks a mutant is put to, in which order.

    Cheap ones first, those of a kind (a target on a device, a test function) that killed others of the module, and one
    of each kind before many of one.

    Args:
        checks: With what they enter.
    """

    def __init__(self, checks: Sequence[Check]) -> None:
        self.checks = list(checks)
        self.kills: Counter[tuple[str, str]] = Counter()
        self._sound: set[str] = set()

    def checks_of(self, module: str, line: int) -> list[Check]:
        """Those that enter the statement; those that enter the function where tracing cannot tell.

        Args:
            module: Name of the mutated module.
            line: Of the mutant.
        """
        source = source_of(module)[1]
        statement, function = statement_lines(source, line)
        told = not code_lines(source).isdisjoint(statement)
        total = 0.0
        kept: list[Check] = []
        kinds: set[str] = set()
        for check in self._in_order(module, self._entering(module, statement if told else function)):
            if total + check.seconds <= _MOST_SECONDS or check.kind not in kinds:
                total += check.seconds
                kinds.add(check.kind)
                kept.append(check)
        return kept

    def _in_order(self, module: str, checks: Sequence[Check]) -> list[Check]:
        ranks: Counter[str] = Counter()
        keyed: list[tuple[float, int, Check]] = []
        for check in sorted(checks, key=lambda check: check.seconds):
            rank, kills = ranks[check.kind], self.kills[module, check.kind]
            keyed.append(((check.seconds + 0.01) * (1 + rank) / (1 + 4 * kills), len(keyed), check))
            ranks[check.kind] += 1
        return [check for _, _, check in sorted(keyed, key=lambda one: one[:2])]

    def learn(self, module: str, how: str, alone: Callable[[Check], str]) -> bool:
        """Take note of what saw a mutant; whether that counts, or the check is left out from now on.

        A check may fail for another reason than the mutant: it wants more memory than a child gets.

        Args:
            module: Name of the mutated module.
            how: As seen_by() says it, or as forked() does of a check that ended the process.
            alone: What one check sees of the prover as it is, in such a child.
        """
        for check in self.checks:
            if how.startswith(check.name + ": ") or how.endswith(f" in {check.name}"):
                if check.name not in self._sound and alone(check):
                    self.checks.remove(check)
                    return False
                self._sound.add(check.name)
                self.kills[module, check.kind] += 1
                break
        return True

    def _entering(self, module: str, lines: range) -> list[Check]:
        return [c for c in self.checks if any(line in lines for line in c.lines.get(module, ()))]


def seen_by(checks: Sequence[Check], before: Callable[[Check], None]) -> str:
    """The first check that sees something, and what; empty where none does."""
    for check in checks:
        before(check)
        try:
            said = check.run()
        except Exception as error:  # noqa: BLE001 - altered code may raise anything
            said = type(error).__name__
        if said:
            return f"{check.name}: {said}"
    return ""
