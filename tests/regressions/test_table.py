"""docs/regressions.md lists every regression test by its report's id, and nothing else.

Would catch: a report whose test went away, a test that no table names, a row that points to another file.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

FOLDER = Path(__file__).parent
PAGE = FOLDER.parents[1] / "docs" / "regressions.md"

_TEST = re.compile(r"test_([a-z0-9]{3})_(\d\d)_")
_ROW = re.compile(r"^\| ([A-Z0-9]{3}-\d\d) \| ([a-z0-9-]+) \| `([^`]+)` \| (.+) \|$", re.MULTILINE)
CLASSES = {
    "FIL": "file-loading", "ENC": "encoding", "VER": "verifier", "R1C": "r1cs-prover", "FLD": "field-arith",
    "CRV": "curve-points", "MSC": "msm-scalars", "MST": "msm-structure", "NTT": "ntt-domain",
    "SYN": "gpu-sync", "MEM": "gpu-memory", "TLC": "toolchain", "PRF": "perf-ledger",
    "FUZ": "fuzz-harness",
}  # fmt: skip


def files_by_id() -> dict[str, set[str]]:
    """Files with a test of each id."""
    found: dict[str, set[str]] = {}
    for path in FOLDER.glob("test_*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            match = _TEST.match(node.name) if isinstance(node, ast.FunctionDef) else None
            if match:
                found.setdefault(f"{match[1].upper()}-{match[2]}", set()).add(path.name)
    return found


def test_the_table_and_the_tests_agree() -> None:
    rows = _ROW.findall(PAGE.read_text(encoding="utf-8"))
    ids = [row[0] for row in rows]
    assert len(ids) == len(set(ids)), "an id has two rows"
    found = files_by_id()
    assert set(ids) == set(found)
    for identifier, fault_class, file, _ in rows:
        assert found[identifier] == {Path(file).name}, identifier
        assert file == f"tests/regressions/{Path(file).name}"
        assert fault_class == CLASSES[identifier[:3]], identifier


def test_every_row_says_what_it_would_catch() -> None:
    texts = [row[3] for row in _ROW.findall(PAGE.read_text(encoding="utf-8"))]
    assert len(texts) == len(set(texts)) == 143
    assert all(len(text) > 20 for text in texts)
