/// Sum of selected points: the bases whose scalar is one.
#pragma once

#include "msm_accumulate.cuh"
#include "msm_reduce.cuh"

namespace cuzk {

#define BATCH_ADD_ARGS(F)                                                                                    \
    F(const Affine<G>*, bases) F(const u32*, indices) F(Xyzz<G>*, partials) F(u64, n) F(u64, num_bases)
CUZK_ARGS_T1(BatchAddArgs, G, BATCH_ADD_ARGS)

/// partials[block] = the block's share of the sum over i < n of bases[indices[i]] (bases[i] where indices is null).
/// Neighbouring threads take neighbouring selections, whose bases are close in an ascending list.
/// Cost: n mixed additions, log2(width) additions a block.
template <class Ex, class G> CUZK_FN void batch_add(Ex& ex, const BatchAddArgs<G>& a) {
    Xyzz<G> sum = Xyzz<G>::inf();
    for_range(ex, a.n, [&](u64 i) {
        const u64 base = a.indices ? a.indices[i] : i;
        if (base >= a.num_bases) {
            ex.fault(FAULT_BAD_INDEX, i);
            return;
        }
        sum.add(a.bases[base]);
    });
    sum = block_sum(ex, sum);
    if (ex.thread() == 0) a.partials[ex.block()] = sum;
}

// X(kernel, Args, max block threads, min blocks per SM)
#define CUZK_BATCH_ADD_KERNELS(X, G) X(batch_add, BatchAddArgs<G>, 128, ADDITION_BLOCKS_PER_SM<G>)

}  // namespace cuzk
