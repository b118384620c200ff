/// Kernel argument structs: one POD per kernel, every member 8 bytes wide.
///
/// The X-macro that declares a struct also lists its field names, so that the host side packs arguments
/// by name and a misspelt or missing one is an error, on every device, before anything is launched.
#pragma once

#include "platform.cuh"

namespace cuzk {

/// 'c' pointer to const, 'p' pointer, 'i' integer: what a field may be filled with.
template <class T> struct ArgKind { static constexpr char value = 'i'; };
template <class T> struct ArgKind<T*> { static constexpr char value = 'p'; };
template <class T> struct ArgKind<const T*> { static constexpr char value = 'c'; };

template <class T> struct ArgCheck {
    static_assert(sizeof(T) == 8, "a kernel argument is a pointer, u64 or i64");
    using type = T;
};

#define CUZK_ARG_DECLARE(T, name) typename ::cuzk::ArgCheck<T>::type name;
#define CUZK_ARG_DECLARE_PLAIN(T, name) ::cuzk::ArgCheck<T>::type name;
#define CUZK_ARG_DESCRIBE(T, name) out(#name, ::cuzk::ArgKind<T>::value);

/// `template <class P> struct NAME` with the fields of FIELDS(F), and describe(out) that lists them.
#define CUZK_ARGS_T1(NAME, P, FIELDS)                                                                        \
    template <class P> struct NAME {                                                                         \
        FIELDS(CUZK_ARG_DECLARE)                                                                             \
        template <class Out> static void describe(Out&& out) { FIELDS(CUZK_ARG_DESCRIBE) }                   \
    };

/// The same without a template parameter.
#define CUZK_ARGS(NAME, FIELDS)                                                                              \
    struct NAME {                                                                                            \
        FIELDS(CUZK_ARG_DECLARE_PLAIN)                                                                       \
        template <class Out> static void describe(Out&& out) { FIELDS(CUZK_ARG_DESCRIBE) }                   \
    };

/// What a kernel reports when its input or an invariant is bad.  The first fault of a launch wins.
struct FaultWord {
    u64 code;   ///< 0 = no fault, else FaultCode
    u64 index;  ///< the element that caused it
};

enum FaultCode : u32 {
    FAULT_NONE = 0,
    FAULT_NOT_REDUCED = 1,        ///< a field element is >= its modulus
    FAULT_SCALAR_RANGE = 2,       ///< a scalar does not fit the plan's scalar_bits
    FAULT_NOT_ON_CURVE = 3,       ///< a point does not satisfy the curve equation
    FAULT_NOT_IN_SUBGROUP = 4,    ///< a point is outside the prime-order subgroup
    FAULT_BAD_INDEX = 5,          ///< an index points outside its array
    FAULT_DIVERGENT_BARRIER = 6,  ///< (emulator) threads of one group do not meet at one barrier
    FAULT_BAD_SHUFFLE = 7,        ///< (emulator) a shuffle reads a lane that does not exist
    FAULT_SHARED_OVERFLOW = 8,    ///< (emulator) shared memory asked for lies outside the launch's size
    FAULT_BAD_OPCODE = 9,         ///< a witness program holds an operation that there is not
};

/// Process elements 0..n-1 with the whole grid.  On a GPU (and emulated) consecutive threads take
/// consecutive elements; with one thread a block, each block takes one contiguous chunk.
template <class Ex, class Fn> CUZK_FN void for_range(Ex& ex, u64 n, Fn&& fn) {
    if constexpr (Ex::WARP == 1) {
        const u64 blocks = ex.num_blocks(), block = ex.block();
        const u64 base = n / blocks, extra = n % blocks;
        const u64 begin = block * base + (block < extra ? block : extra);
        const u64 end = begin + base + (block < extra ? 1 : 0);
        for (u64 i = begin; i < end; ++i) fn(i);
    } else {
        const u64 stride = (u64)ex.num_blocks() * ex.width();
        for (u64 i = (u64)ex.block() * ex.width() + ex.thread(); i < n; i += stride) fn(i);
    }
}

/// Process elements 0..n-1 with the threads of one block.
template <class Ex, class Fn> CUZK_FN void for_block(Ex& ex, u32 n, Fn&& fn) {
    for (u32 i = ex.thread(); i < n; i += ex.width()) fn(i);
}

}  // namespace cuzk
