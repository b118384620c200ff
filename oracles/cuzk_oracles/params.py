"""Curve parameters, written out a second time from the curves' own specifications.

Sources: BLS12-381: draft-irtf-cfrg-pairing-friendly-curves, section 4.2.1; BN254 ("alt_bn128"): EIP-196 and
EIP-197. The toy curves are found by the search that `find_toy_base_field` states; tests repeat it.

For the toy curves G2 is the image of G1 under (x, y) -> (k^2 x, k^3 y) with k = 1 + u, on y^2 = x^3 + k^6 b.
It is no second subgroup, so the toy "pairing" goes through a table of discrete logarithms (`toy.py`).
"""

from dataclasses import dataclass
from math import isqrt

from cuzk_oracles import fields, fp2
from cuzk_oracles.curve import Fp, Fp2, Group


@dataclass(frozen=True)
class Params:
    """A curve of the prover: both groups and what the roots of unity of the scalar field derive from."""

    name: str
    p: int
    r: int
    g1: Group[int]
    g2: Group[tuple[int, int]]
    two_adicity: int
    smallest_non_residue: int
    multiplicative_generator: int


def _two_adicity(r: int) -> int:
    return ((r - 1) & -(r - 1)).bit_length() - 1


def make_params(
    name: str, p: int, r: int, g1: Group[int], g2: Group[tuple[int, int]], multiplicative_generator: int
) -> Params:
    """Join two groups and derive the rest; the "bellman" roots of unity derive from the generator of Fr*."""
    non_residue = next(g for g in range(2, r) if pow(g, (r - 1) // 2, r) == r - 1)
    return Params(name, p, r, g1, g2, _two_adicity(r), non_residue, multiplicative_generator)


BLS12_381_P = int(
    "1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab", 16
)
BLS12_381_R = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001

BLS12_381 = make_params(
    "bls12_381",
    BLS12_381_P,
    BLS12_381_R,
    Group(
        name="bls12_381_g1",
        field=Fp(BLS12_381_P),
        r=BLS12_381_R,
        b=4,
        generator=(
            0x17F1D3A73197D7942695638C4FA9AC0FC3688C4F9774B905A14E3A3F171BAC586C55E83FF97A1AEFFB3AF00ADB22C6BB,
            0x08B3F481E3AAA0F1A09E30ED741D8AE4FCF5E095D5D00AF600DB18CB2C04B3EDD03CC744A2888AE40CAA232946C5E7E1,
        ),
        cofactor=0x396C8C005555E1568C00AAAB0000AAAB,
    ),
    Group(
        name="bls12_381_g2",
        field=Fp2(BLS12_381_P),
        r=BLS12_381_R,
        b=(4, 4),
        generator=(
            (
                0x024AA2B2F08F0A91260805272DC51051C6E47AD4FA403B02B4510B647AE3D1770BAC0326A805BBEFD48056C8C121BDB8,
                0x13E02B6052719F607DACD3A088274F65596BD0D09920B61AB5DA61BBDC7F5049334CF11213945D57E5AC7D055D042B7E,
            ),
            (
                0x0CE5D527727D6E118CC9CDC6DA2E351AADFD9BAA8CBDD3A76D429A695160D12C923AC9CC3BACA289E193548608B82801,
                0x0606C4A02EA734CC32ACD2B02BC28B99CB3E287E85A763AF267492AB572E99AB3F370D275CEC1DA1AAA9075FF05F79BE,
            ),
        ),
        cofactor=int(
            "5d543a95414e7f1091d50792876a202cd91de4547085abaa68a205b2e5a7ddfa628f1cb4d9e82ef21537e293a6691ae1"
            "616ec6e786f0c70cf1c38e31c7238e5",
            16,
        ),
    ),
    multiplicative_generator=7,
)

BN254_P = 21888242871839275222246405745257275088696311157297823662689037894645226208583
BN254_R = 21888242871839275222246405745257275088548364400416034343698204186575808495617

BN254 = make_params(
    "bn254",
    BN254_P,
    BN254_R,
    Group(name="bn254_g1", field=Fp(BN254_P), r=BN254_R, b=3, generator=(1, 2), cofactor=1),
    Group(
        name="bn254_g2",
        field=Fp2(BN254_P),
        r=BN254_R,
        b=fp2.mul((3, 0), fp2.inv((9, 1), BN254_P), BN254_P),
        generator=(
            (
                10857046999023057135944570762232829481370756359578518086990519993285655852781,
                11559732032986387107991004021392285783925812861821192530917403151452391805634,
            ),
            (
                8495653923123431417604973247489272438418190587263600148770280649306958101930,
                4082367875863433681332203403145435568316851327593401208105741076214120093531,
            ),
        ),
        cofactor=2 * BN254_P - BN254_R,
    ),
    multiplicative_generator=5,
)


def _is_prime(n: int) -> bool:
    return n > 1 and all(n % d for d in range(2, isqrt(n) + 1))


def count_points(p: int, b: int) -> int:
    """Number of points of y^2 = x^3 + b over Fp, infinity included, by counting."""
    num_roots = [0] * p
    for y in range(p):
        num_roots[y * y % p] += 1
    return 1 + sum(num_roots[(x * x * x + b) % p] for x in range(p))


def find_toy_base_field(r: int) -> tuple[int, int] | None:
    """The smallest prime p = 7 mod 12, and for it the smallest b >= 1, with #E(Fp) = r for E: y^2 = x^3 + b.

    p = 3 mod 4 makes u^2 = -1 an extension; p = 1 mod 3 makes the curve ordinary. Hasse bounds p; a curve of
    the family has trace t only if 4p - t^2 is three times a square. For b, six classes modulo sixth powers
    matter.
    """
    for p in range(r + 1 - 2 * isqrt(r) - 2, r + 1 + 2 * isqrt(r) + 3):
        trace = p + 1 - r
        rest = 4 * p - trace * trace
        if p % 12 != 7 or rest < 0 or rest % 3 or isqrt(rest // 3) ** 2 != rest // 3 or not _is_prime(p):
            continue
        for b in range(1, p):
            if count_points(p, b) == r:
                return p, b
    return None


def toy_params(name: str, p: int, r: int, b: int, generator: tuple[int, int]) -> Params:
    """A toy curve from explicit parameters: G1 given, G2 its image under k = 1 + u, all else derived."""
    k = (1, 1)
    k2 = fp2.mul(k, k, p)
    k3 = fp2.mul(k2, k, p)
    k6 = fp2.mul(k3, k3, p)
    image = (fp2.mul((generator[0], 0), k2, p), fp2.mul((generator[1], 0), k3, p))
    trace = p + 1 - r
    g1 = Group(name=f"{name}_g1", field=Fp(p), r=r, b=b, generator=generator, cofactor=1)
    g2 = Group(
        name=f"{name}_g2",
        field=Fp2(p),
        r=r,
        b=fp2.mul((b, 0), k6, p),
        generator=image,
        cofactor=p + 1 + trace,  # #E(Fp2) = (p + 1 - t)(p + 1 + t)
    )
    prime_factors = [d for d in range(2, r) if (r - 1) % d == 0 and _is_prime(d)]
    generator_of_fr = next(g for g in range(2, r) if all(pow(g, (r - 1) // d, r) != 1 for d in prime_factors))
    return make_params(name, p, r, g1, g2, generator_of_fr)


# r - 1 = 2^12 * 15. Of all primes r = 1 mod 1024 below 2^16 it is the only one for which a field of the
# wanted form exists (bellperson's 64513 has none).
TOY = toy_params("toy", p=61231, r=61441, b=29, generator=(2, 19503))

# Small enough for all pairs of points with every Z: 31 points over F_43.
TINY = toy_params("tiny", p=43, r=31, b=7, generator=(2, 12))

PARAMS: dict[str, Params] = {c.name: c for c in (BLS12_381, BN254, TOY)}


def get_params(name: str) -> Params:
    """The parameters of "bls12_381", "bn254" or "toy"."""
    if name not in PARAMS:
        raise ValueError(f"unknown curve {name!r}; one of {sorted(PARAMS)}")
    return PARAMS[name]


def root_of_unity(params: Params, log_n: int, convention: str) -> int:
    """A primitive 2^log_n-th root of unity in Fr.

    "snarkjs" powers up the smallest quadratic non-residue, "bellman" (bellperson, arkworks, gnark) a
    generator of Fr*. On BLS12-381 these are 5 and 7 and the roots differ; on BN254 both are 5.
    """
    base = {"snarkjs": params.smallest_non_residue, "bellman": params.multiplicative_generator}
    if convention not in base:
        raise ValueError(f"unknown root convention {convention!r}; one of {sorted(base)}")
    if not 0 <= log_n <= params.two_adicity:
        limit = params.two_adicity
        raise ValueError(f"log_n = {log_n} is outside 0..{limit}, the two-adicity of {params.name}")
    return pow(base[convention], (params.r - 1) >> log_n, params.r)


def mont_fp(params: Params, x: int) -> int:
    """Montgomery form of a base-field element, with the limbs that Fp needs."""
    return fields.to_mont(x, params.p, fields.num_limbs(params.p))


def mont_fr(params: Params, x: int) -> int:
    """Montgomery form of a scalar, with the limbs that Fr needs."""
    return fields.to_mont(x, params.r, fields.num_limbs(params.r))
