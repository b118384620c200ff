"""`__all__`: every package has one, and wherever there is one, it is complete and true.

Would catch: a public function that `__all__` forgot, and a name in `__all__` that no longer exists.
"""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGES = ("cuzk", "oracles/cuzk_oracles", "fuzz/cuzk_fuzz")


def _assigned(node: ast.stmt) -> list[str]:
    """Return the plain names that a module-level statement binds, imports left out."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign):
        targets = [node.target]
    return [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]


def _imported(tree: ast.Module) -> set[str]:
    """Return the names that imports bind at module level."""
    return {
        (alias.asname or alias.name).partition(".")[0]
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }


def _exported(tree: ast.Module) -> list[str] | None:
    """Return `__all__`, or None where the module has none."""
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and "__all__" in _assigned(node):
            assert node.value is not None
            names = ast.literal_eval(node.value)
            assert isinstance(names, list | tuple)
            return list(names)
    return None


def _problems(tree: ast.Module, *, is_package: bool) -> list[str]:
    """Compare `__all__` with what the module binds."""
    defined = {name for node in tree.body for name in _assigned(node)}
    imported = _imported(tree) - {"annotations"}
    # Where even typing is too slow to import, the name that type checkers know is bound here.
    public = {name for name in defined - {"TYPE_CHECKING"} if not name.startswith("_")}
    exported = _exported(tree)
    if exported is None:
        names = sorted(public | imported)
        return [f"no __all__, but a package that binds {names}"] if is_package and names else []
    # Where __getattr__ loads names on first use, the type checker vouches for them instead.
    known = defined | imported | (set(exported) if "__getattr__" in defined else set())
    forgotten = [f"{name} is public and not in __all__" for name in sorted(public - set(exported))]
    return forgotten + [f"__all__ names {name}, which is not there" for name in exported if name not in known]


def test_all_is_complete_and_true(python_files: list[Path], root: Path) -> None:
    problems = []
    for path in python_files:
        if any(path.is_relative_to(root / package) for package in PACKAGES):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found = _problems(tree, is_package=path.name == "__init__.py")
            problems += [f"{path.relative_to(root)}: {problem}" for problem in found]
    assert not problems, "\n".join(problems)


def test_the_comparison_sees_both_directions() -> None:
    tree = ast.parse("from a import b\n__all__ = ['b', 'gone']\ndef f(): ...\n_g = 1\n")
    assert _problems(tree, is_package=True) == [
        "f is public and not in __all__",
        "__all__ names gone, which is not there",
    ]
    bare = ast.parse("from a import b\n")
    assert _problems(bare, is_package=True) == ["no __all__, but a package that binds ['b']"]
    assert _problems(ast.parse("def f(): ...\n"), is_package=False) == []
