// Montgomery multiplication for narrow limbs (32 bits on the GPU and the emulator, 8 bits in exhaustive tests).
//
// Sums of double-limb products are kept in two accumulators: `even` holds the products that start at an even limb
// position, `odd` those that start at an odd one.  Neighbouring products of one accumulator do not overlap, so a whole
// row is one carry chain of (mad.lo, mad.hi) pairs, each pair one wide multiply.  Reduction is interleaved: every row
// adds a * b[i], then m * p with m chosen to clear the lowest limb, and moves down by one limb; moving down swaps the
// roles of the accumulators and leaves one old limb, which enters the next row's chain as its first addition.
//
// Bound: with T < 2p before a row, (T + (W-1) p + (W-1) p) / W < 2p after it, W = 2^limb bits; so N + 1 limbs suffice
// where p has a spare bit, and one more bit (`top`) is carried where it has none.
#pragma once
#include "word.cuh"

namespace cuzk {

/// Arithmetic on N-limb arrays modulo P.  N is even.  SPARE: unused top bits of an N-limb element.
/// M: accessor of the modulus with static limb(i) and quotient_factor() = -p^-1 mod 2^limb bits.
template <class L, int N, int SPARE, class M> struct EvenOdd {
    static_assert(N % 2 == 0, "pairs of limbs");
    static constexpr bool CARRIES = SPARE == 0;
    static constexpr bool OWN_SQUARE = true;  // sqr_wide and reduce_wide beat mul

    /// acc[j], acc[j+1] += a[j] * b for even j.  The carry out stays in c.
    static CUZK_FN_INLINE void mad_row(L* acc, const L* a, L b, Carry<L>& c) {
        CUZK_UNROLL
        for (int j = 0; j < N; j += 2) {
            acc[j] = j == 0 ? mad_lo_cc(a[j], b, acc[j], c) : madc_lo_cc(a[j], b, acc[j], c);
            acc[j + 1] = madc_hi_cc(a[j], b, acc[j + 1], c);
        }
    }

    /// The same with the modulus (off = 0: even limbs, 1: odd limbs).
    static CUZK_FN_INLINE void mad_row_modulus(L* acc, int off, L m, Carry<L>& c) {
        CUZK_UNROLL
        for (int j = 0; j < N; j += 2) {
            L p = M::limb(j + off);
            acc[j] = j == 0 ? mad_lo_cc(p, m, acc[j], c) : madc_lo_cc(p, m, acc[j], c);
            acc[j + 1] = madc_hi_cc(p, m, acc[j + 1], c);
        }
    }

    /// acc moves down by two limbs (top_in enters as the limb above it), then += a[j] * b; carry in and out in c.
    static CUZK_FN_INLINE void mad_row_shift(L* acc, const L* a, L b, L top_in, Carry<L>& c) {
        CUZK_UNROLL
        for (int j = 0; j < N - 2; j += 2) {
            acc[j] = madc_lo_cc(a[j], b, acc[j + 2], c);
            acc[j + 1] = madc_hi_cc(a[j], b, acc[j + 3], c);
        }
        acc[N - 2] = madc_lo_cc(a[N - 2], b, L(0), c);
        if constexpr (CARRIES) {
            acc[N - 1] = madc_hi_cc(a[N - 2], b, top_in, c);
        } else {
            acc[N - 1] = madc_hi(a[N - 2], b, top_in, c);
        }
    }

    /// acc = a[j] * b for even j.
    static CUZK_FN_INLINE void mul_row(L* acc, const L* a, L b) {
        CUZK_UNROLL
        for (int j = 0; j < N; j += 2) {
            acc[j] = mul_lo(a[j], b);
            acc[j + 1] = mul_hi(a[j], b);
        }
    }

    /// Adds the chain's carry to the top limb of the odd accumulator; what carries out of that joins `top`.
    static CUZK_FN_INLINE void close_chain(L* odd, L& top, Carry<L>& c) {
        if constexpr (CARRIES) {
            odd[N - 1] = addc_cc(odd[N - 1], L(0), c);
            top = addc(top, L(0), c);
        } else {
            odd[N - 1] = addc(odd[N - 1], L(0), c);
        }
    }
    static CUZK_FN_INLINE void keep_top(L& top, Carry<L>& c) {
        if constexpr (CARRIES) top = addc(top, L(0), c);
    }

    /// Adds m * p so that the lowest limb becomes zero.
    static CUZK_FN_INLINE void reduce_row(L* even, L* odd, L& top) {
        L m = mul_lo(even[0], M::quotient_factor());
        Carry<L> c;
        mad_row_modulus(odd, 1, m, c);
        keep_top(top, c);
        mad_row_modulus(even, 0, m, c);
        close_chain(odd, top, c);
    }

    /// Moves the accumulators of the previous row down by one limb (even and odd are already swapped) and adds a * b.
    static CUZK_FN_INLINE void next_row(L* even, L* odd, const L* a, L b, L& top) {
        Carry<L> c;
        even[0] = add_cc(even[0], odd[1], c);
        L top_in = top;
        top = 0;
        mad_row_shift(odd, a + 1, b, top_in, c);
        keep_top(top, c);
        mad_row(even, a, b, c);
        close_chain(odd, top, c);
    }

    /// Adds another product row a * b at the current position.
    static CUZK_FN_INLINE void more_row(L* even, L* odd, const L* a, L b, L& top) {
        Carry<L> c;
        mad_row(odd, a + 1, b, c);
        keep_top(top, c);
        mad_row(even, a, b, c);
        close_chain(odd, top, c);
    }

    /// r = the sum after the last row's move down by one limb, in [0, 2p); returns the bit above limb N - 1.
    static CUZK_FN_INLINE L merge(L* r, const L* even, const L* odd, L top) {
        Carry<L> c;
        r[0] = add_cc(even[0], odd[1], c);
        CUZK_UNROLL
        for (int j = 1; j < N - 1; ++j) r[j] = addc_cc(even[j], odd[j + 1], c);
        if constexpr (CARRIES) {
            r[N - 1] = addc_cc(even[N - 1], L(0), c);
            return addc(top, L(0), c);
        } else {
            r[N - 1] = addc(even[N - 1], L(0), c);
            return 0;
        }
    }

    /// a * b / R in [0, 2p) for a, b < p; returns the bit above.  2 N^2 wide multiplies and N narrow ones.
    static CUZK_FN_INLINE L mul(L* r, const L* a, const L* b) {
        L even[N], odd[N], top = 0;
        mul_row(odd, a + 1, b[0]);
        mul_row(even, a, b[0]);
        reduce_row(even, odd, top);
        CUZK_UNROLL
        for (int i = 1; i < N; i += 2) {
            next_row(odd, even, a, b[i], top);
            reduce_row(odd, even, top);
            if (i + 1 < N) {
                next_row(even, odd, a, b[i + 1], top);
                reduce_row(even, odd, top);
            }
        }
        return merge(r, even, odd, top);
    }

    /// (a * b + c * d) / R in [0, 2p) for a, b, c, d < p, with one reduction.  3 N^2 wide multiplies.
    /// Needs 2 spare bits: (2 p^2 + R p) / R < 2p and every row stays below 3p < R.
    static CUZK_FN_INLINE void mul_add2(L* r, const L* a, const L* b, const L* c, const L* d) {
        static_assert(SPARE >= 2, "the sum of two products must fit");
        L even[N], odd[N], top = 0;
        mul_row(odd, a + 1, b[0]);
        mul_row(even, a, b[0]);
        more_row(even, odd, c, d[0], top);
        reduce_row(even, odd, top);
        CUZK_UNROLL
        for (int i = 1; i < N; i += 2) {
            next_row(odd, even, a, b[i], top);
            more_row(odd, even, c, d[i], top);
            reduce_row(odd, even, top);
            if (i + 1 < N) {
                next_row(even, odd, a, b[i + 1], top);
                more_row(even, odd, c, d[i + 1], top);
                reduce_row(even, odd, top);
            }
        }
        merge(r, even, odd, top);
    }

    /// acc += a[0] b, a[2] b, ... at positions pos, pos + 2, ...; limbs above the highest product so far are zero.
    static CUZK_FN_INLINE void wide_chain(L* acc, const L* a, L b, int pos) {
        Carry<L> c;
        mad_row(acc + pos, a, b, c);
        if (pos + N < 2 * N) acc[pos + N] = addc(acc[pos + N], L(0), c);
    }

    /// t[0..2N) = even + odd, the first limb of odd being zero.
    static CUZK_FN_INLINE void merge_wide(L* t, const L* even, const L* odd) {
        Carry<L> c;
        t[0] = even[0];
        t[1] = add_cc(even[1], odd[1], c);
        CUZK_UNROLL
        for (int i = 2; i < 2 * N - 1; ++i) t[i] = addc_cc(even[i], odd[i], c);
        t[2 * N - 1] = addc(even[2 * N - 1], odd[2 * N - 1], c);
    }

    /// t[0..2N) = a * b, any a and b.  N^2 wide multiplies.
    static CUZK_FN_INLINE void mul_wide(L* t, const L* a, const L* b) {
        L even[2 * N], odd[2 * N];
        CUZK_UNROLL
        for (int i = 0; i < 2 * N; ++i) even[i] = odd[i] = 0;
        CUZK_UNROLL
        for (int i = 0; i < N; i += 2) {
            wide_chain(even, a, b[i], i);
            wide_chain(odd, a + 1, b[i], i + 1);
            wide_chain(odd, a, b[i + 1], i + 1);
            wide_chain(even, a + 1, b[i + 1], i + 2);
        }
        merge_wide(t, even, odd);
    }

    /// t[0..2N) = a^2.  N (N + 1) / 2 wide multiplies.
    static CUZK_FN_INLINE void sqr_wide(L* t, const L* a) {
        L even[2 * N], odd[2 * N];  // off-diagonal products at even and at odd positions
        CUZK_UNROLL
        for (int i = 0; i < 2 * N; ++i) even[i] = odd[i] = 0;
        CUZK_UNROLL
        for (int i = 0; i < N - 1; ++i) {
            sqr_chain(odd, a, i, i + 1);
            sqr_chain(even, a, i, i + 2);
        }
        merge_wide(t, even, odd);
        Carry<L> c;
        t[1] = add_cc(t[1], t[1], c);
        CUZK_UNROLL
        for (int i = 2; i < 2 * N - 1; ++i) t[i] = addc_cc(t[i], t[i], c);
        t[2 * N - 1] = addc(t[2 * N - 1], t[2 * N - 1], c);
        CUZK_UNROLL
        for (int i = 0; i < N; ++i) {
            t[2 * i] = i == 0 ? mad_lo_cc(a[i], a[i], t[2 * i], c) : madc_lo_cc(a[i], a[i], t[2 * i], c);
            t[2 * i + 1] = i == N - 1 ? madc_hi(a[i], a[i], t[2 * i + 1], c) : madc_hi_cc(a[i], a[i], t[2 * i + 1], c);
        }
    }

    /// acc += a[i] * a[j] at position i + j for j = first, first + 2, ...; limbs above the highest product are zero.
    static CUZK_FN_INLINE void sqr_chain(L* acc, const L* a, int i, int first) {
        if (first >= N) return;
        Carry<L> c;
        int end = 0;
        CUZK_UNROLL
        for (int j = first; j < N; j += 2) {
            int k = i + j;
            acc[k] = j == first ? mad_lo_cc(a[i], a[j], acc[k], c) : madc_lo_cc(a[i], a[j], acc[k], c);
            acc[k + 1] = madc_hi_cc(a[i], a[j], acc[k + 1], c);
            end = k + 2;
        }
        if (end < 2 * N) acc[end] = addc(acc[end], L(0), c);
    }

    /// t / R in [0, 2p) for t < R p given as 2N limbs; returns the bit above.  N^2 wide multiplies.
    static CUZK_FN_INLINE L reduce_wide(L* r, const L* t) {
        L even[N], odd[N], top = 0;
        CUZK_UNROLL
        for (int i = 0; i < N; ++i) {
            even[i] = t[i];
            odd[i] = 0;
        }
        reduce_row(even, odd, top);
        CUZK_UNROLL
        for (int i = 1; i < N; i += 2) {
            shift_reduce_row(odd, even, top);
            if (i + 1 < N) shift_reduce_row(even, odd, top);
        }
        merge(r, even, odd, top);  // below R: the low half plus multiples of p, divided by R, is at most p
        Carry<L> c;
        r[0] = add_cc(r[0], t[N], c);
        CUZK_UNROLL
        for (int j = 1; j < N - 1; ++j) r[j] = addc_cc(r[j], t[N + j], c);
        r[N - 1] = addc_cc(r[N - 1], t[2 * N - 1], c);
        return CARRIES ? addc(L(0), L(0), c) : L(0);
    }

    /// One row of reduce_wide: moves down by one limb, then clears the lowest limb.
    static CUZK_FN_INLINE void shift_reduce_row(L* even, L* odd, L& top) {
        Carry<L> c;
        even[0] = add_cc(even[0], odd[1], c);
        L m = mul_lo(even[0], M::quotient_factor());  // an uncarried product: the chain's carry stays untouched
        CUZK_UNROLL
        for (int j = 0; j < N - 2; j += 2) {
            odd[j] = madc_lo_cc(M::limb(j + 1), m, odd[j + 2], c);
            odd[j + 1] = madc_hi_cc(M::limb(j + 1), m, odd[j + 3], c);
        }
        odd[N - 2] = madc_lo_cc(M::limb(N - 1), m, L(0), c);
        odd[N - 1] = madc_hi_cc(M::limb(N - 1), m, top, c);
        top = 0;
        keep_top(top, c);
        mad_row_modulus(even, 0, m, c);
        close_chain(odd, top, c);
    }
};

}  // namespace cuzk
