"""Witness programs on every device against the oracle's reading of the same tables.

Would catch: an operation that reads or writes the wrong slot, a lane left out of a loop, a lost carry between the
halves of a sum, a sign, a missing barrier between bundles, a level that starts before its operands are there, a
dictionary whose 1 and -1 are taken for other codes.
"""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from cuzk_fuzz.targets.pieces import compiled
from cuzk_oracles import pieces as oracle

from cuzk.curves import Curve, get_curve
from cuzk.errors import KernelFault, ShapeError
from cuzk.ops.piece_order import bundle_groups
from cuzk.ops.piece_spmv import piece_spmv
from cuzk.ops.piece_tables import DevicePieces
from cuzk.ops.plan_pieces import plan_witness
from cuzk.ops.witness_program import run_witness
from tests.kernels.fr_support import SCHEDULES, curve_device_pairs, get, open_device, pair_id, put
from tests.kernels.piece_support import Case, case, chain

everywhere = pytest.mark.parametrize(("curve", "device_name"), curve_device_pairs(), ids=pair_id)


def made(case: Case, device_name: str) -> list[int]:
    """The witness from a device, into memory full of ones."""
    device, curve = open_device(device_name), case.curve
    pieces = DevicePieces.upload(device, case.circuit)
    out = device.upload(np.full((pieces.num_variables, curve.fr.limbs), 2**64 - 1, np.uint64))
    inputs = put(device, curve, case.all_inputs) if pieces.num_given else None
    assert run_witness(device, pieces, put(device, curve, case.hints), inputs, out=out) is out
    return get(device, curve, out)


@everywhere
@pytest.mark.parametrize("seed", range(4))
def test_random_circuits(curve: Curve, device_name: str, seed: int) -> None:
    sample = case(curve.name, seed)
    assert made(sample, device_name) == sample.w


@pytest.mark.parametrize("device_name", SCHEDULES)
def test_no_schedule_changes_a_value(device_name: str) -> None:
    for seed in (10, 11):
        sample = case("toy", seed)
        assert made(sample, device_name) == sample.w


@pytest.mark.parametrize("device_name", ["cpu", "emu"])
@pytest.mark.parametrize(("length", "width"), [(1, 1), (40, 1), (3, 70)])
def test_chains(device_name: str, length: int, width: int) -> None:
    """One launch a level, whatever the number of instances."""
    sample = chain("bn254", length, width)
    device = open_device(device_name)
    pieces = DevicePieces.upload(device, sample.circuit)
    hints = put(device, sample.curve, sample.hints)
    device.reset_counters()
    w = run_witness(device, pieces, hints)
    assert device.counters()["launches"] == 1 + 1 + length
    assert get(device, sample.curve, w) == sample.w


@pytest.mark.parametrize("device_name", ["cpu", "emu"])
@pytest.mark.parametrize("num_terms", [1, 2, 31, 32, 33, 200])
@pytest.mark.parametrize("sign", [1, -1])
def test_wide_rows(device_name: str, num_terms: int, sign: int, rng: random.Random) -> None:
    curve = get_curve("bls12_381")
    hints = [rng.choice([0, 1, curve.r - 1, rng.randrange(curve.r)]) for _ in range(num_terms)]
    unit = 0 if sign == 1 else 1
    terms = [(i, i % 3) for i in range(num_terms)]
    piece = oracle.Piece(
        num_aux=num_terms + 1, num_hints=num_terms,
        row_ptr=([0, num_terms], [0, num_terms], [0, num_terms + 1]),
        terms=(terms, terms[::-1], [*terms, (num_terms, unit)]),
        bundles=[(oracle.HINT, num_terms, 0, 0), (oracle.WIDE, 1, 0, num_terms)], operands=[(0, sign, 0, 0)],
        instances=[oracle.Instance(0, 0, 1, 0, [], 0)],
    )  # fmt: skip
    plain = oracle.Circuit(curve.r, 1, num_terms + 1, 1, num_terms, [1, curve.r - 1, 12345], [piece])
    device = open_device(device_name)
    pieces = DevicePieces.upload(device, compiled(plain, curve))
    w = get(device, curve, run_witness(device, pieces, put(device, curve, hints)))
    weights = [(1, curve.r - 1, 12345)[i % 3] for i in range(num_terms)]
    total = sum(k * v for k, v in zip(weights, hints, strict=True))
    assert w[-1] == sign * (total * total - total) % curve.r
    assert w == oracle.run(plain, hints)


def test_nothing_waits_and_nothing_is_allocated(monkeypatch: pytest.MonkeyPatch) -> None:
    """With room given for the results, from hints to a, b, c there are launches alone: a graph can hold them."""
    sample, device = case("toy", 2), open_device("cpu")
    curve, pieces = sample.curve, DevicePieces.upload(device, sample.circuit)
    hints, inputs = put(device, curve, sample.hints), put(device, curve, sample.all_inputs)
    w = device.alloc((pieces.num_variables, curve.fr.limbs))
    rows = device.alloc((3, pieces.num_rows, curve.fr.limbs))

    def refuse(*args: object, **options: object) -> None:
        raise AssertionError("more than a launch")

    with monkeypatch.context() as patch:
        for name in ("alloc", "upload", "download", "synchronize", "stage", "fill_zero"):
            patch.setattr(device, name, refuse)
        run_witness(device, pieces, hints, inputs, out=w)
        for side in range(3):
            piece_spmv(device, pieces, side, w, out=rows[side])
    assert get(device, curve, w) == sample.w
    assert [get(device, curve, rows[side]) for side in range(3)] == [sample.rows(side) for side in range(3)]


def test_nothing_to_run() -> None:
    """No pieces at all, and pieces that do not occur: the witness is ONE alone."""
    for plain in (
        oracle.Circuit(97, 1, 0, 0, 0, [1], []),
        oracle.Circuit(
            97, 1, 0, 0, 0, [1], [oracle.Piece(num_aux=1, num_hints=1, bundles=[(oracle.HINT, 1, 0, 0)])]
        ),
    ):
        device, curve = open_device("cpu"), get_curve("toy")
        pieces = DevicePieces.upload(device, compiled(plain, curve))
        assert get(device, curve, run_witness(device, pieces, put(device, curve, []))) == [1]


@pytest.mark.parametrize("device_name", ["cpu", "emu"])
def test_an_unknown_opcode_is_a_fault(device_name: str) -> None:
    """Such a table is refused at upload; one that is spoiled on the device is no silent error."""
    sample, device = chain("toy", 2), open_device(device_name)
    pieces = DevicePieces.upload(device, sample.circuit)
    bundles = device.download(pieces.bundles).copy()
    bundles[1, 0] = 8
    spoiled = replace(pieces, bundles=device.upload(bundles))
    with pytest.raises(KernelFault, match="an operation that there is not"):
        device.download(run_witness(device, spoiled, put(device, sample.curve, sample.hints)))


def test_bad_calls_are_refused() -> None:
    sample, device = case("toy", 1), open_device("cpu")
    curve, pieces = sample.curve, DevicePieces.upload(open_device("cpu"), sample.circuit)
    hints, inputs = put(device, curve, sample.hints), put(device, curve, sample.all_inputs)
    assert pieces.num_given == 2
    with pytest.raises(ShapeError, match="none are given"):
        run_witness(device, pieces, hints)
    with pytest.raises(ShapeError, match="hints"):
        run_witness(device, pieces, hints[1:], inputs)
    with pytest.raises(ShapeError, match="inputs"):
        run_witness(device, pieces, hints, inputs[1:])
    with pytest.raises(ShapeError, match="out has shape"):
        run_witness(device, pieces, hints, inputs, out=device.alloc((1, curve.fr.limbs)))
    both = device.alloc((pieces.num_variables + pieces.num_hints, curve.fr.limbs))
    with pytest.raises(ShapeError, match="overlaps hints"):
        run_witness(device, pieces, both[1 : 1 + pieces.num_hints], inputs, out=both[: pieces.num_variables])


def test_the_plan_gives_warps_while_they_find_room() -> None:
    limits = replace(open_device("emu").limits, num_sms=132, gpu_like=True)
    shapes = {n: plan_witness(n, limits) for n in (1, 330, 331, 1320, 2641, 100_000)}
    assert all(shape.grid == n for n, shape in shapes.items())
    assert [shape.block // 32 for shape in shapes.values()] == [8, 8, 7, 2, 1, 1]


def test_groups_hold_what_does_not_depend_on_each_other() -> None:
    """A bundle stands one group behind the last of those that make its operands."""
    for seed in range(6):
        sample = case("toy", seed)
        for plain, piece in zip(sample.plain.pieces, sample.circuit.pieces, strict=True):
            groups = bundle_groups(sample.circuit, piece).tolist()
            group_of: dict[int, int] = {}
            for bundle, group in zip(plain.bundles, groups, strict=True):
                asked: list[int] = []

                def note(var: int, asked: list[int] = asked) -> int:
                    asked.append(var)
                    return 0

                for lane in range(bundle[1]):
                    oracle.lane_value(sample.plain, plain, bundle, lane, note, [0] * plain.num_hints)
                    group_of[plain.result(bundle[3] + lane)] = group
                assert group == max((group_of[var] + 1 for var in asked if var in group_of), default=0)
