/// Bucket sums at group width 1: neighbours of one bucket are added in affine coordinates first, block by block in cache.
///
/// A block of sorted entries is copied to the stack.  Round after round neighbours within a bucket's run become one
/// point, all of a round's additions sharing one inversion, until so few pairs are left that an inversion costs more
/// than it saves; what is left goes into the XYZZ sums.  An addition is 5M + 1S where a mixed one is 8M + 2S.
/// On a GPU the same happens in launches of their own (msm_halve.cuh), because a thread has no cache for a block.
#pragma once

#include "points_halves.cuh"

namespace cuzk {

template <class G> struct PairBlock {
    static constexpr u32 SIZE = 512;
    /// An inversion takes about 90 multiplications, and a pair saves 4.
    static constexpr u32 FEWEST_PAIRS = 24;

    Affine<G> point[SIZE];
    typename G::F product[SIZE / 2];
    u32 end[SIZE], key[SIZE];  ///< of each run: one past its last point, and its bucket
    u32 runs;

    CUZK_FN void close_run(u32 run_end, u32 run_key) {
        end[runs] = run_end;
        key[runs] = run_key;
        ++runs;
    }

    /// Points of a run that are left where every step-th one counts.
    static CUZK_FN u32 left(u32 length, u32 step) { return (length + step - 1) / step; }

    /// Adds up neighbours within runs; afterwards the points of a run are its every step-th one.  Returns step.
    CUZK_FN_NOINLINE u32 add_neighbours() {
        for (u32 step = 1;; step *= 2) {
            u32 pairs = 0;
            for (u32 r = 0, begin = 0; r < runs; begin = end[r++]) pairs += left(end[r] - begin, step) / 2;
            if (pairs < FEWEST_PAIRS) return step;
            add_pairs(step);
        }
    }

  private:
    using F = typename G::F;

    /// point[i] += point[i + step] for i = 0, 2 step, 4 step, .. of each run.
    CUZK_FN void add_pairs(u32 step) {
        F all = F::one();
        u32 n = 0;
        for (u32 r = 0, begin = 0; r < runs; begin = end[r++]) {
            for (u32 i = begin; i + step < end[r]; i += 2 * step) {
                product[n++] = all;
                const Affine<G>&p = point[i], &q = point[i + step];
                const Addition kind = kind_of_addition(p, q);
                if (kind == Addition::chord) all *= q.x - p.x;
                if (kind == Addition::tangent) all *= p.y.dbl();
            }
        }
        F inverse = all.inverse();
        for (u32 r = runs; r-- > 0;) {
            const u32 begin = r == 0 ? 0 : end[r - 1];
            for (u32 pair = left(end[r] - begin, step) / 2; pair-- > 0;) {
                const u32 i = begin + 2 * pair * step;
                add_with_inverse(point[i], point[i + step], product[--n], inverse);
            }
        }
    }
};

}  // namespace cuzk
