/// Kernels over arrays of points, one by one: the group law itself, for tests and tools, and which are infinity.
#pragma once

#include "args.cuh"
#include "point.cuh"

namespace cuzk {

enum PointOpcode : u64 {
    POINT_ADD = 0,         ///< a + b, both XYZZ
    POINT_MADD = 1,        ///< a + q, q affine
    POINT_DBL = 2,         ///< 2 a
    POINT_DBL_AFFINE = 3,  ///< 2 q
    POINT_NEG = 4,         ///< -a
    POINT_TO_AFFINE = 5,   ///< a with ZZ = ZZZ = 1; infinity all zero
    POINT_FROM_AFFINE = 6, ///< q with ZZ = ZZZ = 1; infinity all zero
    POINT_SAME = 7,        ///< a and b are the same point: X is 1 (Montgomery form) or 0, the rest 0
    POINT_ON_CURVE = 8,    ///< q is on the curve or infinity: as above
    NUM_POINT_OPS
};

#define POINT_OP_ARGS(F)                                                                                     \
    F(const Xyzz<G>*, a) F(const Xyzz<G>*, b) F(const Affine<G>*, q) F(Xyzz<G>*, dst) F(u64, op) F(u64, n)
CUZK_ARGS_T1(PointOpArgs, G, POINT_OP_ARGS)

/// dst[i] = op(a[i], b[i], q[i]) for i < n.  dst may be a or b.
template <class Ex, class G> CUZK_FN void point_op(Ex& ex, const PointOpArgs<G>& p) {
    using F = typename G::F;
    const auto flag = [](bool b) { return Xyzz<G>{b ? F::one() : F::zero(), F::zero(), F::zero(), F::zero()}; };
    for_range(ex, p.n, [&](u64 i) {
        Xyzz<G> r = p.a[i];
        switch (p.op) {
            case POINT_ADD: r.add(p.b[i]); break;
            case POINT_MADD: r.add(p.q[i]); break;
            case POINT_DBL: r = r.dbl(); break;
            case POINT_DBL_AFFINE: r = Xyzz<G>::dbl(p.q[i]); break;
            case POINT_NEG: r = -r; break;
            case POINT_TO_AFFINE: r = Xyzz<G>::from_affine(r.to_affine()); break;
            case POINT_FROM_AFFINE: r = Xyzz<G>::from_affine(p.q[i]); break;
            case POINT_SAME: r = flag(r.same_point(p.b[i])); break;
            case POINT_ON_CURVE: r = flag(p.q[i].is_on_curve()); break;
            default: ex.fault(FAULT_BAD_INDEX, p.op); break;
        }
        p.dst[i] = r;
    });
}

#define POINTS_INFINITE_ARGS(F) F(const Affine<G>*, points) F(u8*, mask) F(u64, n)
CUZK_ARGS_T1(PointsInfiniteArgs, G, POINTS_INFINITE_ARGS)

/// mask[i] = 1 where points[i] is infinity, else 0, for i < n.
template <class Ex, class G> CUZK_FN void points_infinite(Ex& ex, const PointsInfiniteArgs<G>& p) {
    for_range(ex, p.n, [&](u64 i) { p.mask[i] = p.points[i].is_inf() ? 1 : 0; });
}

// X(kernel, Args, max block threads, min blocks per SM)
#define CUZK_POINT_OPS_KERNELS(X, G)                                                                         \
    X(point_op, PointOpArgs<G>, 128, 1)                                                                      \
    X(points_infinite, PointsInfiniteArgs<G>, 256, 1)

}  // namespace cuzk
