"""``python -m cuzk_fuzz``."""

import sys

from cuzk_fuzz.cli import main

sys.exit(main())
