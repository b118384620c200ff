"""Differential fuzzing of every kernel against the oracles, and mutants that prove that it bites."""

__all__: list[str] = []
