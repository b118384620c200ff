"""Second readers of the circom and snarkjs files, minimal and strict: `.r1cs`, `.wtns`, `.zkey`, JSON.

They exist to disagree with the first readers. Anything unexpected is a `ParseError`. Formats: a container is
magic (4 bytes), version (u32), number of sections (u32), then sections {id u32, size u64, bytes} in any
order; all numbers are little-endian. Coefficients and witness values are in standard form; points are affine
Montgomery, infinity all zero; coefficients of a `.zkey` are stored as coefficient * R^2.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cuzk_oracles import fields, groth16
from cuzk_oracles.groth16 import G1Point, G2Point, KeyForm, Proof, ProvingKey, VerifyingKey
from cuzk_oracles.params import BLS12_381, BN254, Params, mont_fr
from cuzk_oracles.qap import R1CS
from cuzk_oracles.spmv import Row, spmv

_SNARKJS_NAMES = {"bls12381": BLS12_381, "bn128": BN254}


class ParseError(ValueError):
    """The bytes are not such a file."""


class _Reader:
    """A cursor over bytes that never reads past the end."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, size: int) -> bytes:
        """The next `size` bytes."""
        if self.at + size > len(self.data):
            raise ParseError(f"needs {size} bytes at offset {self.at}, has {len(self.data) - self.at}")
        self.at += size
        return self.data[self.at - size : self.at]

    def uint(self, size: int) -> int:
        """The next `size` bytes as a little-endian number."""
        return int.from_bytes(self.take(size), "little")

    def below(self, size: int, modulus: int) -> int:
        """A number that must be reduced."""
        value = self.uint(size)
        if value >= modulus:
            raise ParseError(f"value {value} at offset {self.at - size} is not below the modulus {modulus}")
        return value

    def finish(self) -> None:
        """Nothing may be left."""
        if self.at != len(self.data):
            raise ParseError(f"{len(self.data) - self.at} bytes left over at offset {self.at}")


def _sections(data: bytes, magic: bytes, version: int) -> dict[int, _Reader]:
    reader = _Reader(data)
    if reader.take(4) != magic:
        raise ParseError(f"magic is {data[:4]!r}, not {magic!r}")
    if (found := reader.uint(4)) != version:
        raise ParseError(f"version is {found}, not {version}")
    sections: dict[int, _Reader] = {}
    for _ in range(reader.uint(4)):
        section_id, size = reader.uint(4), reader.uint(8)
        if section_id in sections:
            raise ParseError(f"section {section_id} occurs twice")
        sections[section_id] = _Reader(reader.take(size))
    reader.finish()
    return sections


def _need(sections: dict[int, _Reader], section_id: int) -> _Reader:
    if section_id not in sections:
        raise ParseError(f"section {section_id} is missing")
    return sections[section_id]


@dataclass(frozen=True)
class R1csFile:
    """Contents of a `.r1cs`."""

    prime: int
    num_outputs: int
    num_public_inputs: int
    num_private_inputs: int
    labels: list[int]
    r1cs: R1CS


def parse_r1cs(data: bytes) -> R1csFile:
    """Read a `.r1cs`, version 1, without custom gates."""
    sections = _sections(data, b"r1cs", 1)
    header = _need(sections, 1)
    size = header.uint(4)
    prime = header.uint(size)
    wires, outputs, public, private = (header.uint(4) for _ in range(4))
    header.uint(8)  # number of labels
    num_constraints = header.uint(4)
    header.finish()
    body = _need(sections, 2)

    def linear_combination() -> Row:
        row = []
        for _ in range(body.uint(4)):
            wire = body.below(4, wires)
            row.append((wire, body.below(size, prime)))
        return row

    constraints = []
    for _ in range(num_constraints):
        constraints.append((linear_combination(), linear_combination(), linear_combination()))
    body.finish()
    labels = [_need(sections, 3).uint(8) for _ in range(wires)]
    sections[3].finish()
    a, b, c = ([constraint[k] for constraint in constraints] for k in range(3))
    return R1csFile(prime, outputs, public, private, labels, R1CS(wires, outputs + public, a, b, c))


@dataclass(frozen=True)
class WtnsFile:
    """Contents of a `.wtns`."""

    prime: int
    witness: list[int]


def parse_wtns(data: bytes) -> WtnsFile:
    """Read a `.wtns`, version 2."""
    sections = _sections(data, b"wtns", 2)
    header, body = _need(sections, 1), _need(sections, 2)
    size = header.uint(4)
    prime, count = header.uint(size), header.uint(4)
    header.finish()
    witness = [body.below(size, prime) for _ in range(count)]
    body.finish()
    return WtnsFile(prime, witness)


@dataclass(frozen=True)
class ZkeyFile:
    """Contents of a groth16 `.zkey`: the key, and the rows of A and B (there is no C)."""

    params: Params
    key: ProvingKey
    num_variables: int
    a: list[Row]
    b: list[Row]


class _PointReader:
    """Reads affine Montgomery points of one curve."""

    def __init__(self, params: Params) -> None:
        self.p = params.p
        self.size = 8 * fields.num_limbs(params.p)

    def coordinate(self, reader: _Reader) -> int:
        """One base-field element."""
        return fields.from_mont(reader.below(self.size, self.p), self.p, self.size // 8)

    def g1(self, reader: _Reader) -> G1Point:
        """One G1 point."""
        x, y = self.coordinate(reader), self.coordinate(reader)
        return None if (x, y) == (0, 0) else (x, y)

    def g2(self, reader: _Reader) -> G2Point:
        """One G2 point."""
        x0, x1, y0, y1 = (self.coordinate(reader) for _ in range(4))
        return None if (x0, x1, y0, y1) == (0, 0, 0, 0) else ((x0, x1), (y0, y1))

    def all_g1(self, reader: _Reader, count: int) -> list[G1Point]:
        """A whole section of G1 points."""
        result = [self.g1(reader) for _ in range(count)]
        reader.finish()
        return result

    def all_g2(self, reader: _Reader, count: int) -> list[G2Point]:
        """A whole section of G2 points."""
        result = [self.g2(reader) for _ in range(count)]
        reader.finish()
        return result


def parse_zkey(data: bytes) -> ZkeyFile:
    """Read a groth16 `.zkey`, version 1; points are not checked against the curve."""
    sections = _sections(data, b"zkey", 1)
    if (protocol := _need(sections, 1).uint(4)) != 1:
        raise ParseError(f"protocol {protocol} is not groth16")
    header = _need(sections, 2)
    p = header.uint(header.uint(4))
    r = header.uint(header.uint(4))
    params = next((c for c in (BLS12_381, BN254) if (c.p, c.r) == (p, r)), None)
    if params is None:
        raise ParseError(f"unknown curve with p = {p}, r = {r}")
    num_variables, num_public, n = header.uint(4), header.uint(4), header.uint(4)
    if n < 2 or n & (n - 1) or num_public >= num_variables:
        raise ParseError(f"bad sizes: {num_variables} variables, {num_public} public, domain {n}")
    points = _PointReader(params)
    alpha, beta_g1 = points.g1(header), points.g1(header)
    beta_g2, gamma = points.g2(header), points.g2(header)
    delta_g1, delta_g2 = points.g1(header), points.g2(header)
    header.finish()
    a, b = _zkey_rows(_need(sections, 4), params, n, num_variables)
    key = ProvingKey(
        form=KeyForm(roots="snarkjs", h="odd_lagrange"),
        log_n=n.bit_length() - 1,
        num_public=num_public,
        alpha_g1=alpha,
        beta_g1=beta_g1,
        beta_g2=beta_g2,
        gamma_g2=gamma,
        delta_g1=delta_g1,
        delta_g2=delta_g2,
        ic=points.all_g1(_need(sections, 3), num_public + 1),
        a_query=points.all_g1(_need(sections, 5), num_variables),
        b_g1_query=points.all_g1(_need(sections, 6), num_variables),
        b_g2_query=points.all_g2(_need(sections, 7), num_variables),
        h_query=points.all_g1(_need(sections, 9), n),
        l_query=points.all_g1(_need(sections, 8), num_variables - num_public - 1),
    )
    return ZkeyFile(params, key, num_variables, a, b)


def _zkey_rows(reader: _Reader, params: Params, n: int, num_variables: int) -> tuple[list[Row], list[Row]]:
    matrices: tuple[list[Row], list[Row]] = ([[] for _ in range(n)], [[] for _ in range(n)])
    r_squared_inv = pow(mont_fr(params, mont_fr(params, 1)), -1, params.r)
    for _ in range(reader.uint(4)):
        matrix, row, wire = reader.below(4, 2), reader.below(4, n), reader.below(4, num_variables)
        matrices[matrix][row].append((wire, reader.below(32, params.r) * r_squared_inv % params.r))
    reader.finish()
    return matrices


def prove_zkey(zkey: ZkeyFile, w: Sequence[int], r_blind: int, s_blind: int) -> Proof:
    """A proof with the key of a `.zkey`; C w is taken as A w * B w, as snarkjs does, so w is not checked."""
    r = zkey.params.r
    a, b = spmv(zkey.a, w, r), spmv(zkey.b, w, r)
    c = [x * y % r for x, y in zip(a, b, strict=True)]
    return groth16.prove_from_abc(zkey.params, zkey.key, (a, b, c), w, r_blind, s_blind)


# --- JSON -------------------------------------------------------------------------------------------------


def _decimal(text: Any, modulus: int) -> int:
    if not (isinstance(text, str) and text.isascii() and text.isdigit()):
        raise ParseError(f"{text!r} is no decimal string")
    if int(text) >= modulus:
        raise ParseError(f"{text} is not below the modulus {modulus}")
    return int(text)


def _items(value: Any, count: int | None = None) -> list[Any]:
    if not isinstance(value, list) or count not in (None, len(value)):
        raise ParseError(f"{value!r} is no list" + (f" of {count}" if count else ""))
    return value


def _member(value: dict[str, Any], name: str) -> Any:
    if name not in value:
        raise ParseError(f"{name!r} is missing")
    return value[name]


def _json_g1(value: Any, p: int) -> G1Point:
    x, y, z = (_decimal(text, p) for text in _items(value, 3))
    if z == 0:
        return None
    if z != 1:
        raise ParseError(f"third coordinate is {z}, neither 0 nor 1")
    return x, y


def _json_g2(value: Any, p: int) -> G2Point:
    pairs = [_items(pair, 2) for pair in _items(value, 3)]
    x, y, z = ((_decimal(c0, p), _decimal(c1, p)) for c0, c1 in pairs)
    if z == (0, 0):
        return None
    if z != (1, 0):
        raise ParseError(f"third coordinate is {z}, neither 0 nor 1")
    return x, y


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ParseError(f"not JSON: {error}") from error


def _json_object(text: str) -> tuple[dict[str, Any], Params]:
    value = _json(text)
    if not isinstance(value, dict):
        raise ParseError("not a JSON object")
    if value.get("protocol") != "groth16" or value.get("curve") not in _SNARKJS_NAMES:
        raise ParseError(f"protocol {value.get('protocol')!r}, curve {value.get('curve')!r}")
    return value, _SNARKJS_NAMES[value["curve"]]


def parse_proof_json(text: str) -> tuple[Params, Proof]:
    """Read snarkjs's proof.json."""
    value, params = _json_object(text)
    p = params.p
    a, b, c = (_member(value, name) for name in ("pi_a", "pi_b", "pi_c"))
    return params, Proof(_json_g1(a, p), _json_g2(b, p), _json_g1(c, p))


def parse_vkey_json(text: str) -> tuple[Params, VerifyingKey]:
    """Read snarkjs's verification key; its precomputed pairing is ignored."""
    value, params = _json_object(text)
    p = params.p
    ic = [_json_g1(point, p) for point in _items(_member(value, "IC"))]
    if _member(value, "nPublic") != len(ic) - 1:
        raise ParseError(f"nPublic is {value['nPublic']!r} but IC has {len(ic)} points")
    beta, gamma, delta = (_json_g2(_member(value, f"vk_{name}_2"), p) for name in ("beta", "gamma", "delta"))
    return params, VerifyingKey(_json_g1(_member(value, "vk_alpha_1"), p), beta, gamma, delta, ic)


def parse_public_json(text: str, params: Params) -> list[int]:
    """Read snarkjs's public.json: decimal strings below r."""
    return [_decimal(item, params.r) for item in _items(_json(text))]
