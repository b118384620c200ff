/// Many multiples of one point, as set-up needs them: a table of small multiples per window, then additions only.
///
/// With windows of c bits and signed digits d_w, k P = sum over w of d_w (2^(c w) P); the table holds
/// j 2^(c w) P for every window w and 1 <= j <= 2^(c-1), in affine form so that additions are mixed ones.
#pragma once

#include "msm_accumulate.cuh"
#include "msm_digits.cuh"
#include "msm_reduce.cuh"
#include "points.cuh"

namespace cuzk {

#define FIXED_BASE_WINDOWS_ARGS(F) F(const Affine<G>*, base) F(Affine<G>*, windows) F(u64, num_windows) F(u64, window_bits)
CUZK_ARGS_T1(FixedBaseWindowsArgs, G, FIXED_BASE_WINDOWS_ARGS)

/// windows[w] = 2^(window_bits w) * base[0].  Cost: window_bits * w doublings and an inversion for window w.
template <class Ex, class G> CUZK_FN void fixed_base_windows(Ex& ex, const FixedBaseWindowsArgs<G>& a) {
    for_range(ex, a.num_windows, [&](u64 w) {
        Xyzz<G> p = Xyzz<G>::from_affine(a.base[0]);
        CUZK_NO_UNROLL
        for (u64 i = 0; i < w * a.window_bits; ++i) p = p.dbl();
        a.windows[w] = p.to_affine();
    });
}

#define FIXED_BASE_TABLE_ARGS(F)                                                                             \
    F(const Affine<G>*, windows) F(Xyzz<G>*, table) F(u64, num_windows) F(u64, entries) F(u64, run)
CUZK_ARGS_T1(FixedBaseTableArgs, G, FIXED_BASE_TABLE_ARGS)

/// table[w * entries + j] = (j + 1) * windows[w] for j < entries, in XYZZ form.  A thread makes `run` neighbouring
/// entries, the first by doubling and adding; run divides entries.
template <class Ex, class G> CUZK_FN void fixed_base_table(Ex& ex, const FixedBaseTableArgs<G>& a) {
    const u64 runs = a.entries / a.run;
    for_range(ex, a.num_windows * runs, [&](u64 i) {
        const Affine<G> step = a.windows[i / runs];
        const u64 before = i % runs * a.run;
        Xyzz<G> p = multiply_bits(step, 32, [&](int b) { return (before >> b & 1) != 0; });
        for (u64 j = 0; j < a.run; ++j) {
            p.add(step);
            a.table[i * a.run + j] = p;
        }
    });
}

#define FIXED_BASE_MUL_ARGS(F)                                                                               \
    F(const typename G::Fr*, scalars) F(const Affine<G>*, table) F(Xyzz<G>*, dst) F(u64, n) F(u64, num_windows) \
    F(u64, window_bits)
CUZK_ARGS_T1(FixedBaseMulArgs, G, FIXED_BASE_MUL_ARGS)

/// dst[i] = scalars[i] * base, in XYZZ form; scalars in Montgomery form, num_windows * window_bits > bits of r.
/// Cost: a mixed addition a window.
template <class Ex, class G> CUZK_FN void fixed_base_mul(Ex& ex, const FixedBaseMulArgs<G>& a) {
    using Fr = typename G::Fr;
    const u64 entries = u64(1) << (a.window_bits - 1);
    for_range(ex, a.n, [&](u64 i) {
        const Fr scalar = a.scalars[i];
        const bool reduced = scalar.is_reduced();
        if (!reduced) ex.fault(FAULT_NOT_REDUCED, i);
        SignedDigits<Fr> digits(reduced ? scalar.from_mont() : Fr::zero(), u32(a.window_bits));
        Xyzz<G> sum = Xyzz<G>::inf();
        for (u64 w = 0; w < a.num_windows; ++w) {
            const u32 digit = digits.next(), magnitude = digit & ~DIGIT_SIGN;
            if (magnitude == 0) continue;
            const Affine<G> point = a.table[w * entries + magnitude - 1];
            sum.add(point.cneg((digit & DIGIT_SIGN) != 0));
        }
        a.dst[i] = sum;
    });
}

// X(kernel, Args, max block threads, min blocks per SM)
#define CUZK_FIXED_BASE_KERNELS(X, G)                                                                        \
    X(fixed_base_windows, FixedBaseWindowsArgs<G>, 128, 1) X(fixed_base_table, FixedBaseTableArgs<G>, 128, 1) \
    X(fixed_base_mul, FixedBaseMulArgs<G>, 128, ADDITION_BLOCKS_PER_SM<G>)

}  // namespace cuzk
