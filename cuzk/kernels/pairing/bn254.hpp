/// Optimal ate pairing of BN254 with prepared G2 arguments.
///
/// e(P, Q) = (f_{6z+2,Q}(P) * l_{[6z+2]Q, pi(Q)}(P) * l_{.., -pi^2(Q)}(P)) ^ (k (p^12 - 1) / r),
/// k = 2z (6z^2 + 3z + 1): the power that libff, snarkjs and gnark's predecessors use, so that stored values agree.
/// k is prime to r, so a product of pairings is 1 or not independently of it.
/// Sources: Vercauteren 2010, https://eprint.iacr.org/2008/096 (the loop); Aranha, Karabina, Longa, Gebotys, Lopez,
/// https://eprint.iacr.org/2010/526 (steps); Fuentes-Castaneda, Knapp, Rodriguez-Henriquez, "Faster hashing to G2",
/// SAC 2011 (final exponentiation).
#pragma once

#include <array>
#include <vector>

#include "tower.hpp"

namespace cuzk::pairing {

using G1Affine = Affine<Curve_bn254::G1>;
using G2Affine = Affine<Curve_bn254::G2>;
__extension__ using u128 = unsigned __int128;

/// The seed z, from p - r = 6 z^2 (z > 0).
constexpr u64 derive_seed() {
    u128 square = 0;  // (p - r) / 6 < 2^126: p - r fits the two low limbs
    {
        const u128 p = u128(bn254_fp::modulus(1)) << 64 | bn254_fp::modulus(0);
        const u128 r = u128(bn254_fr::modulus(1)) << 64 | bn254_fr::modulus(0);
        square = (p - r) / 6;
    }
    u64 z = 0;
    for (int bit = 63; bit >= 0; --bit) {
        const u64 next = z | u64(1) << bit;
        if (u128(next) * next <= square) z = next;
    }
    return z;
}
inline constexpr u64 SEED = derive_seed();
static_assert(bn254_fp::modulus(3) == bn254_fr::modulus(3) && bn254_fp::modulus(2) == bn254_fr::modulus(2));

/// Signed digits (-1, 0, 1) of 6z + 2, no two neighbours nonzero, lowest first.
struct LoopDigits {
    std::array<int, 68> digit{};
    int length = 0;
    constexpr LoopDigits() {
        u128 n = u128(6) * SEED + 2;
        for (; n != 0; n >>= 1, ++length) {
            if (n & 1) {
                digit[length] = (n & 3) == 3 ? -1 : 1;
                n = digit[length] > 0 ? n - 1 : n + 1;
            }
        }
    }
};
inline constexpr LoopDigits LOOP{};

/// Powers of gamma = xi^((p-1)/6), and 1/2.
struct Constants {
    Fp2 gamma[6];
    Fp half;

    Constants() {
        u64 exponent[4] = {};
        u128 remainder = 0;
        for (int i = 3; i >= 0; --i) {
            const u128 value = remainder << 64 | (bn254_fp::modulus(i) - (i == 0 ? 1 : 0));
            exponent[i] = u64(value / 6);
            remainder = value % 6;
        }
        const Fp2 xi = mul_xi(Fp2::one());
        Fp2 power = Fp2::one();
        for (int bit = 255; bit >= 0; --bit) {
            power = power.sqr();
            if (exponent[bit / 64] >> (bit % 64) & 1) power = power * xi;
        }
        gamma[0] = Fp2::one();
        for (int k = 1; k < 6; ++k) gamma[k] = gamma[k - 1] * power;
        half = Fp::one().dbl().inverse();
    }
};
inline const Constants& constants() {
    static const Constants instance;
    return instance;
}

/// One line, k0 y_P + k3 x_P w + k4 w^3.
struct Line {
    Fp2 k0, k3, k4;
};

/// The lines of one Q in the order in which the loop uses them; none for infinity.
struct PreparedPoint {
    std::vector<Line> lines;
};

/// Q as it runs through the multiples, in homogeneous coordinates (x = X/Z, y = Y/Z).
class LineBuilder {
  public:
    explicit LineBuilder(const G2Affine& q) : x_(q.x), y_(q.y), z_(Fp2::one()) {}

    /// Doubles; the tangent.  3M + 6S + 1 product with b'.
    Line dbl() {
        const Fp& half = constants().half;
        const Fp2 a = (x_ * y_).scale(half), b = y_.sqr(), c = z_.sqr();
        const Fp2 e = Curve_bn254::G2::b() * (c.dbl() + c);
        const Fp2 f = e.dbl() + e, g = (b + f).scale(half);
        const Fp2 h = (y_ + z_).sqr() - b - c, i = e - b, j = x_.sqr(), ee = e.sqr();
        x_ = a * (b - f);
        y_ = g.sqr() - (ee.dbl() + ee);
        z_ = b * h;
        return {-h, j.dbl() + j, i};
    }
    /// Adds the affine point q; the chord.  11M + 2S.
    Line add(const G2Affine& q) {
        const Fp2 theta = y_ - q.y * z_, lambda = x_ - q.x * z_;
        const Fp2 c = theta.sqr(), d = lambda.sqr(), e = lambda * d, f = z_ * c, g = x_ * d;
        const Fp2 h = e + f - g.dbl();
        x_ = lambda * h;
        y_ = theta * (g - h) - e * y_;
        z_ = z_ * e;
        return {lambda, -theta, theta * q.x - lambda * q.y};
    }

  private:
    Fp2 x_, y_, z_;
};

/// The p-power endomorphism on the twist: (conj(x) gamma_2, conj(y) gamma_3).
inline G2Affine frobenius(const G2Affine& q) {
    return {q.x.conjugate() * constants().gamma[2], q.y.conjugate() * constants().gamma[3]};
}

/// Q is infinity or a point of order r.
inline PreparedPoint prepare(const G2Affine& q) {
    PreparedPoint result;
    if (q.is_inf()) return result;
    LineBuilder builder(q);
    for (int i = LOOP.length - 2; i >= 0; --i) {
        result.lines.push_back(builder.dbl());
        if (LOOP.digit[i] != 0) result.lines.push_back(builder.add(LOOP.digit[i] > 0 ? q : -q));
    }
    const G2Affine q1 = frobenius(q), q2 = frobenius(q1);
    result.lines.push_back(builder.add(q1));
    result.lines.push_back(builder.add(-q2));
    return result;
}

/// The product of the Miller functions of all pairs, sharing the squarings.  Pairs with an infinity count as 1.
inline Fp12 miller_loop(const std::vector<G1Affine>& p, const std::vector<const PreparedPoint*>& q) {
    std::vector<std::size_t> active;
    for (std::size_t k = 0; k < p.size(); ++k) {
        if (!p[k].is_inf() && !q[k]->lines.empty()) active.push_back(k);
    }
    Fp12 f = Fp12::one();
    std::size_t step = 0;
    const auto multiply_lines = [&] {
        for (const std::size_t k : active) {
            const Line& line = q[k]->lines[step];
            f = f.mul_line(line.k0.scale(p[k].y), line.k3.scale(p[k].x), line.k4);
        }
        ++step;
    };
    for (int i = LOOP.length - 2; i >= 0; --i) {
        f = f.sqr();
        multiply_lines();
        if (LOOP.digit[i] != 0) multiply_lines();
    }
    multiply_lines();
    multiply_lines();
    return f;
}

/// a^(-z) for a in the cyclotomic subgroup.
inline Fp12 pow_minus_seed(const Fp12& a) {
    Fp12 r = Fp12::one();
    for (int bit = 63; bit >= 0; --bit) {
        r = r.sqr();
        if (SEED >> bit & 1) r = r * a;
    }
    return r.conjugate();
}

/// f^(k (p^12 - 1) / r).  Letters as in the paper: the exponent of each is in the comment.
inline Fp12 final_exponentiation(const Fp12& f) {
    const auto& gamma = constants().gamma;
    const Fp12 g = f.conjugate() * f.inverse();                // p^6 - 1
    const Fp12 m = g.frobenius(gamma).frobenius(gamma) * g;    // p^2 + 1; m is in the cyclotomic subgroup
    const Fp12 a = pow_minus_seed(m);                          // -z
    const Fp12 b = a.sqr();                                    // -2z
    const Fp12 d = b.sqr() * b;                                // -6z
    const Fp12 e = pow_minus_seed(d);                          // 6z^2
    const Fp12 i = pow_minus_seed(e.sqr()).conjugate();        // 12z^3
    const Fp12 k = i * e * d.conjugate();                      // 12z^3 + 6z^2 + 6z
    const Fp12 l = k * b;                                      // 12z^3 + 6z^2 + 4z
    const Fp12 n = k * e * m;                                  // 12z^3 + 12z^2 + 6z + 1
    const Fp12 t = m.conjugate() * l;                          // 12z^3 + 6z^2 + 4z - 1
    // n + p l + p^2 k + p^3 t, by Horner's rule.
    return n * (l * (k * t.frobenius(gamma)).frobenius(gamma)).frobenius(gamma);
}

}  // namespace cuzk::pairing
