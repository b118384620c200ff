// Target selection, integer names, function qualifiers and operation counters: what every kernel header includes first.
//
// Three targets share these sources.  CUDA (nvcc, NVRTC) is recognised by the compiler; a host build names its target:
//   CUZK_TARGET_CPU   64-bit limbs, one thread per block: the fast host build
//   CUZK_TARGET_EMU   32-bit limbs, the GPU's own code on the host, with operation counts
//   CUZK_TARGET_CUDA  32-bit limbs, PTX carries
#pragma once

#if defined(__CUDACC__) && !defined(CUZK_TARGET_CUDA)
#define CUZK_TARGET_CUDA 1
#endif
#if defined(CUZK_TARGET_CUDA) + defined(CUZK_TARGET_CPU) + defined(CUZK_TARGET_EMU) != 1
#error "define exactly one of CUZK_TARGET_CPU and CUZK_TARGET_EMU (CUDA compilers need neither)"
#endif

#if !defined(CUZK_TARGET_CUDA)
#include <cstddef>
#include <cstdint>
#endif

namespace cuzk {

#if defined(CUZK_TARGET_CUDA)
// CUDA's atomics are declared on `unsigned long long`, and NVRTC has no <cstdint>.
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long long;
#else
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
#endif
static_assert(sizeof(u8) == 1 && sizeof(u16) == 2 && sizeof(u32) == 4 && sizeof(u64) == 8, "integer widths");

#if defined(CUZK_TARGET_CPU)
using limb_t = u64;
#else
using limb_t = u32;
#endif

// CUZK_FN           ordinary function: always inlined on the GPU, left to the compiler on a host
// CUZK_FN_INLINE    always inlined everywhere (a few instructions)
// CUZK_FN_HEAVY     inlined on the GPU, one shared copy on a host (field multiplications: compile time, code size)
// CUZK_FN_LIMBS     inlined where that is fast, one shared copy on the emulator (additions and the like)
// CUZK_FN_NOINLINE  a call everywhere, arguments in memory
// CUZK_FN_CALL      a call everywhere whose parameters are CUZK_BY_VALUE: in registers on the GPU, by reference on a host
// CUZK_CONST_FN     evaluated at compile time, callable from everywhere
#if defined(CUZK_TARGET_CUDA)
#define CUZK_FN __device__ __forceinline__
#define CUZK_FN_INLINE __device__ __forceinline__
#define CUZK_FN_HEAVY __device__ __forceinline__
#define CUZK_FN_LIMBS __device__ __forceinline__
#define CUZK_FN_NOINLINE __device__ __noinline__
#define CUZK_FN_CALL __device__ __noinline__
#define CUZK_BY_VALUE(...) __VA_ARGS__
#define CUZK_CONST_FN __device__ __forceinline__ constexpr
#define CUZK_UNROLL _Pragma("unroll")
#define CUZK_NO_UNROLL _Pragma("unroll 1")
#define CUZK_RESTRICT __restrict__
#else
#define CUZK_FN inline
#define CUZK_FN_INLINE inline __attribute__((always_inline))
#define CUZK_FN_HEAVY inline __attribute__((noinline))
#define CUZK_FN_NOINLINE inline __attribute__((noinline))
#if defined(CUZK_TARGET_EMU)
#define CUZK_FN_LIMBS inline __attribute__((noinline))
#else
#define CUZK_FN_LIMBS inline __attribute__((always_inline))
#endif
#define CUZK_FN_CALL inline __attribute__((noinline))
#define CUZK_BY_VALUE(...) const __VA_ARGS__&
#define CUZK_CONST_FN inline constexpr
#define CUZK_UNROLL _Pragma("GCC unroll 32")
#define CUZK_NO_UNROLL _Pragma("GCC unroll 1")
#define CUZK_RESTRICT __restrict__
#endif

// Field elements are read with 16-byte loads on the GPU; the emulator keeps the same alignment so that UBSan sees what
// the GPU would refuse.  The fast host build asks for no more than its limbs need.
#if defined(CUZK_TARGET_CPU)
inline constexpr int VECTOR_ALIGN_BYTES = 8;
#else
inline constexpr int VECTOR_ALIGN_BYTES = 16;
#endif

/// Operations counted on the emulator.  One id per kind of work the performance ledger tracks.
enum CounterId {
    COUNT_FP_MUL,  // base field: products, squarings, additions (also subtraction, negation, doubling), inversions
    COUNT_FP_SQR,
    COUNT_FP_ADD,
    COUNT_FP_INV,
    COUNT_FR_MUL,  // scalar field
    COUNT_FR_SQR,
    COUNT_FR_ADD,
    COUNT_FR_INV,
    COUNT_FP2_MUL,  // products and squarings of the quadratic extension (their base field work is counted too)
    COUNT_FP2_SQR,
    COUNT_EC_ADD,  // XYZZ + XYZZ, XYZZ + affine, doubling, affine sum with a shared inversion
    COUNT_EC_MADD,
    COUNT_EC_DBL,
    COUNT_EC_PAIR,
    NUM_COUNTERS
};

#if defined(CUZK_TARGET_EMU)
/// Names in the order of CounterId, for the host.
inline constexpr const char* COUNTER_NAMES[NUM_COUNTERS] = {"fp_mul", "fp_sqr", "fp_add",  "fp_inv",  "fr_mul",
                                                            "fr_sqr", "fr_add", "fr_inv",  "fp2_mul", "fp2_sqr",
                                                            "ec_add", "ec_madd", "ec_dbl", "ec_pair"};
/// The emulator runs every block on one OS thread, so plain increments are exact.
inline u64 op_counters[NUM_COUNTERS] = {};
#if defined(__SANITIZE_THREAD__)  // which takes fibers for threads
#define CUZK_COUNT(id) (void)__atomic_fetch_add(&::cuzk::op_counters[(id)], 1, __ATOMIC_RELAXED)
#else
#define CUZK_COUNT(id) (void)(++::cuzk::op_counters[(id)])
#endif
#else
#define CUZK_COUNT(id) (void)0
#endif

}  // namespace cuzk
