/// Signed window digits of scalars, and how many points each bucket gets.
///
/// A scalar k < 2^scalar_bits is written as sum d_w 2^(c w) with -2^(c-1) < d_w <= 2^(c-1), from the lowest window up: a raw
/// digit above 2^(c-1) becomes negative and carries one into the next window.  num_windows = ceil((scalar_bits + 1) / c)
/// windows suffice, the last carry included: the top window holds at most c - 1 bits of k, so it cannot overflow.
/// |d| is the bucket (1..2^(c-1)), the sign negates the point; digit 0 belongs to no bucket.
///
/// Buckets of all windows of a launch form one range of keys: key = window * 2^(c-1) + |d| - 1.  Counters are one place
/// up, offsets[key + 1], which leaves room for the sort to end with offsets[key] = first entry of the bucket.
#pragma once

#include "args.cuh"
#include "field.cuh"

namespace cuzk {

constexpr u32 DIGIT_SIGN = 0x80000000u;

/// Bits [pos, pos + c) of a number in limbs, zero beyond its end.  c <= 24.
template <class Fr> CUZK_FN u32 window_at(const Fr& std_form, u32 pos, u32 c) {
    using L = typename Fr::Limb;
    constexpr u32 LIMB_BITS = 8 * sizeof(L);
    const u32 word = pos / LIMB_BITS, shift = pos % LIMB_BITS;
    if (word >= u32(Fr::N)) return 0;
    u64 bits = u64(std_form.limb[word]) >> shift;
    if (shift + c > LIMB_BITS && word + 1 < u32(Fr::N)) bits |= u64(std_form.limb[word + 1]) << (LIMB_BITS - shift);
    return u32(bits) & ((1u << c) - 1);
}

/// Is any bit at or above `bits` set?
template <class Fr> CUZK_FN bool exceeds_bits(const Fr& std_form, u32 bits) {
    using L = typename Fr::Limb;
    constexpr u32 LIMB_BITS = 8 * sizeof(L);
    L high = 0;
    for (u32 i = 0; i < u32(Fr::N); ++i) {
        const u32 below = i * LIMB_BITS;
        if (below >= bits) high |= std_form.limb[i];
        else if (bits - below < LIMB_BITS) high |= L(std_form.limb[i] >> (bits - below));
    }
    return high != 0;
}

/// The digits of one scalar in standard form, lowest window first: |d|, with DIGIT_SIGN set where d < 0.
template <class Fr> struct SignedDigits {
    Fr std_form;
    u32 window_bits;
    u32 pos = 0;
    u32 carry = 0;

    CUZK_FN SignedDigits(const Fr& s, u32 c) : std_form(s), window_bits(c) {}
    CUZK_FN u32 next() {
        const u32 raw = window_at(std_form, pos, window_bits) + carry;
        pos += window_bits;
        carry = raw > (1u << (window_bits - 1)) ? 1 : 0;
        const u32 magnitude = carry ? (1u << window_bits) - raw : raw;
        return magnitude | (carry && magnitude ? DIGIT_SIGN : 0);
    }
};

/// Like for_range, but every thread of a block makes the same number of calls fn(i, active), so that fn may use the
/// warp's collectives; i >= n comes with active = false.
template <class Ex, class Fn> CUZK_FN void for_range_together(Ex& ex, u64 n, Fn&& fn) {
    if constexpr (Ex::WARP == 1) {
        for_range(ex, n, [&](u64 i) { fn(i, true); });
    } else {
        const u64 stride = u64(ex.num_blocks()) * ex.width();
        for (u64 base = u64(ex.block()) * ex.width(); base < n; base += stride)
            fn(base + ex.thread(), base + ex.thread() < n);
    }
}

/// Position of the lowest set bit, and number of set bits.
CUZK_FN u32 lowest_bit(u32 v) {
#if defined(CUZK_TARGET_CUDA)
    return u32(__ffs(int(v)) - 1);
#else
    return u32(__builtin_ctz(v));
#endif
}
CUZK_FN u32 count_bits(u32 v) {
#if defined(CUZK_TARGET_CUDA)
    return u32(__popc(v));
#else
    return u32(__builtin_popcount(v));
#endif
}

/// Rounds in which lanes with the same key are served by one atomic before the rest help themselves.  Skewed digits
/// (all scalars equal, ones and minus ones) share few keys, and those would serialise otherwise.
constexpr u32 SHARED_KEY_ROUNDS = 4;
/// Lanes with the same key that are worth such a round; uniform digits are done after one look.
constexpr u32 MIN_SHARED_LANES = 3;

/// counters[key] += 1 for every active lane; returns a different previous count to each.  The whole warp must call it.
template <class Ex> CUZK_FN u32 count_key(Ex& ex, u32* counters, u32 key, bool active) {
    if constexpr (Ex::WARP == 1) {
        return active ? ex.atomic_add(&counters[key], u32(1)) : 0;
    } else {
        u32 place = 0;
        bool pending = active;
        for (u32 round = 0; round < SHARED_KEY_ROUNDS; ++round) {
            const u32 waiting = ex.ballot(pending);
            if (waiting == 0) return place;  // the same for every lane
            const u32 leader = lowest_bit(waiting);
            const u32 leader_key = ex.shfl(key, leader);
            const bool same = pending && key == leader_key;
            const u32 peers = ex.ballot(same);
            if (count_bits(peers) < MIN_SHARED_LANES) break;
            u32 first = 0;
            if (ex.lane() == leader) first = ex.atomic_add(&counters[key], count_bits(peers));
            first = ex.shfl(first, leader);
            if (same) {
                place = first + count_bits(peers & ((1u << ex.lane()) - 1));
                pending = false;
            }
        }
        if (pending) place = ex.atomic_add(&counters[key], u32(1));
        return place;
    }
}

#define MSM_DIGITS_ARGS(F)                                                                                   \
    F(const Fr*, scalars) F(const u32*, indices) F(u32*, digits) F(u32*, offsets) F(u64, n) F(u64, num_scalars) \
    F(u64, scalar_bits) F(u64, window_bits) F(u64, first_window) F(u64, num_windows)
CUZK_ARGS_T1(MsmDigitsArgs, Fr, MSM_DIGITS_ARGS)

/// Scalar number i of the sum in standard form; faults, and gives 0, where it is not < r or not < 2^scalar_bits.
template <class Ex, class Fr> CUZK_FN Fr msm_scalar(Ex& ex, const MsmDigitsArgs<Fr>& a, u64 i) {
    const u64 at = a.indices ? a.indices[i] : i;
    if (at >= a.num_scalars) {
        ex.fault(FAULT_BAD_INDEX, i);
        return Fr::zero();
    }
    const Fr scalar = a.scalars[at];
    if (!scalar.is_reduced()) {
        ex.fault(FAULT_NOT_REDUCED, at);
        return Fr::zero();
    }
    const Fr std_form = scalar.from_mont();
    if (exceeds_bits(std_form, u32(a.scalar_bits))) {
        ex.fault(FAULT_SCALAR_RANGE, at);
        return Fr::zero();
    }
    return std_form;
}

/// digits[(w - first_window) * n + i] = digit w of scalar i for num_windows windows from first_window on, and
/// offsets[key + 1] += 1 for each non-zero one.  offsets starts as zeros, num_windows * 2^(c-1) + 1 of them.
/// With indices, scalar i is scalars[indices[i]]; without (null), scalars[i].
template <class Ex, class Fr> CUZK_FN void msm_digits(Ex& ex, const MsmDigitsArgs<Fr>& a) {
    const u32 c = u32(a.window_bits);
    for_range_together(ex, a.n, [&](u64 i, bool active) {
        SignedDigits<Fr> digits(active ? msm_scalar(ex, a, i) : Fr::zero(), c);
        for (u64 w = 0; w < a.first_window; ++w) (void)digits.next();
        for (u64 w = 0; w < a.num_windows; ++w) {
            const u32 digit = digits.next(), bucket = digit & ~DIGIT_SIGN;
            if (active) a.digits[w * a.n + i] = digit;
            (void)count_key(ex, a.offsets + 1, (u32(w) << (c - 1)) + bucket - 1, bucket != 0);
        }
    });
}

// X(kernel, Args, max block threads, min blocks per SM)
#define CUZK_MSM_DIGITS_KERNELS(X, Fr) X(msm_digits, MsmDigitsArgs<Fr>, 256, 1)

}  // namespace cuzk
