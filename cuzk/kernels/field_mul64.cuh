// Montgomery multiplication for 64-bit limbs on a host: word-by-word interleaved (CIOS), for any odd modulus.
#pragma once
#include "field_adx.hpp"

#if !defined(CUZK_TARGET_CUDA)

namespace cuzk {

template <int N, int SPARE, class M> struct Cios64 {
    __extension__ using u128 = unsigned __int128;
    static constexpr bool ADX = (N == 4 || N == 6) && SPARE >= 1;  // where the assembly applies
    static constexpr bool OWN_SQUARE = false;

    /// a * b / R in [0, 2p) for a, b < p; returns the bit above limb N - 1 (0 where p has a spare bit).
    /// Bound: with T < 2p, (T + (W-1) p + (W-1) p) / W < 2p.
    static CUZK_FN_INLINE u64 mul(u64* r, const u64* a, const u64* b) {
#if defined(CUZK_ADX)
        if constexpr (ADX) {
            Adx64<N, M>::mul(r, a, b);
            return 0;
        }
#endif
        u64 t[N] = {}, top = 0;
        CUZK_UNROLL
        for (int i = 0; i < N; ++i) {
            u128 s = u128(a[0]) * b[i] + t[0];
            u64 t0 = u64(s), m = t0 * M::ninv();
            u128 q = u128(m) * M::limb(0) + t0;
            CUZK_UNROLL
            for (int j = 1; j < N; ++j) {
                s = u128(a[j]) * b[i] + t[j] + u64(s >> 64);
                q = u128(m) * M::limb(j) + u64(s) + u64(q >> 64);
                t[j - 1] = u64(q);
            }
            u128 e = u128(u64(s >> 64)) + u64(q >> 64) + top;
            t[N - 1] = u64(e);
            top = SPARE == 0 ? u64(e >> 64) : 0;
        }
        CUZK_UNROLL
        for (int j = 0; j < N; ++j) r[j] = t[j];
        return top;
    }

    /// (a * b + c * d) / R in [0, 2p) for a, b, c, d < p; two spare bits (every row stays below 3p < R).
    static CUZK_FN_INLINE void mul_add2(u64* r, const u64* a, const u64* b, const u64* c, const u64* d) {
        static_assert(SPARE >= 2, "the sum of two products must fit");
#if defined(CUZK_ADX)
        if constexpr (ADX) {
            u64 w[3 * N];
            CUZK_UNROLL
            for (int i = 0; i < N; ++i) {
                w[2 * i] = scalar(b[i]);
                w[2 * i + 1] = scalar(d[i]);
                w[2 * N + i] = scalar(c[i]);
            }
            return Adx64<N, M>::mul_add2(r, a, w);
        }
#endif
        u64 t[2 * N], s[2 * N];
        mul_wide(t, a, b);
        mul_wide(s, c, d);
        Carry<u64> k;
        t[0] = add_cc(t[0], s[0], k);
        CUZK_UNROLL
        for (int i = 1; i < 2 * N - 1; ++i) t[i] = addc_cc(t[i], s[i], k);
        t[2 * N - 1] = addc(t[2 * N - 1], s[2 * N - 1], k);
        reduce_wide(r, t);
    }

    /// t[0..2N) = a * b, any a and b.
    static CUZK_FN_INLINE void mul_wide(u64* t, const u64* a, const u64* b) {
#if defined(CUZK_ADX)
        if constexpr (ADX) return Adx64<N, M>::mul_wide(t, a, b);
#endif
        CUZK_UNROLL
        for (int i = 0; i < 2 * N; ++i) t[i] = 0;
        CUZK_UNROLL
        for (int i = 0; i < N; ++i) {
            u64 carry = 0;
            CUZK_UNROLL
            for (int j = 0; j < N; ++j) {
                u128 s = u128(a[j]) * b[i] + t[i + j] + carry;
                t[i + j] = u64(s);
                carry = u64(s >> 64);
            }
            t[i + N] = carry;
        }
    }

    /// t / R in [0, 2p) for t < R p given as 2N limbs; returns the bit above.  t may be overwritten by r.
    static CUZK_FN_INLINE u64 reduce_wide(u64* r, const u64* t) {
#if defined(CUZK_ADX)
        if constexpr (ADX) {
            Adx64<N, M>::reduce_wide(r, t);
            return 0;
        }
#endif
        u64 low[N], top = 0;
        CUZK_UNROLL
        for (int i = 0; i < N; ++i) low[i] = t[i];
        CUZK_UNROLL
        for (int i = 0; i < N; ++i) {
            u64 m = low[0] * M::ninv();
            u128 q = u128(m) * M::limb(0) + low[0];
            CUZK_UNROLL
            for (int j = 1; j < N; ++j) {
                q = u128(m) * M::limb(j) + low[j] + u64(q >> 64);
                low[j - 1] = u64(q);
            }
            q = u128(t[N + i]) + u64(q >> 64) + top;
            low[N - 1] = u64(q);
            top = u64(q >> 64);
        }
        CUZK_UNROLL
        for (int i = 0; i < N; ++i) r[i] = low[i];
        return top;
    }
};

}  // namespace cuzk

#endif
