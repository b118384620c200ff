"""Which bundles of a witness program do not depend on each other: the order in which devices run them."""

from __future__ import annotations

import numpy as np

from cuzk.csr import IntArray
from cuzk.ops.piece_checks import own_reads
from cuzk.pieces import CompiledCircuit, Piece

__all__ = ["bundle_groups"]


def bundle_groups(circuit: CompiledCircuit, piece: Piece) -> IntArray:
    """The group of each bundle of a checked program.

    A bundle is in group 0 if it reads nothing that its program makes, else one behind the last group that it reads
    from. Groups follow one another; the bundles of one can run in any order, or side by side.

    Returns:
        Shape (bundles,) int64.
    """
    bundles = len(piece.program.bundles)
    reader, maker = own_reads(circuit, piece)
    groups = [0] * bundles
    for pair in np.unique(reader * bundles + maker).tolist():  # in order of readers: their makers are done
        reads, made = divmod(pair, bundles)
        groups[reads] = max(groups[reads], groups[made] + 1)
    return np.array(groups, np.int64)
