"""Every window size, with the scalars of class K that its digits make special.

Large windows come with short scalars (one to three windows), so that only their 2^(c-1) buckets are large.
Every table of scalars is one sum over bases with different logarithms: a wrong digit anywhere changes it.

Would catch: a carry lost between windows or out of the top one, a digit exactly at the sign switch, bits mod
c in {0, 1, c - 1} handled as anything else, a bucket index beyond 16 bits, a window of mostly empty buckets.
"""

from __future__ import annotations

import pytest
from cuzk_oracles import edge_values

from tests.kernels.fr_support import open_device
from tests.kernels.msm_support import ALL_GROUPS, Subject, bases, run_msm, subject

EVERY_DEVICE = ("cpu", "emu")
EVERY_WINDOW = range(2, 25)
every_group = pytest.mark.parametrize(("curve_name", "group_name"), ALL_GROUPS)

#: Windows whose buckets take more bytes than this run on GPUs, and on the toy curve at 1/12 of the memory.
#: The emulator writes all of them, to poison them; on cpu only those in use are touched.
MOST_BYTES = {"emu": 1 << 29, "cpu": 1 << 31, "cuda": 1 << 31}


def large_windows() -> list[tuple[str, str, int, str]]:
    """(curve, group, c, device) for every c > 12 whose buckets fit."""
    return [
        (curve_name, group_name, c, device_name)
        for curve_name, group_name in ALL_GROUPS
        for c in range(13, 25)
        for device_name in EVERY_DEVICE
        if curve_name != "toy"
        and subject(curve_name, group_name).spec.xyzz_bytes << (c - 1) <= MOST_BYTES[device_name]
    ]


def check(device_name: str, s: Subject, scalars: list[int], c: int, bits: int, name: str = "") -> None:
    logs, limbs = bases(s, len(scalars), seed=c, infinity_every=50)
    result = run_msm(open_device(device_name), s, limbs, scalars, window_bits=c, scalar_bits=bits)
    assert result == s.expected(logs, scalars), (name, c, bits)


def table(s: Subject, c: int, bits: int) -> list[int]:
    """Every scalar of class K below 2^bits, without repetitions."""
    return list(dict.fromkeys(k for _, k in edge_values.scalars(s.r, c, bits)))


@pytest.mark.parametrize("c", range(2, 13))
@every_group
def test_every_class_on_cpu(curve_name: str, group_name: str, c: int) -> None:
    s = subject(curve_name, group_name)
    bits = s.curve.fr.bits
    check("cpu", s, table(s, c, bits), c, bits)
    for name, scalars in edge_values.scalar_vectors(s.r, 70, c, seed=c):
        check("cpu", s, scalars, c, bits, name)


@pytest.mark.parametrize("c", range(2, 13))
@every_group
def test_every_class_on_emu(curve_name: str, group_name: str, c: int) -> None:
    # Three windows and a bit: full length is the same code, and the emulator is slow.
    s = subject(curve_name, group_name)
    bits = min(s.curve.fr.bits, 3 * c + 1)
    check("emu", s, table(s, c, bits), c, bits)
    for name, scalars in edge_values.scalar_vectors(s.r, 40, c, seed=c, scalar_bits=bits):
        check("emu", s, scalars, c, bits, name)


@pytest.mark.parametrize(("curve_name", "group_name", "c", "device_name"), large_windows())
def test_chosen_cases_at_large_windows(curve_name: str, group_name: str, c: int, device_name: str) -> None:
    s = subject(curve_name, group_name)
    size = s.spec.xyzz_bytes << (c - 1)
    bits = 2 * c if 3 * size <= MOST_BYTES[device_name] else c - 1  # three windows, or one
    singles = [1, (1 << (c - 1)) - 1, 1 << (c - 1), (1 << (c - 1)) + 1, (1 << c) - 1, 1 << c, (1 << bits) - 1]
    vectors = dict(edge_values.scalar_vectors(s.r, 33, c, seed=c, scalar_bits=bits))
    limit = min(s.r, 1 << bits)
    cases = [[k for k in singles if k < limit], vectors["K.one_bucket"]]
    if device_name == "cpu" or size < 1 << 26:
        cases += [table(s, c, bits), vectors["K.bits_90"], vectors["K.all_equal"], vectors["K.uniform"]]
        cases += [[0] * 5, [limit - 1] * 3]
    for scalars in cases:
        check(device_name, s, scalars, c, bits)


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
@pytest.mark.parametrize("c", EVERY_WINDOW)
@pytest.mark.parametrize("group_name", ["g1", "g2"])
def test_every_window_on_toy(group_name: str, c: int, device_name: str) -> None:
    s = subject("toy", group_name)
    for bits in (16, 15, 9):
        check(device_name, s, table(s, c, bits), c, bits)
        if device_name == "emu" and c > 20:
            return


@pytest.mark.parametrize("extra", [-1, 0, 1])
@pytest.mark.parametrize("c", EVERY_WINDOW)
@pytest.mark.parametrize("curve_name", ["bn254", "bls12_381"])
def test_bits_next_to_a_multiple_of_the_window(curve_name: str, c: int, extra: int) -> None:
    s = subject(curve_name, "g1")
    windows = 3 if c < 17 else 2 if c < 20 else 1
    bits = windows * c + extra
    check("cpu", s, table(s, c, bits), c, bits)
