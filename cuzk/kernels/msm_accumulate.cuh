/// Bucket sums, balanced by entries instead of buckets.
///
/// The sorted entries of all windows of a launch are cut into equal segments, one a thread, so that neither a full
/// bucket nor empty ones cost anybody more than anybody else.  A thread adds up its runs of equal key; a bucket that
/// lies inside its segment is finished and stored.  A run that begins before the segment becomes its `head`, one that
/// goes on after it its `tail`, and msm_merge joins heads and tails across the borders in a binary tree: one addition
/// a border, whether the borders belong to many buckets or all to one.
#pragma once

#include "args.cuh"
#include "msm_halve.cuh"
#include "msm_pairs.cuh"

namespace cuzk {

/// How `total` entries are cut: used segments of `length` entries each, the last one shorter.
struct SegmentCut {
    u64 length, used;
};
CUZK_FN SegmentCut cut_segments(u64 total, u64 num_segments, u64 min_length) {
    u64 length = (total + num_segments - 1) / num_segments;
    if (length < min_length) length = min_length;
    return {length, (total + length - 1) / length};
}

#define MSM_ACCUMULATE_ARGS(F)                                                                               \
    F(const Affine<G>*, bases) F(const u32*, entries) F(const u32*, offsets) F(Xyzz<G>*, buckets)            \
    F(Xyzz<G>*, heads) F(Xyzz<G>*, tails) F(u32*, first_keys) F(u32*, last_keys) F(u64, num_keys)            \
    F(u64, num_segments) F(u64, min_length)
CUZK_ARGS_T1(MsmAccumulateArgs, G, MSM_ACCUMULATE_ARGS)

/// Copies entries at .. at + size - 1 into a block as runs of one key each.  key: that of the entry before `at`, or of
/// `at` itself; returns that of the last entry.  Entries before `end` may be prefetched.
template <class G> CUZK_FN u32 fill_block(PairBlock<G>& block, const MsmAccumulateArgs<G>& a, u32 at, u32 size, u32 end, u32 key) {
    u32 key_end = a.offsets[key + 1], run = 0;
    block.runs = 0;
    for (u32 i = 0; i < size; ++i) {
        if (at + i == key_end) {
            if (i > run) block.close_run(i, key);
            run = i;
            key = find_key(a.offsets, key + 1, u32(a.num_keys), at + i);
            key_end = a.offsets[key + 1];
        }
        if (a.entries && at + i + PREFETCH_DISTANCE < end) {
            prefetch_point(&a.bases[a.entries[at + i + PREFETCH_DISTANCE] & ~DIGIT_SIGN]);
        }
        const u32 entry = a.entries ? a.entries[at + i] : at + i;
        block.point[i] = a.bases[entry & ~DIGIT_SIGN].cneg((entry & DIGIT_SIGN) != 0);
    }
    block.close_run(size, key);
    return key;
}

/// buckets[key] = sum of the key's points (bases[entries[e]], or bases[e] where entries is null), for every non-empty key that lies within one segment; heads, tails and the
/// first and last key of every used segment for msm_merge.  Buckets of empty keys are not written.
/// Cost: one mixed addition an entry; at width 1 most of them in affine coordinates (msm_pairs.cuh).
template <class Ex, class G> CUZK_FN void msm_accumulate(Ex& ex, const MsmAccumulateArgs<G>& a) {
    const u32 total = a.offsets[a.num_keys];
    const SegmentCut cut = cut_segments(total, a.num_segments, a.min_length);
    for_range(ex, cut.used, [&](u64 segment) {
        const u32 begin = u32(segment * cut.length);
        const u32 end = begin + cut.length < total ? u32(begin + cut.length) : total;
        u32 key = find_key(a.offsets, 0, u32(a.num_keys), begin), key_end = a.offsets[key + 1];
        Xyzz<G>* target = a.offsets[key] < begin ? &a.heads[segment] : &a.buckets[key];
        Xyzz<G> sum = Xyzz<G>::inf();
        a.first_keys[segment] = key;
        if constexpr (Ex::WARP == 1) {
            PairBlock<G> block;
            for (u32 at = begin, filled = key, size; at < end; at += size) {
                size = end - at < PairBlock<G>::SIZE ? end - at : PairBlock<G>::SIZE;
                filled = fill_block(block, a, at, size, end, filled);
                const u32 step = block.add_neighbours();
                for (u32 r = 0, i = 0; r < block.runs; i = block.end[r++]) {
                    if (block.key[r] != key) {
                        *target = sum;
                        sum = Xyzz<G>::inf();
                        key = block.key[r];
                        target = &a.buckets[key];
                    }
                    for (; i < block.end[r]; i += step) sum.add(block.point[i]);
                }
            }
            key_end = a.offsets[key + 1];
        } else {
            for (u32 e = begin; e < end; ++e) {
                if (e == key_end) {
                    *target = sum;
                    sum = Xyzz<G>::inf();
                    key = find_key(a.offsets, key + 1, u32(a.num_keys), e);
                    key_end = a.offsets[key + 1];
                    target = &a.buckets[key];
                }
                const u32 entry = a.entries ? a.entries[e] : e;  // places stand in order after msm_halve
                const Affine<G> point = a.bases[entry & ~DIGIT_SIGN];
                sum.add(point.cneg((entry & DIGIT_SIGN) != 0));
            }
        }
        a.last_keys[segment] = key;
        // A run that goes on, and did not come in from the left, is the tail; one that did stays the head.
        if (key_end > end && target != &a.heads[segment]) target = &a.tails[segment];
        *target = sum;
    });
}

#define MSM_MERGE_ARGS(F)                                                                                    \
    F(Xyzz<G>*, buckets) F(Xyzz<G>*, heads) F(Xyzz<G>*, tails) F(const u32*, first_keys)                     \
    F(const u32*, last_keys) F(const u32*, offsets) F(u64, num_keys) F(u64, num_segments) F(u64, min_length) \
    F(u64, stride) F(u64, fan_in)
CUZK_ARGS_T1(MsmMergeArgs, G, MSM_MERGE_ARGS)

/// Join two neighbouring nodes, segments [left, right) and [right, end), into the node [left, end).
/// heads[left] and tails[left] hold the node's open runs: the one that comes in from before `left`, and the one that
/// goes on after `end`; a run that does both is the head.
template <class G> CUZK_FN void merge_nodes(const MsmMergeArgs<G>& a, u64 left, u64 right, u64 end, u64 used) {
    const u32 left_last = a.last_keys[right - 1], right_first = a.first_keys[right], right_last = a.last_keys[end - 1];
    const bool crosses = left_last == right_first;
    const bool goes_on = end < used && a.first_keys[end] == right_last;
    const bool right_is_one_run = right_first == right_last;
    if (crosses) {
        const bool comes_in = left > 0 && a.last_keys[left - 1] == a.first_keys[left];
        const bool left_is_head = comes_in && a.first_keys[left] == left_last;
        Xyzz<G>* target = left_is_head ? &a.heads[left] : &a.tails[left];
        const Xyzz<G> sum = *target + a.heads[right];
        if (!left_is_head && !(right_is_one_run && goes_on)) target = &a.buckets[left_last];
        *target = sum;
        if (right_is_one_run) return;
    }
    if (goes_on) a.tails[left] = a.tails[right];
}

/// Merge groups of fan_in nodes of `stride` segments each, one block a group.  Launched with stride 1, fan_in,
/// fan_in^2 .. until one node is left; then every non-empty bucket is complete.  fan_in is a power of two.
template <class Ex, class G> CUZK_FN void msm_merge(Ex& ex, const MsmMergeArgs<G>& a) {
    const u64 used = cut_segments(a.offsets[a.num_keys], a.num_segments, a.min_length).used;
    const u64 first = ex.block() * a.stride * a.fan_in;
    for (u64 half = 1; half < a.fan_in; half *= 2) {
        for_block(ex, u32(a.fan_in / (2 * half)), [&](u32 pair) {
            const u64 left = first + u64(pair) * 2 * half * a.stride, right = left + half * a.stride;
            if (right >= used) return;
            const u64 end = right + half * a.stride;
            merge_nodes(a, left, right, end < used ? end : used, used);
        });
        ex.sync();
    }
}

// X(kernel, Args, max block threads, min blocks per SM)
#define CUZK_MSM_ACCUMULATE_KERNELS(X, G)                                                                    \
    X(msm_accumulate, MsmAccumulateArgs<G>, 128, ADDITION_BLOCKS_PER_SM<G>)                                  \
    X(msm_merge, MsmMergeArgs<G>, 128, 1)

}  // namespace cuzk
