"""Gadgets and built-in circuits, and the plain computations whose results their witnesses hold (`vanilla`)."""
