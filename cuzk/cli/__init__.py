"""The command line: one file per sub-command, errors mapped to exit codes in ``guard``.

Sub-commands import what they need when they run, so that ``cuzk --help`` starts without NumPy or a device.
"""

from cuzk.cli.app import main, make_app

__all__ = ["main", "make_app"]
