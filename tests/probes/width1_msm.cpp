// Two ways to fill the buckets of a multi-scalar multiplication on one core, in one translation unit with the same
// flags: the kernels at group width 1 (digits, counting sort, segments, merge), and the loop of a textbook.
#include "exec_cpu.hpp"

#include "curve.cuh"
#include "msm_accumulate.cuh"
#include "msm_sort.cuh"
#include "scan.cuh"

using namespace cuzk;
using Fr = Curve_bls12_381::Fr;
using G = Curve_bls12_381::G1;

namespace {

/// Every block of a launch, one after another.
template <class Kernel> void launch(u32 grid, Kernel kernel) {
    FaultWord fault{};
    alignas(64) u8 scratch[SCAN_SHARED_BYTES];
    for (u32 block = 0; block < grid; ++block) {
        CpuExec ex{&fault, scratch, block, grid};
        kernel(ex);
    }
}

}  // namespace

extern "C" {

/// buckets[w * 2^(c-1) + |d| - 1] += +-bases[i], window by window, so that one window's buckets stay in the cache.
/// The buckets start as infinity.
void plain_buckets(const Affine<G>* bases, const Fr* scalars, Xyzz<G>* buckets, u64 n, u64 c, u64 windows,
                   u32* digits) {
    for (u64 i = 0; i < n; ++i) {
        SignedDigits<Fr> next(scalars[i].from_mont(), u32(c));
        for (u64 w = 0; w < windows; ++w) digits[w * n + i] = next.next();
    }
    for (u64 w = 0; w < windows; ++w) {
        for (u64 i = 0; i < n; ++i) {
            const u32 digit = digits[w * n + i], bucket = digit & ~DIGIT_SIGN;
            if (bucket) buckets[(w << (c - 1)) + bucket - 1].add(bases[i].cneg((digit & DIGIT_SIGN) != 0));
        }
    }
}

/// The same buckets by the kernels, cut into `segments`; empty ones are not written.  offsets starts as zeros.
void kernel_buckets(const Affine<G>* bases, const Fr* scalars, Xyzz<G>* buckets, u64 n, u64 c, u64 windows,
                    u32* digits, u32* entries, u32* offsets, Xyzz<G>* ends, u32* keys, u64 segments) {
    const u64 num_keys = windows << (c - 1);
    u32 sum;
    launch(1, [&](CpuExec& ex) {
        msm_digits(ex, MsmDigitsArgs<Fr>{scalars, nullptr, digits, offsets, n, n, 255, c, 0, windows});
    });
    launch(1, [&](CpuExec& ex) { scan_block(ex, ScanBlockArgs{offsets + 1, offsets + 1, &sum, num_keys, num_keys}); });
    launch(1, [&](CpuExec& ex) {
        msm_scatter(ex, MsmScatterArgs{digits, nullptr, offsets, entries, n, n, c, windows});
    });
    launch(u32(segments), [&](CpuExec& ex) {
        msm_accumulate(ex, MsmAccumulateArgs<G>{bases, entries, offsets, buckets, ends, ends + segments, keys,
                                                keys + segments, num_keys, segments, 64});
    });
    launch(1, [&](CpuExec& ex) {
        msm_merge(ex, MsmMergeArgs<G>{buckets, ends, ends + segments, keys, keys + segments, offsets, num_keys,
                                      segments, 64, 1, segments});
    });
}

/// The multi-scalar multiplication that the buckets stand for.
void total(const Xyzz<G>* buckets, Affine<G>* result, u64 c, u64 windows) {
    Xyzz<G> all = Xyzz<G>::inf();
    for (u64 w = windows; w > 0; --w) {
        for (u64 i = 0; i < c; ++i) all = all.dbl();
        Xyzz<G> running = Xyzz<G>::inf();
        for (u64 b = u64(1) << (c - 1); b > 0; --b) {
            running.add(buckets[((w - 1) << (c - 1)) + b - 1]);
            all.add(running);
        }
    }
    *result = all.to_affine();
}
}
