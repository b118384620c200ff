"""Every row of the registry, in the order of the table: rows are kept with others of their phases."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cuzk.variants.model import Variant
from cuzk.variants.rows_memory import ROWS as _MEMORY
from cuzk.variants.rows_msm import ROWS as _MSM
from cuzk.variants.rows_ntt import ROWS as _NTT
from cuzk.variants.rows_synthesis import ROWS as _SYNTHESIS

__all__ = ["VARIANTS"]

#: Every variant by id.
VARIANTS: Mapping[str, Variant] = MappingProxyType(
    {row.id: row for row in (*_SYNTHESIS, *_MEMORY, *_MSM, *_NTT)}
)
