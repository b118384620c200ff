/// Vectors of scalars: elementwise arithmetic, geometric sequences, form conversion, bit reversal, search.
///
/// Every kernel is one pass over its vectors; neighbouring threads touch neighbouring elements.  Unless a kernel
/// says otherwise its output may be one of its inputs (the same address), but must not overlap it in part.
///
/// Powers of a field element come as two small tables, so that no table has as many entries as the vector:
///   g^i = outer[i >> bits] * inner[i & (2^bits - 1)],   inner[k] = g^k,  outer[k] = g^(k * 2^bits).
/// A constant factor is folded into `outer` by whoever builds it.  With both tables permuted by bit reversal and
/// swapped, the same lookup gives g^rev(i): the kernels do not know which of the two orders they serve.
#pragma once

#include "args.cuh"
#include "field.cuh"

namespace cuzk {

/// outer[i >> bits] * inner[i & (2^bits - 1)].  Cost: one product.
template <class Fr> CUZK_FN Fr split_power(const Fr* outer, const Fr* inner, u64 bits, u64 i) {
    return outer[i >> bits] * inner[i & (((u64)1 << bits) - 1)];
}

/// The low `bits` bits of v in reverse order.  0 <= bits <= 32; higher bits of v are ignored.
CUZK_FN u32 reverse_bits(u32 v, u32 bits) {
#if defined(CUZK_TARGET_CUDA)
    const u32 r = __brev(v);
#else
    u32 r = (v >> 16) | (v << 16);
    r = ((r >> 8) & 0x00ff00ffu) | ((r & 0x00ff00ffu) << 8);
    r = ((r >> 4) & 0x0f0f0f0fu) | ((r & 0x0f0f0f0fu) << 4);
    r = ((r >> 2) & 0x33333333u) | ((r & 0x33333333u) << 2);
    r = ((r >> 1) & 0x55555555u) | ((r & 0x55555555u) << 1);
#endif
    return bits == 0 ? 0 : r >> (32 - bits);
}

// ---------------------------------------------------------------- elementwise

#define FR_BINARY_ARGS(F) F(const Fr*, a) F(const Fr*, b) F(Fr*, out) F(u64, n)
CUZK_ARGS_T1(FrBinaryArgs, Fr, FR_BINARY_ARGS)

/// out[i] = a[i] * b[i].
template <class Ex, class Fr> CUZK_FN void fr_mul(Ex& ex, const FrBinaryArgs<Fr>& a) {
    for_range(ex, a.n, [&](u64 i) { a.out[i] = a.a[i] * a.b[i]; });
}

/// out[i] = a[i] + b[i].
template <class Ex, class Fr> CUZK_FN void fr_add(Ex& ex, const FrBinaryArgs<Fr>& a) {
    for_range(ex, a.n, [&](u64 i) { a.out[i] = a.a[i] + a.b[i]; });
}

/// out[i] = a[i] - b[i].
template <class Ex, class Fr> CUZK_FN void fr_sub(Ex& ex, const FrBinaryArgs<Fr>& a) {
    for_range(ex, a.n, [&](u64 i) { a.out[i] = a.a[i] - a.b[i]; });
}

#define FR_MUL_SUB_ARGS(F)                                                                                   \
    F(const Fr*, a) F(const Fr*, b) F(const Fr*, c) F(const Fr*, factor) F(u64, scaled) F(Fr*, out) F(u64, n)
CUZK_ARGS_T1(FrMulSubArgs, Fr, FR_MUL_SUB_ARGS)

/// out[i] = a[i] * b[i] - c[i], times factor[0] where `scaled` is 1.
template <class Ex, class Fr> CUZK_FN void fr_mul_sub(Ex& ex, const FrMulSubArgs<Fr>& a) {
    const Fr factor = a.factor[0];
    for_range(ex, a.n, [&](u64 i) {
        const Fr v = a.a[i] * a.b[i] - a.c[i];
        a.out[i] = a.scaled ? v * factor : v;
    });
}

#define FR_SCALE_ARGS(F) F(const Fr*, x) F(const Fr*, factor) F(Fr*, out) F(u64, n)
CUZK_ARGS_T1(FrScaleArgs, Fr, FR_SCALE_ARGS)

/// out[i] = x[i] * factor[0].
template <class Ex, class Fr> CUZK_FN void fr_scale(Ex& ex, const FrScaleArgs<Fr>& a) {
    const Fr factor = a.factor[0];
    for_range(ex, a.n, [&](u64 i) { a.out[i] = a.x[i] * factor; });
}

// ---------------------------------------------------------------- geometric sequences

#define FR_POWERS_ARGS(F) F(const Fr*, outer) F(const Fr*, inner) F(u64, inner_bits) F(Fr*, out) F(u64, n)
CUZK_ARGS_T1(FrPowersArgs, Fr, FR_POWERS_ARGS)

/// out[i] = the geometric sequence of the two tables at i.
template <class Ex, class Fr> CUZK_FN void fr_powers(Ex& ex, const FrPowersArgs<Fr>& a) {
    for_range(ex, a.n, [&](u64 i) { a.out[i] = split_power(a.outer, a.inner, a.inner_bits, i); });
}

#define FR_SCALE_POWERS_ARGS(F)                                                                              \
    F(const Fr*, x) F(const Fr*, outer) F(const Fr*, inner) F(u64, inner_bits) F(u64, period_mask) F(Fr*, out) F(u64, n)
CUZK_ARGS_T1(FrScalePowersArgs, Fr, FR_SCALE_POWERS_ARGS)

/// out[i] = x[i] * sequence[i & period_mask]: vectors of period_mask + 1 elements one after another, each scaled alike.
template <class Ex, class Fr> CUZK_FN void fr_scale_powers(Ex& ex, const FrScalePowersArgs<Fr>& a) {
    for_range(ex, a.n, [&](u64 i) {
        a.out[i] = a.x[i] * split_power(a.outer, a.inner, a.inner_bits, i & a.period_mask);
    });
}

#define FR_TAU_MINUS_ARGS(F)                                                                                 \
    F(const Fr*, tau) F(const Fr*, outer) F(const Fr*, inner) F(u64, inner_bits) F(Fr*, out) F(u64, n)
CUZK_ARGS_T1(FrTauMinusArgs, Fr, FR_TAU_MINUS_ARGS)

/// out[i] = tau[0] - sequence[i]: the denominators of the Lagrange basis at tau.
template <class Ex, class Fr> CUZK_FN void fr_tau_minus(Ex& ex, const FrTauMinusArgs<Fr>& a) {
    const Fr tau = a.tau[0];
    for_range(ex, a.n, [&](u64 i) { a.out[i] = tau - split_power(a.outer, a.inner, a.inner_bits, i); });
}

// ---------------------------------------------------------------- form

#define FR_UNARY_ARGS(F) F(const Fr*, x) F(Fr*, out) F(u64, n)
CUZK_ARGS_T1(FrUnaryArgs, Fr, FR_UNARY_ARGS)

/// Standard form to Montgomery form.  Faults with FAULT_NOT_REDUCED at an element >= r.
template <class Ex, class Fr> CUZK_FN void fr_to_mont(Ex& ex, const FrUnaryArgs<Fr>& a) {
    for_range(ex, a.n, [&](u64 i) {
        const Fr v = a.x[i];
        if (!v.is_reduced()) ex.fault(FAULT_NOT_REDUCED, i);
        a.out[i] = v.to_mont();
    });
}

/// Montgomery form to standard form.  Faults with FAULT_NOT_REDUCED at an element >= r.
template <class Ex, class Fr> CUZK_FN void fr_from_mont(Ex& ex, const FrUnaryArgs<Fr>& a) {
    for_range(ex, a.n, [&](u64 i) {
        const Fr v = a.x[i];
        if (!v.is_reduced()) ex.fault(FAULT_NOT_REDUCED, i);
        a.out[i] = v.from_mont();
    });
}

// ---------------------------------------------------------------- order

#define FR_BIT_REVERSE_ARGS(F) F(const Fr*, src) F(Fr*, dst) F(u64, log_n) F(u64, log_tile) F(u64, batch)
CUZK_ARGS_T1(FrBitReverseArgs, Fr, FR_BIT_REVERSE_ARGS)

/// dst[rev(i)] = src[i] in each of `batch` vectors of 2^log_n elements; dst == src is allowed.
///
/// An index is (high, middle, low) with log_tile bits in high and low.  A block takes the tile of one middle value
/// and that of the reversed middle, both through shared memory: global memory then sees runs of 2^log_tile elements
/// on the way in and on the way out.  log_tile <= log_n / 2; shared memory: two tiles of 4^log_tile elements.
template <class Ex, class Fr> CUZK_FN void fr_bit_reverse(Ex& ex, const FrBitReverseArgs<Fr>& a) {
    const u32 log_n = (u32)a.log_n, q = (u32)a.log_tile, mid_bits = log_n - 2 * q;
    const u32 side = 1u << q, tile = 1u << (2 * q);
    Fr* first = ex.template shared<Fr>();
    Fr* second = first + tile;
    const u64 num_tasks = a.batch << mid_bits;
    for (u64 task = ex.block(); task < num_tasks; task += ex.num_blocks()) {
        const u32 mid = (u32)(task & (((u64)1 << mid_bits) - 1)), twin = reverse_bits(mid, mid_bits);
        if (mid > twin) continue;  // the block of the twin does both
        const u64 base = (task >> mid_bits) << log_n;
        const u64 mid_at = base + ((u64)mid << q), twin_at = base + ((u64)twin << q);
        // Slot (low, high) is read as rev(low), rev(high): both sides of the copy run along `low`.
        for_block(ex, tile, [&](u32 k) {
            const u32 high = k >> q, low = k & (side - 1);
            const u32 slot = (reverse_bits(low, q) << q) | reverse_bits(high, q);
            first[slot] = a.src[mid_at + ((u64)high << (log_n - q)) + low];
            if (mid != twin) second[slot] = a.src[twin_at + ((u64)high << (log_n - q)) + low];
        });
        ex.sync();
        for_block(ex, tile, [&](u32 k) {
            const u32 high = k >> q, low = k & (side - 1);
            a.dst[twin_at + ((u64)high << (log_n - q)) + low] = first[k];
            if (mid != twin) a.dst[mid_at + ((u64)high << (log_n - q)) + low] = second[k];
        });
        ex.sync();
    }
}

// ---------------------------------------------------------------- gather

#define FR_GATHER_ARGS(F) F(const Fr*, src) F(const u32*, indices) F(Fr*, dst) F(u64, n) F(u64, num_src)
CUZK_ARGS_T1(FrGatherArgs, Fr, FR_GATHER_ARGS)

/// dst[i] = src[indices[i]] for i < n; an index >= num_src is a fault.  dst overlaps neither input.
template <class Ex, class Fr> CUZK_FN void fr_gather(Ex& ex, const FrGatherArgs<Fr>& a) {
    for_range(ex, a.n, [&](u64 i) {
        const u32 from = a.indices[i];
        if (from >= a.num_src) {
            ex.fault(FAULT_BAD_INDEX, i);
        } else {
            a.dst[i] = a.src[from];
        }
    });
}

// ---------------------------------------------------------------- search

#define FR_MISMATCH_ARGS(F) F(const Fr*, a) F(const Fr*, b) F(const Fr*, c) F(u64*, first) F(u64, n)
CUZK_ARGS_T1(FrMismatchArgs, Fr, FR_MISMATCH_ARGS)

/// first[0] = the least i with a[i] * b[i] != c[i], if it is below what first[0] holds (the host puts 2^64 - 1).
template <class Ex, class Fr> CUZK_FN void fr_mismatch(Ex& ex, const FrMismatchArgs<Fr>& a) {
    u64 mine = ~(u64)0;
    for_range(ex, a.n, [&](u64 i) {
        if (i < mine && !(a.a[i] * a.b[i] == a.c[i])) mine = i;
    });
    if (mine != ~(u64)0) ex.atomic_min(a.first, mine);
}

// X(kernel function template, argument struct, threads per block, blocks per multiprocessor)
#define CUZK_FR_VEC_KERNELS(X, Fr)                                                                           \
    X(fr_mul, FrBinaryArgs<Fr>, 256, 1)                                                                      \
    X(fr_add, FrBinaryArgs<Fr>, 256, 1)                                                                      \
    X(fr_sub, FrBinaryArgs<Fr>, 256, 1)                                                                      \
    X(fr_mul_sub, FrMulSubArgs<Fr>, 256, 1)                                                                  \
    X(fr_scale, FrScaleArgs<Fr>, 256, 1)                                                                     \
    X(fr_powers, FrPowersArgs<Fr>, 256, 1)                                                                   \
    X(fr_scale_powers, FrScalePowersArgs<Fr>, 256, 1)                                                        \
    X(fr_tau_minus, FrTauMinusArgs<Fr>, 256, 1)                                                              \
    X(fr_to_mont, FrUnaryArgs<Fr>, 256, 1)                                                                   \
    X(fr_from_mont, FrUnaryArgs<Fr>, 256, 1)                                                                 \
    X(fr_bit_reverse, FrBitReverseArgs<Fr>, 256, 1)                                                          \
    X(fr_gather, FrGatherArgs<Fr>, 256, 1)                                                                   \
    X(fr_mismatch, FrMismatchArgs<Fr>, 256, 1)

}  // namespace cuzk
