/// The same multiplication kernels in x86-64 assembly with BMI2 and ADX: mulx leaves the flags alone, and adcx / adox
/// run the low and the high halves of a row as two carry chains at once.  For 4 and 6 limbs and a modulus with a
/// spare bit: then a row never carries out of N + 1 limbs, and the limb that a reduction clears is the next row's
/// zeroed top limb.  Register names rotate by one a row.
/// At most 13 registers: one of the 14 that a build with frame pointers has stays free.
#pragma once
#include "word.cuh"

#if defined(__ADX__) && defined(__BMI2__) && !defined(CUZK_TARGET_CUDA)
#define CUZK_ADX 1

namespace cuzk {

/// N limbs of the modulus, then -p^-1 mod 2^64: what the assembly reads.
template <int N, class M> struct AdxTable {
    u64 word[N + 1];
    constexpr AdxTable() : word{} {
        for (int i = 0; i < N; ++i) word[i] = M::limb(i);
        word[N] = M::ninv();
    }
};

// (hi : lo) += src[k] * rdx, the low half on the OF chain, the high half on the CF chain.
#define CUZK_MAC(src, k, lo, hi)                     \
    "mulx 8*" #k "(%[" src "]), %%rax, %%rcx\n\t"    \
    "adox %%rax, %[" lo "]\n\t"                      \
    "adcx %%rcx, %[" hi "]\n\t"
// Adds the OF chain's carry to the top limb; rax is free.
#define CUZK_CLOSE(top) "mov $0, %%eax\n\tadox %%rax, %[" top "]\n\t"
#define CUZK_ROW4(src, t0, t1, t2, t3, t4) \
    CUZK_MAC(src, 0, t0, t1) CUZK_MAC(src, 1, t1, t2) CUZK_MAC(src, 2, t2, t3) CUZK_MAC(src, 3, t3, t4) CUZK_CLOSE(t4)
#define CUZK_ROW6(src, t0, t1, t2, t3, t4, t5, t6)                                                         \
    CUZK_MAC(src, 0, t0, t1) CUZK_MAC(src, 1, t1, t2) CUZK_MAC(src, 2, t2, t3) CUZK_MAC(src, 3, t3, t4)    \
    CUZK_MAC(src, 4, t4, t5) CUZK_MAC(src, 5, t5, t6) CUZK_CLOSE(t6)
// The same with a source that starts 2N words further on: the third operand of mul_add2.
#define CUZK_ROWC4(src, t0, t1, t2, t3, t4) \
    CUZK_MAC(src, 8, t0, t1) CUZK_MAC(src, 9, t1, t2) CUZK_MAC(src, 10, t2, t3) CUZK_MAC(src, 11, t3, t4) CUZK_CLOSE(t4)
#define CUZK_ROWC6(src, t0, t1, t2, t3, t4, t5, t6)                                                        \
    CUZK_MAC(src, 12, t0, t1) CUZK_MAC(src, 13, t1, t2) CUZK_MAC(src, 14, t2, t3) CUZK_MAC(src, 15, t3, t4) \
    CUZK_MAC(src, 16, t4, t5) CUZK_MAC(src, 17, t5, t6) CUZK_CLOSE(t6)
// rdx = the multiple of p that clears t0; clears both carry flags.
#define CUZK_QUOTIENT(n, t0) "mov %[" t0 "], %%rdx\n\timul 8*" #n "(%[p]), %%rdx\n\txor %%eax, %%eax\n\t"
#define CUZK_LOAD(src, k) "mov 8*" #k "(%[" src "]), %%rdx\n\t"
// t = src * rdx: the first row.
#define CUZK_FIRST(src, k, lo, hi) "mulx 8*" #k "(%[" src "]), %%rax, %[" hi "]\n\tadc %%rax, %[" lo "]\n\t"
#define CUZK_FIRST4(src, t0, t1, t2, t3, t4)                                                                \
    "mulx (%[" src "]), %[" t0 "], %[" t1 "]\n\txor %%eax, %%eax\n\t" CUZK_FIRST(src, 1, t1, t2)            \
    CUZK_FIRST(src, 2, t2, t3) CUZK_FIRST(src, 3, t3, t4) "adc $0, %[" t4 "]\n\t"
#define CUZK_FIRST6(src, t0, t1, t2, t3, t4, t5, t6)                                                        \
    "mulx (%[" src "]), %[" t0 "], %[" t1 "]\n\txor %%eax, %%eax\n\t" CUZK_FIRST(src, 1, t1, t2)            \
    CUZK_FIRST(src, 2, t2, t3) CUZK_FIRST(src, 3, t3, t4) CUZK_FIRST(src, 4, t4, t5)                        \
    CUZK_FIRST(src, 5, t5, t6) "adc $0, %[" t6 "]\n\t"

#define CUZK_STORE(k, t) "mov %[" t "], 8*" #k "(%[r])\n\t"
#define CUZK_ZERO(t) "xor %k[" t "], %k[" t "]\n\t"
#define CUZK_LOW(k, t0) "mov 8*" #k "(%[t]), %[" t0 "]\n\t"
#define CUZK_HIGH(k, t0) "adc 8*" #k "(%[t]), %[" t0 "]\n\t"

/// Replaces the kernels of Cios64 where it can: N = 4 or 6, one spare bit at least.
template <int N, class M> struct Adx64;

template <class M> struct Adx64<4, M> {
    static constexpr AdxTable<4, M> TABLE{};

#define CUZK_REDUCE(u0, u1, u2, u3, u4) CUZK_QUOTIENT(4, u0) CUZK_ROW4("p", u0, u1, u2, u3, u4)
#define CUZK_STEP(k, u0, u1, u2, u3, u4) CUZK_LOAD("b", k) CUZK_ROW4("a", u0, u1, u2, u3, u4) CUZK_REDUCE(u0, u1, u2, u3, u4)
    /// a * b / R in [0, 2p) for a, b < p.
    static CUZK_FN_INLINE void mul(u64* r, const u64* a, const u64* b) {
        u64 t0, t1, t2, t3, t4;
        asm(CUZK_LOAD("b", 0) CUZK_FIRST4("a", "t0", "t1", "t2", "t3", "t4")
            CUZK_REDUCE("t0", "t1", "t2", "t3", "t4")
            CUZK_STEP(1, "t1", "t2", "t3", "t4", "t0")
            CUZK_STEP(2, "t2", "t3", "t4", "t0", "t1")
            CUZK_STEP(3, "t3", "t4", "t0", "t1", "t2")
            : [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [t4] "=&r"(t4)
            : [a] "r"(a), [b] "r"(b), [p] "r"(TABLE.word)
            : "rax", "rcx", "rdx", "cc", "memory");
        r[0] = t4, r[1] = t0, r[2] = t1, r[3] = t2;
    }

    /// (a * b + c * d) / R in [0, 2p) for a, b, c, d < p; two spare bits.  w: b[0], d[0], b[1], d[1], ..., c[0], c[1], ...
    static CUZK_FN_INLINE void mul_add2(u64* r, const u64* a, const u64* w) {
        u64 t0, t1, t2, t3, t4;
        asm(CUZK_LOAD("w", 0) CUZK_FIRST4("a", "t0", "t1", "t2", "t3", "t4") "xor %%eax, %%eax\n\t"
            CUZK_LOAD("w", 1) CUZK_ROWC4("w", "t0", "t1", "t2", "t3", "t4") CUZK_REDUCE("t0", "t1", "t2", "t3", "t4")
            CUZK_LOAD("w", 2) CUZK_ROW4("a", "t1", "t2", "t3", "t4", "t0")
            CUZK_LOAD("w", 3) CUZK_ROWC4("w", "t1", "t2", "t3", "t4", "t0") CUZK_REDUCE("t1", "t2", "t3", "t4", "t0")
            CUZK_LOAD("w", 4) CUZK_ROW4("a", "t2", "t3", "t4", "t0", "t1")
            CUZK_LOAD("w", 5) CUZK_ROWC4("w", "t2", "t3", "t4", "t0", "t1") CUZK_REDUCE("t2", "t3", "t4", "t0", "t1")
            CUZK_LOAD("w", 6) CUZK_ROW4("a", "t3", "t4", "t0", "t1", "t2")
            CUZK_LOAD("w", 7) CUZK_ROWC4("w", "t3", "t4", "t0", "t1", "t2") CUZK_REDUCE("t3", "t4", "t0", "t1", "t2")
            : [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [t4] "=&r"(t4)
            : [a] "r"(a), [w] "r"(w), [p] "r"(TABLE.word)
            : "rax", "rcx", "rdx", "cc", "memory");
        r[0] = t4, r[1] = t0, r[2] = t1, r[3] = t2;
    }

    /// r[0..8) = a * b.  r must not overlap a or b.
    static CUZK_FN_INLINE void mul_wide(u64* r, const u64* a, const u64* b) {
        u64 t0, t1, t2, t3, t4;
        asm(CUZK_LOAD("b", 0) CUZK_FIRST4("a", "t0", "t1", "t2", "t3", "t4") CUZK_STORE(0, "t0")
            CUZK_LOAD("b", 1) CUZK_ZERO("t0") CUZK_ROW4("a", "t1", "t2", "t3", "t4", "t0") CUZK_STORE(1, "t1")
            CUZK_LOAD("b", 2) CUZK_ZERO("t1") CUZK_ROW4("a", "t2", "t3", "t4", "t0", "t1") CUZK_STORE(2, "t2")
            CUZK_LOAD("b", 3) CUZK_ZERO("t2") CUZK_ROW4("a", "t3", "t4", "t0", "t1", "t2") CUZK_STORE(3, "t3")
            : [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [t4] "=&r"(t4)
            : [a] "r"(a), [b] "r"(b), [r] "r"(r)
            : "rax", "rcx", "rdx", "cc", "memory");
        r[4] = t4, r[5] = t0, r[6] = t1, r[7] = t2;
    }

    /// t / R in [0, 2p) for t < R p, 8 limbs.
    static CUZK_FN_INLINE void reduce_wide(u64* r, const u64* t) {
        u64 t0, t1, t2, t3, t4;
        asm(CUZK_LOW(0, "t0") CUZK_LOW(1, "t1") CUZK_LOW(2, "t2") CUZK_LOW(3, "t3")
            CUZK_ZERO("t4") CUZK_REDUCE("t0", "t1", "t2", "t3", "t4")
            CUZK_ZERO("t0") CUZK_REDUCE("t1", "t2", "t3", "t4", "t0")
            CUZK_ZERO("t1") CUZK_REDUCE("t2", "t3", "t4", "t0", "t1")
            CUZK_ZERO("t2") CUZK_REDUCE("t3", "t4", "t0", "t1", "t2")
            "add 8*4(%[t]), %[t4]\n\t" CUZK_HIGH(5, "t0") CUZK_HIGH(6, "t1") CUZK_HIGH(7, "t2")
            : [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [t4] "=&r"(t4)
            : [t] "r"(t), [p] "r"(TABLE.word)
            : "rax", "rcx", "rdx", "cc", "memory");
        r[0] = t4, r[1] = t0, r[2] = t1, r[3] = t2;
    }
#undef CUZK_REDUCE
#undef CUZK_STEP
};

template <class M> struct Adx64<6, M> {
    static constexpr AdxTable<6, M> TABLE{};

#define CUZK_REDUCE(u0, u1, u2, u3, u4, u5, u6) CUZK_QUOTIENT(6, u0) CUZK_ROW6("p", u0, u1, u2, u3, u4, u5, u6)
#define CUZK_STEP(k, u0, u1, u2, u3, u4, u5, u6) CUZK_LOAD("b", k) CUZK_ROW6("a", u0, u1, u2, u3, u4, u5, u6) CUZK_REDUCE(u0, u1, u2, u3, u4, u5, u6)
    /// a * b / R in [0, 2p) for a, b < p.
    static CUZK_FN_INLINE void mul(u64* r, const u64* a, const u64* b) {
        u64 t0, t1, t2, t3, t4, t5, t6;
        asm(CUZK_LOAD("b", 0) CUZK_FIRST6("a", "t0", "t1", "t2", "t3", "t4", "t5", "t6")
            CUZK_REDUCE("t0", "t1", "t2", "t3", "t4", "t5", "t6")
            CUZK_STEP(1, "t1", "t2", "t3", "t4", "t5", "t6", "t0")
            CUZK_STEP(2, "t2", "t3", "t4", "t5", "t6", "t0", "t1")
            CUZK_STEP(3, "t3", "t4", "t5", "t6", "t0", "t1", "t2")
            CUZK_STEP(4, "t4", "t5", "t6", "t0", "t1", "t2", "t3")
            CUZK_STEP(5, "t5", "t6", "t0", "t1", "t2", "t3", "t4")
            : [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [t4] "=&r"(t4), [t5] "=&r"(t5), [t6] "=&r"(t6)
            : [a] "r"(a), [b] "r"(b), [p] "r"(TABLE.word)
            : "rax", "rcx", "rdx", "cc", "memory");
        r[0] = t6, r[1] = t0, r[2] = t1, r[3] = t2, r[4] = t3, r[5] = t4;
    }

    /// (a * b + c * d) / R in [0, 2p) for a, b, c, d < p; two spare bits.  w: b[0], d[0], b[1], d[1], ..., c[0], c[1], ...
    static CUZK_FN_INLINE void mul_add2(u64* r, const u64* a, const u64* w) {
        u64 t0, t1, t2, t3, t4, t5, t6;
        asm(CUZK_LOAD("w", 0) CUZK_FIRST6("a", "t0", "t1", "t2", "t3", "t4", "t5", "t6") "xor %%eax, %%eax\n\t"
            CUZK_LOAD("w", 1) CUZK_ROWC6("w", "t0", "t1", "t2", "t3", "t4", "t5", "t6") CUZK_REDUCE("t0", "t1", "t2", "t3", "t4", "t5", "t6")
            CUZK_LOAD("w", 2) CUZK_ROW6("a", "t1", "t2", "t3", "t4", "t5", "t6", "t0")
            CUZK_LOAD("w", 3) CUZK_ROWC6("w", "t1", "t2", "t3", "t4", "t5", "t6", "t0") CUZK_REDUCE("t1", "t2", "t3", "t4", "t5", "t6", "t0")
            CUZK_LOAD("w", 4) CUZK_ROW6("a", "t2", "t3", "t4", "t5", "t6", "t0", "t1")
            CUZK_LOAD("w", 5) CUZK_ROWC6("w", "t2", "t3", "t4", "t5", "t6", "t0", "t1") CUZK_REDUCE("t2", "t3", "t4", "t5", "t6", "t0", "t1")
            CUZK_LOAD("w", 6) CUZK_ROW6("a", "t3", "t4", "t5", "t6", "t0", "t1", "t2")
            CUZK_LOAD("w", 7) CUZK_ROWC6("w", "t3", "t4", "t5", "t6", "t0", "t1", "t2") CUZK_REDUCE("t3", "t4", "t5", "t6", "t0", "t1", "t2")
            CUZK_LOAD("w", 8) CUZK_ROW6("a", "t4", "t5", "t6", "t0", "t1", "t2", "t3")
            CUZK_LOAD("w", 9) CUZK_ROWC6("w", "t4", "t5", "t6", "t0", "t1", "t2", "t3") CUZK_REDUCE("t4", "t5", "t6", "t0", "t1", "t2", "t3")
            CUZK_LOAD("w", 10) CUZK_ROW6("a", "t5", "t6", "t0", "t1", "t2", "t3", "t4")
            CUZK_LOAD("w", 11) CUZK_ROWC6("w", "t5", "t6", "t0", "t1", "t2", "t3", "t4") CUZK_REDUCE("t5", "t6", "t0", "t1", "t2", "t3", "t4")
            : [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [t4] "=&r"(t4), [t5] "=&r"(t5), [t6] "=&r"(t6)
            : [a] "r"(a), [w] "r"(w), [p] "r"(TABLE.word)
            : "rax", "rcx", "rdx", "cc", "memory");
        r[0] = t6, r[1] = t0, r[2] = t1, r[3] = t2, r[4] = t3, r[5] = t4;
    }

    /// r[0..12) = a * b.  r must not overlap a or b.
    static CUZK_FN_INLINE void mul_wide(u64* r, const u64* a, const u64* b) {
        u64 t0, t1, t2, t3, t4, t5, t6;
        asm(CUZK_LOAD("b", 0) CUZK_FIRST6("a", "t0", "t1", "t2", "t3", "t4", "t5", "t6") CUZK_STORE(0, "t0")
            CUZK_LOAD("b", 1) CUZK_ZERO("t0") CUZK_ROW6("a", "t1", "t2", "t3", "t4", "t5", "t6", "t0") CUZK_STORE(1, "t1")
            CUZK_LOAD("b", 2) CUZK_ZERO("t1") CUZK_ROW6("a", "t2", "t3", "t4", "t5", "t6", "t0", "t1") CUZK_STORE(2, "t2")
            CUZK_LOAD("b", 3) CUZK_ZERO("t2") CUZK_ROW6("a", "t3", "t4", "t5", "t6", "t0", "t1", "t2") CUZK_STORE(3, "t3")
            CUZK_LOAD("b", 4) CUZK_ZERO("t3") CUZK_ROW6("a", "t4", "t5", "t6", "t0", "t1", "t2", "t3") CUZK_STORE(4, "t4")
            CUZK_LOAD("b", 5) CUZK_ZERO("t4") CUZK_ROW6("a", "t5", "t6", "t0", "t1", "t2", "t3", "t4") CUZK_STORE(5, "t5")
            : [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [t4] "=&r"(t4), [t5] "=&r"(t5), [t6] "=&r"(t6)
            : [a] "r"(a), [b] "r"(b), [r] "r"(r)
            : "rax", "rcx", "rdx", "cc", "memory");
        r[6] = t6, r[7] = t0, r[8] = t1, r[9] = t2, r[10] = t3, r[11] = t4;
    }

    /// t / R in [0, 2p) for t < R p, 12 limbs.
    static CUZK_FN_INLINE void reduce_wide(u64* r, const u64* t) {
        u64 t0, t1, t2, t3, t4, t5, t6;
        asm(CUZK_LOW(0, "t0") CUZK_LOW(1, "t1") CUZK_LOW(2, "t2") CUZK_LOW(3, "t3") CUZK_LOW(4, "t4") CUZK_LOW(5, "t5")
            CUZK_ZERO("t6") CUZK_REDUCE("t0", "t1", "t2", "t3", "t4", "t5", "t6")
            CUZK_ZERO("t0") CUZK_REDUCE("t1", "t2", "t3", "t4", "t5", "t6", "t0")
            CUZK_ZERO("t1") CUZK_REDUCE("t2", "t3", "t4", "t5", "t6", "t0", "t1")
            CUZK_ZERO("t2") CUZK_REDUCE("t3", "t4", "t5", "t6", "t0", "t1", "t2")
            CUZK_ZERO("t3") CUZK_REDUCE("t4", "t5", "t6", "t0", "t1", "t2", "t3")
            CUZK_ZERO("t4") CUZK_REDUCE("t5", "t6", "t0", "t1", "t2", "t3", "t4")
            "add 8*6(%[t]), %[t6]\n\t" CUZK_HIGH(7, "t0") CUZK_HIGH(8, "t1") CUZK_HIGH(9, "t2") CUZK_HIGH(10, "t3") CUZK_HIGH(11, "t4")
            : [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [t4] "=&r"(t4), [t5] "=&r"(t5), [t6] "=&r"(t6)
            : [t] "r"(t), [p] "r"(TABLE.word)
            : "rax", "rcx", "rdx", "cc", "memory");
        r[0] = t6, r[1] = t0, r[2] = t1, r[3] = t2, r[4] = t3, r[5] = t4;
    }
#undef CUZK_REDUCE
#undef CUZK_STEP
};

}  // namespace cuzk

#endif
