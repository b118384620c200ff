// The quadratic extension Fp2 = Fp[u] / (u^2 + 1), p = 3 mod 4.
#pragma once
#include "field.cuh"

namespace cuzk {

/// c0 + c1 u.  Coordinates in Montgomery form, < p, before and after every function.
template <class F> struct Fp2 {
    using Base = F;
    F c0, c1;

    static CUZK_FN Fp2 zero() { return {F::zero(), F::zero()}; }
    static CUZK_FN Fp2 one() { return {F::one(), F::zero()}; }

    CUZK_FN bool is_zero() const { return c0.is_zero() && c1.is_zero(); }
    CUZK_FN bool operator==(const Fp2& o) const { return c0 == o.c0 && c1 == o.c1; }
    CUZK_FN bool operator!=(const Fp2& o) const { return !(*this == o); }
    CUZK_FN bool is_reduced() const { return c0.is_reduced() && c1.is_reduced(); }

    CUZK_FN Fp2 operator+(const Fp2& o) const { return {c0 + o.c0, c1 + o.c1}; }
    CUZK_FN Fp2 operator-(const Fp2& o) const { return {c0 - o.c0, c1 - o.c1}; }
    CUZK_FN Fp2 operator-() const { return {-c0, -c1}; }
    CUZK_FN Fp2 cneg(bool negate) const { return {c0.cneg(negate), c1.cneg(negate)}; }
    CUZK_FN Fp2 dbl() const { return {c0.dbl(), c1.dbl()}; }
    /// The p-th power: c0 - c1 u.
    CUZK_FN Fp2 conjugate() const { return {c0, -c1}; }

    /// (a0 b0 - a1 b1) + (a0 b1 + a1 b0) u.  2 two-term products, 1 negation.
    CUZK_FN_HEAVY Fp2 operator*(const Fp2& o) const {
        CUZK_COUNT(COUNT_FP2_MUL);
        return {F::mul_add2(c0, o.c0, -c1, o.c1), F::mul_add2(c0, o.c1, c1, o.c0)};
    }
    /// (a0 + a1)(a0 - a1) + 2 a0 a1 u.  2M, 3 additions.
    CUZK_FN_HEAVY Fp2 sqr() const {
        CUZK_COUNT(COUNT_FP2_SQR);
        return {(c0 + c1) * (c0 - c1), (c0 * c1).dbl()};
    }
    /// Product with an element of Fp.  2M.
    CUZK_FN Fp2 scale(const F& k) const { return {c0 * k, c1 * k}; }

    /// a b + c d.
    static CUZK_FN Fp2 mul_add2(const Fp2& a, const Fp2& b, const Fp2& c, const Fp2& d) { return a * b + c * d; }

    CUZK_FN Fp2& operator+=(const Fp2& o) { return *this = *this + o; }
    CUZK_FN Fp2& operator-=(const Fp2& o) { return *this = *this - o; }
    CUZK_FN Fp2& operator*=(const Fp2& o) { return *this = *this * o; }

    /// conj(a) / (a0^2 + a1^2), and 0 for 0 (the norm of a nonzero element is nonzero as -1 is no square).
    CUZK_FN Fp2 inverse() const {
        F inv = F::mul_add2(c0, c0, c1, c1).inverse();
        return {c0 * inv, -(c1 * inv)};
    }

    CUZK_FN Fp2 to_mont() const { return {c0.to_mont(), c1.to_mont()}; }
    CUZK_FN Fp2 from_mont() const { return {c0.from_mont(), c1.from_mont()}; }
};

}  // namespace cuzk
