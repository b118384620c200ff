/// The tower over Fp2 = Fp[u]/(u^2 + 1) for BN254: Fp6 = Fp2[v]/(v^3 - xi), Fp12 = Fp6[w]/(w^2 - v), xi = 9 + u.
///
/// Host only, 64-bit limbs.  In the basis of powers of w an element of Fp12 has the Fp2 coordinates
/// 1: c0.c0, w: c1.c0, w^2: c0.c1, w^3: c1.c1, w^4: c0.c2, w^5: c1.c2.
/// Formulas: Devegili, O hEigeartaigh, Scott, Dahab, https://eprint.iacr.org/2006/471 (Karatsuba, complex squaring).
#pragma once

#include "../curve.cuh"

namespace cuzk::pairing {

using Fp = Curve_bn254::Fp;
using Fp2 = Curve_bn254::Fp2;

/// a * xi = (9 a0 - a1) + (a0 + 9 a1) u.
inline Fp2 mul_xi(const Fp2& a) {
    const Fp2 nine = a.dbl().dbl().dbl() + a;
    return {nine.c0 - a.c1, nine.c1 + a.c0};
}

struct Fp6 {
    Fp2 c0, c1, c2;

    static Fp6 zero() { return {Fp2::zero(), Fp2::zero(), Fp2::zero()}; }
    static Fp6 one() { return {Fp2::one(), Fp2::zero(), Fp2::zero()}; }

    Fp6 operator+(const Fp6& o) const { return {c0 + o.c0, c1 + o.c1, c2 + o.c2}; }
    Fp6 operator-(const Fp6& o) const { return {c0 - o.c0, c1 - o.c1, c2 - o.c2}; }
    Fp6 operator-() const { return {-c0, -c1, -c2}; }
    bool operator==(const Fp6& o) const { return c0 == o.c0 && c1 == o.c1 && c2 == o.c2; }
    Fp6 scale(const Fp2& k) const { return {c0 * k, c1 * k, c2 * k}; }
    /// a * v: v^3 = xi.
    Fp6 mul_v() const { return {mul_xi(c2), c0, c1}; }

    /// 6 products of Fp2.
    Fp6 operator*(const Fp6& o) const {
        const Fp2 v0 = c0 * o.c0, v1 = c1 * o.c1, v2 = c2 * o.c2;
        return {v0 + mul_xi((c1 + c2) * (o.c1 + o.c2) - v1 - v2),
                (c0 + c1) * (o.c0 + o.c1) - v0 - v1 + mul_xi(v2),
                (c0 + c2) * (o.c0 + o.c2) - v0 - v2 + v1};
    }
    /// a * (k0 + k1 v).  5 products of Fp2.
    Fp6 mul_01(const Fp2& k0, const Fp2& k1) const {
        const Fp2 v0 = c0 * k0, v1 = c1 * k1;
        return {v0 + mul_xi((c1 + c2) * k1 - v1), (c0 + c1) * (k0 + k1) - v0 - v1, (c0 + c2) * k0 - v0 + v1};
    }
    /// 0 for 0.
    Fp6 inverse() const {
        const Fp2 t0 = c0.sqr() - mul_xi(c1 * c2);
        const Fp2 t1 = mul_xi(c2.sqr()) - c0 * c1;
        const Fp2 t2 = c1.sqr() - c0 * c2;
        const Fp2 norm = c0 * t0 + mul_xi(c2 * t1 + c1 * t2);
        return Fp6{t0, t1, t2}.scale(norm.inverse());
    }
};

struct Fp12 {
    Fp6 c0, c1;

    static Fp12 one() { return {Fp6::one(), Fp6::zero()}; }

    bool operator==(const Fp12& o) const { return c0 == o.c0 && c1 == o.c1; }

    /// 18 products of Fp2.
    Fp12 operator*(const Fp12& o) const {
        const Fp6 v0 = c0 * o.c0, v1 = c1 * o.c1;
        return {v0 + v1.mul_v(), (c0 + c1) * (o.c0 + o.c1) - v0 - v1};
    }
    /// 12 products of Fp2.
    Fp12 sqr() const {
        const Fp6 product = c0 * c1;
        return {(c0 + c1) * (c0 + c1.mul_v()) - product - product.mul_v(), product + product};
    }
    /// a * (k0 + k3 w + k4 w^3), the shape of a line.  13 products of Fp2.
    Fp12 mul_line(const Fp2& k0, const Fp2& k3, const Fp2& k4) const {
        const Fp6 a = c0.scale(k0), b = c1.mul_01(k3, k4);
        return {a + b.mul_v(), (c0 + c1).mul_01(k0 + k3, k4) - a - b};
    }
    /// The p^6-th power; the inverse for elements whose norm to Fp6 is 1.
    Fp12 conjugate() const { return {c0, -c1}; }
    /// 0 for 0.
    Fp12 inverse() const {
        const Fp6 norm = (c0 * c0 - (c1 * c1).mul_v()).inverse();
        return {c0 * norm, -(c1 * norm)};
    }

    /// The p-th power; gamma[k] = xi^(k (p-1) / 6), so that (w^k)^p = gamma[k] w^k.
    Fp12 frobenius(const Fp2 (&gamma)[6]) const {
        return {{c0.c0.conjugate(), c0.c1.conjugate() * gamma[2], c0.c2.conjugate() * gamma[4]},
                {c1.c0.conjugate() * gamma[1], c1.c1.conjugate() * gamma[3], c1.c2.conjugate() * gamma[5]}};
    }
};

}  // namespace cuzk::pairing
