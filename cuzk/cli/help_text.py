"""Examples under a command's ``--help``."""

from __future__ import annotations

__all__ = ["epilog", "example_commands"]

_HEAD = "Examples:"
_BREAK = " \\\n  "


def epilog(*examples: str, note: str = "") -> str:
    """Lay out example commands so that help shows them ready to paste.

    Args:
        *examples: Commands; a newline in one is where its line ends, with a backslash.
        note: A sentence to follow them.

    Returns:
        Text for Typer: paragraphs with a blank line between them.
    """
    shown = [f"$ {example}".replace("\n", _BREAK) for example in examples]
    return "\n\n".join([_HEAD, *shown, note] if note else [_HEAD, *shown])


def example_commands(text: str) -> list[str]:
    """The inverse: the commands of such a text, each on one line and without its ``$``."""
    paragraphs = text.replace(_BREAK, " ").split("\n\n")
    return [paragraph[2:] for paragraph in paragraphs if paragraph.startswith("$ ")]
