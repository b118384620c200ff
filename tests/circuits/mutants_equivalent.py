"""Changes to the source of gadgets that change nothing that a circuit states, and why."""

from __future__ import annotations

__all__ = ["why_equivalent"]

#: (module, function, change as the command prints it) -> reason. A change may end in `*`.
EQUIVALENT: dict[tuple[str, str, str], str] = {
    ("vanilla.poseidon_constants", "_is_secure", "_BITS - 3 -> _BITS + 3"): (
        "times width + 1, both are more than 128 bits for every width"
    ),
    ("vanilla.poseidon_constants", "_is_secure", "width - 1 -> width + 1"): (
        "another bound is larger: the search finds the same rounds for every width from 3 to 59"
    ),
}


def why_equivalent(module: str, function: str, change: str) -> str | None:
    """The reason why a change is no mistake, or None."""
    for (in_module, in_function, pattern), reason in EQUIVALENT.items():
        if (in_module, in_function) == (module, function) and (
            change == pattern or (pattern.endswith("*") and change.startswith(pattern[:-1]))
        ):
            return reason
    return None
