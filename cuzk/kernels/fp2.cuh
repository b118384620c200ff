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

    /// (a0 b0 - a1 b1) + (a0 b1 + a1 b0) u.
    CUZK_FN Fp2 operator*(const Fp2& o) const { return product(*this, o); }
    CUZK_FN Fp2 sqr() const { return square(*this); }
    /// a b + c d; on the cpu each coordinate is reduced once.
    static CUZK_FN Fp2 mul_add2(const Fp2& a, const Fp2& b, const Fp2& c, const Fp2& d) {
#if defined(CUZK_TARGET_CPU)
        return sum_of_products(a, b, c, d);
#else
        return product(a, b) + product(c, d);  // four operands at once would not fit the GPU's registers
#endif
    }
    /// Product with an element of Fp.  2M.
    CUZK_FN Fp2 scale(const F& k) const { return {c0 * k, c1 * k}; }

    CUZK_FN Fp2& operator+=(const Fp2& o) { return *this = *this + o; }
    CUZK_FN Fp2& operator-=(const Fp2& o) { return *this = *this - o; }
    CUZK_FN Fp2& operator*=(const Fp2& o) { return *this = *this * o; }

    /// conj(a) / (a0^2 + a1^2), and 0 for 0 (the norm of a nonzero element is nonzero as -1 is no square).
    CUZK_FN Fp2 inverse() const {
        F inv = F::mul_add2(c0, c0, c1, c1).inverse();
        return {c0 * inv, -(c1 * inv)};
    }

  private:
    // Three unreduced products instead of four (Karatsuba), one reduction per coordinate.  Bounds: v0, v1 < p^2;
    // a0 b1 + a1 b0 < 2 p^2, a sum of two such < 4 p^2 <= R p with two spare bits; c0 differs from 0 by less than
    // 2 p^2 <= R p / 2 in either direction, so the top bit is its sign and adding R p once makes it positive.
    static constexpr bool LAZY = F::SPARE_BITS >= 2;
    struct Wide {
        typename F::Wide c0, c1;  // c0 may be negative, in two's complement
    };
    static CUZK_FN_INLINE Wide mul_wide(const Fp2& a, const Fp2& b) {
        Wide w;
        w.c0 = F::mul_wide(a.c0, b.c0);
        typename F::Wide v1 = F::mul_wide(a.c1, b.c1);
        w.c1 = F::mul_wide(F::add_lazy(a.c0, a.c1), F::add_lazy(b.c0, b.c1));
        w.c1 -= w.c0;
        w.c1 -= v1;
        w.c0 -= v1;
        return w;
    }

    /// 3 unreduced products, 2 reductions.
    static CUZK_FN_CALL Fp2 product(CUZK_BY_VALUE(Fp2) a, CUZK_BY_VALUE(Fp2) b) {
        CUZK_COUNT(COUNT_FP2_MUL);
        if constexpr (LAZY) {
            Wide w = mul_wide(a, b);
            w.c0.make_positive();
            return {w.c0.reduce(), w.c1.reduce()};
        } else {
            return {a.c0 * b.c0 - a.c1 * b.c1, a.c0 * b.c1 + a.c1 * b.c0};
        }
    }
    /// (a0 + a1)(a0 - a1) + 2 a0 a1 u.  2M, 3 additions.
    static CUZK_FN_CALL Fp2 square(CUZK_BY_VALUE(Fp2) a) {
        CUZK_COUNT(COUNT_FP2_SQR);
        return {(a.c0 + a.c1) * (a.c0 - a.c1), (a.c0 * a.c1).dbl()};
    }
#if defined(CUZK_TARGET_CPU)
    /// 6 unreduced products, 2 reductions.
    static CUZK_FN_CALL Fp2 sum_of_products(CUZK_BY_VALUE(Fp2) a, CUZK_BY_VALUE(Fp2) b, CUZK_BY_VALUE(Fp2) c,
                                            CUZK_BY_VALUE(Fp2) d) {
        CUZK_COUNT(COUNT_FP2_MUL);
        CUZK_COUNT(COUNT_FP2_MUL);
        if constexpr (LAZY) {
            Wide v = mul_wide(a, b), w = mul_wide(c, d);
            v.c1 += w.c1;
            v.c0 += w.c0;
            v.c0.make_positive();
            return {v.c0.reduce(), v.c1.reduce()};
        } else {
            return {a.c0 * b.c0 - a.c1 * b.c1 + (c.c0 * d.c0 - c.c1 * d.c1),
                    a.c0 * b.c1 + a.c1 * b.c0 + (c.c0 * d.c1 + c.c1 * d.c0)};
        }
    }
#endif

  public:
    CUZK_FN Fp2 to_mont() const { return {c0.to_mont(), c1.to_mont()}; }
    CUZK_FN Fp2 from_mont() const { return {c0.from_mont(), c1.from_mont()}; }
};

}  // namespace cuzk
