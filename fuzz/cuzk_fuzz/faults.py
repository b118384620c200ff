"""Faulty devices: wrong in one place each, to prove that campaigns find such things.

A fault acts after a kernel has run, on its arguments, as a wrong kernel would: on one value, one size, one setting.
``sensitivity`` counts how many seeds find each within a minute of processor time. Faults that sit in one variant of the
prover instead are in ``planted``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cuzk.device import Array, Device
from cuzk.device.host import CpuDevice
from cuzk_fuzz.devices import DeviceChoice
from cuzk_fuzz.engine import Campaign
from cuzk_fuzz.registry import TARGETS

#: What a fault does with a launch's arguments once the kernel has run.
Action = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Fault:
    """One fault.

    Attributes:
        id: Short name.
        target: Who must find it.
        kernel: Start of the kernels' names.
        what: In words.
        action: What goes wrong.
    """

    id: str
    target: str
    kernel: str
    what: str
    action: Action


class FaultyDevice(CpuDevice):
    """A cpu device whose kernels of one kind leave something wrong behind.

    Args:
        kernel: Start of the kernels' names.
        action: What goes wrong.
    """

    def __init__(self, kernel: str, action: Action) -> None:
        super().__init__(1)
        self._kernel, self._action = kernel, action

    def launch(
        self, kernel: str, *, grid: int, block: int, shared_bytes: int = 0, **args: Array | int
    ) -> None:
        """Launch, then spoil."""
        super().launch(kernel, grid=grid, block=block, shared_bytes=shared_bytes, **args)
        if kernel.startswith(self._kernel) and grid:
            self._action(args)


def flip(field: str, at: int = -1) -> Action:
    """One bit of a word of an output, if there is one."""

    def action(args: dict[str, Any]) -> None:
        words = args[field].reshape(-1)
        if len(words):
            words[at] ^= np.asarray(1, words.dtype)

    return action


def _if(holds: Callable[[dict[str, Any]], bool], action: Action) -> Action:
    def both(args: dict[str, Any]) -> None:
        if holds(args):
            action(args)

    return both


def _where(source: str, chosen: Callable[[Any], Any], result: str) -> Action:
    """One bit of the results of those elements whose operand is chosen, where the operand is still there."""

    def action(args: dict[str, Any]) -> None:
        if args[result] is not args[source]:
            args[result][chosen(args[source])] ^= np.asarray(1, args[result].dtype)

    return action


def _all_ones(limb: int) -> Callable[[Any], Any]:
    """Elements with a limb of ones."""
    return lambda x: x[:, min(limb, x.shape[1] - 1)] == np.uint64(2**64 - 1)


def _zero(x: Any) -> Any:
    return ~x.any(axis=tuple(range(1, x.ndim)))


def _real(x: Any) -> Any:
    """Both coordinates of elements of an extension whose second one is zero."""
    return np.repeat(_zero(x[1::2]), 2)


def _size(name: str, *values: int) -> Callable[[dict[str, Any]], bool]:
    return lambda args: int(args[name]) in values


def _swap_first(field: str) -> Action:
    """The first two elements change places."""

    def action(args: dict[str, Any]) -> None:
        rows = args[field]
        if len(rows) > 1:
            rows[[0, 1]] = rows[[1, 0]]

    return action


def _zero_last(field: str) -> Action:
    def action(args: dict[str, Any]) -> None:
        if len(args[field]):
            args[field][-1] = 0

    return action


def _op(number: int, action: Action) -> Action:
    return _if(lambda args: int(args["op"]) == number, action)


def _one_for_zero(args: dict[str, Any]) -> None:
    args["dst"][_zero(args["dst"])] = 1


def _sign_lost(args: dict[str, Any]) -> None:
    digits = args["digits"].reshape(-1)
    digits &= np.uint32(0x7FFFFFFF)


_TOP_IS_FULL = _if(lambda args: int(args["scalar_bits"]) % int(args["window_bits"]) == 0, flip("digits"))

FAULTS: tuple[Fault, ...] = (
    Fault("word-carry", "word", "word_op_u32", "a carry of all-ones words is lost",
          _where("a", lambda a: (a & np.uint64(0xFFFFFFFF)) == np.uint64(0xFFFFFFFF), "carry_out")),
    Fault("word-zero", "word", "word_op_u32", "results where b is zero", _where("b", lambda b: b == 0, "dst")),
    Fault("field-limb", "field", "field_op_bn254_fp", "products of operands with a limb of ones",
          _op(4, _where("a", _all_ones(1), "dst"))),
    Fault("field-zero", "field", "field_op_bls12_381_fp", "minus zero is one", _op(2, _where("a", _zero, "dst"))),
    Fault("field-inverse", "field", "field_op_bls12_381_fr", "the inverse of zero is one",
          _op(6, _where("a", _zero, "dst"))),
    Fault("field-small", "field", "field_op_secp256k1_fp", "sums with a number below 2^64",
          _op(0, _where("a", lambda a: ~a[:, 1:].any(axis=1), "dst"))),
    Fault("field-equal", "field", "field_op_bn254_fr", "differences of equal numbers", _op(1, _one_for_zero)),
    Fault("fp2-real", "fp2", "fp2_op_bn254_fp", "squares of elements without an imaginary part",
          _op(5, _where("a", _real, "dst"))),
    Fault("point-infinity", "point", "point_op_bls12_381_g1", "a sum whose left operand is infinity",
          _op(0, _where("a", _zero, "dst"))),
    Fault("point-last", "point", "point_op_bn254_g2", "the last point of a doubling", _op(2, flip("dst"))),
    Fault("vec-block", "vec", "fr_mul_sub_bn254", "the last element where a block is exceeded by one",
          _if(_size("n", 257, 513, 33, 65), flip("out"))),
    Fault("vec-inverse", "vec", "batch_inverse_toy", "a zero among other elements", _where("src", _zero, "dst")),
    Fault("vec-classify", "vec", "classify_scatter", "an index list", flip("others")),
    Fault("ntt-dif", "ntt", "ntt_dif_pass_bn254", "two outputs change places", _swap_first("dst")),
    Fault("ntt-last", "ntt", "ntt_dit_pass_bls12_381", "the last output is dropped", _zero_last("dst")),
    Fault("ntt-zero", "ntt", "ntt_dif_pass_toy", "inputs whose first element is zero",
          _if(lambda args: not args["src"].reshape(-1)[:1].any(), flip("dst"))),
    Fault("spmv-last", "spmv", "spmv_rows_bn254", "the last row", flip("out")),
    Fault("spmv-first", "spmv", "spmv_rows_toy", "the first row", flip("out", 0)),
    Fault("digits-sign", "digits", "msm_digits", "signs are lost", _sign_lost),
    Fault("digits-top", "digits", "msm_digits", "a digit where the top window is full", _TOP_IS_FULL),
    Fault("sort-entry", "digits", "msm_scatter", "an entry names another base", flip("entries")),
    Fault("msm-combine", "msm", "msm_combine_bls12_381_g2", "sums in the second group", flip("result")),
    Fault("msm-lines", "msm", "msm_line_list", "a bucket's line", flip("entries")),
    Fault("msm-bits", "msm", "msm_bit_sums_toy", "a bit's sum", flip("bits")),
    Fault("msm-pairs", "msm", "msm_halve_toy_g1", "pairs that are added up", flip("dst", 0)),
    Fault("batch-add", "batch_add", "batch_add_bls12_381_g1", "a block's sum", flip("partials")),
    Fault("fixed-base", "fixed_base", "fixed_base_mul_bn254_g1", "the last multiple", flip("dst")),
    Fault("ntt-large", "identities", "ntt_dif_pass", "transforms of many elements",
          _if(lambda args: args["dst"].size >= 1 << 9, flip("dst"))),
    Fault("prove-b", "groth16", "msm_combine_toy_g2", "the second element of a proof", flip("result")),
    Fault("prove-window", "groth16", "msm_digits_toy", "windows of 11 bits in a proof",
          _if(_size("window_bits", 11), _sign_lost)),
    Fault("prove-ones", "groth16", "batch_add_toy_g1", "the sum of bases of scalar one in a proof", flip("partials")),
)  # fmt: skip


def fault(name: str) -> Fault:
    """The fault of this name; ValueError names the ones there are."""
    for one in FAULTS:
        if one.id == name:
            return one
    raise ValueError(f"no planted fault {name!r}; one of {', '.join(one.id for one in FAULTS)}")


@dataclass(frozen=True)
class Hunt:
    """What a campaign on a faulty device came to.

    Attributes:
        found: Whether a finding came up.
        seconds: Processor time until then, or all of it.
        cases: Cases until then.
    """

    found: bool
    seconds: float
    cases: int

    def to_json(self) -> Mapping[str, Any]:
        """As the record holds it."""
        return {"found": self.found, "seconds": round(self.seconds, 2), "cases": self.cases}


def hunt(one: Fault, seed: int, seconds: float) -> Hunt:
    """Run the target of a fault on its device until it finds it or the processor time is over."""
    device: Device = FaultyDevice(one.kernel, one.action)

    def opener(choice: DeviceChoice) -> Device:
        del choice
        return device

    started = time.process_time()
    campaign = Campaign(TARGETS[one.target], "cpu", seed=seed, opener=opener)
    while not campaign.is_over and time.process_time() - started < seconds:
        campaign.guided()
    return Hunt(bool(campaign.result.findings), time.process_time() - started, campaign.result.cases)
