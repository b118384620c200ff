"""Words that have no place in the project: paths of somebody's machine, package hosts, unfinished work.

Would catch: a path that works on one machine only, an installer bound to one mirror, a promise left in a
comment, a test switched off.
"""

from __future__ import annotations

import re
from pathlib import Path

# Written in pieces, so that this file does not contain what it looks for.
_FOLDERS = ("home", "root", "work", "opt", "tmp", "Users")
_HOSTS = (
    "pypi" + r"\.org",
    "python" + "hosted",
    "registry" + r"\.npmjs",
    "deb" + r"\.debian",
    r"proxy\.golang",
)
_UNFINISHED = ("TO" + "DO", "FIX" + "ME", "X" * 3, "raise NotImplemented" + "Error", "H" + "ACK")
_SWITCHED_OFF = (r"pytest\.(mark\.)?" + "skip", r"pytest\.(mark\.)?" + "xfail")

FORBIDDEN = {
    "a path of one machine": re.compile(r"(?<![\w.~$}])/(" + "|".join(_FOLDERS) + r")/\w"),
    "the host of a package registry": re.compile("|".join(_HOSTS)),
    "unfinished work": re.compile(r"\b(" + "|".join(_UNFINISHED) + r")\b"),
    "a test switched off": re.compile("|".join(_SWITCHED_OFF)),
}


def test_no_forbidden_word(texts: dict[Path, str], root: Path) -> None:
    found = []
    for path, text in texts.items():
        if path.name == "LICENSE":
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            found += [
                f"{path.relative_to(root)}:{number}: {what}: {line.strip()[:100]}"
                for what, pattern in FORBIDDEN.items()
                if pattern.search(line)
            ]
    assert not found, "\n".join(found)


def test_the_patterns_match_what_they_mean() -> None:
    samples = {
        "a path of one machine": "open('/" + "home/me/x')",
        "the host of a package registry": "https://files.python" + "hosted.org/x",
        "unfinished work": "# TO" + "DO: later",
        "a test switched off": "@pytest.mark." + "skip",
    }
    assert samples.keys() == FORBIDDEN.keys()
    for what, pattern in FORBIDDEN.items():
        assert pattern.search(samples[what]), what
        assert not pattern.search("${root}/work/x and a/tmp/b, methods, skipped rows"), what
