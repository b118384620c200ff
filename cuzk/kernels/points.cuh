/// Arrays of points: normalisation, sums of pairs, scalar multiplication, curve and subgroup checks.
#pragma once

#include "args.cuh"
#include "point.cuh"
#include "points_halves.cuh"

namespace cuzk {

/// The elements begin, begin + stride, .. (count of them) that this thread owns among n: neighbours on neighbouring
/// threads of a GPU, one contiguous piece a block at width 1.  For loops that must also run backwards.
struct Share {
    u64 begin, stride, count;
};
template <class Ex> CUZK_FN Share my_share(Ex& ex, u64 n) {
    const u64 threads = u64(ex.num_blocks()) * ex.width(), me = u64(ex.block()) * ex.width() + ex.thread();
    if constexpr (Ex::WARP == 1) {
        const u64 base = n / threads, extra = n % threads;
        return {me * base + (me < extra ? me : extra), 1, base + (me < extra ? 1 : 0)};
    } else {
        return {me, threads, me < n ? (n - me - 1) / threads + 1 : 0};
    }
}

#define POINTS_NORMALIZE_ARGS(F) F(const Xyzz<G>*, src) F(Affine<G>*, dst) F(u64, n)
CUZK_ARGS_T1(PointsNormalizeArgs, G, POINTS_NORMALIZE_ARGS)

/// dst[i] = src[i] in affine coordinates.  One inversion a thread, shared by its points (Montgomery's trick); dst[i].x
/// holds the products in between.  dst must not overlap src.  Cost: 7M + 1S a point and an inversion a thread.
template <class Ex, class G> CUZK_FN void points_normalize(Ex& ex, const PointsNormalizeArgs<G>& a) {
    using F = typename G::F;
    const Share mine = my_share(ex, a.n);
    F product = F::one();
    for (u64 k = 0; k < mine.count; ++k) {
        const u64 i = mine.begin + k * mine.stride;
        const F zzz = a.src[i].zzz;
        a.dst[i].x = product;
        if (!zzz.is_zero()) product *= zzz;
    }
    F inverse = product.inverse();
    for (u64 k = mine.count; k-- > 0;) {
        const u64 i = mine.begin + k * mine.stride;
        const Xyzz<G> p = a.src[i];
        if (p.is_inf()) {
            a.dst[i] = Affine<G>::inf();
            continue;
        }
        a.dst[i] = p.to_affine(inverse * a.dst[i].x);
        inverse *= p.zzz;
    }
}

#define POINTS_ADD_ARGS(F) F(const Affine<G>*, a) F(const Affine<G>*, b) F(Affine<G>*, dst) F(u64, n)
CUZK_ARGS_T1(PointsAddArgs, G, POINTS_ADD_ARGS)

/// dst[i] = a[i] + b[i], one inversion each: for a few points.  dst may be a or b.
template <class Ex, class G> CUZK_FN void points_add(Ex& ex, const PointsAddArgs<G>& a) {
    for_range(ex, a.n, [&](u64 i) {
        Xyzz<G> sum = Xyzz<G>::from_affine(a.a[i]);
        sum.add(a.b[i]);
        a.dst[i] = sum.to_affine();
    });
}

/// The sum over bits i < num_bits of 2^i * bit(i) * p.  Cost: num_bits doublings, one mixed addition a set bit.
template <class G, class Bit> CUZK_FN Xyzz<G> multiply_bits(const Affine<G>& p, int num_bits, Bit bit) {
    Xyzz<G> result = Xyzz<G>::inf();
    CUZK_NO_UNROLL
    for (int i = num_bits - 1; i >= 0; --i) {
        result = result.dbl();
        if (bit(i)) result.add(p);
    }
    return result;
}

#define POINTS_SCALAR_MUL_ARGS(F)                                                                            \
    F(const Affine<G>*, points) F(const typename G::Fr*, scalars) F(Affine<G>*, dst) F(u64, n) F(u64, point_step) \
    F(u64, scalar_step)
CUZK_ARGS_T1(PointsScalarMulArgs, G, POINTS_SCALAR_MUL_ARGS)

/// dst[i] = scalars[i * scalar_step] * points[i * point_step]; a step is 1, or 0 for one value shared by all.
/// Scalars are in Montgomery form; any point of the curve, also outside the subgroup.  dst may be points.
template <class Ex, class G> CUZK_FN void points_scalar_mul(Ex& ex, const PointsScalarMulArgs<G>& a) {
    using Fr = typename G::Fr;
    constexpr int LIMB_BITS = 8 * int(sizeof(typename Fr::Limb));
    for_range(ex, a.n, [&](u64 i) {
        const Fr scalar = a.scalars[i * a.scalar_step];
        if (!scalar.is_reduced()) {
            ex.fault(FAULT_NOT_REDUCED, i * a.scalar_step);
            return;
        }
        const Fr k = scalar.from_mont();
        const Affine<G> point = a.points[i * a.point_step];
        a.dst[i] = multiply_bits(point, Fr::Params::BITS, [&](int b) {
                       return (k.limb[b / LIMB_BITS] >> (b % LIMB_BITS) & 1) != 0;
                   }).to_affine();
    });
}

#define POINTS_CHECK_ARGS(F) F(const Affine<G>*, points) F(u64*, first_bad) F(u64, n)
CUZK_ARGS_T1(PointsCheckArgs, G, POINTS_CHECK_ARGS)

/// first_bad[0] = the least of itself and every i with a coordinate >= p or a point off the curve.  Infinity is on it.
template <class Ex, class G> CUZK_FN void points_on_curve(Ex& ex, const PointsCheckArgs<G>& a) {
    for_range(ex, a.n, [&](u64 i) {
        const Affine<G> p = a.points[i];
        if (!p.x.is_reduced() || !p.y.is_reduced() || !p.is_on_curve()) (void)ex.atomic_min(a.first_bad, i);
    });
}

#define POINTS_SUBGROUP_ARGS(F)                                                                              \
    F(const Affine<G>*, points) F(u64*, first_bad) F(u64, n) F(const CoordinateOf<G>*, beta)                 \
    F(const u64*, sizes) F(u64, negative_a) F(u64, negative_b)
CUZK_ARGS_T1(PointsSubgroupArgs, G, POINTS_SUBGROUP_ARGS)

/// first_bad[0] = the least of itself and every i with a P + b phi(P) != infinity, P = points[i] and phi(x, y) =
/// (beta[0] x, y).  With a + b phi of degree r and zero on the subgroup of order r, that is every point outside of it.
/// sizes: |a| then |b|, two limbs each, least limb first.  The points are on the curve.
/// Cost: a doubling a bit of the longer, a mixed addition a set bit of either.
template <class Ex, class G> CUZK_FN void points_in_subgroup(Ex& ex, const PointsSubgroupArgs<G>& a) {
    int bits = 128;
    while (bits > 0 && ((a.sizes[(bits - 1) / 64] | a.sizes[2 + (bits - 1) / 64]) >> ((bits - 1) % 64) & 1) == 0) --bits;
    for_range(ex, a.n, [&](u64 i) {
        const Affine<G> p = a.points[i].cneg(a.negative_a != 0);
        const Affine<G> q = Affine<G>{a.points[i].x * a.beta[0], a.points[i].y}.cneg(a.negative_b != 0);
        Xyzz<G> sum = Xyzz<G>::inf();
        CUZK_NO_UNROLL
        for (int b = bits - 1; b >= 0; --b) {
            sum = sum.dbl();
            if ((a.sizes[b / 64] >> (b % 64) & 1) != 0) sum.add(p);
            if ((a.sizes[2 + b / 64] >> (b % 64) & 1) != 0) sum.add(q);
        }
        if (!sum.is_inf()) (void)ex.atomic_min(a.first_bad, i);
    });
}

// X(kernel, Args, max block threads, min blocks per SM)
#define CUZK_POINTS_KERNELS(X, G)                                                                            \
    X(points_normalize, PointsNormalizeArgs<G>, 128, 2) X(points_add, PointsAddArgs<G>, 128, 1)              \
    X(points_scalar_mul, PointsScalarMulArgs<G>, 128, 1) X(points_on_curve, PointsCheckArgs<G>, 128, 2)      \
    X(points_in_subgroup, PointsSubgroupArgs<G>, 128, 1) X(points_halves, PointsHalvesArgs<G>, 128, 1)

}  // namespace cuzk
