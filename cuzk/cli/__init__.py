"""The command line: one file per sub-command, errors mapped to exit codes in ``guard``.

Sub-commands import what they need when they run, so that ``cuzk --help`` starts without NumPy or a device.
"""

from cuzk.cli.app import app, main

__all__ = ["app", "main"]
