"""No file over 350 lines, no function over 60, in Python and in C++ alike.

Would catch: a file or a function that grew past what one reads in a sitting.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

MAX_FILE_LINES = 350
MAX_FUNCTION_LINES = 60
CPP_SUFFIXES = {".cuh", ".cu", ".hpp", ".cpp", ".h"}

#: Comments and literals, which may hold braces that open nothing.
_NO_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
#: Ends of the text before a brace that opens a function body.
_FUNCTION_HEAD = re.compile(r"\)(\s|const\b|noexcept\b|override\b|mutable\b)*(->[^;{}()]*)?$")


def _is_code(path: Path) -> bool:
    return path.suffix == ".py" or path.suffix in CPP_SUFFIXES


def python_functions(text: str) -> list[tuple[str, int, int]]:
    """Return name, first line and number of lines of each function, docstring and decorators left out."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            doc_lines = 0
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                doc_lines = (first.end_lineno or first.lineno) - first.lineno + 1
            length = (node.end_lineno or node.lineno) - node.lineno + 1 - doc_lines
            found.append((node.name, node.lineno, length))
    return found


def cpp_functions(text: str) -> list[tuple[int, int]]:
    """Return first line of the body and number of lines of each function body, outermost ones only."""
    code = _NO_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    found: list[tuple[int, int]] = []
    stack: list[tuple[int, bool]] = []
    statement = 0  # where the text since the last ; { or } starts
    for position, char in enumerate(code):
        if char == "{":
            inside = any(is_function for _, is_function in stack)
            is_head = _FUNCTION_HEAD.search(code[statement:position]) is not None
            stack.append((position, is_head and not inside))
        elif char == "}" and stack:
            opened, is_function = stack.pop()
            if is_function:
                found.append((code.count("\n", 0, opened) + 1, code.count("\n", opened, position) + 1))
        if char in "{};":
            statement = position + 1
    return found


def test_files_are_short(texts: dict[Path, str], root: Path) -> None:
    too_long = {
        str(path.relative_to(root)): count
        for path, text in texts.items()
        if _is_code(path)
        and (count := len(text.splitlines())) > MAX_FILE_LINES
        and "generated" not in path.parts
    }
    assert not too_long


def test_functions_are_short(texts: dict[Path, str], root: Path) -> None:
    too_long = []
    for path, text in texts.items():
        place = path.relative_to(root)
        if path.suffix == ".py":
            lengths = [(f"{place}:{line} {name}", count) for name, line, count in python_functions(text)]
        elif path.suffix in CPP_SUFFIXES and "generated" not in path.parts:
            lengths = [(f"{place}:{line}", count) for line, count in cpp_functions(text)]
        else:
            continue
        too_long += [f"{name}: {count} lines" for name, count in lengths if count > MAX_FUNCTION_LINES]
    assert not too_long


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int f(int a) {\n  return a;\n}\n", [(1, 3)]),
        (
            "struct S {\n  S(int a) : x(a) {\n  }\n  int g() const {\n    if (x) {\n    }\n  }\n};\n",
            [(2, 2), (4, 4)],
        ),
        ("namespace n {\nconst int t[] = {\n 1,\n};\n}\n", []),
        ('void f() {\n  auto s = "}{";  // }\n  auto g = [&](int i) {\n  };\n}\n', [(1, 5)]),
        ("auto f(int a) -> int {\n}\n", [(1, 2)]),
    ],
)
def test_the_cpp_measure_sees_functions_and_nothing_else(text: str, expected: list[tuple[int, int]]) -> None:
    assert cpp_functions(text) == expected


def test_the_python_measure_leaves_docstrings_out() -> None:
    body = "    x = 1\n" * 3
    assert python_functions(f'def f():\n    """One.\n\n    Two.\n    """\n{body}') == [("f", 1, 4)]
