"""Findings hold everything: they replay, shrink, and come as a test that fails until the fault is gone.

Would catch: a case that depends on what its file does not hold, a minimiser that loses the fault or shrinks nothing,
a wrong exit code.
"""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuzk_fuzz import cli, commands, devices
from cuzk_fuzz.batch import Scope
from cuzk_fuzz.choices import Choices, Guided
from cuzk_fuzz.faults import FaultyDevice, flip
from cuzk_fuzz.findings import Finding, check, load
from cuzk_fuzz.registry import TARGETS
from cuzk_fuzz.shrink import minimise
from cuzk_fuzz.targets.msm import MsmBatch
from cuzk_fuzz.targets.ntt import NttBatch
from cuzk_oracles.params import BN254_R

from cuzk.device import Device, get_device
from cuzk.device.host import CpuDevice
from cuzk.limbs import limbs_to_ints
from tests.harness.support import campaign_on

MONT_R = 1 << 256


@pytest.mark.parametrize("name", TARGETS)
def test_a_batch_is_its_bytes_and_its_json(name: str) -> None:
    target, scope = TARGETS[name], Scope.of(get_device("cpu"))
    hits: Counter[str] = Counter()
    for i in range(6):
        source = Guided(f"{name}/{i}", hits)
        batch = target.decode(source, scope)
        hits += batch.classes()
        data = json.loads(json.dumps(batch.to_json()))
        assert target.decode(Choices(source.record), scope).to_json() == data
        again = target.batch.from_json(data)
        assert again.to_json() == data
        assert (again.expected() == batch.expected()).all()
        assert again.classes() == batch.classes()
        if batch.num_cases:
            last = batch.one(batch.num_cases - 1)
            assert last.num_cases in (1, batch.num_cases)


@pytest.mark.parametrize("name", TARGETS)
def test_the_same_seed_draws_the_same(name: str) -> None:
    scope = Scope.of(get_device("cpu"))
    first, second, other = (TARGETS[name].decode(Guided(s), scope).to_json() for s in ("7", "7", "8"))
    assert first == second
    assert first != other


class _BigScalarDevice(CpuDevice):
    """Sums go wrong where a scalar of 100 bits or more takes part."""

    def __init__(self) -> None:
        super().__init__(1)
        self._big = False

    def launch(self, kernel: str, **options: Any) -> None:
        super().launch(kernel, **options)
        if kernel == "msm_digits_bn254_fr":
            values = limbs_to_ints(options["scalars"])
            self._big = any(v * pow(MONT_R, -1, BN254_R) % BN254_R >> 99 for v in values)
        if kernel == "msm_combine_bn254_g1" and self._big:
            options["result"].reshape(-1)[0] ^= np.uint64(1)


class _LonelyDevice(CpuDevice):
    """Transforms go wrong in the first element if element 1 of the input is not zero."""

    def launch(self, kernel: str, **options: Any) -> None:
        wrong = False
        if kernel == "ntt_dif_pass_bn254_fr":
            elements = options["src"].reshape(-1, 4)
            wrong = len(elements) > 1 and bool(elements[1].any())
        super().launch(kernel, **options)
        if wrong:
            options["dst"].reshape(-1)[0] ^= np.uint64(1)


def _found(device: Device, target: str) -> Finding:
    for seed in range(20):
        findings = campaign_on(device, target, 3000, seed).findings
        if findings:
            return findings[0]
    raise AssertionError("the planted fault was not found")


def test_a_sum_shrinks_to_one_point() -> None:
    device = _BigScalarDevice()
    finding = _found(device, "msm")
    smallest = minimise(finding, seconds=1000, device=device)
    assert isinstance(smallest.batch, MsmBatch)
    (one,) = smallest.batch.sums
    assert len(one.terms) == 1
    assert [s.bit_length() for s in one.scalars] == [100]
    assert one.scalars[0].bit_count() == 1
    assert not check(smallest, device).agrees
    assert smallest.bucket == finding.bucket


def test_a_transform_shrinks_to_one_coefficient() -> None:
    device = _LonelyDevice(1)
    smallest = minimise(_found(device, "ntt"), seconds=1000, device=device)
    assert isinstance(smallest.batch, NttBatch)
    assert smallest.batch.size[0] == 1
    assert smallest.batch.kind.log_n <= 1


def test_what_agrees_is_not_minimised() -> None:
    finding = _found(FaultyDevice("batch_add", flip("partials")), "batch_add")
    with pytest.raises(ValueError, match="nothing to minimise"):
        minimise(finding, device=get_device("cpu"))


def _use(monkeypatch: pytest.MonkeyPatch, device: Device) -> None:
    monkeypatch.setattr(devices, "_open", lambda choice: device)


def test_exit_codes_and_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, data = tmp_path / "out", tmp_path / "run.json"
    run = [
        "run",
        "batch_add",
        "--cases",
        "20",
        "--engine",
        "generator",
        "--out",
        str(out),
        "--json",
        str(data),
    ]
    assert cli.main(run) == commands.DONE
    assert json.loads(data.read_text())["cases"] >= 20
    assert "P.infinity" in capsys.readouterr().out
    faulty = FaultyDevice("batch_add", flip("partials"))
    _use(monkeypatch, faulty)
    assert cli.main(run) == commands.FOUND
    (path,) = out.glob("batch_add-*.json")
    assert f"python -m cuzk_fuzz replay {path}" in path.read_text()
    assert cli.main(["replay", str(path)]) == commands.FOUND
    assert (
        cli.main(["minimise", str(path), "--seconds", "5", "--out", str(tmp_path / "small")])
        == commands.FOUND
    )
    (small,) = (tmp_path / "small").glob("*.json")
    assert load(small).batch.size <= load(path).batch.size
    report = tmp_path / "report.md"
    assert cli.main(["report", str(data), "--out", str(report)]) == commands.FOUND
    assert "**batch_add-batch_add-" in report.read_text()
    _use(monkeypatch, get_device("cpu"))
    assert cli.main(["replay", str(path)]) == commands.DONE


def test_bad_input_has_its_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.json"
    for text in ("{", "[]", '{"format": 99}', '{"format": 1}'):
        broken.write_text(text)
        assert cli.main(["replay", str(broken)]) == commands.USAGE
    assert cli.main(["replay", str(tmp_path / "absent.json")]) == commands.USAGE
    assert cli.main(["run", "field", "--device", "tpu", "--engine", "generator"]) == commands.BROKEN
    assert "unknown device" in capsys.readouterr().out
    with pytest.raises(SystemExit) as stop:
        cli.main(["run", "nothing"])
    assert stop.value.code == commands.USAGE


def test_the_test_of_a_finding_fails_until_the_fault_is_gone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    faulty = FaultyDevice("point_op_toy_g1", flip("dst"))
    finding = _found(faulty, "point")
    finding.save(tmp_path)
    (path,) = tmp_path.glob("test_*.py")
    spec = importlib.util.spec_from_file_location("found", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (test,) = [value for name, value in vars(module).items() if name.startswith("test_")]
    test()
    _use(monkeypatch, faulty)
    with pytest.raises(AssertionError, match="differ, first in element"):
        test()


def test_a_corpus_keeps_what_was_new_and_is_run_again(tmp_path: Path) -> None:
    corpus, data = tmp_path / "corpus", tmp_path / "run.json"
    run = ["run", "point", "--engine", "generator", "--corpus", str(corpus), "--json", str(data)]
    assert cli.main([*run, "--cases", "300"]) == commands.DONE
    kept = len(list(corpus.iterdir()))
    assert kept
    assert cli.main([*run, "--cases", "1"]) == commands.DONE
    assert json.loads(data.read_text())["batches"] >= kept
