"""The whole prover against oracles that know the answer exactly, and what it says when something is wrong."""

from __future__ import annotations

import dataclasses
import itertools
import random
import threading
from typing import Any

import numpy as np
import pytest
from cuzk_oracles import groth16 as oracle
from cuzk_oracles import toy, trapdoor

from cuzk.device.host import CpuDevice, EmuDevice, Schedule
from cuzk.errors import DeviceError, RangeError, SecurityWarning, ShapeError, UnsatisfiedError
from cuzk.groth16 import Blinding, Prover
from cuzk.groth16.job import Started
from cuzk.proof import Proof
from cuzk.telemetry import Recorder
from cuzk.variants import VARIANTS
from cuzk.witness import Witness
from tests.prover.support import PARAMS, as_oracle, blinding, device, key, oracle_waste, workload
from tests.regressions.gpu_support import python
from tests.workloads import Workload


def expected(load: Workload, r_blind: int, s_blind: int, roots: str = "snarkjs") -> oracle.Proof:
    """The proof that the secrets of the key dictate: exact at any size."""
    r = load.curve.r
    return trapdoor.expected_proof(
        PARAMS[load.curve.name],
        load.oracle_r1cs,
        oracle_waste(load.curve),
        load.values,
        r_blind % r,
        s_blind % r,
        roots,
    )


@pytest.mark.parametrize("spec", ["cpu", "emu"])
@pytest.mark.parametrize("form", ["odd_lagrange", "monomial"])
@pytest.mark.parametrize("public", [0, 1, 9])
@pytest.mark.parametrize(("curve", "size"), [("toy", 300), ("bls12_381", 40), ("bn254", 40)])
def test_exact_proof(curve: str, size: int, public: int, form: str, spec: str) -> None:
    """Every coordinate of the proof; both H forms, no, one and many public inputs."""
    load = workload("random", curve, size, public)
    prover = Prover(key(load, form), device(spec))
    assert as_oracle(prover.prove(load.witness, blinding=blinding(load.curve))) == expected(load, 7, 11)


@pytest.mark.parametrize("spec", ["cpu", "emu"])
@pytest.mark.parametrize("values", list(itertools.product([0, 1, -1, 12345678901234567890], repeat=2)))
def test_blinding_values(values: tuple[int, int], spec: str) -> None:
    """Both blinding scalars at their edges; (0, 0) adds nothing."""
    load = workload("random", "toy", 60, 1)
    prover = Prover(key(load), device(spec))
    proof = prover.prove(load.witness, blinding=blinding(load.curve, *values))
    assert as_oracle(proof) == expected(load, *values)


@pytest.mark.parametrize(("kind", "curve", "size"), [("random", "bn254", 500), ("bits", "bls12_381", 900)])
def test_plain_int_prover_agrees(kind: str, curve: str, size: int) -> None:
    """Up to 2^10 rows: a prover in plain ints that uses the key's points, not its secrets."""
    load = workload(kind, curve, size)
    params = PARAMS[curve]
    plain_key = oracle.setup(params, load.oracle_r1cs, oracle_waste(load.curve))
    plain = oracle.prove(params, plain_key, load.oracle_r1cs, load.values, 7, 11)
    assert (
        as_oracle(Prover(key(load), device("cpu")).prove(load.witness, blinding=blinding(load.curve)))
        == plain
    )


@pytest.mark.parametrize(("kind", "curve"), [("mimc", "bls12_381"), ("bits", "bn254"), ("mimc", "bn254")])
def test_trapdoor_at_2_14(kind: str, curve: str) -> None:
    """A domain of 2^14 on cpu, exactly."""
    load = workload(kind, curve, (1 << 14) - 8)
    assert load.r1cs.domain_log2 == 14
    prover = Prover(key(load), device("cpu"))
    assert as_oracle(prover.prove(load.witness, blinding=blinding(load.curve))) == expected(load, 7, 11)


@pytest.mark.parametrize("spec", ["cpu", "emu"])
def test_small_domains(spec: str) -> None:
    """Domains from 2^1 to 2^6 on the toy curve, by the toy engine's own verification."""
    for size in (1, 2, 3, 4, 7, 8, 9, 31, 32, 33):
        load = workload("random", "toy", size, min(size, 2))
        made = key(load)
        proof = as_oracle(Prover(made, device(spec)).prove(load.witness, blinding=blinding(load.curve)))
        assert proof == expected(load, 7, 11), size
        logs = oracle.key_points(
            PARAMS["toy"], oracle.setup_exponents(PARAMS["toy"], load.oracle_r1cs, oracle_waste(load.curve))
        )
        assert toy.verify(logs.vk, load.public, proof)


@pytest.mark.parametrize("curve", ["bls12_381", "toy"])
def test_devices_variants_and_schedules_give_the_same_bytes(curve: str) -> None:
    """Fixed blinding: one proof, whatever the device, the variant, the schedule or the number of threads."""
    load = workload("random", curve, 30, 2)
    made = key(load)
    devices = [device("cpu"), CpuDevice(threads=1), CpuDevice(threads=5), CpuDevice(portable=True)]
    schedules: list[tuple[Schedule, int, int]] = [
        ("ascending", 0, 1), ("descending", 0, 1), ("random_thread", 1, 2), ("random_thread", 2, 3),
        ("random_thread", 3, 1), ("random_warp", 4, 1), ("random_warp", 5, 2), ("last_block_first", 0, 2)]  # fmt: skip
    devices += [EmuDevice(*schedule) for schedule in schedules]
    reference = Prover(made, device("cpu")).prove(load.witness, blinding=blinding(load.curve))
    for one in devices:
        assert Prover(made, one).prove(load.witness, blinding=blinding(load.curve)) == reference, one.name
    for window, split in itertools.product(VARIANTS["D4"].possible("cpu"), VARIANTS["M2"].values):
        if window.isdigit() and int(window) > 12:
            continue  # buckets of wide windows cost memory for nothing at this size; tests/kernels covers them
        made_with = Prover(made, device("cpu"), variants={"D4": window, "M2": split})
        assert made_with.prove(load.witness, blinding=blinding(load.curve)) == reference, (window, split)


def test_five_runs_and_a_batch() -> None:
    """Determinism, and a batch of three equals three single proofs."""
    load = workload("random", "bn254", 100, 1)
    prover = Prover(key(load), device("cpu"))
    singles = [prover.prove(load.witness, blinding=blinding(load.curve, i, 2 * i)) for i in (1, 2, 3)]
    assert len({prover.prove(load.witness, blinding=blinding(load.curve)) for _ in range(5)}) == 1
    batch = prover.prove_batch(
        [load.witness] * 3, blindings=[blinding(load.curve, i, 2 * i) for i in (1, 2, 3)]
    )
    assert batch == singles
    assert prover.prove_batch([]) == []
    with pytest.raises(ShapeError, match="2 blindings for 1"):
        prover.prove_batch([load.witness], blindings=[blinding(load.curve)] * 2)


def test_blinding_is_drawn_and_wiped() -> None:
    """Two proofs of one witness differ; given blinding is forgotten after use and warned about."""
    load = workload("random", "bls12_381", 20, 1)
    prover = Prover(key(load), device("cpu"))
    assert prover.prove(load.witness) != prover.prove(load.witness)
    given = blinding(load.curve, 5, 6)
    prover.prove(load.witness, blinding=given)
    assert (given.r_blind, given.s_blind) == (0, 0)
    with pytest.warns(SecurityWarning, match="not zero-knowledge"):
        Blinding.insecure(load.curve, 1, 2)
    with pytest.raises(RangeError, match="blinding s"):
        Blinding.insecure(load.curve, 1, load.curve.r)
    assert "7" not in repr(blinding(load.curve))


def broken_witness(load: Workload) -> Witness:
    """The same witness with its last private value off by one."""
    values = load.witness.values.copy()
    used = int(load.r1cs.a.col.max())
    assert used > load.r1cs.num_public
    values[used, 0] ^= 1
    return Witness(load.curve, values)


@pytest.mark.parametrize("spec", ["cpu", "emu"])
def test_unsatisfied_witness(spec: str) -> None:
    """With matrix C the row and its values are named; without it the self-check and the cpu's proof tell."""
    load = workload("random", "bls12_381", 30, 1)
    bad = broken_witness(load)
    row = load.r1cs.first_unsatisfied(bad)
    with pytest.raises(UnsatisfiedError, match=f"constraint {row}:"):
        Prover(key(load), device(spec)).prove(bad)
    without_c = dataclasses.replace(key(load), c=None)
    with pytest.raises(UnsatisfiedError, match="does not satisfy"):
        Prover(without_c, device(spec)).prove(bad)
    with pytest.raises(UnsatisfiedError, match=f"constraint {row}:"):
        Prover(without_c, device(spec), circuit=load.r1cs).prove(bad)
    # Asked not to check, the prover hands out what it computed; it does not verify.
    proof = Prover(without_c, device(spec)).prove(bad, self_check=False)
    assert proof != Prover(without_c, device(spec)).prove(load.witness)


def test_damaged_key_is_the_keys_fault() -> None:
    """Every row holds, yet the proof does not verify: the key is named, not the witness, not the device."""
    load = workload("random", "bls12_381", 30, 1)
    made = key(load)
    queries = made.l_query.copy()
    queries[[1, 2]] = queries[[2, 1]]
    with pytest.raises(ShapeError, match="key is damaged"):
        Prover(dataclasses.replace(made, l_query=queries), device("cpu")).prove(load.witness)


def test_witness_of_another_circuit() -> None:
    """Length and curve are compared before anything runs."""
    load, other = workload("random", "bn254", 30, 1), workload("random", "bls12_381", 30, 1)
    prover = Prover(key(load), device("cpu"))
    with pytest.raises(ShapeError, match="the key"):
        prover.prove(Witness(load.curve, load.witness.values[:-1]))
    with pytest.raises(ValueError, match="bls12_381"):
        prover.prove(other.witness)
    with pytest.raises(ValueError, match="bls12_381"):
        Prover(key(load), device("cpu"), circuit=other.r1cs)


class FaultyDevice(EmuDevice):
    """An emulator that flips one bit of h, as a broken GPU might."""

    broken = False

    def launch(self, kernel: str, **rest: Any) -> None:
        super().launch(kernel, **rest)
        if self.broken and kernel.startswith("fr_mul_sub"):
            rest["out"][0, 0] ^= np.uint64(1)


def test_device_fault_is_the_devices_fault() -> None:
    """A value that changes on the device gives a DeviceError, never a wrong proof."""
    load = workload("random", "bls12_381", 30, 1)
    faulty = FaultyDevice()
    prover = Prover(key(load), faulty)
    right = prover.prove(load.witness, blinding=blinding(load.curve))
    faulty.broken = True
    with pytest.raises(DeviceError, match="computed a wrong proof"):
        prover.prove(load.witness, blinding=blinding(load.curve))
    faulty.broken = False
    assert prover.prove(load.witness, blinding=blinding(load.curve)) == right


def test_threads_share_a_prover() -> None:
    """Four threads, one prover: the same proofs as one after another."""
    load = workload("random", "bn254", 60, 1)
    prover = Prover(key(load), device("cpu"))
    alone = [prover.prove(load.witness, blinding=blinding(load.curve, i, i)) for i in range(4)]
    together: dict[int, Proof] = {}

    def work(i: int) -> None:
        together[i] = prover.prove(load.witness, blinding=blinding(load.curve, i, i))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [together[i] for i in range(4)] == alone


_FORKED = """
from multiprocessing import get_context
from tests.prover.support import device, key, workload
from tests.prover.test_prover import Prover, DeviceError

def prove():
    try:
        print("proved", prover.prove(load.witness), flush=True)
    except DeviceError as error:
        print(error, flush=True)

load = workload("random", "toy", 30, 1)
prover = Prover(key(load), device("cpu"))
child = get_context("fork").Process(target=prove)
child.start()
child.join()
"""


def test_fork_is_refused() -> None:
    """A device opened before fork says so in the child instead of hanging.

    In a process of its own: in this one a lock of a thread that an earlier test left may be taken at the fork.
    """
    assert "before fork" in python(_FORKED)


def test_events_explain_the_time() -> None:
    """One event per phase, all under `prove`, with less than 3% unexplained, and the operations on emu.

    In processor time: on a busy machine another program may run for a whole time slice between two phases. A garbage
    collection, or a processor that is taken away, may fall between them too: the best of several proofs counts.
    """
    load, explained = workload("random", "bls12_381", 60, 1), list[float]()
    while True:
        recorder = Recorder()
        Prover(key(load), device("emu"), recorder=recorder).prove(load.witness)
        root = recorder.events[-1]
        children = [event for event in recorder.events if event.parent == root.id]
        explained.append(sum(event.cpu_ns for event in children) / root.cpu_ns)
        if explained[-1] >= 0.97 or len(explained) == 10:
            break
    assert explained[-1] >= 0.97, explained
    assert [event.phase for event in children] == [
        "synthesis", "ntt_msm_h", "prep_msm", "batch_add", "tail_msm", "b_g2_msm", "proof_assembly", "self_check",
    ]  # fmt: skip
    events = {event.phase: event for event in recorder.events}
    assert root is events["prove"]
    assert events["ntt_h"].counts["fr_mul"] > 0
    assert events["b_g2_msm"].counts["ec_madd"] > 0
    assert root.build_key == device("emu").build_key


def test_random_circuits() -> None:
    """Thirty further shapes on the toy curve: rows, publics and features drawn at random."""
    rng = random.Random(5)
    for _ in range(30):
        load = workload("random", "toy", rng.randrange(1, 400), rng.randrange(0, 5))
        r_blind, s_blind = rng.randrange(load.curve.r), rng.randrange(load.curve.r)
        proof = Prover(key(load), device("cpu")).prove(
            load.witness, blinding=blinding(load.curve, r_blind, s_blind)
        )
        assert as_oracle(proof) == expected(load, r_blind, s_blind)


def test_unreduced_witness_reaches_no_kernel() -> None:
    """A value >= r is refused where a witness is made."""
    load = workload("random", "toy", 30, 1)
    values = load.witness.values.copy()
    values[3, 0] = load.curve.r
    with pytest.raises(RangeError, match="variable 3"):
        Witness(load.curve, values)


def test_start_and_finish_are_prove_batch() -> None:
    """The same bytes and public inputs, finished in another thread while the next proofs are started."""
    load = workload("random", "bn254", 60, 2)
    prover = Prover(key(load), device("cpu"))
    blindings = [(i, i + 1) for i in range(4)]
    alone = prover.prove_batch(
        [load.witness] * 4, blindings=[blinding(load.curve, *one) for one in blindings]
    )
    made: dict[int, Proof] = {}

    def finish(i: int, started: Started) -> None:
        made[i] = prover.finish(started)[0]

    threads = []
    for i, one in enumerate(blindings):
        used = blinding(load.curve, *one)
        started = prover.start([load.witness], blindings=[used])
        assert started.public == [load.public]
        threads.append(threading.Thread(target=finish, args=(i, started)))
        threads[-1].start()
    for thread in threads:
        thread.join()
    assert [made[i] for i in range(4)] == alone


def test_what_was_started_is_finished_once_by_its_prover() -> None:
    load, recorder = workload("random", "toy", 30, 1), Recorder()
    prover, other = (Prover(key(load), device("cpu"), recorder=recorder) for _ in range(2))
    started = prover.start([load.witness], blindings=[used := blinding(load.curve, 3, 4)])
    with pytest.raises(ShapeError, match="another prover"):
        other.finish(started)
    assert "proof_assembly" not in [event.phase for event in recorder.events]
    proof = prover.finish(started)[0]
    assert (as_oracle(proof), used.r_blind, used.s_blind) == (expected(load, 3, 4), 0, 0)
    with pytest.raises(ShapeError, match="finished before"):
        prover.finish(started)
