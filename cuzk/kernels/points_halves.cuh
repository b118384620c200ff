/// Many points times scalars of half the length each: k1 P + k2 phi(P), with phi(x, y) = (beta x, y).
///
/// Every thread takes a chunk of points through the same steps side by side, in affine coordinates: all inversions of
/// one step are one (Montgomery 1987, doi:10.1090/S0025-5718-1987-0866113-7, section 10.3.1), which makes an addition
/// 5M + 1S and a doubling 5M + 2S.  The method of halves is Gallant, Lambert, Vanstone 2001,
/// doi:10.1007/3-540-44647-8_11; the digits come from the host.
#pragma once

#include "args.cuh"
#include "point.cuh"

namespace cuzk {

/// What p + q takes.
enum class Addition : u32 { keep, take, chord, tangent, cancel };

template <class G> CUZK_FN Addition kind_of_addition(const Affine<G>& p, const Affine<G>& q) {
    if (q.is_inf()) return Addition::keep;
    if (p.is_inf()) return Addition::take;
    if (p.x != q.x) return Addition::chord;
    return p.y == q.y && !p.y.is_zero() ? Addition::tangent : Addition::cancel;
}

/// p += q, with `below` the denominator of their slope: inverse is 1 / (before * below) on entry, and 1 / before on return
/// (the same where the sum has no slope).  Complete; q may be p.
template <class G>
CUZK_FN_INLINE void add_with_inverse(Affine<G>& p, const Affine<G>& q, const typename G::F& before, typename G::F& inverse) {
    using F = typename G::F;
    const Addition kind = kind_of_addition(p, q);
    if (kind == Addition::keep) return;
    if (kind == Addition::take) {
        p = q;
        return;
    }
    if (kind == Addition::cancel) {
        p = Affine<G>::inf();
        return;
    }
    F below, slope;
    if (kind == Addition::chord) {
        CUZK_COUNT(COUNT_EC_MADD);
        below = q.x - p.x;
        slope = q.y - p.y;
    } else {
        CUZK_COUNT(COUNT_EC_DBL);
        below = p.y.dbl();
        slope = p.x.sqr();
        slope = slope.dbl() + slope;
    }
    slope *= inverse * before;
    inverse *= below;
    const F x = slope.sqr() - p.x - q.x;
    p = {x, slope * (p.x - x) - p.y};
}

/// p[i] += q[i] for i < count; q may be p.  Complete.  products: room for count field elements.
template <class G> CUZK_FN_NOINLINE void add_side_by_side(Affine<G>* p, const Affine<G>* q, typename G::F* products, u64 count) {
    using F = typename G::F;
    F product = F::one();
    for (u64 i = 0; i < count; ++i) {
        products[i] = product;
        const Addition kind = kind_of_addition(p[i], q[i]);
        if (kind == Addition::chord) product *= q[i].x - p[i].x;
        if (kind == Addition::tangent) product *= p[i].y.dbl();
    }
    F inverse = product.inverse();
    for (u64 i = count; i-- > 0;) add_with_inverse(p[i], q[i], products[i], inverse);
}

/// Table entries a point has: its multiples 1 to 8, for digits -8 to 8.
inline constexpr u32 HALVES_MULTIPLES = 8;
inline constexpr u32 HALVES_DIGIT_BITS = 4;

// The list below calls its macro F, so it cannot say G::F.
template <class G> using CoordinateOf = typename G::F;

#define POINTS_HALVES_ARGS(F)                                                                                \
    F(const Affine<G>*, points) F(Affine<G>*, dst) F(const u8*, digits) F(const CoordinateOf<G>*, beta)      \
    F(Affine<G>*, scratch) F(CoordinateOf<G>*, products) F(u64, n) F(u64, share) F(u64, num_digits) F(u64, chunk)
CUZK_ARGS_T1(PointsHalvesArgs, G, POINTS_HALVES_ARGS)

/// dst[i] = (k1 + k2 phi) points[i], the scalars being those of row i / share of digits.
///
/// digits[(row * 2 + half) * num_digits + w] + 256 Z is digit w of base 16, between -8 and 8.  Each thread needs
/// HALVES_MULTIPLES + 1 times chunk points of scratch, and chunk products.  dst may be points.
/// Cost a point and digit: 4 doublings, 2 additions; 9 inversions a chunk for the table and 6 a digit.
template <class Ex, class G> CUZK_FN void points_halves(Ex& ex, const PointsHalvesArgs<G>& a) {
    using F = typename G::F;
    const u64 lanes = u64(ex.num_blocks()) * ex.width(), lane = u64(ex.block()) * ex.width() + ex.thread();
    Affine<G>* const table = a.scratch + lane * (HALVES_MULTIPLES + 1) * a.chunk;
    Affine<G>* const addend = table + HALVES_MULTIPLES * a.chunk;
    F* const products = a.products + lane * a.chunk;
    const F beta = a.beta[0];
    for (u64 first = lane * a.chunk; first < a.n; first += lanes * a.chunk) {
        const u64 count = a.n - first < a.chunk ? a.n - first : a.chunk;
        for (u64 i = 0; i < count; ++i) table[i] = a.points[first + i];
        for (u32 m = 1; m < HALVES_MULTIPLES; ++m) {
            Affine<G>* const row = table + m * a.chunk;
            for (u64 i = 0; i < count; ++i) row[i] = (row - a.chunk)[i];
            add_side_by_side<G>(row, table, products, count);
        }
        Affine<G>* const sum = a.dst + first;
        for (u64 i = 0; i < count; ++i) sum[i] = Affine<G>::inf();
        for (u64 w = a.num_digits; w-- > 0;) {
            for (u32 k = 0; k < HALVES_DIGIT_BITS && w + 1 < a.num_digits; ++k) {
                add_side_by_side<G>(sum, sum, products, count);
            }
            for (u32 half = 0; half < 2; ++half) {
                for (u64 i = 0; i < count; ++i) {
                    const u64 row = (first + i) / a.share;
                    const u8 code = a.digits[(row * 2 + half) * a.num_digits + w];
                    const bool negative = code >= 128;
                    const u32 size = negative ? 256u - code : code;
                    if (size > HALVES_MULTIPLES) ex.fault(FAULT_SCALAR_RANGE, row);
                    Affine<G> q = size == 0 || size > HALVES_MULTIPLES ? Affine<G>::inf() : table[(size - 1) * a.chunk + i];
                    if (half == 1) q.x *= beta;
                    addend[i] = q.cneg(negative);
                }
                add_side_by_side<G>(sum, addend, products, count);
            }
        }
    }
}

}  // namespace cuzk
