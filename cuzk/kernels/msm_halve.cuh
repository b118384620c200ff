/// One round of bucket accumulation in affine coordinates: neighbours of a bucket are added up in pairs.
///
/// An affine addition costs 2M + 1S once 1 / (x2 - x1) is known, and Montgomery's trick makes an inversion cost 3M where
/// many are wanted at once: 6 products an addition in place of the 10 of XYZZ coordinates.  A thread takes the pairs of
/// its share in chunks: forwards it multiplies up the denominators, keeping the products in between; one inversion; then
/// backwards it peels off one inverse after the other and adds.  A single infinity, doubling or cancellation must not
/// spoil the product of all: such a pair puts a denominator of its own (2y, or one) into it.
///
/// Source: Montgomery 1987, doi:10.1090/S0025-5718-1987-0866113-7, section 10.3.1.
#pragma once

#include "args.cuh"
#include "msm_sort.cuh"
#include "point.cuh"

#if defined(CUZK_TARGET_CPU)
#define CUZK_PREFETCH(address) __builtin_prefetch(address)
#else
#define CUZK_PREFETCH(address) (void)(address)
#endif

namespace cuzk {

/// Start loading a point that will be wanted a few additions later (gathers miss every cache).
template <class G> CUZK_FN void prefetch_point(const Affine<G>* point) {
    const u8* address = reinterpret_cast<const u8*>(point);
    for (u32 byte = 0; byte < sizeof(Affine<G>); byte += 64) CUZK_PREFETCH(address + byte);
}
constexpr u32 PREFETCH_DISTANCE = 6;

template <class G> using Coordinate = typename G::F;

#define MSM_HALVE_ARGS(F)                                                                                    \
    F(const Affine<G>*, points) F(const u64*, pairs) F(const u32*, next_offsets) F(Affine<G>*, dst)          \
    F(Coordinate<G>*, products) F(u64, num_keys) F(u64, chunk)
CUZK_ARGS_T1(MsmHalveArgs, G, MSM_HALVE_ARGS)

/// How the sum of a pair is found.
enum PairSum : u32 { PAIR_CHORD, PAIR_TANGENT, PAIR_LEFT, PAIR_RIGHT, PAIR_CANCELS };

/// Two entries of a list of pairs.
template <class G> struct Pair {
    const Affine<G>* points;
    u32 left, right;

    CUZK_FN Pair(const MsmHalveArgs<G>& a, u64 pair) : points(a.points), left(u32(pair)), right(u32(pair >> 32)) {}
    CUZK_FN bool alone() const { return right == NO_NEIGHBOUR; }
    CUZK_FN bool negate_left() const { return (left & DIGIT_SIGN) != 0; }
    CUZK_FN bool negate_right() const { return (right & DIGIT_SIGN) != 0; }
    CUZK_FN const Affine<G>& at_left() const { return points[left & ~DIGIT_SIGN]; }
    CUZK_FN const Affine<G>& at_right() const { return points[right & ~DIGIT_SIGN]; }

    /// The pairs that a chord may not add, and what is to be inverted for them; denominator = x2 - x1 comes in.
    CUZK_FN_NOINLINE PairSum special(typename G::F& denominator) const {
        const bool same_x = denominator.is_zero(), left_inf = at_left().is_inf(), right_inf = at_right().is_inf();
        if (!same_x && !left_inf && !right_inf) return PAIR_CHORD;  // x = 0 is no infinity by itself
        const typename G::F y = at_left().y.cneg(negate_left());
        const bool tangent = same_x && !y.is_zero() && y == at_right().y.cneg(negate_right());
        denominator = tangent ? y.dbl() : G::F::one();
        if (tangent) return PAIR_TANGENT;
        if (right_inf) return PAIR_LEFT;
        return left_inf ? PAIR_RIGHT : PAIR_CANCELS;
    }
    /// How to add, and the denominator: x2 - x1, 2 y1 for equal points, one where nothing is divided.
    CUZK_FN PairSum kind(const typename G::F& x1, const typename G::F& x2, typename G::F& denominator) const {
        if (alone()) {
            denominator = G::F::one();
            return PAIR_LEFT;
        }
        denominator = x2 - x1;
        if (denominator.is_zero() || x1.is_zero() || x2.is_zero()) return special(denominator);
        return PAIR_CHORD;
    }
};

/// The sum of two points whose denominator's inverse is known.  2M + 1S, and a square for a tangent.
template <class G>
CUZK_FN Affine<G> add_with_inverse(PairSum kind, const Affine<G>& p, const Affine<G>& q, const typename G::F& inverse) {
    using F = typename G::F;
    if (kind == PAIR_LEFT) return p;
    if (kind == PAIR_RIGHT) return q;
    if (kind == PAIR_CANCELS) return Affine<G>::inf();
    CUZK_COUNT(COUNT_EC_PAIR);
    F rise = q.y - p.y;
    if (kind == PAIR_TANGENT) {
        rise = p.x.sqr();
        rise = rise.dbl() + rise;
    }
    const F slope = rise * inverse;
    const F x3 = slope.sqr() - p.x - q.x;
    return {x3, slope * (p.x - x3) - p.y};
}

/// Where a thread finds what it loads one pair ahead: a load from memory takes longer than a product.
template <class G> struct PairSlot {
    Affine<G> left, right;
    Coordinate<G> product;
};

/// The pairs of a thread that share an inversion: `count` of them, a warp apart in the list, the products and the results.
template <class G> struct PairChunk {
    const u64* pairs;
    Coordinate<G>* products;
    Affine<G>* dst;
    PairSlot<G>* slot;
    u64 count;
};

/// The product of all denominators of a chunk; products[j] becomes that of the first j.  The list is read two pairs
/// ahead, the points one.
template <class Ex, class G>
CUZK_FN Coordinate<G> multiply_denominators(Ex& ex, const MsmHalveArgs<G>& a, const PairChunk<G>& c) {
    using F = typename G::F;
    const auto fetch = [&](const Pair<G>& pair) {
        ex.copy_async(&c.slot->left.x, &pair.at_left().x);
        if (!pair.alone()) ex.copy_async(&c.slot->right.x, &pair.at_right().x);
    };
    u64 next = c.pairs[0], ahead = c.count > 1 ? c.pairs[Ex::WARP] : 0;
    fetch(Pair<G>(a, next));
    F product = F::one();
    CUZK_NO_UNROLL
    for (u64 j = 0; j < c.count; ++j) {
        const Pair<G> pair(a, next);
        ex.copy_wait();
        const F x1 = c.slot->left.x, x2 = c.slot->right.x;
        next = ahead;
        if (j + 1 < c.count) fetch(Pair<G>(a, next));
        if (j + 2 < c.count) ahead = c.pairs[(j + 2) * Ex::WARP];
        if constexpr (Ex::WARP == 1) {
            if (j + PREFETCH_DISTANCE < c.count) {
                const Pair<G> later(a, c.pairs[j + PREFETCH_DISTANCE]);
                prefetch_point(&later.at_left());
                if (!later.alone()) prefetch_point(&later.at_right());
            }
        }
        F denominator;
        (void)pair.kind(x1, x2, denominator);
        c.products[j * Ex::WARP] = product;
        product = product * denominator;
    }
    return product;
}

/// dst[j] = the sum of pair j of a chunk, from the last pair to the first: the inverse of the first j + 1 denominators,
/// times the product of the first j, inverts the last of them.
template <class Ex, class G>
CUZK_FN void add_pairs(Ex& ex, const MsmHalveArgs<G>& a, const PairChunk<G>& c, const Coordinate<G>& product) {
    using F = typename G::F;
    const auto fetch = [&](const Pair<G>& pair, u64 j) {
        ex.copy_async(&c.slot->left, &pair.at_left());
        if (!pair.alone()) ex.copy_async(&c.slot->right, &pair.at_right());
        ex.copy_async(&c.slot->product, &c.products[j * Ex::WARP]);
    };
    u64 next = c.pairs[(c.count - 1) * Ex::WARP], ahead = c.count > 1 ? c.pairs[(c.count - 2) * Ex::WARP] : 0;
    fetch(Pair<G>(a, next), c.count - 1);
    F inverse = product.inverse();
    CUZK_NO_UNROLL
    for (u64 back = 1; back <= c.count; ++back) {
        const u64 j = c.count - back;
        const Pair<G> pair(a, next);
        ex.copy_wait();
        Affine<G> p = c.slot->left, q = c.slot->right;
        const F before = c.slot->product;
        next = ahead;
        if (j > 0) fetch(Pair<G>(a, next), j - 1);
        if (j > 1) ahead = c.pairs[(j - 2) * Ex::WARP];
        p = p.cneg(pair.negate_left());
        q = q.cneg(pair.negate_right());
        F denominator;
        const PairSum kind = pair.kind(p.x, q.x, denominator);
        const F one_inverse = inverse * before;
        inverse = inverse * denominator;
        c.dst[j * Ex::WARP] = add_with_inverse(kind, p, q, one_inverse);
    }
}

/// dst[o] = the sum of pair o, o < next_offsets[num_keys].  A thread's pairs are WARP apart, so that a warp reads and
/// writes neighbours; `products` holds `chunk` elements for every thread of the launch.
/// Launch: a PairSlot of shared memory a thread.  Cost: 5M + 1S a pair, an inversion every `chunk` pairs.
template <class Ex, class G> CUZK_FN void msm_halve(Ex& ex, const MsmHalveArgs<G>& a) {
    const u64 total = a.next_offsets[a.num_keys];
    const u64 thread = u64(ex.block()) * ex.width() + ex.thread(), threads = u64(ex.num_blocks()) * ex.width();
    const u64 warp = thread / Ex::WARP, lane = thread % Ex::WARP;
    const u64 share = (total + threads - 1) / threads, chunks = (share + a.chunk - 1) / a.chunk;
    PairSlot<G>* slot = ex.template shared<PairSlot<G>>() + ex.thread();
    Coordinate<G>* products = a.products + warp * a.chunk * Ex::WARP + lane;
    CUZK_NO_UNROLL
    for (u64 i = 0; i < chunks; ++i) {  // equal ones, none longer than a.chunk
        const u64 begin = share * i / chunks, end = share * (i + 1) / chunks;
        const u64 first = (warp * share + begin) * Ex::WARP + lane;
        if (first >= total) return;
        const u64 left = (total - first - 1) / Ex::WARP + 1, count = end - begin < left ? end - begin : left;
        const PairChunk<G> c{a.pairs + first, products, a.dst + first, slot, count};
        add_pairs(ex, a, c, multiply_denominators(ex, a, c));
    }
}

/// Blocks of 128 threads that a multiprocessor should hold in the addition loops: 128 registers a thread suffice for
/// coordinates of up to 12 words, those of Fp2 get all there are.
template <class G> constexpr int ADDITION_BLOCKS_PER_SM = sizeof(typename G::F) <= 48 ? 4 : 2;

// X(kernel, Args, max block threads, min blocks per SM)
#define CUZK_MSM_HALVE_KERNELS(X, G) X(msm_halve, MsmHalveArgs<G>, 128, ADDITION_BLOCKS_PER_SM<G>)

}  // namespace cuzk
