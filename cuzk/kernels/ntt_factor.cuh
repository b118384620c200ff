/// Products by factors that are known in advance, as the butterflies of a transform need them.
///
/// Shoup's method: for a factor w < p keep w in standard form and w' = floor(w R / p), R = 2^(limb bits * N).  With
/// q = floor(x w' / R) or one less, x w - q p is x w mod p or a little above, so that only the low halves of x w and of
/// q p are needed, and the high half of x w'.  Here q leaves out the partial products that lie wholly below limb N - 2
/// of x w': they sum to less than (2 N) 2^(-limb bits) R, so that
///   0 <= x w - q p < (1 + x / R + e) p,   e = 2 N / 2^limb bits,
/// below 2p for x < 2p wherever 2p < R (1 - e), and below R for every x < R.  Partial products for N = 8:
/// 43 + 28 + 28 wide and 8 + 8 low halves against 128 wide and 8 low of a Montgomery product, and no last subtraction.
/// x stays in whatever form it was in; elements between two products are only kept below 2p.
///
/// Source: V. Shoup, NTL (MulModPrecon); D. Harvey, Faster arithmetic for number-theoretic transforms, 2014.
#pragma once

#include "field.cuh"

namespace cuzk {

/// Limbs that the arithmetic below needs beside the modulus.
template <class Fr> struct LazyLimbs {
    using L = typename Fr::Limb;
    using M = typename Fr::M;
    static constexpr int BITS = 8 * int(sizeof(L));
    static CUZK_CONST_FN L twice(int i) { return L(L(M::limb(i) << 1) | (i == 0 ? L(0) : L(M::limb(i - 1) >> (BITS - 1)))); }
    /// R - p; p is odd, so that nothing carries out of the lowest limb.
    static CUZK_CONST_FN L negative(int i) { return i == 0 ? L(L(0) - M::limb(0)) : L(~M::limb(i)); }
};

/// A factor in the two parts that a product by it needs.
template <class Fr> struct FixedFactor {
    Fr value;     ///< w, standard form
    Fr quotient;  ///< floor(w R / p): any N limbs
};

/// w and floor(w R / p) from w R mod p.  With m = w R mod p, floor(w R / p) = (w R - m) / p = -m / p mod R.
template <class Fr> CUZK_FN FixedFactor<Fr> fixed_factor(const Fr& mont) {
    using L = typename Fr::Limb;
    FixedFactor<Fr> f;
    f.value = mont.from_mont();
    Fr t = mont;
    for (int i = 0; i < Fr::N; ++i) {
        const L digit = mul_lo(t.limb[i], Fr::M::ninv());
        f.quotient.limb[i] = digit;
        Carry<L> low, high;
        (void)add_cc(L(0), L(0), low);
        for (int j = 0; i + j < Fr::N; ++j) t.limb[i + j] = madc_lo_cc(Fr::M::limb(j), digit, t.limb[i + j], low);
        (void)add_cc(L(0), L(0), high);
        for (int j = 0; i + j + 1 < Fr::N; ++j) t.limb[i + j + 1] = madc_hi_cc(Fr::M::limb(j), digit, t.limb[i + j + 1], high);
    }
    return f;
}

/// Sums of elements below 2p and products by fixed factors; results are below 2p.
template <class Fr> struct LazyField {
    using L = typename Fr::Limb;
    using C = LazyLimbs<Fr>;
    static constexpr int N = Fr::N;
    static_assert(Fr::SPARE_BITS >= 1, "2p must fit");

    /// a + b, less 2p where that is not negative.
    static CUZK_FN_LIMBS Fr add(const Fr& a, const Fr& b) {
        count_field<typename Fr::Params>(COUNT_FP_ADD, COUNT_FR_ADD);
        Fr t, s;
        Carry<L> c;
        t.limb[0] = add_cc(a.limb[0], b.limb[0], c);
        CUZK_UNROLL
        for (int i = 1; i < N; ++i) t.limb[i] = addc_cc(a.limb[i], b.limb[i], c);
        const L top = Fr::SPARE_BITS == 1 ? addc(L(0), L(0), c) : L(0);
        s.limb[0] = sub_cc(t.limb[0], C::twice(0), c);
        CUZK_UNROLL
        for (int i = 1; i < N; ++i) s.limb[i] = subc_cc(t.limb[i], C::twice(i), c);
        const L keep = subc(top, L(0), c);  // all ones: a + b < 2p
        CUZK_UNROLL
        for (int i = 0; i < N; ++i) s.limb[i] = select_limb(keep, t.limb[i], s.limb[i]);
        return s;
    }

    /// a - b, plus 2p where that is negative.
    static CUZK_FN_LIMBS Fr sub(const Fr& a, const Fr& b) {
        count_field<typename Fr::Params>(COUNT_FP_ADD, COUNT_FR_ADD);
        Fr r;
        Carry<L> c;
        r.limb[0] = sub_cc(a.limb[0], b.limb[0], c);
        CUZK_UNROLL
        for (int i = 1; i < N; ++i) r.limb[i] = subc_cc(a.limb[i], b.limb[i], c);
        const L mask = subc(L(0), L(0), c);
        r.limb[0] = add_cc(r.limb[0], L(C::twice(0) & mask), c);
        CUZK_UNROLL
        for (int i = 1; i < N; ++i) r.limb[i] = addc_cc(r.limb[i], L(C::twice(i) & mask), c);
        return r;
    }

    /// x w, below 2p.  x: any element below 2p.
    static CUZK_FN_HEAVY Fr mul(const Fr& x_, const FixedFactor<Fr>& w_) {
        const Fr x = x_;  // copies: loads between the products would keep them from fusing into wide multiplies
        const FixedFactor<Fr> w = w_;
        count_field<typename Fr::Params>(COUNT_FP_MUL, COUNT_FR_MUL);
        L q[N], even[N], odd[N];
        high_half(q, x.limb, w.quotient.limb);
        CUZK_UNROLL
        for (int i = 0; i < N; ++i) even[i] = odd[i] = 0;
        CUZK_UNROLL
        for (int i = 0; i < N; ++i) low_row(even, odd, x.limb, w.value.limb[i], i);
        constexpr bool ALL_ONES = C::negative(0) == L(~L(0));
        CUZK_UNROLL
        for (int i = ALL_ONES ? 1 : 0; i < N; ++i) {
            if (C::negative(i) != 0) low_row(even, odd, q, C::negative(i), i);
        }
        Fr r;
        Carry<L> c;
        r.limb[0] = even[0];
        r.limb[1] = add_cc(even[1], odd[1], c);
        CUZK_UNROLL
        for (int i = 2; i < N; ++i) r.limb[i] = addc_cc(even[i], odd[i], c);
        if constexpr (ALL_ONES) times_all_ones(r, q);
        return r;
    }

    /// x mod p.
    static CUZK_FN_INLINE Fr finish(const Fr& x) { return Fr::reduce_once(x.limb, L(0)); }

  private:
    /// q = x w / R, or one less: the products from limb N - 2 on.  Limb k lies at k - (N - 2) of the accumulators, of
    /// which `even` holds the products that start at an even limb.
    static CUZK_FN_INLINE void high_half(L* q, const L* x, const L* w) {
        L even[N + 2], odd[N + 2];
        CUZK_UNROLL
        for (int i = 0; i < N + 2; ++i) even[i] = odd[i] = 0;
        CUZK_UNROLL
        for (int i = 0; i < N; ++i) {
            high_chain(i % 2 == 0 ? even : odd, x, w[i], i, (N - 2 - i > 0 ? N - 2 - i + 1 : 0) & ~1);
            high_chain(i % 2 == 0 ? odd : even, x, w[i], i, ((N - 2 - i > 0 ? N - 2 - i : 0) & ~1) + 1);
        }
        Carry<L> c;
        (void)add_cc(even[1], odd[1], c);
        CUZK_UNROLL
        for (int i = 0; i < N - 1; ++i) q[i] = addc_cc(even[i + 2], odd[i + 2], c);
        q[N - 1] = addc(even[N + 1], odd[N + 1], c);
    }

    /// Adds x[j] b, x[j + 2] b, ... at limbs i + j, i + j + 2, ...; what lies above the highest product so far is small.
    static CUZK_FN_INLINE void high_chain(L* acc, const L* x, L b, int i, int j) {
        Carry<L> c;
        const int first = j;
        int at = i + j - (N - 2);
        CUZK_UNROLL
        for (int k = first; k < N; k += 2) {
            if (i == 0) {  // nothing is there yet
                acc[at] = mul_lo(x[k], b);
                acc[at + 1] = mul_hi(x[k], b);
            } else {
                acc[at] = k == first ? mad_lo_cc(x[k], b, acc[at], c) : madc_lo_cc(x[k], b, acc[at], c);
                acc[at + 1] = madc_hi_cc(x[k], b, acc[at + 1], c);
            }
            at += 2;
        }
        if (i > 0 && at < N + 2) acc[at] = addc(acc[at], L(0), c);
    }

    /// Adds x * b at limb i, modulo R.
    static CUZK_FN_INLINE void low_row(L* even, L* odd, const L* x, L b, int i) {
        Carry<L> c;
        const int first = i % 2;
        CUZK_UNROLL
        for (int j = first; i + j <= N - 2; j += 2) {
            even[i + j] = j == first ? mad_lo_cc(x[j], b, even[i + j], c) : madc_lo_cc(x[j], b, even[i + j], c);
            even[i + j + 1] = madc_hi_cc(x[j], b, even[i + j + 1], c);
        }
        CUZK_UNROLL
        for (int j = 1 - first; i + j <= N - 3; j += 2) {
            odd[i + j] = j == 1 - first ? mad_lo_cc(x[j], b, odd[i + j], c) : madc_lo_cc(x[j], b, odd[i + j], c);
            odd[i + j + 1] = madc_hi_cc(x[j], b, odd[i + j + 1], c);
        }
        // Limb N - 1 takes a low half alone, with the carry of its chain where there is one.
        const L low = mul_lo(x[N - 1 - i], b);
        odd[N - 1] = 1 - first + i <= N - 3 ? addc(odd[N - 1], low, c) : L(odd[N - 1] + low);
    }

    /// r += q (2^limb bits - 1), modulo R: the lowest limb of R - p where it is all ones.
    static CUZK_FN_INLINE void times_all_ones(Fr& r, const L* q) {
        Carry<L> c;
        r.limb[0] = sub_cc(r.limb[0], q[0], c);
        CUZK_UNROLL
        for (int i = 1; i < N; ++i) r.limb[i] = subc_cc(r.limb[i], q[i], c);
        r.limb[1] = add_cc(r.limb[1], q[0], c);
        CUZK_UNROLL
        for (int i = 2; i < N; ++i) r.limb[i] = addc_cc(r.limb[i], q[i - 1], c);
    }
};

/// What a transform computes with: at group width 1 reduced elements and Montgomery products by tables of single
/// elements, else lazy elements and tables of fixed factors.
template <class Fr, bool FIXED> struct NttField {
    using Factor = Fr;
    static CUZK_FN_INLINE Factor factor(const Fr* table, u64 i) { return table[i]; }
    static CUZK_FN_INLINE Fr add(const Fr& a, const Fr& b) { return a + b; }
    static CUZK_FN_INLINE Fr sub(const Fr& a, const Fr& b) { return a - b; }
    static CUZK_FN_INLINE Fr mul(const Fr& x, const Factor& w) { return x * w; }
    static CUZK_FN_INLINE Fr finish(const Fr& x) { return x; }
};
template <class Fr> struct NttField<Fr, true> : LazyField<Fr> {
    using Factor = FixedFactor<Fr>;
    static CUZK_FN_INLINE Factor factor(const Fr* table, u64 i) { return Factor{table[2 * i], table[2 * i + 1]}; }
};

}  // namespace cuzk
