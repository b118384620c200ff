"""Small sealed sectors for tests, each made once."""

from __future__ import annotations

import random
from functools import cache

from cuzk.circuits.vanilla.graph import ApiVersion
from cuzk.circuits.vanilla.seal import SealedSector, SectorIdentity, seal
from cuzk.circuits.vanilla.shapes import sector_shape

PROVER_ID, TICKET, POREP_ID, SEED = (bytes([n]) * 32 for n in (1, 2, 3, 4))
SECTOR_NUMBER = 7


def random_data(num_bytes: int, seed: int = 5) -> bytes:
    """Nodes below 2^254."""
    rng = random.Random(seed)
    return b"".join(rng.randrange(1 << 254).to_bytes(32, "little") for _ in range(num_bytes // 32))


@cache
def sealed(name: str = "2KiB", version: ApiVersion = ApiVersion.V1_1_0) -> SealedSector:
    """A sector of random data."""
    shape = sector_shape(name)
    identity = SectorIdentity(PROVER_ID, SECTOR_NUMBER, TICKET, POREP_ID, version)
    return seal(shape, random_data(shape.size_bytes), identity)
