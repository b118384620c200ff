// Ten word primitives: the only inline PTX of the project, each beside its C twin.
//
// A carry chain is a run of calls that share one Carry object.  On the GPU the carry lives in the CC register, the
// object is empty, and `asm volatile` keeps the order; no two chains may overlap in time.  On a host the object holds
// the carry (or borrow) bit explicitly, so a chain that forgets or misorders a link gives a different answer there.
//
// mad_lo_cc / madc_hi_cc on the same operands fuse into one IMAD.WIDE on sm_80 and later (mad.wide with an addend does
// not: it becomes IMAD.WIDE and two IADD3), which is why products are written as such pairs.
#pragma once
#include "platform.cuh"

namespace cuzk {

/// Type with twice the bits, signed twin and half product for each limb type.
template <class L> struct WordTraits;
template <> struct WordTraits<u8> { using Wide = u16; using Signed = i8; using SignedWide = i16; };
template <> struct WordTraits<u32> { using Wide = u64; using Signed = i32; using SignedWide = i64; };
#if !defined(CUZK_TARGET_CUDA)
template <> struct WordTraits<u64> {
    __extension__ using Wide = unsigned __int128;
    using Signed = i64;
    __extension__ using SignedWide = __int128;
};
#endif

#if defined(CUZK_TARGET_CUDA)

/// Empty: the bit is in CC.
template <class L> struct Carry {};

#define CUZK_PTX2(name, ptx)                                                    \
    CUZK_FN u32 name(u32 a, u32 b, Carry<u32>&) {                               \
        u32 r;                                                                  \
        asm volatile(ptx " %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));            \
        return r;                                                               \
    }
#define CUZK_PTX3(name, ptx)                                                    \
    CUZK_FN u32 name(u32 a, u32 b, u32 c, Carry<u32>&) {                        \
        u32 r;                                                                  \
        asm volatile(ptx " %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); \
        return r;                                                               \
    }
CUZK_PTX2(add_cc, "add.cc.u32")
CUZK_PTX2(addc_cc, "addc.cc.u32")
CUZK_PTX2(addc, "addc.u32")
CUZK_PTX2(sub_cc, "sub.cc.u32")
CUZK_PTX2(subc_cc, "subc.cc.u32")
CUZK_PTX2(subc, "subc.u32")
CUZK_PTX3(mad_lo_cc, "mad.lo.cc.u32")
CUZK_PTX3(madc_lo_cc, "madc.lo.cc.u32")
CUZK_PTX3(madc_hi_cc, "madc.hi.cc.u32")
CUZK_PTX3(madc_hi, "madc.hi.u32")
#undef CUZK_PTX2
#undef CUZK_PTX3

#else

/// The carry or borrow bit of the chain, 0 or 1.
template <class L> struct Carry {
    L bit = 0;
};

/// a + b; starts a chain.
template <class L> CUZK_FN_INLINE L add_cc(L a, L b, Carry<L>& c) {
    L s = L(a + b);
    c.bit = L(s < a);
    return s;
}
/// a + b + carry; continues a chain.
template <class L> CUZK_FN_INLINE L addc_cc(L a, L b, Carry<L>& c) {
    using W = typename WordTraits<L>::Wide;
    W s = W(W(a) + b + c.bit);
    c.bit = L(s >> (8 * sizeof(L)));
    return L(s);
}
/// a + b + carry; ends a chain.
template <class L> CUZK_FN_INLINE L addc(L a, L b, Carry<L>& c) { return L(a + b + c.bit); }
/// a - b; starts a chain of borrows.
template <class L> CUZK_FN_INLINE L sub_cc(L a, L b, Carry<L>& c) {
    c.bit = L(a < b);
    return L(a - b);
}
/// a - b - borrow; continues a chain.
template <class L> CUZK_FN_INLINE L subc_cc(L a, L b, Carry<L>& c) {
    using W = typename WordTraits<L>::Wide;
    W d = W(W(a) - b - c.bit);
    c.bit = L((d >> (8 * sizeof(L))) & 1);
    return L(d);
}
/// a - b - borrow; ends a chain.
template <class L> CUZK_FN_INLINE L subc(L a, L b, Carry<L>& c) { return L(a - b - c.bit); }
/// low(a * b) + d; starts a chain.
template <class L> CUZK_FN_INLINE L mad_lo_cc(L a, L b, L d, Carry<L>& c) {
    using W = typename WordTraits<L>::Wide;
    return add_cc(L(W(a) * b), d, c);
}
/// low(a * b) + d + carry; continues a chain.
template <class L> CUZK_FN_INLINE L madc_lo_cc(L a, L b, L d, Carry<L>& c) {
    using W = typename WordTraits<L>::Wide;
    return addc_cc(L(W(a) * b), d, c);
}
/// high(a * b) + d + carry; continues a chain.
template <class L> CUZK_FN_INLINE L madc_hi_cc(L a, L b, L d, Carry<L>& c) {
    using W = typename WordTraits<L>::Wide;
    return addc_cc(L((W(a) * b) >> (8 * sizeof(L))), d, c);
}
/// high(a * b) + d + carry; ends a chain.
template <class L> CUZK_FN_INLINE L madc_hi(L a, L b, L d, Carry<L>& c) {
    using W = typename WordTraits<L>::Wide;
    return addc(L((W(a) * b) >> (8 * sizeof(L))), d, c);
}

#if defined(__x86_64__)
// GCC 12 makes one adc or sbb of these, but not of the portable forms above.
CUZK_FN_INLINE u64 add_carry64(u64 a, u64 b, u64 in, u64& out) {
    unsigned long long s;
    out = __builtin_ia32_addcarryx_u64((unsigned char)in, a, b, &s);
    return s;
}
CUZK_FN_INLINE u64 sub_borrow64(u64 a, u64 b, u64 in, u64& out) {
    unsigned long long d;
    out = __builtin_ia32_sbb_u64((unsigned char)in, a, b, &d);
    return d;
}
template <> CUZK_FN_INLINE u64 add_cc(u64 a, u64 b, Carry<u64>& c) { return add_carry64(a, b, 0, c.bit); }
template <> CUZK_FN_INLINE u64 addc_cc(u64 a, u64 b, Carry<u64>& c) { return add_carry64(a, b, c.bit, c.bit); }
template <> CUZK_FN_INLINE u64 sub_cc(u64 a, u64 b, Carry<u64>& c) { return sub_borrow64(a, b, 0, c.bit); }
template <> CUZK_FN_INLINE u64 subc_cc(u64 a, u64 b, Carry<u64>& c) { return sub_borrow64(a, b, c.bit, c.bit); }
template <> CUZK_FN_INLINE u64 addc(u64 a, u64 b, Carry<u64>& c) {
    u64 ignored;
    return add_carry64(a, b, c.bit, ignored);
}
template <> CUZK_FN_INLINE u64 subc(u64 a, u64 b, Carry<u64>& c) {
    u64 ignored;
    return sub_borrow64(a, b, c.bit, ignored);
}
#endif

#endif

/// Low half of a * b (no carry involved: plain C on every target).
template <class L> CUZK_FN_INLINE L mul_lo(L a, L b) {
    using W = typename WordTraits<L>::Wide;
    return L(W(a) * b);
}
/// High half of a * b.
template <class L> CUZK_FN_INLINE L mul_hi(L a, L b) {
    using W = typename WordTraits<L>::Wide;
    return L((W(a) * b) >> (8 * sizeof(L)));
}

/// w, kept in a general register on x86-64: GCC would otherwise gather results limb by limb into vectors, which costs
/// more than the arithmetic.
template <class L> CUZK_FN_INLINE L scalar(L w) {
#if defined(__x86_64__) && !defined(CUZK_TARGET_CUDA)
    if constexpr (sizeof(L) == 8) asm("" : "+r"(w));
#endif
    return w;
}

/// mask ? a : b, for a mask of all ones or zero.
template <class L> CUZK_FN_INLINE L select_limb(L mask, L a, L b) { return scalar(L(b ^ ((b ^ a) & mask))); }

}  // namespace cuzk
