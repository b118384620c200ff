"""Regressions of transforms and domains: reports NTT-02 to NTT-12, each checked as a kind of fault.

Would catch: a table that outlives the size or shift it was made for; a length that is not a power of two and passes; a
domain beyond the field's two-adicity found only after memory was taken; the root of unity of another file format; an
address that is cut to 32 bits.
"""

from __future__ import annotations

import dataclasses
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cuzk_oracles import ntt as oracle
from cuzk_oracles import verify as oracle_verify
from cuzk_oracles.groth16 import Proof as OracleProof
from cuzk_oracles.groth16 import VerifyingKey as OracleKey

import cuzk
from cuzk.curves import get_curve
from cuzk.errors import FormatError, InputError, RangeError, ShapeError
from cuzk.formats import load_r1cs, load_zkey
from cuzk.groth16.prover import Prover
from cuzk.groth16.quotient import odd_coset_shift
from cuzk.limbs import points_to_ints
from cuzk.ops.ntt import Domain, ntt
from cuzk.proving import prove
from cuzk.relation import domain_log2
from tests.formats.builders import ZkeyParts, container, le, r1cs_sections, replaced
from tests.kernels.fr_support import get, open_device, put
from tests.prover.support import PARAMS
from tests.regressions.support import ALL_CURVES, REAL_CURVES, files

DEVICES = ("cpu", "emu")
every_device = pytest.mark.parametrize("device_name", DEVICES)
every_curve = pytest.mark.parametrize("curve_name", ALL_CURVES)


@every_device
@every_curve
def test_ntt_02_a_domain_serves_one_size_and_any_shift(curve_name: str, device_name: str) -> None:
    curve, device = get_curve(curve_name), open_device(device_name)
    rng, r = random.Random(2), curve.r
    log_n = 8 if device_name == "cpu" else 6
    larger = Domain(curve, log_n + 1)
    ntt(device, larger, put(device, curve, [1] * larger.size), coset=3)  # leaves its tables behind
    domain = Domain(curve, log_n)
    x = [rng.randrange(r) for _ in range(domain.size)]
    g = curve.coset_shift("bellman")
    for shift in (r - 1, g, pow(g, -1, r), curve.root_of_unity(log_n + 1, "snarkjs")):
        values = ntt(device, domain, put(device, curve, x), coset=shift)
        at = rng.sample(range(domain.size), 8)
        found = get(device, curve, values)
        for k in at:
            assert found[k] == oracle.horner(x, shift * pow(domain.omega, k, r) % r, r)
        assert get(device, curve, ntt(device, domain, values, inverse=True, coset=shift)) == x
    with pytest.raises(ShapeError):
        ntt(device, larger, put(device, curve, x))


@every_device
@every_curve
def test_ntt_04_lengths_that_are_no_power_of_two(curve_name: str, device_name: str) -> None:
    curve, device = get_curve(curve_name), open_device(device_name)
    for length in (0, 3, 5, 6, 7, 9, 63, 65):
        for log_n in (0, 1, 2, 3, 6):
            for order in ("nat", "rev"):  # with a bit reversal, which has a check of its own, and without
                with pytest.raises(ShapeError):
                    ntt(device, Domain(curve, log_n), put(device, curve, [1] * length), order_out=order)
    assert get(device, curve, ntt(device, Domain(curve, 0), put(device, curve, [5]))) == [5]
    found = get(device, curve, ntt(device, Domain(curve, 1), put(device, curve, [5, 3])))
    assert found == [8, 2]


@every_device
@every_curve
def test_ntt_05_a_vector_of_another_length_leaves_no_output(curve_name: str, device_name: str) -> None:
    curve, device = get_curve(curve_name), open_device(device_name)
    for log_n, length in ((4, 8), (3, 16), (4, 32)):
        out = put(device, curve, [7] * length)
        with pytest.raises(ShapeError):
            ntt(device, Domain(curve, log_n), put(device, curve, [1] * length), out=out)
        assert get(device, curve, out) == [7] * length
    with pytest.raises(ShapeError):
        ntt(device, Domain(curve, 4), put(device, curve, [1] * 16), out=put(device, curve, [7] * 8))


FRESH = """
import sys
from cuzk import R1CS, Witness, get_curve, get_device, prove, setup, verify
curve, device = get_curve(sys.argv[1]), get_device(sys.argv[2])
circuit = R1CS.from_rows(curve, 4, 1, [({2: 1}, {3: 1}, {1: 1})])
key = setup(circuit, device)
proof = prove(key, Witness.from_ints(curve, [1, 33, 3, 11]), device=device)
assert verify(key.verifying_key(), [33], proof)
print("proved")
"""


@pytest.mark.parametrize(("curve_name", "device_name"), [("bn254", "emu"), ("bls12_381", "cpu")])
def test_ntt_06_the_first_call_of_a_process_is_a_tiny_proof(curve_name: str, device_name: str) -> None:
    root = str(Path(cuzk.__file__).resolve().parents[1])
    done = subprocess.run(
        [sys.executable, "-c", FRESH, curve_name, device_name],
        capture_output=True, text=True, timeout=1000, check=False, cwd=root,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "proved\n"


@pytest.mark.parametrize("curve_name", REAL_CURVES)
def test_ntt_08_more_rows_than_the_field_has_roots(curve_name: str, tmp_path: Path) -> None:
    curve = get_curve(curve_name)
    limit = curve.two_adicity
    parts = ZkeyParts(curve)
    path = tmp_path / "huge.zkey"
    for domain in (1 << limit + 1 if limit < 31 else (1 << 32) - 1, 3 << 20, 0):
        sections = replaced(parts.sections(), 2, parts.header(domain=domain))
        path.write_bytes(container(b"zkey", 1, sections))
        with pytest.raises(FormatError, match=rf"power of two up to 2\^{limit}"):
            load_zkey(path)
    n8 = curve.fr.nbytes
    for rows in ((1 << 28) + 1, (1 << 32) - 1):
        header = le(n8, 4) + le(curve.r, n8) + b"".join(le(v, 4) for v in (4, 1, 0, 2))
        header += le(6, 8) + le(rows, 4)
        path.write_bytes(container(b"r1cs", 1, replaced(r1cs_sections(curve), 1, header)))
        with pytest.raises(FormatError, match="do not fit"):
            load_r1cs(path)
    for convention in ("snarkjs", "bellman"):
        with pytest.raises(RangeError, match=str(limit)):
            Domain(curve, limit + 1, convention)
        with pytest.raises(RangeError, match=str(limit - 1)):
            odd_coset_shift(curve, limit, convention)
    assert domain_log2((1 << limit) - 1, 1) == limit + 1


@pytest.mark.parametrize("circuit", ["product", "mimc_chain"])
@pytest.mark.parametrize("curve_name", REAL_CURVES)
def test_ntt_09_a_foreign_key_is_proved_with_its_own_roots(curve_name: str, circuit: str) -> None:
    f = files(curve_name, circuit)
    assert f.key.root_convention == "snarkjs"
    proof = prove(f.key, f.witness, device="cpu")
    g1, g2, vk = f.key.curve.g1, f.key.curve.g2, f.vkey
    plain = OracleKey(
        alpha_g1=points_to_ints(g1, vk.alpha_g1)[0], beta_g2=points_to_ints(g2, vk.beta_g2)[0],
        gamma_g2=points_to_ints(g2, vk.gamma_g2)[0], delta_g2=points_to_ints(g2, vk.delta_g2)[0],
        ic=points_to_ints(g1, vk.ic),
    )  # fmt: skip
    public = f.witness.public(f.key.num_public)
    assert oracle_verify.verify(PARAMS[curve_name], plain, public, OracleProof(*proof.to_ints()))
    # The two conventions differ on one curve and agree on the other; a wrong one is caught before it leaves.
    other = dataclasses.replace(f.key, root_convention="bellman", c=f.r1cs.with_binding_rows()[2])
    if curve_name == "bn254":
        assert prove(other, f.witness, device="cpu").curve is f.key.curve
    else:
        with pytest.raises(InputError):
            Prover(other, open_device("cpu")).prove(f.witness)


@every_device
@every_curve
def test_ntt_11_degenerate_vectors(curve_name: str, device_name: str) -> None:
    curve, device = get_curve(curve_name), open_device(device_name)
    for log_n in (0, 1, 3, 6):
        domain = Domain(curve, log_n)
        n, r = domain.size, curve.r
        assert get(device, curve, ntt(device, domain, put(device, curve, [0] * n))) == [0] * n
        constant = ntt(device, domain, put(device, curve, [r - 1] + [0] * (n - 1)))
        assert get(device, curve, constant) == [r - 1] * n
        top = ntt(device, domain, put(device, curve, [0] * (n - 1) + [1]))
        assert get(device, curve, top) == [pow(domain.omega, k * (n - 1), r) for k in range(n)]
        with pytest.raises(ShapeError):
            ntt(device, domain, device.upload(np.zeros((0, curve.fr.limbs), np.uint64)))


def test_ntt_12_addresses_in_global_memory_have_64_bits() -> None:
    """Vectors of 2^31 elements and more do not fit a test, so the sources are read: what indexes arrays is a u64."""
    folder = Path(cuzk.__file__).parent / "kernels"
    checked = set()
    for header in ("ntt.cuh", "fr_vec.cuh"):
        text = re.sub(r"//[^\n]*", "", (folder / header).read_text(encoding="utf-8"))
        names = {
            name
            for name in re.findall(r"\ba\.\w+\[[^\]]*?([a-z]\w*)[^\]]*\]", text)
            if name not in ("a", "ex")
        }
        for name in names | ({"base", "column"} if header == "ntt.cuh" else set()):
            widths = re.findall(rf"\b(u8|u16|u32|u64|int|unsigned)\s+(?:\w+\s*=[^,;]*,\s*)*{name}\b", text)
            # An index that is read from an array has that array's width: nothing is computed with it.
            is_read = bool(re.search(rf"\bu32\s+{name}\s*=\s*a\.\w+\[\w+\];", text))
            assert "u64" in widths or (is_read and widths == ["u32"]), (header, name, widths)
            checked.add(name)
        # A 32-bit count shifted to an address is widened before the shift.
        assert not re.search(r"\(u32\)\([^()]*\) << ", text), header
    assert {"address", "base", "i"} <= checked
    assert "u64 locate(u32 slot)" in (folder / "ntt.cuh").read_text(encoding="utf-8")
