"""Changes to the source of gadgets, one at a time: a constant, an operator, an argument, a row that is left out.

What only refuses bad input (raise, and conditions of nothing but raise), names and sizes of limits, doctests and types
is left alone: it is not what a circuit states.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["MODULES", "SourceMutant", "mutants_of"]

ROOT = Path(__file__).parents[2]
#: Modules that write rows, take part in constants of rows, or make hints.
MODULES = (
    "boolean", "uint32", "sha256", "blake2s", "multipack", "number", "poseidon", "vanilla.poseidon_constants", "por",
    "create_label", "hashes", "column", "stacked", "fallback_post", "hints", "sprout",
)  # fmt: skip
#: Functions and values without rows: names, limits, tables of what is exported, values for people.
_NO_ROWS = frozenset(
    ["parse", "name", "__post_init__", "of_sector", "__all__", "is_constant", "_is_prime", "summary"]
)
_LIMIT = "_MAX"

_OTHER_BINARY: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift, ast.BitXor: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr, ast.Mod: ast.FloorDiv,
}  # fmt: skip
_OTHER_COMPARISON: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip


@dataclass(frozen=True)
class SourceMutant:
    """One change of one module.

    Args:
        module: Its name below cuzk.circuits.
        place: Which node, in the order of _places.
        which: Which of its changes.
        function: Where the change is.
        line: Line of the original source.
    """

    module: str
    place: int
    which: int
    function: str
    line: int

    def rendered(self) -> tuple[str, str]:
        """What the change is, and the module's source with it."""
        tree = copy.deepcopy(_tree(self.module))
        node = list(_places(tree, "module"))[self.place][0]
        before = ast.unparse(node)
        list(_changes(node))[self.which](node)
        after = ast.unparse(node)
        return f"{before} -> {after}", ast.unparse(ast.fix_missing_locations(tree))


@cache
def _tree(module: str) -> ast.Module:
    path = ROOT / "cuzk" / "circuits" / Path(*module.split(".")).with_suffix(".py")
    return ast.parse(path.read_text())


@cache
def mutants_of(module: str) -> list[SourceMutant]:
    """All changes of a module."""
    return [
        SourceMutant(module, place, which, function, node.lineno)
        for place, (node, function) in enumerate(_places(_tree(module), "module"))
        for which, _ in enumerate(_changes(node))
    ]


def _places(node: ast.AST, function: str) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Nodes that may be changed, and the function that each is in."""
    for child in _kept_children(node):
        inside = function
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            inside = child.name
        if isinstance(child, ast.expr | ast.stmt):
            yield child, inside
        yield from _places(child, inside)


def _kept_children(node: ast.AST) -> Iterator[ast.AST]:
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_comment", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_left_alone(child):
                yield child


def _is_left_alone(node: ast.AST) -> bool:
    if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom):
        return True
    if (
        isinstance(node, ast.If)
        and all(isinstance(each, ast.Raise) for each in node.body)
        and not node.orelse
    ):
        return True
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name in _NO_ROWS
    if isinstance(node, ast.Assign):
        names = [
            each.id for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name)
        ]
        return any(name in _NO_ROWS or _LIMIT in name for name in names)
    if isinstance(node, ast.AnnAssign):
        return node.value is None or (isinstance(node.target, ast.Name) and node.target.id == "Bit")
    return False


def _changes(node: ast.expr | ast.stmt) -> Iterator[Callable[[ast.AST], None]]:
    """What can be done to a node, as functions that do it to a copy."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield _set("value", not node.value)
        elif isinstance(node.value, int):
            yield _set("value", node.value + 1)
            if node.value > 1:
                yield _set("value", node.value - 1)
    elif isinstance(node, ast.BinOp) and type(node.op) in _OTHER_BINARY:
        yield _set("op", _OTHER_BINARY[type(node.op)]())
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in _OTHER_COMPARISON:
        yield _set("ops", [_OTHER_COMPARISON[type(node.ops[0])](), *node.ops[1:]])
    elif isinstance(node, ast.BoolOp):
        yield _set("op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield _set("op", ast.UAdd())
    elif isinstance(node, ast.Call) and len(node.args) >= 2 and _are_exchangeable(*node.args[-2:]):
        yield _swap_last
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and not _is_cut(node.value):
        yield _set("value", ast.Constant(None))


def _set(field: str, value: object) -> Callable[[ast.AST], None]:
    return lambda node: setattr(node, field, value)


def _swap_last(node: ast.AST) -> None:
    assert isinstance(node, ast.Call)
    node.args[-2:] = reversed(node.args[-2:])


def _are_exchangeable(one: ast.expr, other: ast.expr) -> bool:
    """Whether two arguments may be of one type, and differ."""
    kinds = ast.Name | ast.Call | ast.Subscript
    if type(one) is not type(other) and not (isinstance(one, kinds) and isinstance(other, kinds)):
        return False
    return ast.unparse(one) not in ("cs", "equations", ast.unparse(other))


def _is_cut(call: ast.Call) -> bool:
    """Where a piece ends is no part of what a circuit states."""
    return isinstance(call.func, ast.Attribute) and call.func.attr == "cut"
