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

#if __has_include("field_ops.cuh")
#include "field_ops.cuh"
#endif
#define CUZK_MODULE_KERNELS CUZK_FIELDS_MODULE(CUZK_EXPORT_EXPANDED)

#elif CUZK_FAMILY_ID == 1

#if __has_include("classify.cuh")
#include "classify.cuh"
#endif
#if __has_include("field_ops.cuh")
#include "field_ops.cuh"
#endif
#if __has_include("fr_vec.cuh")
#include "fr_vec.cuh"
#endif
#if __has_include("msm_digits.cuh")
#include "msm_digits.cuh"
#endif
#if __has_include("msm_sort.cuh")
#include "msm_sort.cuh"
#endif
#if __has_include("ntt.cuh")
#include "ntt.cuh"
#endif
#if __has_include("scan.cuh")
#include "scan.cuh"
#endif
#if __has_include("spmv.cuh")
#include "spmv.cuh"
#endif

namespace cuzk {
using ModuleFr = CUZK_CAT(Curve_, CUZK_CURVE)::Fr;
}
#define CUZK_MODULE_KERNELS                                                                                  \
    CUZK_BATCH_INVERSE_KERNELS(CUZK_EXPORT_HERE, ModuleFr)                                                   \
    CUZK_FR_VEC_KERNELS(CUZK_EXPORT_HERE, ModuleFr)                                                          \
    CUZK_NTT_KERNELS(CUZK_EXPORT_HERE, ModuleFr)                                                             \
    CUZK_SPMV_KERNELS(CUZK_EXPORT_HERE, ModuleFr)                                                            \
    CUZK_CLASSIFY_KERNELS(CUZK_EXPORT_HERE, ModuleFr)                                                        \
    CUZK_SCAN_KERNELS(CUZK_EXPORT_HERE, ModuleFr)                                                            \
    CUZK_MSM_DIGITS_KERNELS(CUZK_EXPORT_HERE, ModuleFr)                                                      \
    CUZK_MSM_SORT_KERNELS(CUZK_EXPORT_HERE, ModuleFr)

#else

#if __has_include("batch_add.cuh")
#include "batch_add.cuh"
#endif
#if __has_include("fixed_base.cuh")
#include "fixed_base.cuh"
#endif
#if __has_include("msm_accumulate.cuh")
#include "msm_accumulate.cuh"
#endif
#if __has_include("msm_reduce.cuh")
#include "msm_reduce.cuh"
#endif
#if __has_include("point_ops.cuh")
#include "point_ops.cuh"
#endif
#if __has_include("points.cuh")
#include "points.cuh"
#endif

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
    CUZK_MSM_ACCUMULATE_KERNELS(CUZK_EXPORT_HERE, ModuleGroup)                                               \
    CUZK_MSM_REDUCE_KERNELS(CUZK_EXPORT_HERE, ModuleGroup)                                                   \
    CUZK_BATCH_ADD_KERNELS(CUZK_EXPORT_HERE, ModuleGroup)                                                    \
    CUZK_FIXED_BASE_KERNELS(CUZK_EXPORT_HERE, ModuleGroup)

#endif

// bring-up
#ifndef CUZK_BATCH_INVERSE_KERNELS
#define CUZK_BATCH_INVERSE_KERNELS(X, T)
#endif
#ifndef CUZK_FR_VEC_KERNELS
#define CUZK_FR_VEC_KERNELS(X, T)
#endif
#ifndef CUZK_NTT_KERNELS
#define CUZK_NTT_KERNELS(X, T)
#endif
#ifndef CUZK_SPMV_KERNELS
#define CUZK_SPMV_KERNELS(X, T)
#endif
#ifndef CUZK_CLASSIFY_KERNELS
#define CUZK_CLASSIFY_KERNELS(X, T)
#endif
#ifndef CUZK_SCAN_KERNELS
#define CUZK_SCAN_KERNELS(X, T)
#endif
#ifndef CUZK_MSM_DIGITS_KERNELS
#define CUZK_MSM_DIGITS_KERNELS(X, T)
#endif
#ifndef CUZK_MSM_SORT_KERNELS
#define CUZK_MSM_SORT_KERNELS(X, T)
#endif
#ifndef CUZK_POINTS_KERNELS
#define CUZK_POINTS_KERNELS(X, T)
#endif
#ifndef CUZK_POINT_OPS_KERNELS
#define CUZK_POINT_OPS_KERNELS(X, T)
#endif
#ifndef CUZK_MSM_ACCUMULATE_KERNELS
#define CUZK_MSM_ACCUMULATE_KERNELS(X, T)
#endif
#ifndef CUZK_MSM_REDUCE_KERNELS
#define CUZK_MSM_REDUCE_KERNELS(X, T)
#endif
#ifndef CUZK_BATCH_ADD_KERNELS
#define CUZK_BATCH_ADD_KERNELS(X, T)
#endif
#ifndef CUZK_FIXED_BASE_KERNELS
#define CUZK_FIXED_BASE_KERNELS(X, T)
#endif
#ifndef CUZK_FIELDS_MODULE
#define CUZK_FIELDS_MODULE(X)
#endif
