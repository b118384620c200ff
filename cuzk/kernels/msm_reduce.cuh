/// From bucket sums to the result: the sum of v * S_v over each window's buckets, and Horner.
///
/// The weight v of a bucket is written as v = high * 2^low_bits + low.  Adding up the buckets of equal `low` (columns)
/// and those of equal `high` (rows) leaves two short windows in place of a long one, for two additions a bucket, all of
/// them independent: msm_line_list makes them a list like the first.  A row or column then counts for bit b of the window
/// if bit b of its weight is set, so window_bits sums of them, one a bit, are all that Horner's rule needs.
#pragma once

#include "args.cuh"
#include "msm_sort.cuh"
#include "point.cuh"

namespace cuzk {

/// Sum of the values of all threads of a block, in thread 0.  Every thread must call it, once a launch; the width is a
/// multiple of the warp.  Uses width / WARP points of shared memory.
template <class Ex, class G> CUZK_FN Xyzz<G> block_sum(Ex& ex, Xyzz<G> value) {
    if constexpr (Ex::WARP == 1) return value;  // one thread a block
    Xyzz<G>* warp_sums = ex.template shared<Xyzz<G>>();
    const u32 num_warps = ex.width() / Ex::WARP;
    CUZK_NO_UNROLL
    for (u32 round = 0; round < 2; ++round) {  // first within each warp, then over the warps, in warp 0
        CUZK_NO_UNROLL
        for (u32 mask = Ex::WARP / 2; mask != 0; mask /= 2) value.add(ex.shfl_xor(value, mask));
        if (round == 1 || num_warps == 1) break;
        if (ex.lane() == 0) warp_sums[ex.thread() / Ex::WARP] = value;
        ex.sync();
        if (ex.thread() >= Ex::WARP) break;
        value = ex.thread() < num_warps ? warp_sums[ex.thread()] : Xyzz<G>::inf();
    }
    return value;
}

#define MSM_BIT_SUMS_ARGS(F)                                                                                 \
    F(const Xyzz<G>*, lines) F(Xyzz<G>*, bits) F(u64, window_bits) F(u64, low_bits)
CUZK_ARGS_T1(MsmBitSumsArgs, G, MSM_BIT_SUMS_ARGS)

/// bits[window * window_bits + b] = the sum of the lines whose weight has bit b set: columns for the low bits, rows for
/// the others.  Launch: one block a bit.
template <class Ex, class G> CUZK_FN void msm_bit_sums(Ex& ex, const MsmBitSumsArgs<G>& a) {
    const BucketTable table(a.window_bits, a.low_bits);
    const u64 window = ex.block() / a.window_bits, place = ex.block() % a.window_bits;
    const bool column = place < a.low_bits;
    const u64 bit = column ? place : place - a.low_bits, last = column ? table.num_columns : table.num_rows;
    const Xyzz<G>* lines = a.lines + window * table.num_lines() + (column ? 0 : table.num_columns);
    Xyzz<G> sum = Xyzz<G>::inf();
    // The i-th weight that has the bit: i with a one put in at its place.
    const auto weight = [&](u64 i) { return (i >> bit << (bit + 1)) | (u64(1) << bit) | (i & ((u64(1) << bit) - 1)); };
    for (u64 i = ex.thread(); weight(i) <= last; i += ex.width()) sum.add(lines[weight(i) - 1]);
    sum = block_sum(ex, sum);
    if (ex.thread() == 0) a.bits[ex.block()] = sum;
}

#define MSM_COMBINE_ARGS(F)                                                                                  \
    F(const Xyzz<G>*, sums) F(Affine<G>*, result) F(u64, num_windows) F(u64, parts) F(u64, window_bits)
CUZK_ARGS_T1(MsmCombineArgs, G, MSM_COMBINE_ARGS)

/// result[0] = sum over windows w of 2^(window_bits w) * (sum of the window's parts), one thread.  Serial by nature
/// (num_windows * window_bits doublings): run it where single operations are fastest.
template <class Ex, class G> CUZK_FN void msm_combine(Ex& ex, const MsmCombineArgs<G>& a) {
    if (ex.block() != 0 || ex.thread() != 0) return;
    Xyzz<G> total = Xyzz<G>::inf();
    for (u64 done = 0; done < a.num_windows; ++done) {
        const Xyzz<G>* parts = a.sums + (a.num_windows - 1 - done) * a.parts;
        CUZK_NO_UNROLL
        for (u64 i = 0; i < a.window_bits; ++i) total = total.dbl();
        CUZK_NO_UNROLL
        for (u64 p = 0; p < a.parts; ++p) total.add(parts[p]);
    }
    a.result[0] = total.to_affine();
}

// X(kernel, Args, max block threads, min blocks per SM)
#define CUZK_MSM_REDUCE_KERNELS(X, G)                                                                        \
    X(msm_bit_sums, MsmBitSumsArgs<G>, 128, 1) X(msm_combine, MsmCombineArgs<G>, 32, 1)

}  // namespace cuzk
