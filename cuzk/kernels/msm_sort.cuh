/// Counting sort of the digits: one list of points, bucket after bucket, window after window; and lists of neighbours.
#pragma once

#include "msm_digits.cuh"

namespace cuzk {

/// Counters that a thread asks at once: the answers take long, and none depends on another.
constexpr u32 SCATTER_BATCH = 4;

#define MSM_SCATTER_ARGS(F)                                                                                  \
    F(const u32*, digits) F(const u32*, indices) F(u32*, offsets) F(u32*, entries) F(u64, n) F(u64, num_bases) \
    F(u64, window_bits) F(u64, num_windows)
CUZK_ARGS(MsmScatterArgs, MSM_SCATTER_ARGS)

/// entries[...] = base index (indices[i], or i where indices is null), with DIGIT_SIGN where the point is to be negated, sorted by key; order within a bucket is
/// arbitrary.  On entry offsets[key + 1] is the first place of bucket `key`; on return it is the place after its last,
/// which is the first of bucket key + 1: offsets[key] .. offsets[key + 1] for every key, as offsets[0] = 0.
template <class Ex> CUZK_FN void msm_scatter(Ex& ex, const MsmScatterArgs& a) {
    const u32 c = u32(a.window_bits);
    const u64 quarter = (a.n + SCATTER_BATCH - 1) / SCATTER_BATCH;
    for (u64 w = 0; w < a.num_windows; ++w) {
        for_range_together(ex, quarter, [&](u64 first, bool active) {
            u32 digits[SCATTER_BATCH], places[SCATTER_BATCH];
            CUZK_UNROLL
            for (u32 k = 0; k < SCATTER_BATCH; ++k) {
                const u64 i = first + k * quarter;
                digits[k] = active && i < a.n ? a.digits[w * a.n + i] : 0;
            }
            CUZK_UNROLL
            for (u32 k = 0; k < SCATTER_BATCH; ++k) {
                const u32 bucket = digits[k] & ~DIGIT_SIGN;
                places[k] = count_key(ex, a.offsets + 1, (u32(w) << (c - 1)) + bucket - 1, bucket != 0);
            }
            CUZK_UNROLL
            for (u32 k = 0; k < SCATTER_BATCH; ++k) {
                if ((digits[k] & ~DIGIT_SIGN) == 0) continue;
                const u64 i = first + k * quarter;
                u64 base = a.indices ? a.indices[i] : i;
                if (base >= a.num_bases) {
                    ex.fault(FAULT_BAD_INDEX, i);
                    base = 0;  // keeps later kernels inside the array; the fault stands
                }
                a.entries[places[k]] = u32(base) | (digits[k] & DIGIT_SIGN);
            }
        });
    }
}

/// The key of entry `e`: the largest key in [low, num_keys) with offsets[key] <= e.  offsets[low] <= e < offsets[num_keys].
/// Steps of growing length, then bisection: near keys and long gaps of empty ones are both cheap.
CUZK_FN u32 find_key(const u32* offsets, u32 low, u32 num_keys, u32 e) {
    u32 step = 1;
    while (step < num_keys - low && offsets[low + step] <= e) {
        low += step;
        step *= 2;
    }
    u32 high = step < num_keys - low ? low + step : num_keys;  // offsets[high] > e
    while (high - low > 1) {
        const u32 middle = low + (high - low) / 2;
        if (offsets[middle] <= e) low = middle;
        else high = middle;
    }
    return low;
}

#define MSM_PAIR_COUNTS_ARGS(F) F(const u32*, offsets) F(u32*, counts) F(u64, num_keys)
CUZK_ARGS(MsmPairCountsArgs, MSM_PAIR_COUNTS_ARGS)

/// counts[key] = places that bucket `key` needs once its neighbours are added up in pairs, counts[num_keys] = 0: an
/// exclusive scan turns them into the next round's offsets.
template <class Ex> CUZK_FN void msm_pair_counts(Ex& ex, const MsmPairCountsArgs& a) {
    for_range(ex, a.num_keys + 1, [&](u64 key) {
        a.counts[key] = key == a.num_keys ? 0 : (a.offsets[key + 1] - a.offsets[key] + 1) / 2;
    });
}

/// The second half of a pair that has none.
constexpr u32 NO_NEIGHBOUR = 0xffffffffu;
/// Places that one thread finds one after another, a warp apart: only the first takes a long search.
constexpr u32 PAIR_RUN = 16;

#define MSM_PAIR_LIST_ARGS(F)                                                                                    F(const u32*, entries) F(const u32*, offsets) F(const u32*, next_offsets) F(u64*, pairs) F(u64, num_keys)     F(u64, num_points) F(u64, sign_mask)
CUZK_ARGS(MsmPairListArgs, MSM_PAIR_LIST_ARGS)

/// The entry at a place, or the place itself where entries is null.  sign_mask is DIGIT_SIGN where entries have signs, else 0.
template <class Ex> CUZK_FN u32 entry_at(Ex& ex, const MsmPairListArgs& a, u32 place) {
    const u32 entry = a.entries ? a.entries[place] : place;
    if ((entry & ~u32(a.sign_mask)) < a.num_points) return entry;
    ex.fault(FAULT_BAD_INDEX, place);
    return 0;  // keeps later kernels inside the array; the fault stands
}

/// pairs[o], for every place o of the next round: the entries of its two places in this round, the first in the low half,
/// or its only one with NO_NEIGHBOUR.
template <class Ex> CUZK_FN void msm_pair_list(Ex& ex, const MsmPairListArgs& a) {
    constexpr u32 TILE = PAIR_RUN * Ex::WARP;
    const u64 total = a.next_offsets[a.num_keys];
    const u64 warps = u64(ex.num_blocks()) * ex.width() / Ex::WARP;
    const u64 warp = (u64(ex.block()) * ex.width() + ex.thread()) / Ex::WARP;
    for (u64 tile = warp; tile * TILE < total; tile += warps) {
        u32 key = 0;
        for (u32 step = 0; step < PAIR_RUN; ++step) {
            const u64 o = tile * TILE + step * Ex::WARP + ex.lane();
            if (o >= total) break;
            key = find_key(a.next_offsets, key, u32(a.num_keys), u32(o));
            const u32 place = a.offsets[key] + 2 * (u32(o) - a.next_offsets[key]);
            const u32 left = entry_at(ex, a, place);
            const u32 right = place + 1 < a.offsets[key + 1] ? entry_at(ex, a, place + 1) : NO_NEIGHBOUR;
            a.pairs[o] = left | u64(right) << 32;
        }
    }
}

/// The buckets of a window as a table of weights v = high * 2^low_bits + low: columns low = 1 .. 2^low_bits - 1, rows
/// high = 1 .. num_rows.  The last row holds one bucket, of weight 2^(window_bits - 1).
struct BucketTable {
    u64 num_columns, num_rows;
    CUZK_FN BucketTable(u64 window_bits, u64 low_bits)
        : num_columns((u64(1) << low_bits) - 1), num_rows(u64(1) << (window_bits - 1 - low_bits)) {}
    CUZK_FN u64 num_lines() const { return num_columns + num_rows; }
    CUZK_FN u64 row_length() const { return num_columns + 1; }
    /// Places of a window in a list of its lines, columns first: column i holds num_rows of them, a row row_length().
    CUZK_FN u64 num_places() const { return num_columns * num_rows + (num_rows - 1) * row_length() + 1; }
};

#define MSM_LINE_LIST_ARGS(F)                                                                                    F(u32*, entries) F(u32*, offsets) F(u64, num_windows) F(u64, window_bits) F(u64, low_bits)
CUZK_ARGS(MsmLineListArgs, MSM_LINE_LIST_ARGS)

/// The sorted list whose keys are the lines of every window's table, columns first, and whose points are its buckets.
template <class Ex> CUZK_FN void msm_line_list(Ex& ex, const MsmLineListArgs& a) {
    const BucketTable table(a.window_bits, a.low_bits);
    const u64 places = table.num_places(), in_columns = table.num_columns * table.num_rows;
    const u64 buckets = table.num_rows * table.row_length();
    for_range(ex, a.num_windows * places, [&](u64 i) {
        const u64 window = i / places, place = i % places;
        u64 line, within, weight;
        if (place < in_columns) {
            line = place / table.num_rows;
            within = place % table.num_rows;
            weight = within * table.row_length() + line + 1;
        } else {
            const u64 row = (place - in_columns) / table.row_length();
            line = table.num_columns + row;
            within = (place - in_columns) % table.row_length();
            weight = (row + 1) * table.row_length() + within;
        }
        a.entries[i] = u32(window * buckets + weight - 1);
        if (within == 0) a.offsets[window * table.num_lines() + line] = u32(i);
        if (i + 1 == a.num_windows * places) a.offsets[a.num_windows * table.num_lines()] = u32(i + 1);
    });
}

// X(kernel, Args, max block threads, min blocks per SM).  The second parameter is the module's field, not used here.
#define CUZK_MSM_SORT_KERNELS(X, Fr)                                                                         \
    X(msm_scatter, MsmScatterArgs, 256, 1) X(msm_pair_counts, MsmPairCountsArgs, 256, 1)                     \
    X(msm_pair_list, MsmPairListArgs, 256, 1) X(msm_line_list, MsmLineListArgs, 256, 1)

}  // namespace cuzk
