"""Tests of the prover, end to end and phase by phase."""
