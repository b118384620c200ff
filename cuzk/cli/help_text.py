"""Examples and exit codes under a command's ``--help``."""

from __future__ import annotations

__all__ = ["epilog", "example_commands"]

_HEAD, _CODES = "Examples:", "Exit codes: "
_BREAK = " \\\n  "


def epilog(
    *examples: str,
    note: str = "",
    done: str = "done",
    no: str = "",
    bad: str = "bad input or usage",
    environment: str = "device or environment",
) -> str:
    """Lay out example commands so that help shows them ready to paste, and what the command's exit codes mean.

    Args:
        *examples: Commands; a newline in one is where its line ends, with a backslash.
        note: A sentence to follow them; one that speaks of exit codes says all of them.
        done: What 0 means.
        no: What 1 means, where there is a 1.
        bad: What 2 means.
        environment: What 3 means.

    Returns:
        Text for Typer: paragraphs with a blank line between them.
    """
    shown = [f"$ {example}".replace("\n", _BREAK) for example in examples]
    meanings = {0: done, 1: no, 2: bad, 3: environment, 130: "interrupted"}
    codes = _CODES + "; ".join(f"{code} {words}" for code, words in meanings.items() if words) + "."
    return "\n\n".join([_HEAD, *shown, *([note] if note else []), *([] if _CODES in note else [codes])])


def example_commands(text: str) -> list[str]:
    """The inverse: the commands of such a text, each on one line and without its ``$``."""
    paragraphs = text.replace(_BREAK, " ").split("\n\n")
    return [paragraph[2:] for paragraph in paragraphs if paragraph.startswith("$ ")]
