"""Classic synthesis on the host (variant P5 = closures): linear combinations are rebuilt for every proof.

bellperson works like this. It exists here to be compared with the sparse product, and to measure four choices of the
original (A1, A2, A3, A5); every setting gives the same values.

>>> from cuzk.relation import R1CS
>>> from cuzk.curves import get_curve
>>> from cuzk.limbs import fr_from_ints, fr_to_ints
>>> curve = get_curve("toy")
>>> tape = Tape.from_r1cs(R1CS.from_rows(curve, 4, 1, [({2: 1}, {3: 1}, {1: 1})]))     # w1 = w2 * w3
>>> done = tape.run(fr_from_ints(curve, [1, 15, 3, 5]), Setting(indexer="small2", in_place=True))
>>> [fr_to_ints(curve, column) for column in (done.a, done.b, done.c)]
[[3], [5], [15]]
"""

from cuzk.closures.run import Evaluation, Tape
from cuzk.closures.setting import INDEXERS, Setting
from cuzk.closures.steps import Steps, written_steps

__all__ = ["INDEXERS", "Evaluation", "Setting", "Steps", "Tape", "written_steps"]
