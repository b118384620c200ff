"""What a compiled module is made from: a digest of the text that its compiler sees, without comments and layout.

A module's figures follow from this text, the compiler and its options, so figures of an unchanged module need no second
compilation.  The text is that of entry.cu and of every header it includes for the module's family; conditions other
than the family's count with all their branches.
"""

from __future__ import annotations

import hashlib
import re

from cuzk.device import builder

__all__ = ["module_digest"]

#: Families by the number that kernels.cuh compares.
_FAMILY_IDS = {"fr": 1, "g1": 2, "g2": 3, "fields": 4}
_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_INCLUDE = re.compile(r'\s*#\s*include\s*"([^"]+)"')
_CONDITION = re.compile(r"\s*#\s*(ifdef|ifndef|if|elif|else|endif)\b\s*(.*)")
_IS_FAMILY = re.compile(r"CUZK_FAMILY_ID == (\d)$")


def module_digest(curve: str, family: str) -> str:
    """Digest of a module's text.

    Args:
        curve: Curve name, or "any".
        family: "fr", "g1", "g2" or "fields".

    Returns:
        24 hexadecimal digits.
    """
    digest = hashlib.sha256(f"{curve} {family}".encode())
    seen: set[str] = set()

    def add(name: str) -> None:
        path = builder.KERNEL_DIR / name
        if name in seen or not path.is_file():  # CUDA's own headers come with the compiler
            return
        seen.add(name)
        for line in _lines(path.read_text(encoding="utf-8"), _FAMILY_IDS[family]):
            if found := _INCLUDE.match(line):
                add(found[1])
            elif words := line.split():
                digest.update(" ".join(words).encode() + b"\n")

    add("entry.cu")
    return digest.hexdigest()[:24]


def _lines(text: str, family: int) -> list[str]:
    """The lines that a family sees, comments taken out."""
    bare = _COMMENT.sub(lambda found: found[0] if found[0].startswith('"') else " ", text)
    kept: list[str] = []
    stack: list[
        list[bool]
    ] = []  # each open condition: is seen now, one of its branches was, asks for the family
    for line in bare.split("\n"):
        found = _CONDITION.match(line)
        if found is None:
            if all(level[0] for level in stack):
                kept.append(line)
            continue
        word, condition = found[1], found[2].strip()
        if word in ("if", "ifdef", "ifndef"):
            known = _IS_FAMILY.match(condition)
            seen = known is None or int(known[1]) == family
            stack.append([seen, seen, known is not None])
        elif word == "endif":
            stack.pop()
        elif stack[-1][2]:  # elif or else of a question about the family
            known = _IS_FAMILY.match(condition)
            seen = not stack[-1][1] and (word == "else" or known is None or int(known[1]) == family)
            stack[-1] = [seen, stack[-1][1] or seen, True]
        if not (stack and stack[-1][2]) and all(level[0] for level in stack):
            kept.append(line)  # which branch the compiler takes is part of the text
    return kept
