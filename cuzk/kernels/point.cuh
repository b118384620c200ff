// Points of y^2 = x^3 + b, affine and in XYZZ coordinates: x = X / ZZ, y = Y / ZZZ, ZZ^3 = ZZZ^2.
//
// Formulas: Explicit-Formulas Database, https://hyperelliptic.org/EFD/g1p/auto-shortw-xyzz.html, with a = 0.
// All functions are complete: infinity, equal and opposite points are ordinary inputs.  Points need not be in the
// subgroup.  A group G gives the coordinate field G::F and the curve constant G::b().
//
// The additions and doublings are calls with their points in memory: on a GPU a point of G2 alone takes 96 registers, and
// inlined copies cost minutes of compile time and spill (docs/decisions/0003-ptxas-g2.md).
#pragma once
#include "fp2.cuh"

namespace cuzk {

/// Affine point; infinity is (0, 0), which is on no curve with b != 0.
template <class G> struct Affine {
    using F = typename G::F;
    F x, y;

    static CUZK_FN Affine inf() { return {F::zero(), F::zero()}; }
    CUZK_FN bool is_inf() const { return x.is_zero() && y.is_zero(); }
    CUZK_FN bool operator==(const Affine& o) const { return x == o.x && y == o.y; }
    CUZK_FN bool operator!=(const Affine& o) const { return !(*this == o); }
    /// (x, -y); infinity stays infinity.
    CUZK_FN Affine operator-() const { return {x, -y}; }
    CUZK_FN Affine cneg(bool negate) const { return {x, y.cneg(negate)}; }
    /// y^2 = x^3 + b, or infinity.  1M + 2S.
    CUZK_FN_NOINLINE bool is_on_curve() const { return is_inf() || y.sqr() == x.sqr() * x + G::b(); }
};

/// Extended Jacobian point.  ZZ = 0 alone decides that a point is infinity; results that are infinity are all zero, unless
/// they are an infinite operand handed on.
template <class G> struct Xyzz {
    using F = typename G::F;
    F x, y, zz, zzz;

    static CUZK_FN Xyzz inf() { return {F::zero(), F::zero(), F::zero(), F::zero()}; }
    CUZK_FN bool is_inf() const { return zz.is_zero(); }

    static CUZK_FN Xyzz from_affine(const Affine<G>& p) {
        if (p.is_inf()) return inf();
        return {p.x, p.y, F::one(), F::one()};
    }

    CUZK_FN Xyzz operator-() const { return {x, -y, zz, zzz}; }
    CUZK_FN Xyzz cneg(bool negate) const { return {x, y.cneg(negate), zz, zzz}; }

    /// *this += q, q affine.  8M + 2S (mul_add2 saves one reduction).
    /// https://hyperelliptic.org/EFD/g1p/auto-shortw-xyzz.html#addition-madd-2008-s
    CUZK_FN_NOINLINE void add(const Affine<G>& q) {
        CUZK_COUNT(COUNT_EC_MADD);
        if (q.is_inf()) return;
        if (is_inf()) {
            *this = {q.x, q.y, F::one(), F::one()};
            return;
        }
        F p = q.x * zz - x;    // P = X2 ZZ1 - X1
        F r = q.y * zzz - y;   // R = Y2 ZZZ1 - Y1
        if (p.is_zero()) {     // same x: equal or opposite
            *this = r.is_zero() ? dbl() : inf();  // rare: not worth the code of an affine doubling
            return;
        }
        finish_add(p, r, x, y);  // also ZZ3 = ZZ1 PP, ZZZ3 = ZZZ1 PPP
    }

    /// *this += q; q may be *this.  12M + 2S.
    /// https://hyperelliptic.org/EFD/g1p/auto-shortw-xyzz.html#addition-add-2008-s
    CUZK_FN_NOINLINE void add(const Xyzz& q) {
        CUZK_COUNT(COUNT_EC_ADD);
        if (q.is_inf()) return;
        if (is_inf()) {
            *this = q;
            return;
        }
        F u1 = x * q.zz;          // U1 = X1 ZZ2
        F s1 = y * q.zzz;         // S1 = Y1 ZZZ2
        F p = q.x * zz - u1;      // P = X2 ZZ1 - U1
        F r = q.y * zzz - s1;     // R = Y2 ZZZ1 - S1
        if (p.is_zero()) {
            *this = r.is_zero() ? dbl() : inf();
            return;
        }
        zz *= q.zz;               // ZZ3 = ZZ1 ZZ2 PP
        zzz *= q.zzz;             // ZZZ3 = ZZZ1 ZZZ2 PPP
        finish_add(p, r, u1, s1);
    }

    CUZK_FN Xyzz& operator+=(const Affine<G>& q) { add(q); return *this; }
    CUZK_FN Xyzz& operator+=(const Xyzz& q) { add(q); return *this; }
    CUZK_FN Xyzz operator+(const Affine<G>& q) const { Xyzz s = *this; s.add(q); return s; }
    CUZK_FN Xyzz operator+(const Xyzz& q) const { Xyzz s = *this; s.add(q); return s; }

    /// 2 * this.  6M + 4S.
    /// https://hyperelliptic.org/EFD/g1p/auto-shortw-xyzz.html#doubling-dbl-2008-s-1
    [[nodiscard]] CUZK_FN_NOINLINE Xyzz dbl() const {
        CUZK_COUNT(COUNT_EC_DBL);
        if (is_inf() || y.is_zero()) return inf();  // y = 0: a point of order 2
        F u = y.dbl();            // U = 2 Y1
        F v = u.sqr();            // V = U^2
        F w = u * v;              // W = U V
        Xyzz r = dbl_tail(x * v, v, w, x, y);
        r.zz = v * zz;            // ZZ3 = V ZZ1
        r.zzz = w * zzz;          // ZZZ3 = W ZZZ1
        return r;
    }

    /// 2 * p, p affine.  4M + 3S.
    /// https://hyperelliptic.org/EFD/g1p/auto-shortw-xyzz.html#doubling-mdbl-2008-s-1
    [[nodiscard]] static CUZK_FN_NOINLINE Xyzz dbl(const Affine<G>& p) {
        CUZK_COUNT(COUNT_EC_DBL);
        if (p.y.is_zero()) return inf();  // infinity, or a point of order 2
        F u = p.y.dbl();
        F v = u.sqr();
        F w = u * v;
        return dbl_tail(p.x * v, v, w, p.x, p.y);
    }

    /// One inversion, 3M + 1S.  1 / ZZ = (ZZ / ZZZ)^2.
    CUZK_FN_NOINLINE Affine<G> to_affine() const { return to_affine(zzz.inverse()); }
    /// The same with 1 / ZZZ given (0 for infinity).
    CUZK_FN Affine<G> to_affine(const F& zzz_inv) const {
        F z_inv = zzz_inv * zz;
        return {x * z_inv.sqr(), y * zzz_inv};
    }

    /// X1 ZZ2 = X2 ZZ1 and Y1 ZZZ2 = Y2 ZZZ1: the same point, whatever the denominators.
    CUZK_FN_NOINLINE bool same_point(const Xyzz& q) const {
        if (is_inf() || q.is_inf()) return is_inf() && q.is_inf();
        return x * q.zz == q.x * zz && y * q.zzz == q.y * zzz;
    }

  private:
    /// Common end of both additions: 5M + 2S (with one reduction less where the field can); uses own zz, zzz.
    CUZK_FN void finish_add(const F& p, const F& r, const F& x1, const F& y1) {
        F pp = p.sqr();                                    // PP = P^2
        F ppp = p * pp;                                    // PPP = P PP
        F q = x1 * pp;                                     // Q = X1 PP
        F x3 = r.sqr() - ppp - q.dbl();                    // X3 = R^2 - PPP - 2Q
        F y3 = F::mul_add2(r, q - x3, -y1, ppp);           // Y3 = R (Q - X3) - Y1 PPP
        zz *= pp;
        zzz *= ppp;
        x = x3;
        y = y3;
    }
    /// Common end of both doublings: 2M + 2S.
    static CUZK_FN Xyzz dbl_tail(const F& s, const F& v, const F& w, const F& x1, const F& y1) {
        F xx = x1.sqr();
        F m = xx.dbl() + xx;                               // M = 3 X1^2
        F x3 = m.sqr() - s.dbl();                          // X3 = M^2 - 2S
        return {x3, F::mul_add2(m, s - x3, -w, y1), v, w};  // Y3 = M (S - X3) - W Y1
    }
};

}  // namespace cuzk
