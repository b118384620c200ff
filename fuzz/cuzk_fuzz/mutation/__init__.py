"""Mutants of the kernel headers: small faults that the differential targets must see."""
