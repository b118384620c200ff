/// Splits scalars into zeros, ones and others: two lists of indices, in ascending order.
///
/// Witnesses are mostly 0 and 1.  Zeros drop out of a multi-scalar multiplication, bases with scalar 1 are merely
/// added, and only the others need buckets.  The vector is cut into chunks, one block each: classify_count counts
/// per chunk, an exclusive scan over all counts (scan.cuh) turns them into list positions, and classify_scatter writes
/// the indices.  counts has 2 * num_chunks + 1 entries: ones per chunk, others per chunk, and a 0; after the scan,
/// entry num_chunks is the number of ones and the last entry the number of ones and others.
#pragma once

#include "args.cuh"
#include "field.cuh"
#include "scan.cuh"

namespace cuzk {

#define CLASSIFY_ARGS(F) F(const Fr*, scalars) F(const u8*, skip) F(u64, has_skip) F(u64, n) F(u64, chunk)
#define CLASSIFY_COUNT_ARGS(F) CLASSIFY_ARGS(F) F(u32*, counts)
#define CLASSIFY_SCATTER_ARGS(F) CLASSIFY_ARGS(F) F(const u32*, offsets) F(u32*, ones) F(u32*, others)
CUZK_ARGS_T1(ClassifyCountArgs, Fr, CLASSIFY_COUNT_ARGS)
CUZK_ARGS_T1(ClassifyScatterArgs, Fr, CLASSIFY_SCATTER_ARGS)

/// What a scalar is: 0 for zero or skipped, 1 for one, 2^16 for anything else: a count of ones in the low half-word,
/// of others in the high one, so that both are scanned at once (a block has fewer than 2^16 threads).
template <class Args> CUZK_FN u32 classify_scalar(const Args& a, u64 i) {
    if (a.has_skip && a.skip[i] != 0) return 0;
    const auto v = a.scalars[i];
    if (v.is_zero()) return 0;
    return v == v.one() ? 1u : 1u << 16;
}

/// counts[b] and counts[num_chunks + b] = ones and others in chunk b; the last entry = 0.
/// Launch: one block per chunk (at least one), SCAN_SHARED_BYTES of shared memory.
template <class Ex, class Fr> CUZK_FN void classify_count(Ex& ex, const ClassifyCountArgs<Fr>& a) {
    const u64 begin = ex.block() * a.chunk, end = begin + a.chunk < a.n ? begin + a.chunk : a.n;
    u32 ones = 0, others = 0, total_ones = 0, total_others = 0;
    for (u64 i = begin + ex.thread(); i < end; i += ex.width()) {
        const u32 kind = classify_scalar(a, i);
        ones += kind & 1;
        others += kind >> 16;
    }
    block_exclusive_scan(ex, ones, &total_ones);
    block_exclusive_scan(ex, others, &total_others);
    if (ex.thread() == 0) {
        a.counts[ex.block()] = total_ones;
        a.counts[ex.num_blocks() + ex.block()] = total_others;
        if (ex.block() == 0) a.counts[2 * (u64)ex.num_blocks()] = 0;
    }
}

/// Writes each one's and each other's index to its place.  offsets = the scanned counts.  Launch: as classify_count.
template <class Ex, class Fr> CUZK_FN void classify_scatter(Ex& ex, const ClassifyScatterArgs<Fr>& a) {
    const u64 begin = ex.block() * a.chunk, end = begin + a.chunk < a.n ? begin + a.chunk : a.n;
    u32 ones_at = a.offsets[ex.block()];
    u32 others_at = a.offsets[ex.num_blocks() + ex.block()] - a.offsets[ex.num_blocks()];
    for (u64 base = begin; base < end; base += ex.width()) {
        const u64 i = base + ex.thread();
        const u32 kind = i < end ? classify_scalar(a, i) : 0;
        u32 total = 0;
        const u32 before = block_exclusive_scan(ex, kind, &total);
        if (kind == 1) a.ones[ones_at + (before & 0xffffu)] = (u32)i;
        if (kind > 1) a.others[others_at + (before >> 16)] = (u32)i;
        ones_at += total & 0xffffu;
        others_at += total >> 16;
    }
}

// X(kernel function template, argument struct, threads per block, blocks per multiprocessor)
#define CUZK_CLASSIFY_KERNELS(X, Fr)                                                                         \
    X(classify_count, ClassifyCountArgs<Fr>, 256, 1)                                                         \
    X(classify_scatter, ClassifyScatterArgs<Fr>, 256, 1)

}  // namespace cuzk
