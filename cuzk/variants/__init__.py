"""The registry of optimisation variants: every choice that changes how a proof is made, never which proof.

A row exists only for code that exists.  Each names the phase it acts in, its values, what it promises, what
it gains by forecast (written before a measurement), and the event tag by which a run proves that it acted.
The promise common to all: with the same inputs and blinding, every value gives the same proof bytes.

Those of the engine (how jobs are spread over stages and workers) are a table of their own: no single proof has them.
"""

from cuzk.variants.model import Variant
from cuzk.variants.rows import VARIANTS
from cuzk.variants.rows_engine import ENGINE_VARIANTS
from cuzk.variants.settings import chosen, defaults, parse_setting, resolve

__all__ = ["ENGINE_VARIANTS", "VARIANTS", "Variant", "chosen", "defaults", "parse_setting", "resolve"]
