/// Counting sort of the digits: one list of points, bucket after bucket, window after window.
#pragma once

#include "msm_digits.cuh"

namespace cuzk {

#define MSM_SCATTER_ARGS(F)                                                                                  \
    F(const u32*, digits) F(const u32*, indices) F(u32*, offsets) F(u32*, entries) F(u64, n) F(u64, num_bases) \
    F(u64, window_bits) F(u64, num_windows)
CUZK_ARGS(MsmScatterArgs, MSM_SCATTER_ARGS)

/// entries[...] = base index (indices[i], or i where indices is null), with DIGIT_SIGN where the point is to be negated, sorted by key; order within a bucket is
/// arbitrary.  On entry offsets[key + 1] is the first place of bucket `key`; on return it is the place after its last,
/// which is the first of bucket key + 1: offsets[key] .. offsets[key + 1] for every key, as offsets[0] = 0.
template <class Ex> CUZK_FN void msm_scatter(Ex& ex, const MsmScatterArgs& a) {
    const u32 c = u32(a.window_bits);
    for (u64 w = 0; w < a.num_windows; ++w) {
        for_range_together(ex, a.n, [&](u64 i, bool active) {
            const u32 digit = active ? a.digits[w * a.n + i] : 0, bucket = digit & ~DIGIT_SIGN;
            const u32 place = count_key(ex, a.offsets + 1, (u32(w) << (c - 1)) + bucket - 1, bucket != 0);
            if (bucket == 0) return;
            u64 base = a.indices ? a.indices[i] : i;
            if (base >= a.num_bases) {
                ex.fault(FAULT_BAD_INDEX, i);
                base = 0;  // keeps later kernels inside the array; the fault stands
            }
            a.entries[place] = u32(base) | (digit & DIGIT_SIGN);
        });
    }
}

// X(kernel, Args, max block threads, min blocks per SM).  The second parameter is the module's field, not used here.
#define CUZK_MSM_SORT_KERNELS(X, Fr) X(msm_scatter, MsmScatterArgs, 256, 1)

}  // namespace cuzk
