"""docs/add-a-variant.md: its change applies to a copy of the code, and its commands find the new variant.

Would catch: a guide that fell behind the code, a variant that some list does not pick up by itself.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import cuzk

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "add-a-variant.md"
#: The finder of an editable install comes before the path: it would import the code without the change.
_PATH_FIRST = (
    "import sys\nfrom importlib.machinery import PathFinder\n\nsys.meta_path.insert(0, PathFinder)\n"
)
_BLOCK = re.compile(r"^```(diff|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_guide_is_true(tmp_path: Path) -> None:
    blocks = dict(_BLOCK.findall(GUIDE.read_text(encoding="utf-8")))
    added = [line for line in blocks["diff"].splitlines() if re.match(r"[+-](?![+-])", line)]
    assert len(added) <= 20, "it promises twenty lines"
    ignored = shutil.ignore_patterns("__pycache__", "engine")
    shutil.copytree(Path(cuzk.__file__).parent, tmp_path / "cuzk", ignore=ignored)
    for folder in cuzk.__path__:  # an editable install has its compiled modules beside no sources
        for built in Path(folder).glob("_*.so"):
            shutil.copy(built, tmp_path / "cuzk")
    (tmp_path / "sitecustomize.py").write_text(_PATH_FIRST)
    change = tmp_path / "change.diff"
    change.write_text(blocks["diff"])
    git = ["git", "-C", str(tmp_path), "apply", "--unidiff-zero", change.name]
    applied = subprocess.run(git, capture_output=True, text=True, check=False)
    assert applied.returncode == 0, f"the code has changed, so must the guide:\n{applied.stderr}"

    outputs = {}
    for line in blocks["sh"].splitlines():
        name, *arguments = shlex.split(line)
        assert name == "cuzk"
        environment = os.environ | {"PYTHONPATH": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-m", "cuzk", *arguments], cwd=tmp_path, env=environment, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        outputs[arguments[0]] = done.stdout
    assert "check of the rows" in outputs["variants"]
    assert "intermediates are identical" in outputs["ab"]
    assert "no trace" not in outputs["ab"]
    assert "row_check" in outputs["ab"] or "total" in outputs["ab"]
