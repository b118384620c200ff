"""The .ptau reader: damage in every section, and what of a file is read.

Would catch: sizes that are not compared with the power, a block of another power, generators that are none.
"""

from __future__ import annotations

import pytest

from cuzk.curves import get_curve
from cuzk.errors import CurveMismatchError, FormatError, RangeError
from cuzk.formats import describe, load_ptau
from tests.formats.builders import Save, Sections, container, le, replaced
from tests.formats.ptau_builder import Secrets, multiples, ptau_bytes, ptau_sections

TOY = get_curve("toy")
POWER = 3
SECRETS = Secrets(1234, 77, 5)


def sections(*, prepared: bool) -> Sections:
    return ptau_sections(TOY, POWER, SECRETS, prepared=prepared)


def as_file(parts: Sections, save: Save) -> str:
    return str(save(container(b"ptau", 1, parts)))


@pytest.mark.parametrize("log_n", range(POWER + 1))
def test_reads_what_the_domain_needs(log_n: int, save: Save) -> None:
    n, (tau, alpha, beta) = 1 << log_n, SECRETS
    found = load_ptau(save(ptau_bytes(TOY, POWER, SECRETS, prepared=False)), log_n)
    powers = [pow(tau, i, TOY.r) for i in range(2 * n - 1)]
    assert found.tau_g1.tobytes() == multiples(TOY.g1, powers)
    assert found.tau_g2.tobytes() == multiples(TOY.g2, powers[:n])
    assert found.alpha_tau_g1.tobytes() == multiples(TOY.g1, [alpha * value % TOY.r for value in powers[:n]])
    assert found.beta_tau_g1.tobytes() == multiples(TOY.g1, [beta * value % TOY.r for value in powers[:n]])
    assert found.beta_g2.tobytes() == multiples(TOY.g2, [beta])
    assert len(found.odd_g1) == 0
    lagrange = load_ptau(save(ptau_bytes(TOY, POWER, SECRETS, prepared=True)), log_n)
    assert lagrange.is_lagrange
    assert len(lagrange.odd_g1) == len(lagrange.tau_g1) == n
    assert not load_ptau(
        save(ptau_bytes(TOY, POWER, SECRETS, prepared=True)), log_n, root_convention="bellman"
    ).is_lagrange


@pytest.mark.parametrize("section", [1, 2, 3, 4, 5, 6, 12, 13, 14, 15])
def test_every_section_cut_or_longer(section: int, save: Save) -> None:
    parts = sections(prepared=True)
    content = dict(parts)[section]
    for wrong in (content[:-1], content[: len(content) // 2], b"", content + bytes(4), content + content):
        path = as_file(replaced(parts, section, wrong), save)
        for call in (lambda path=path: load_ptau(path, POWER), lambda path=path: describe(path)):
            with pytest.raises(FormatError):
                call()
    without = [(number, old) for number, old in parts if number != section]
    with pytest.raises(FormatError):
        load_ptau(as_file(without, save), POWER)


@pytest.mark.parametrize("power", [0, 1, 33, 1 << 31, (1 << 32) - 1])
def test_powers_that_the_file_does_not_have(power: int, save: Save) -> None:
    parts = sections(prepared=False)
    header = dict(parts)[1]
    path = as_file(replaced(parts, 1, header[:-8] + le(power, 4) + header[-4:]), save)
    with pytest.raises(FormatError, match=r"power|points"):
        load_ptau(path, 0)


def test_values(save: Save) -> None:
    """A coordinate that is p, all ones, infinity where the generator or beta must be, and another curve."""
    parts = sections(prepared=False)
    width = TOY.fp.nbytes
    for section in (2, 3, 4, 5, 6):
        content = dict(parts)[section]
        for value in (le(TOY.p, width), b"\xff" * width):
            with pytest.raises(FormatError, match="not below"):
                load_ptau(as_file(replaced(parts, section, content[:-width] + value), save), POWER)
    zero = bytes(2 * width)
    with pytest.raises(FormatError, match="generator"):
        load_ptau(as_file(replaced(parts, 2, zero + dict(parts)[2][len(zero) :]), save), POWER)
    for section in (4, 5):
        with pytest.raises(RangeError, match="infinity"):
            load_ptau(
                as_file(replaced(parts, section, zero + dict(parts)[section][len(zero) :]), save), POWER
            )
    header = le(width, 4) + le(TOY.p + 2, width) + le(POWER, 4) + le(POWER, 4)
    with pytest.raises(CurveMismatchError, match=str(TOY.p + 2)):
        load_ptau(as_file(replaced(parts, 1, header), save), POWER)
