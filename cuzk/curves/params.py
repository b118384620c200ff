"""The literals: one per curve, one per test field. Everything else about them is derived in derive.py.

Families, with seed ``x``:

* BLS12: p = (x-1)^2 (x^4-x^2+1)/3 + x,  r = x^4-x^2+1,  trace x+1.  BLS12-381: about 126 bits of security.
* BN:    p = 36x^4+36x^3+24x^2+6x+1,  r = 36x^4+36x^3+18x^2+6x+1,  trace 6x^2+1.  BN254: about 100 bits.
* toy:   r is the largest 16-bit prime with r = 1 mod 1024 for which a prime p = 7 mod 12 and b != 0 exist
  such that y^2 = x^3 + b has exactly r points over F_p; b is the smallest such, g1 has the smallest x.

All curves are y^2 = x^3 + b over F_p, with Fp2 = F_p[u]/(u^2+1), hence p = 3 mod 4. b != 0, so (0,0) is no
point and can stand for infinity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Fp2Int = tuple[int, int]


@dataclass(frozen=True)
class CurveParams:
    """What cannot be derived about a curve.

    Args:
        family: Gives p, r and the trace as polynomials in the seed; "toy" has no seed.
        twist: How G2's curve comes from G1's: "M": b2 = b*xi; "D": b2 = b/xi; "image": b2 = b*xi^6, and G2 is
            the image of G1 under (x, y) -> (xi^2 x, xi^3 y).
        xi: Element of Fp2 that the twist uses, (c0, c1).
        g1: Generator of G1, affine.
        g2: Generator of G2, affine, or None where it is the image of g1.
        fr_generator: The generator of Fr* that bellman and arkworks use for roots of unity and cosets.
        snarkjs_name: The curve's name in snarkjs JSON files.
    """

    name: str
    family: Literal["bls12", "bn", "toy"]
    seed: int
    p: int
    r: int
    b: int
    twist: Literal["M", "D", "image"]
    xi: Fp2Int
    g1: tuple[int, int]
    g2: tuple[Fp2Int, Fp2Int] | None
    fr_generator: int
    snarkjs_name: str


BLS12_381 = CurveParams(
    name="bls12_381",
    family="bls12",
    seed=-0xD201000000010000,
    p=0x1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB,
    r=0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001,
    b=4,
    twist="M",
    xi=(1, 1),
    g1=(
        0x17F1D3A73197D7942695638C4FA9AC0FC3688C4F9774B905A14E3A3F171BAC586C55E83FF97A1AEFFB3AF00ADB22C6BB,
        0x08B3F481E3AAA0F1A09E30ED741D8AE4FCF5E095D5D00AF600DB18CB2C04B3EDD03CC744A2888AE40CAA232946C5E7E1,
    ),
    g2=(
        (
            0x024AA2B2F08F0A91260805272DC51051C6E47AD4FA403B02B4510B647AE3D1770BAC0326A805BBEFD48056C8C121BDB8,
            0x13E02B6052719F607DACD3A088274F65596BD0D09920B61AB5DA61BBDC7F5049334CF11213945D57E5AC7D055D042B7E,
        ),
        (
            0x0CE5D527727D6E118CC9CDC6DA2E351AADFD9BAA8CBDD3A76D429A695160D12C923AC9CC3BACA289E193548608B82801,
            0x0606C4A02EA734CC32ACD2B02BC28B99CB3E287E85A763AF267492AB572E99AB3F370D275CEC1DA1AAA9075FF05F79BE,
        ),
    ),
    fr_generator=7,
    snarkjs_name="bls12381",
)

BN254 = CurveParams(
    name="bn254",
    family="bn",
    seed=4965661367192848881,
    p=21888242871839275222246405745257275088696311157297823662689037894645226208583,
    r=21888242871839275222246405745257275088548364400416034343698204186575808495617,
    b=3,
    twist="D",
    xi=(9, 1),
    g1=(1, 2),
    g2=(
        (
            10857046999023057135944570762232829481370756359578518086990519993285655852781,
            11559732032986387107991004021392285783925812861821192530917403151452391805634,
        ),
        (
            8495653923123431417604973247489272438418190587263600148770280649306958101930,
            4082367875863433681332203403145435568316851327593401208105741076214120093531,
        ),
    ),
    fr_generator=5,
    snarkjs_name="bn128",
)

TOY = CurveParams(
    name="toy",
    family="toy",
    seed=0,
    p=61231,
    r=61441,
    b=29,
    twist="image",
    xi=(1, 1),
    g1=(2, 19503),
    g2=None,
    fr_generator=17,
    snarkjs_name="toy",
)

CURVE_PARAMS = (BLS12_381, BN254, TOY)

# Fields that belong to no curve of ours: secp256k1's p has no spare bit in four limbs, the tiny ones use two
# limbs of 8 bits so that every pair of elements can be tried.
SECP256K1_P = 2**256 - 2**32 - 977
TINY_MODULI = (257, 4093, 32749, 65521)
