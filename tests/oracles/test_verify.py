"""What the verifier rejects before any pairing, and what it refuses to answer.

Would catch: an identity, an off-curve or a wrong-subgroup point that reaches the pairing; a public input that
wraps around the modulus.
"""

import pytest
from cuzk_oracles import curve, edge_points, groth16, samples, third_party, trapdoor, verify
from cuzk_oracles.groth16 import KeyExponents, Proof, Toxic, VerifyingKey
from cuzk_oracles.params import BLS12_381
from cuzk_oracles.third_party import MissingLibrary, Unsupported

C = BLS12_381


@pytest.fixture(scope="module")
def case() -> tuple[VerifyingKey, list[int], Proof]:
    """A key without queries, a statement of one value, and its proof."""
    r1cs, w = samples.random_r1cs(2, C.r, 4, 1, 4)
    toxic = Toxic(*samples.random_secret(3, C.r, 5))
    full = groth16.setup_exponents(C, r1cs, toxic)
    bare = KeyExponents(full.form, full.log_n, full.num_public, toxic, ic=full.ic, a=[], b=[], h=[], l=[])
    return groth16.key_points(C, bare).vk, w[1:2], trapdoor.expected_proof(C, r1cs, toxic, w, 1, 2)


def test_bad_points_are_rejected_with_their_reason(case: tuple[VerifyingKey, list[int], Proof]) -> None:
    vk, public, proof = case
    outside1, outside2 = edge_points.outside_subgroup(C.g1), edge_points.outside_subgroup(C.g2)
    assert verify.reason_to_reject_points(C, proof) is None
    bad = {
        "A is the identity": Proof(None, proof.b, proof.c),
        "B is the identity": Proof(proof.a, None, proof.c),
        "C is the identity": Proof(proof.a, proof.b, None),
        "A is not on the curve": Proof((1, 1), proof.b, proof.c),
        "B is not on the curve": Proof(proof.a, ((1, 1), (1, 1)), proof.c),
        "C is not on the curve": Proof(proof.a, proof.b, (1, 1)),
        "A is outside the subgroup": Proof(curve.add(C.g1, proof.a, outside1), proof.b, proof.c),
        "B is outside the subgroup": Proof(proof.a, curve.add(C.g2, proof.b, outside2), proof.c),
        "C is outside the subgroup": Proof(proof.a, proof.b, outside1),
    }
    for reason, changed in bad.items():
        assert verify.reason_to_reject_points(C, changed) == reason
        assert not verify.verify(C, vk, public, changed, "pyblst")


def test_public_inputs_must_be_reduced_and_complete(case: tuple[VerifyingKey, list[int], Proof]) -> None:
    vk, public, proof = case
    assert verify.verify(C, vk, public, proof, "pyblst")
    with pytest.raises(ValueError, match="is not below r"):
        verify.verify(C, vk, [public[0] + C.r], proof, "pyblst")
    with pytest.raises(ValueError, match="0 public inputs but the key has 1"):
        verify.verify(C, vk, [], proof, "pyblst")


def test_library_without_a_pairing(case: tuple[VerifyingKey, list[int], Proof]) -> None:
    vk, public, proof = case
    with pytest.raises(Unsupported, match="flint has no pairing_check"):
        verify.verify(C, vk, public, proof, "flint")
    with pytest.raises(ValueError, match="no adapter for 'relic'"):
        verify.verify(C, vk, public, proof, "relic")


def test_missing_library_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    adapter = third_party.get("flint")
    monkeypatch.setattr(type(adapter), "load", third_party.Adapter.load)
    monkeypatch.setattr("importlib.import_module", _refuse)
    with pytest.raises(MissingLibrary, match="pip install python-flint"):
        adapter.fp_mul(2, 3, 7)


def _refuse(name: str) -> None:
    raise ImportError(name)
