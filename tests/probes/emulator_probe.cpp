// Probe of the emulator: an NTT by warp shuffles and a grid-wide scan, under every schedule, and what a switch costs.
//
// Build and run through probe_emulator.py.  With PLANT=1 the scan lacks one barrier, with PLANT=2 one atomic is a
// plain addition: what the schedules and the sanitizers see of that is part of the probe's result.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "../../cuzk/kernels/native/emulator.hpp"

using namespace cuzk;

#ifndef PLANT
#define PLANT 0
#endif

constexpr u64 P = 257;  // 2^8 + 1: has 32nd roots of unity
constexpr u64 OMEGA32 = 136;  // 3^8, of order 32 (checked below)

static u64 power(u64 base, u64 e) {
    u64 r = 1;
    for (; e; e >>= 1, base = base * base % P)
        if (e & 1) r = r * base % P;
    return r;
}

struct NttArgs {
    const u64* src;
    u64* dst;
};

/// Each warp transforms 32 values, one a lane: five butterflies by shuffle, natural to bit-reversed order.
static void shuffle_ntt(EmuExec& ex, const void* raw) {
    const NttArgs& a = *static_cast<const NttArgs*>(raw);
    const u64 at = u64(ex.block()) * ex.width() + ex.thread();
    u64 v = a.src[at];
    for (u32 half = 16; half; half /= 2) {
        const u64 other = ex.shfl_xor(v, half);
        const bool upper = ex.lane() & half;
        const u64 sum = (v + other) % P;
        const u64 difference = (other + P - v) % P;  // in the upper lane: lower minus upper
        v = upper ? difference * power(OMEGA32, u64(ex.lane() % half) * (16 / half)) % P : sum;
    }
    a.dst[at] = v;
}

struct ScanArgs {
    const u64* src;
    u64* dst;
    u64* block_sums;
    u64* total;
    u64 n;
};

/// Inclusive scan of one value a thread over the whole grid: shuffles in a warp, shared memory in a block, a
/// grid-wide barrier between the block sums and their use.
static void grid_scan(EmuExec& ex, const void* raw) {
    const ScanArgs& a = *static_cast<const ScanArgs*>(raw);
    u64* warp_sums = ex.shared<u64>();
    const u64 at = u64(ex.block()) * ex.width() + ex.thread();
    u64 v = at < a.n ? a.src[at] : 0;
    for (u32 step = 1; step < EmuExec::WARP; step *= 2) {
        const u64 left = ex.shfl_up(v, step);
        if (ex.lane() >= step) v += left;
    }
    const u32 warp = ex.thread() / EmuExec::WARP, warps = ex.width() / EmuExec::WARP;
    if (ex.lane() == EmuExec::WARP - 1) warp_sums[warp] = v;
#if PLANT != 1
    ex.sync();
#endif
    for (u32 w = 0; w < warp; ++w) v += warp_sums[w];
    if (ex.thread() == ex.width() - 1) a.block_sums[ex.block()] = v;
    ex.sync_grid();
    for (u32 b = 0; b < ex.block(); ++b) v += a.block_sums[b];
    if (at < a.n) a.dst[at] = v;
#if PLANT == 2
    *a.total += 1;
#else
    ex.atomic_add(a.total, u64(1));
#endif
    (void)warps;
}

struct SpinArgs {
    u64 rounds;
};

static void spin(EmuExec& ex, const void* raw) {
    for (u64 i = 0; i < static_cast<const SpinArgs*>(raw)->rounds; ++i) ex.sync();
}

static int check_ntt(Emulator& emu, Order order, u64 seed) {
    const u32 grid = 3, block = 64, n = grid * block;
    std::vector<u64> src(n), dst(n, 999);
    for (u32 i = 0; i < n; ++i) src[i] = (i * i + 7 * seed + 1) % P;
    const NttArgs args{src.data(), dst.data()};
    const FaultWord f = emu.run({shuffle_ntt, &args, grid, block, 0, order, seed, 2});
    int wrong = f.code != 0;
    for (u32 base = 0; base < n; base += 32)
        for (u32 k = 0; k < 32; ++k) {
            u64 expected = 0;
            for (u32 j = 0; j < 32; ++j) expected = (expected + src[base + j] * power(OMEGA32, j * k)) % P;
            u32 reversed = 0;
            for (u32 bit = 0; bit < 5; ++bit) reversed |= (k >> bit & 1) << (4 - bit);
            wrong += dst[base + reversed] != expected;
        }
    return wrong;
}

static int check_scan(Emulator& emu, Order order, u64 seed) {
    const u32 grid = 4, block = 96, n = grid * block - 5;
    std::vector<u64> src(n), dst(n), sums(grid);
    u64 total = 0;
    for (u32 i = 0; i < n; ++i) src[i] = i * 2654435761u % 1000 + seed;
    const ScanArgs args{src.data(), dst.data(), sums.data(), &total, n};
    const FaultWord f = emu.run({grid_scan, &args, grid, block, 64, order, seed, grid});
    int wrong = (f.code != 0) + (total != u64(grid) * block);
    u64 expected = 0;
    for (u32 i = 0; i < n; ++i) wrong += dst[i] != (expected += src[i]);
    return wrong;
}

int main() {
    if (power(OMEGA32, 32) != 1 || power(OMEGA32, 16) == 1) return std::puts("bad root"), 2;
    Emulator emu;
    const char* names[] = {"ascending", "descending", "random_thread", "random_warp", "last_block_first"};
    int failures = 0;
    for (u32 order = 0; order < 5; ++order) {
        int ntt = 0, scan = 0;
        for (u64 seed = 0; seed < 4; ++seed) {
            ntt += check_ntt(emu, static_cast<Order>(order), seed) != 0;
            scan += check_scan(emu, static_cast<Order>(order), seed) != 0;
        }
        std::printf("schedule %s ntt_wrong_runs %d scan_wrong_runs %d of 4\n", names[order], ntt, scan);
        failures += ntt + scan;
    }
    const SpinArgs args{200};
    const u32 block = 256;
    const auto start = std::chrono::steady_clock::now();
    emu.run({spin, &args, 4, block, 0, Order::ASCENDING, 0, 1});
    const double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    std::printf("switch_ns %.1f\n", ns / (4.0 * block * args.rounds * 2));
    return failures != 0;
}
