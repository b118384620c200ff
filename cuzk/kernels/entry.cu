// One kernel module for the GPU: compiled once per (CUZK_CURVE, CUZK_FAMILY), to a cubin with extern "C" names.
#include "exec_cuda.cuh"

#include "kernels.cuh"

using namespace cuzk;

#define CUZK_EXPORT(FN, ARGS, SUFFIX, MAX_THREADS, MIN_BLOCKS)                                               \
    extern "C" __global__ void __launch_bounds__(MAX_THREADS, MIN_BLOCKS)                                    \
        CUZK_CAT(CUZK_CAT(FN, _), SUFFIX)(const __grid_constant__ ARGS args, FaultWord* fault_word) {        \
        CudaExec ex{fault_word};                                                                             \
        FN(ex, args);                                                                                        \
    }

CUZK_MODULE_KERNELS
