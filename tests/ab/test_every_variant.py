"""A fault planted in one value of one variant is named with phase and place, whichever value it is.

Would catch: a variant whose results no comparison looks at, h or sums of another form taken for a difference or for
nothing, work beside the device or of a later call of a batch that is not compared, and a value that never ran.
"""

from __future__ import annotations

import functools

import pytest
from cuzk_fuzz.planted import PLACES, plant

from cuzk.ab import LocalRunner, Setting, Trace, Workload, open_workload
from cuzk.ab.campaign import candidates
from cuzk.ab.compare import compare_bits
from cuzk.ab.forms import with_common_forms
from cuzk.ab.localise import localise
from cuzk.device import get_device
from cuzk.variants import VARIANTS

#: An element of the vectors that is not the first.
INDEX = 5
#: Phases in which a variant acts and a fault shows; those that move or free whole vectors can hurt any of them.
PHASES = {
    "P5": ("spmv",), "A1": ("spmv",), "A2": ("spmv",), "A3": ("spmv",), "A5": ("spmv",), "B1": ("ntt_h",),
    "B2": ("spmv", "ntt_h"), "C1": ("spmv", "tail_msm"), "A4": ("b_g2_msm",), "D2": ("batch_add",),
    "D4": ("msm_h", "tail_msm", "b_g2_msm"), "D5": ("msm_h", "tail_msm", "b_g2_msm"),
    "M1": ("msm_h", "tail_msm", "b_g2_msm"), "M2": ("batch_add", "tail_msm", "b_g2_msm"), "N1": ("ntt_h",),
    "Q1": ("ntt_h", "msm_h", "tail_msm"),
}  # fmt: skip
#: What a variant needs beside it to act at all.
BESIDE = dict.fromkeys(("A1", "A2", "A3", "A5"), "P5=closures,")
#: Widths above this take a table of 2^WIDTH buckets for a curve of 16 bits, and the command treats them all alike.
WIDEST = 12
#: Calls of a batch that differ: one circuit after the other, two and one, all three, and more than there are.
CALLS = ("1", "2", "3", "32")


@functools.cache
def workload(circuits: int) -> Workload:
    """A small circuit of a small curve."""
    return open_workload("mixed:40:toy", get_device("cpu"), circuits=circuits)


@functools.cache
def reference(circuits: int) -> tuple[LocalRunner, Trace]:
    """The defaults on the cpu, with what they compute."""
    runner = LocalRunner(workload(circuits), Setting())
    return runner, runner.trace()


def cases(kind: str) -> list[tuple[str, str, str]]:
    """Every value that is possible, with each phase in which it can be wrong."""
    found = []
    for one in candidates(kind, every=True)[0]:
        if one.variant == "D4" and one.value.isdigit() and int(one.value) > WIDEST:
            continue
        if one.variant == "C1" and one.value not in CALLS:
            continue
        if one.text == "Q1=seven_ntt":
            continue  # this key has no such form; that it is refused is tested elsewhere
        for phase in PHASES[one.variant]:
            if (one.value, phase) != ("none", "batch_add"):  # M2 = none adds up nothing apart
                found.append((one.variant, one.value, phase))
    return found


def test_every_variant_has_cases() -> None:
    assert set(PHASES) == set(VARIANTS)
    assert {variant for variant, _, _ in cases("cpu")} == set(VARIANTS)


def find(variant: str, value: str, phase: str, device: str = "cpu", circuits: int = 1) -> None:
    """Plant a fault, compare with the defaults, and look at what is named."""
    load, (base, shown) = workload(circuits), reference(circuits)
    setting = Setting.parse(f"{BESIDE.get(variant, '')}{variant}={value}", device)
    with plant(variant, value, phase, INDEX, curve=load.key.curve) as planted:
        other = LocalRunner(load, setting)
        trace = other.trace()
        found = localise(base, other, (shown, trace))
    assert planted.hits, "the fault was never met"
    assert value in trace.traces[variant], "the value left no trace"
    assert found is not None
    closures = "closures" in (value, setting.variants.get("P5"))
    assert found.at.phase == ("closures" if closures and phase == "spmv" else phase)
    assert found.at.name.startswith(PLACES[phase])
    is_vector = phase in ("spmv", "ntt_h")
    # The first word that differs of (x, -y) is the first of y.
    at = (INDEX, 0) if is_vector else (0, 2 if found.at.name.endswith("b_g2") else 1)
    assert (found.at.circuit, found.at.index, found.at.word) == (0, *at)
    assert found.wrong == "B"
    assert found.a == found.oracle != found.b
    if found.at.name.startswith("sum_"):
        assert found.msm is not None
        assert (found.msm.side, found.msm.stage) == ("B", "combine"), (
            "behind its windows, where it was planted"
        )


@pytest.mark.parametrize(("variant", "value", "phase"), cases("cpu"))
def test_a_fault_in_any_value_is_named(variant: str, value: str, phase: str) -> None:
    find(variant, value, phase, circuits=3 if variant == "C1" else 1)


#: What only the emulator has: page-locked rows, B in G2 beside the device, launches by blocks.
ON_EMU = [one for one in cases("emu") if one not in cases("cpu")] + [
    ("A4", "par_map", "b_g2_msm"), ("B1", "pageable", "ntt_h"), ("D5", "per_query", "tail_msm"),
    ("Q1", "four_ntt", "msm_h"), ("P5", "template", "spmv"),
]  # fmt: skip


@pytest.mark.parametrize(("variant", "value", "phase"), ON_EMU)
def test_a_fault_on_the_emulator_is_named(variant: str, value: str, phase: str) -> None:
    find(variant, value, phase, "emu")


@pytest.mark.parametrize("order", ["default first", "four_ntt first"])
def test_another_form_of_h_is_compared_with_its_own_kind(order: str) -> None:
    """Without a fault every form is the same; with one, the side that is wrong is named, whichever it is."""
    load, (base, shown) = workload(1), reference(1)
    folded = LocalRunner(load, Setting.parse("Q1=four_ntt", "cpu"))
    traces = (shown, folded.trace())
    states = {one.name: one.state for one in compare_bits(*with_common_forms(load, traces))}
    assert states["h_folded"] == states["h_odd_lagrange"] == states["sum_h_and_l"] == "same"
    assert "differs" not in states.values()
    assert states["sum_h"] == "only in A", "where the total agrees, nobody asks the oracle for the parts"
    with plant("Q1", "four_ntt", "batch_add", curve=load.key.curve):
        sides = (base, folded) if order == "default first" else (folded, base)
        found = localise(*sides)
    assert found is not None
    assert (found.at.phase, found.at.name, found.wrong) == (
        "batch_add", "ones_l_folded", "B" if order == "default first" else "A"
    )  # fmt: skip
    for phase, name in (("msm_h", "sum_h_folded"), ("tail_msm", "sum_l_folded"), ("ntt_h", "h_folded")):
        with plant("Q1", "four_ntt", phase, INDEX, curve=load.key.curve):
            found = localise(*sides)
        assert found is not None
        assert (found.at.phase, found.at.name) == (phase, name)
        assert found.wrong == ("B" if order == "default first" else "A")
