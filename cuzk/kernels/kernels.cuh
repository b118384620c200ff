/// The kernels of one module: which lists a (curve, family) pair compiles.
///
/// The includer sets CUZK_CURVE (bls12_381, bn254, toy or any) and CUZK_FAMILY (fr, g1, g2 or fields), includes
/// this file, and then expands CUZK_MODULE_KERNELS with CUZK_EXPORT(FN, ARGS, SUFFIX, MAX_THREADS, MIN_BLOCKS)
/// defined as what it wants per kernel: a registration on the host, a __global__ function on the GPU.
/// An exported name is FN_SUFFIX, such as ntt_pass_bls12_381_fr.
#pragma once

#include "args.cuh"
#include "curve.cuh"

#define CUZK_CAT_(a, b) a##b
#define CUZK_CAT(a, b) CUZK_CAT_(a, b)

// CUZK_FAMILY is a word; comparing it in #if needs numbers.
#define CUZK_FAMILY_ID_fr 1
#define CUZK_FAMILY_ID_g1 2
#define CUZK_FAMILY_ID_g2 3
#define CUZK_FAMILY_ID_fields 4
#define CUZK_FAMILY_ID CUZK_CAT(CUZK_FAMILY_ID_, CUZK_FAMILY)

// What a family list passes its kernels to: the list does not know the suffix, the module does.
#define CUZK_SUFFIX CUZK_CAT(CUZK_CAT(CUZK_CURVE, _), CUZK_FAMILY)
#define CUZK_EXPORT_HERE(FN, ARGS, MAX_THREADS, MIN_BLOCKS)                                                  \
    CUZK_EXPORT_EXPANDED(FN, ARGS, CUZK_SUFFIX, MAX_THREADS, MIN_BLOCKS)
#define CUZK_EXPORT_EXPANDED(FN, ARGS, SUFFIX, MAX_THREADS, MIN_BLOCKS)                                      \
    CUZK_EXPORT(FN, ARGS, SUFFIX, MAX_THREADS, MIN_BLOCKS)

#if CUZK_FAMILY_ID == 4

#include "field_ops.cuh"
#define CUZK_MODULE_KERNELS CUZK_FIELDS_MODULE(CUZK_EXPORT_EXPANDED)

#elif CUZK_FAMILY_ID == 1

#include "classify.cuh"
#include "field_ops.cuh"
#include "fr_vec.cuh"
#include "msm_digits.cuh"
#include "msm_sort.cuh"
#include "ntt.cuh"
#include "piece_spmv.cuh"
#include "scan.cuh"
#include "spmv.cuh"
#include "witness_program.cuh"

namespace cuzk {
using ModuleFr = CUZK_CAT(Curve_, CUZK_CURVE)::Fr;
}
#define CUZK_MODULE_KERNELS                                                                                  \
    CUZK_BATCH_INVERSE_KERNELS(CUZK_EXPORT_HERE, ModuleFr)                                                   \
    CUZK_FR_VEC_KERNELS(CUZK_EXPORT_HERE, ModuleFr)                                                          \
    CUZK_NTT_KERNELS(CUZK_EXPORT_HERE, ModuleFr)                                                             \
    CUZK_SPMV_KERNELS(CUZK_EXPORT_HERE, ModuleFr)                                                            \
    CUZK_WITNESS_KERNELS(CUZK_EXPORT_HERE, ModuleFr)                                                         \
    CUZK_PIECE_SPMV_KERNELS(CUZK_EXPORT_HERE, ModuleFr)                                                      \
    CUZK_CLASSIFY_KERNELS(CUZK_EXPORT_HERE, ModuleFr)                                                        \
    CUZK_SCAN_KERNELS(CUZK_EXPORT_HERE, ModuleFr)                                                            \
    CUZK_MSM_DIGITS_KERNELS(CUZK_EXPORT_HERE, ModuleFr)                                                      \
    CUZK_MSM_SORT_KERNELS(CUZK_EXPORT_HERE, ModuleFr)

#else

#include "batch_add.cuh"
#include "fixed_base.cuh"
#include "msm_accumulate.cuh"
#include "msm_halve.cuh"
#include "msm_reduce.cuh"
#include "point_ops.cuh"
#include "points.cuh"

namespace cuzk {
#if CUZK_FAMILY_ID == 2
using ModuleGroup = CUZK_CAT(Curve_, CUZK_CURVE)::G1;
#else
using ModuleGroup = CUZK_CAT(Curve_, CUZK_CURVE)::G2;
#endif
}  // namespace cuzk
#define CUZK_MODULE_KERNELS                                                                                  \
    CUZK_POINT_OPS_KERNELS(CUZK_EXPORT_HERE, ModuleGroup)                                                    \
    CUZK_POINTS_KERNELS(CUZK_EXPORT_HERE, ModuleGroup)                                                       \
    CUZK_MSM_HALVE_KERNELS(CUZK_EXPORT_HERE, ModuleGroup)                                                    \
    CUZK_MSM_ACCUMULATE_KERNELS(CUZK_EXPORT_HERE, ModuleGroup)                                               \
    CUZK_MSM_REDUCE_KERNELS(CUZK_EXPORT_HERE, ModuleGroup)                                                   \
    CUZK_BATCH_ADD_KERNELS(CUZK_EXPORT_HERE, ModuleGroup)                                                    \
    CUZK_FIXED_BASE_KERNELS(CUZK_EXPORT_HERE, ModuleGroup)

#endif
