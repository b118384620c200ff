"""Hypothesis strategies over the named edge classes: an id first, then one of its values, or a random value.

Choosing the id first gives rare classes the same weight as populous ones, and shrinking ends at a named case.
"""
