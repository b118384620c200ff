/// What verification needs of the groups of BN254 besides the pairing: a linear combination and a subgroup check.
#pragma once

#include <vector>

#include "../points.cuh"
#include "bn254.hpp"

namespace cuzk::pairing {

using ScalarLimbs = const u64*;  // 4 little-endian limbs, standard form

/// base + sum of scalars[i] * points[i].  One doubling a bit for all terms together (Straus).
inline G1Affine linear_combination(const G1Affine& base, const std::vector<G1Affine>& points, ScalarLimbs scalars) {
    Xyzz<Curve_bn254::G1> sum = Xyzz<Curve_bn254::G1>::inf();
    for (int bit = bn254_fr::BITS - 1; bit >= 0 && !points.empty(); --bit) {
        sum = sum.dbl();
        for (std::size_t i = 0; i < points.size(); ++i) {
            if (scalars[4 * i + bit / 64] >> (bit % 64) & 1) sum.add(points[i]);
        }
    }
    sum.add(base);
    return sum.to_affine();
}

/// r * q = infinity, for q on the curve.
inline bool in_subgroup(const G2Affine& q) {
    const auto order_bit = [](int b) { return (bn254_fr::modulus(b / 64) >> (b % 64) & 1) != 0; };
    return multiply_bits(q, bn254_fr::BITS, order_bit).is_inf();
}

}  // namespace cuzk::pairing
