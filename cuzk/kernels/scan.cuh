/// Exclusive prefix sums of 32-bit counters, of any length, in several launches.
///
/// The vector is cut into tiles, one block each.  scan_block scans its tile and writes the tile's sum; the sums are
/// scanned the same way (recursively, by the host); scan_add adds to every tile what lies before it.  Nothing waits
/// for another block, so any number of resident blocks will do.  Sums wrap modulo 2^32: the caller bounds the total.
#pragma once

#include "args.cuh"

namespace cuzk {

/// Bytes of shared memory that block_exclusive_scan needs at most: one counter a warp, 32 warps a block.
constexpr u32 SCAN_SHARED_BYTES = 32 * sizeof(u32);

/// Sum of `value` over the threads below this one; *total is the sum over the block, for every thread.
/// Every thread of the block must call it.  Uses the first SCAN_SHARED_BYTES of shared memory; may be called again.
template <class Ex> CUZK_FN u32 block_exclusive_scan(Ex& ex, u32 value, u32* total) {
    u32 inclusive = value;
    for (u32 distance = 1; distance < Ex::WARP; distance *= 2) {
        const u32 below = ex.shfl_up(inclusive, distance);
        if (ex.lane() >= distance) inclusive += below;
    }
    u32* warp_sums = ex.template shared<u32>();
    const u32 warp = ex.thread() / Ex::WARP, num_warps = (ex.width() + Ex::WARP - 1) / Ex::WARP;
    if (ex.lane() == Ex::WARP - 1 || ex.thread() == ex.width() - 1) warp_sums[warp] = inclusive;
    ex.sync();
    u32 before = 0, sum = 0;
    for (u32 w = 0; w < num_warps; ++w) {
        before += w < warp ? warp_sums[w] : 0;
        sum += warp_sums[w];
    }
    ex.sync();  // the next call writes warp_sums again
    *total = sum;
    return before + inclusive - value;
}

#define SCAN_BLOCK_ARGS(F) F(const u32*, src) F(u32*, dst) F(u32*, sums) F(u64, n) F(u64, tile)
CUZK_ARGS(ScanBlockArgs, SCAN_BLOCK_ARGS)

/// dst[i] = sum of src[j] over j < i in i's tile; sums[b] = sum of tile b.  dst may be src.
/// Launch: ceil(n / tile) blocks, tile a multiple of the block width, SCAN_SHARED_BYTES of shared memory.
template <class Ex> CUZK_FN void scan_block(Ex& ex, const ScanBlockArgs& a) {
    const u64 each = a.tile / ex.width();
    u64 begin = ex.block() * a.tile + ex.thread() * each;
    u64 end = begin + each;
    if (begin > a.n) begin = a.n;
    if (end > a.n) end = a.n;
    u32 sum = 0, total = 0;
    for (u64 i = begin; i < end; ++i) sum += a.src[i];
    u32 running = block_exclusive_scan(ex, sum, &total);
    for (u64 i = begin; i < end; ++i) {
        const u32 value = a.src[i];
        a.dst[i] = running;
        running += value;
    }
    if (ex.thread() == 0) a.sums[ex.block()] = total;
}

#define SCAN_ADD_ARGS(F) F(u32*, dst) F(const u32*, sums) F(u64, n) F(u64, tile)
CUZK_ARGS(ScanAddArgs, SCAN_ADD_ARGS)

/// dst[i] += sums[i / tile]: the second half of a scan over several tiles.  Launch: ceil(n / tile) blocks.
template <class Ex> CUZK_FN void scan_add(Ex& ex, const ScanAddArgs& a) {
    const u32 before = a.sums[ex.block()];
    const u64 begin = ex.block() * a.tile;
    const u64 end = begin + a.tile < a.n ? begin + a.tile : a.n;
    for (u64 i = begin + ex.thread(); i < end; i += ex.width()) a.dst[i] += before;
}

// X(kernel, Args, max block threads, min blocks per SM).  The second parameter is the module's field, not used here.
#define CUZK_SCAN_KERNELS(X, Fr) X(scan_block, ScanBlockArgs, 256, 1) X(scan_add, ScanAddArgs, 256, 1)

}  // namespace cuzk
