"""Small faults in Python: one comparison, operator, constant, argument or statement at a time."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from cuzk_fuzz.mutation.operators import Mutant

_COMPARE = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
_BINARY = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "*", ast.Mod: "//", ast.LShift: ">>",
    ast.RShift: "<<", ast.BitAnd: "|", ast.BitOr: "&", ast.BitXor: "|", ast.Pow: "*",
}  # fmt: skip
#: What is no behaviour: messages, checks of types, telemetry, annotations.
_NO_BEHAVIOUR = (ast.Raise, ast.Assert, ast.AnnAssign, ast.Import, ast.ImportFrom)

#: A place in the text and what takes it: operator, first line, column, last line, column, text.
_Change = tuple[str, int, int, int, int, str]


def _between(left: ast.expr, right: ast.expr) -> tuple[int, int, int, int]:
    assert left.end_lineno is not None
    assert left.end_col_offset is not None
    return left.end_lineno, left.end_col_offset, right.lineno, right.col_offset


def _span(node: ast.expr | ast.stmt) -> tuple[int, int, int, int]:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def _swapped(name: str, left: ast.expr, right: ast.expr, new: str, lines: list[str]) -> Iterator[_Change]:
    """Another operator between two operands, whatever brackets stand around it."""
    first, start, last, end = _between(left, right)
    if first == last and (match := re.search(r"[^()\s]+(?: (?:not|in))?", lines[first - 1][start:end])):
        yield name, first, start + match.start(), last, start + match.end(), new


def _of_expression(node: ast.AST, lines: list[str]) -> Iterator[_Change]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARE:
        yield from _swapped("relation", node.left, node.comparators[0], _COMPARE[type(node.ops[0])], lines)
    elif isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        yield from _swapped("arithmetic", node.left, node.right, _BINARY[type(node.op)], lines)
    elif isinstance(node, ast.BoolOp):
        other = "or" if isinstance(node.op, ast.And) else "and"
        yield from _swapped("logic", node.values[0], node.values[1], other, lines)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        first, column, *_ = _span(node)
        yield "negation", first, column, first, column + (4 if isinstance(node.op, ast.Not) else 1), ""
    elif isinstance(node, ast.Constant) and type(node.value) in (int, bool):
        yield from _of_constant(node)
    elif isinstance(node, ast.IfExp | ast.If | ast.While):
        text = ast.unparse(node.test)
        yield "branch", *_span(node.test), f"(False and ({text}))"
        if not isinstance(node, ast.While):
            yield "branch", *_span(node.test), f"(True or ({text}))"


def _of_constant(node: ast.Constant) -> Iterator[_Change]:
    if isinstance(node.value, bool):
        yield "constant", *_span(node), str(not node.value)
        return
    assert isinstance(node.value, int)
    for other in (node.value + 1, node.value - 1):
        yield "constant", *_span(node), f"({other})"


def _of_statement(node: ast.AST) -> Iterator[_Change]:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "deletion", *_span(node), "pass"
    elif isinstance(node, ast.AugAssign) and type(node.op) in _BINARY:
        yield "assignment", *_between(node.target, node.value), f" {_BINARY[type(node.op)]}= "


def mutants_of_python(name: str, source: str) -> list[Mutant]:
    """Every mutant of a module that changes one line, in the order of its lines."""
    lines = source.split("\n")
    found: dict[tuple[int, str], Mutant] = {}
    for node in _behaviour(ast.parse(source)):
        for operator, first, start, last, end, text in (*_of_expression(node, lines), *_of_statement(node)):
            original = lines[first - 1]
            if first != last or not original.isascii():  # offsets are of bytes
                continue
            above = lines[first - 2] if first > 1 else ""
            mutant = Mutant(name, first, operator, start, end, text, original, above)
            if mutant.mutated.strip() != original.strip():
                found.setdefault((first, mutant.mutated), mutant)
    return sorted(found.values(), key=lambda m: (m.line, m.start))


def _behaviour(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes inside functions, without annotations, defaults of dataclasses, raised errors and what guards them."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _NO_BEHAVIOUR) or _only_raises(child) or _is_telemetry(child):
            continue
        if _is_guard(child) or _is_free_length(node, child):
            continue
        if isinstance(child, ast.FunctionDef):
            for part in child.body:
                if not (isinstance(part, _NO_BEHAVIOUR) or _only_raises(part) or _is_telemetry(part)):
                    yield part
                    yield from _behaviour(part)
        elif isinstance(child, ast.ClassDef) or not isinstance(node, ast.Module | ast.ClassDef):
            if not isinstance(child, ast.ClassDef):
                yield child
            yield from _behaviour(child)


def _only_raises(node: ast.AST) -> bool:
    """A check of bad input, which other tests look at."""
    return isinstance(node, ast.If) and not node.orelse and all(isinstance(s, ast.Raise) for s in node.body)


def _is_guard(node: ast.AST) -> bool:
    """``strict=True`` of zip(): it raises where lengths differ, and changes nothing else."""
    return isinstance(node, ast.keyword) and node.arg == "strict"


def _is_free_length(parent: ast.AST, node: ast.AST) -> bool:
    """The -1 of reshape(), which is no number: any negative one says the same."""
    return (
        isinstance(parent, ast.Call)
        and getattr(parent.func, "attr", "") == "reshape"
        and isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
    )


def _is_telemetry(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and any(
        getattr(part, "id", getattr(part, "attr", "")) in ("span", "recorder") for part in ast.walk(node)
    )
