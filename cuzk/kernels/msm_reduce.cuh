/// From bucket sums to the result: weighted sums of buckets, a block's sum of points, and Horner over the windows.
///
/// A window's sum is sum over weights v = 1..2^(c-1) of v * S_v = sum over v of (S_v + S_(v+1) + .. ), so walking down
/// the weights with a running sum R, and adding R to the total T once a weight, gives it in two additions a bucket.
/// A thread walks one range of weights (low, high]; what is missing, R for each weight 1..low, is low * R.
#pragma once

#include "args.cuh"
#include "point.cuh"

namespace cuzk {

/// k * p by doubling and adding, from the top bit of k down.
template <class G> CUZK_FN_NOINLINE Xyzz<G> multiply_small(const Xyzz<G>& p, u32 k) {
    Xyzz<G> result = Xyzz<G>::inf();
    CUZK_NO_UNROLL
    for (u32 bit = 0x80000000u; bit != 0; bit /= 2) {
        if (k < bit) continue;
        result = result.dbl();
        if (k & bit) result.add(p);
    }
    return result;
}

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

/// Where the run of empty buckets that ends below weight `high` ends: the smallest weight w in [low, high) such that
/// the buckets of weights w + 1..high are empty.  first[w] is the first entry of weight w + 1.
CUZK_FN u32 below_empty(const u32* first, u32 low, u32 high) {
    const u32 end = first[high];
    u32 empty_from = high;  // buckets empty_from + 1 .. high are empty
    for (u32 step = 0; step < 8 && empty_from > low; ++step) {
        if (first[empty_from - 1] != end) return empty_from;
        --empty_from;
    }
    u32 bottom = low;  // bisection: first[] ascends, find the lowest place that still equals end
    while (bottom < empty_from) {
        const u32 middle = bottom + (empty_from - bottom) / 2;
        if (first[middle] == end) empty_from = middle;
        else bottom = middle + 1;
    }
    return empty_from;
}

/// Runs of empty buckets up to this long cost an addition each, longer ones a multiplication by their length.
constexpr u32 LONG_GAP = 24;

/// Sum of v * S_v over the weights low < v <= high of one window.  sums[v - 1] = S_v, first[v - 1] .. first[v] its entries.
template <class G> CUZK_FN Xyzz<G> weighted_sum(const Xyzz<G>* sums, const u32* first, u32 low, u32 high) {
    Xyzz<G> running = Xyzz<G>::inf(), total = Xyzz<G>::inf();
    if (first[low] == first[high]) return total;
    u32 weight = high;
    CUZK_NO_UNROLL
    do {
        // Between two non-empty buckets, and below the last weight of the range, R is added once a weight.
        u32 steps;
        if (weight == low) {
            steps = low;
            weight = 0;
        } else if (first[weight - 1] != first[weight]) {
            running.add(sums[weight - 1]);
            steps = 1;
            --weight;
        } else {
            const u32 next = below_empty(first, low, weight);
            steps = running.is_inf() ? 0 : weight - next;
            weight = next;
        }
        if (steps > LONG_GAP) {
            total.add(multiply_small(running, steps));
        } else {
            CUZK_NO_UNROLL
            for (; steps != 0; --steps) total.add(running);
        }
    } while (weight != 0);
    return total;
}

#define MSM_REDUCE_ARGS(F)                                                                                   \
    F(const Xyzz<G>*, buckets) F(const u32*, offsets) F(Xyzz<G>*, sums) F(u64, buckets_per_window)           \
    F(u64, range_length) F(u64, blocks_per_window)
CUZK_ARGS_T1(MsmReduceArgs, G, MSM_REDUCE_ARGS)

/// sums[window * blocks_per_window + b] = that block's part of the window's weighted sum of buckets.  Threads take
/// range_length weights each; blocks_per_window * width * range_length >= buckets_per_window.
/// Launch: num_windows * blocks_per_window blocks.  Cost: two additions a bucket, log2(2^(c-1)) doublings a thread.
template <class Ex, class G> CUZK_FN void msm_reduce(Ex& ex, const MsmReduceArgs<G>& a) {
    const u64 window = ex.block() / a.blocks_per_window, part = ex.block() % a.blocks_per_window;
    const u64 begin = (part * ex.width() + ex.thread()) * a.range_length, all = a.buckets_per_window;
    const u64 low = begin < all ? begin : all, high = low + a.range_length < all ? low + a.range_length : all;
    const u64 key = window * all;
    Xyzz<G> sum = weighted_sum(a.buckets + key, a.offsets + key, u32(low), u32(high));
    sum = block_sum(ex, sum);
    if (ex.thread() == 0) a.sums[ex.block()] = sum;
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
    X(msm_reduce, MsmReduceArgs<G>, 128, 1) X(msm_combine, MsmCombineArgs<G>, 32, 1)

}  // namespace cuzk
