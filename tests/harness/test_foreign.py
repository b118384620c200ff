"""The harness checks implementations that are not ours: in Python, in C, with arrays of other libraries.

Would catch: a fault of a foreign sum that goes unseen, a right one that is blamed, a case that is not cut down, an
error of the implementation that ends the check.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cuzk_fuzz.foreign import (
    Limits,
    as_array,
    c_library,
    check,
    field_of_ints,
    msm_of_arrays,
    msm_of_ints,
    ntt_of_arrays,
    ntt_of_ints,
)
from cuzk_fuzz.foreign.batches import KINDS
from cuzk_fuzz.foreign.plugin import Differential
from cuzk_oracles import curve, fields, ntt, params
from cuzk_oracles.params import BLS12_381_R, BN254_R

from cuzk.curves import get_curve
from cuzk.limbs import fr_to_ints, points_from_ints, points_to_ints

G1 = params.get_params("bn254").g1
G2 = params.get_params("toy").g2
FEW = Limits(largest=12)


def plain_sum(group: Any, points: Sequence[Any], scalars: Sequence[int]) -> Any:
    """A right implementation."""
    return curve.total(group, [curve.mul(group, k, p) for p, k in zip(points, scalars, strict=True)])


def test_right_implementations_agree() -> None:
    verdict = check("msm", "toy_g2", msm_of_ints(lambda p, s: plain_sum(G2, p, s)), cases=120, limits=FEW)
    assert verdict.agrees, verdict.describe()
    assert {"K.0", "P.infinity", "S.0"} <= set(verdict.hits)
    right = ntt_of_ints(lambda w, x, inverse: (ntt.ifft if inverse else ntt.fft)(x, w, BN254_R))
    assert check("ntt", "bn254", right, cases=20).agrees
    operations: dict[str, Any] = {"add": fields.add, "sub": fields.sub, "mul": fields.mul}

    def on_ints(op: str, a: int, b: int) -> int:
        return fields.inv(a, BLS12_381_R) if op == "inverse" else int(operations[op](a, b, BLS12_381_R))

    assert check("field", "bls12_381_fr", field_of_ints(on_ints), cases=300).agrees


def test_a_fault_at_one_scalar_is_found_and_cut_down() -> None:
    def wrong(points: Sequence[Any], scalars: Sequence[int]) -> Any:
        total = plain_sum(G1, points, scalars)
        return curve.neg(G1, total) if BN254_R - 1 in scalars else total

    verdict = check("msm", "bn254_g1", msm_of_ints(wrong), cases=500, limits=FEW, shrink_seconds=1000)
    assert not verdict.agrees
    assert verdict.case is not None
    data = verdict.case.to_json()
    assert len(data["inputs"]["scalars"]) <= 2
    assert hex(BN254_R - 1) in data["inputs"]["scalars"]
    again = check("msm", "bn254_g1", msm_of_ints(wrong), cases=verdict.number, limits=FEW, shrink_seconds=0)
    assert again.number == verdict.number
    assert KINDS["msm"].from_json(json.loads(json.dumps(data))).wanted() == verdict.case.wanted()


def test_an_error_is_an_answer() -> None:
    def fails(points: Sequence[Any], scalars: Sequence[int]) -> Any:
        raise OverflowError("too many points")

    verdict = check("msm", "bn254_g1", msm_of_ints(fails), cases=5, limits=FEW)
    assert "raised OverflowError: too many points" in verdict.describe()


def test_what_compares_nothing_does_not_agree() -> None:
    verdict = check("msm", "bn254_g1", msm_of_ints(lambda p, s: None), cases=0)
    assert not verdict.agrees
    assert "nothing was compared" in verdict.describe()


def test_wrong_names_are_told() -> None:
    one = msm_of_ints(lambda p, s: None)
    with pytest.raises(ValueError, match="no 'msm' over 'bn254_g3'"):
        check("msm", "bn254_g3", one)
    with pytest.raises(ValueError, match="cannot be checked as 'ntt'"):
        check("ntt", "bn254", one)


class OnAnotherDevice:
    """An array elsewhere, which the host reads as CuPy's (`get`) and PyTorch's (`cpu`) are read, or through DLPack."""

    def __init__(self, array: Any, way: str) -> None:
        self.array = array
        if way == "cupy":
            self.get, self.__cuda_array_interface__ = (lambda: array), {"version": 3}
        elif way == "torch":
            self.cpu = lambda: array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("form", ["montgomery", "standard"])
@pytest.mark.parametrize("way", ["cupy", "torch", "dlpack"])
def test_arrays_of_other_libraries_in_both_forms(form: Any, way: str) -> None:
    toy = get_curve("toy")

    def total(points: OnAnotherDevice, scalars: OnAnotherDevice) -> OnAnotherDevice:
        bases, numbers = points.array, scalars.array
        if form == "montgomery":
            known = points_to_ints(toy.g1, bases), fr_to_ints(toy, numbers)
        else:
            pairs = [tuple(map(int, p.reshape(-1))) for p in bases]
            affine: list[Any] = [None if p == (0, 0) else p for p in pairs]
            known = affine, [int(v) for v in numbers.reshape(-1)]
        found = plain_sum(params.get_params("toy").g1, *known)
        words = points_from_ints(toy.g1, [found])[0]
        if form == "standard":
            words = np.array([[0], [0]] if found is None else [[found[0]], [found[1]]], np.uint64)
        return OnAnotherDevice(words, way)

    implementation = msm_of_arrays(total, form=form, device=lambda array: OnAnotherDevice(array, way))
    verdict = check("msm", "toy_g1", implementation, cases=40, limits=FEW)
    assert verdict.agrees, verdict.describe()


def test_transforms_of_arrays_and_what_is_no_array() -> None:
    curve_ = get_curve("toy")

    def run(values: Any, inverse: bool) -> Any:
        x = fr_to_ints(curve_, values)
        omega = curve_.root_of_unity(len(x).bit_length() - 1, "snarkjs")
        done = (ntt.ifft if inverse else ntt.fft)(x, omega, curve_.r)
        return np.array([[curve_.fr.to_mont(v)] for v in done], np.uint64)

    assert check("ntt", "toy", ntt_of_arrays(run), cases=20).agrees
    with pytest.raises(TypeError, match="neither an array"):
        as_array(SimpleNamespace())


_SUM_IN_C = """
#include <stddef.h>
#include <stdint.h>
/* y^2 = x^3 + b over a prime below 2^20, numbers in standard form: every sum by adding k times. */
static const uint64_t P = %(p)dULL;
static uint64_t mul(uint64_t a, uint64_t b) { return a * b %% P; }
static uint64_t inv(uint64_t a) {
    uint64_t r = 1;
    for (uint64_t e = P - 2; e; e >>= 1, a = mul(a, a)) if (e & 1) r = mul(r, a);
    return r;
}
static void add(uint64_t* s, const uint64_t* q) {
    uint64_t l, x;
    if (!q[0] && !q[1]) return;
    if (!s[0] && !s[1]) { s[0] = q[0]; s[1] = q[1]; return; }
    if (s[0] == q[0]) {
        if (s[1] != q[1]) { s[0] = s[1] = 0; return; }
        l = mul(mul(3, mul(s[0], s[0])), inv(2 * s[1] %% P));
    } else {
        l = mul((q[1] + P - s[1]) %% P, inv((q[0] + P - s[0]) %% P));
    }
    x = (mul(l, l) + 2 * P - s[0] - q[0]) %% P;
    s[1] = (mul(l, (s[0] + P - x) %% P) + P - s[1]) %% P;
    s[0] = x;
}
int sum(uint64_t* result, const uint64_t* points, const uint64_t* scalars, size_t n) {
    uint64_t total[2] = {0, 0};
    for (size_t i = 0; i < n; ++i) {
        uint64_t power[2] = {points[2 * i], points[2 * i + 1]};
        for (uint64_t k = scalars[i]; k; k >>= 1) {
            if (k & 1) add(total, power);
            uint64_t same[2] = {power[0], power[1]};
            if (%(fault)s) add(power, same);
        }
    }
    result[0] = total[0]; result[1] = total[1];
    return n == 11 ? %(code)d : 0;
}
"""


def _library(folder: Path, **parts: Any) -> Path:
    compiler = shutil.which("gcc") or shutil.which("cc") or shutil.which("g++")
    assert compiler is not None, "the package itself needs a compiler"
    source, target = folder / "sum.c", folder / "sum.so"
    source.write_text(_SUM_IN_C % {"p": get_curve("toy").p, "fault": "1", "code": 0, **parts})
    subprocess.run(
        [compiler, "-O1", "-shared", "-fPIC", "-x", "c", str(source), "-o", str(target)], check=True
    )
    return target


def test_a_library_in_c(tmp_path: Path) -> None:
    right = c_library(_library(tmp_path), "sum", form="standard")
    verdict = check("msm", "toy_g1", right, cases=150, limits=Limits(largest=10))
    assert verdict.agrees, verdict.describe()
    broken: dict[str, dict[str, Any]] = {"wrong": {"fault": "k != 0x8000 >> 1"}, "refuses": {"code": 7}}
    for name, parts in broken.items():
        folder = tmp_path / name
        folder.mkdir()
        other = c_library(_library(folder, **parts), "sum", form="standard")
        verdict = check(
            "msm", "toy_g1", other, cases=400, limits=Limits(largest=11, smallest=11 * (name == "refuses"))
        )
        assert not verdict.agrees, name
        if name == "refuses":
            assert verdict.given == "raised RuntimeError: sum returned 7"


@pytest.mark.parametrize("name", ["test_arkworks.py", "test_zksnake.py"])
def test_the_examples_hold(name: str) -> None:
    path = Path(__file__).resolve().parents[2] / "examples" / "foreign" / name
    spec = importlib.util.spec_from_file_location(f"foreign_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    ran = []

    def fixture(*arguments: Any, **options: Any) -> None:
        verdict = check(*arguments, cases=40, **options)
        assert verdict.agrees, verdict.describe()
        ran.append(verdict.kind)

    for test_name, test in vars(module).items():
        if test_name.startswith("test_"):
            test(fixture)
    assert "msm" in ran


def test_the_fixture_fails_with_the_case(tmp_path: Path) -> None:
    fixture = Differential(1.0, 3, tmp_path)
    with pytest.raises(pytest.fail.Exception, match="the oracle says"):
        fixture("msm", "toy_g2", msm_of_ints(lambda points, scalars: None), cases=30, limits=FEW)
    (path,) = tmp_path.glob("foreign-msm-toy_g2-3-*.json")
    assert json.loads(path.read_text())["case"]["op"] == "msm"
    assert (
        fixture("msm", "toy_g2", msm_of_ints(lambda p, s: plain_sum(G2, p, s)), cases=9, limits=FEW).cases
        == 9
    )
