"""docs/add-a-variant.md: its change applies to a copy of the code, and its commands find the new variant.

Would catch: a guide that fell behind the code, a variant that some list does not pick up by itself.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.package_copy import copy_package

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "add-a-variant.md"
_BLOCK = re.compile(r"^```(diff|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_guide_is_true(tmp_path: Path) -> None:
    blocks = dict(_BLOCK.findall(GUIDE.read_text(encoding="utf-8")))
    added = [line for line in blocks["diff"].splitlines() if re.match(r"[+-](?![+-])", line)]
    assert len(added) <= 20, "it promises twenty lines"
    copy_package(tmp_path)
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
