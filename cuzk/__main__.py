"""``python -m cuzk``: the command line without the installed script."""

from __future__ import annotations

from cuzk.cli import main

if __name__ == "__main__":
    main()
