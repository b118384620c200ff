/// Kernels that expose the arithmetic itself, element by element, for tests and tools; and batch inversion.
#pragma once

#include "args.cuh"
#include "curve.cuh"
#include "points.cuh"

namespace cuzk {

// ---------------------------------------------------------------- single operations

enum FieldOpcode : u64 {
    FIELD_ADD = 0,
    FIELD_SUB = 1,
    FIELD_NEG = 2,
    FIELD_DBL = 3,
    FIELD_MUL = 4,
    FIELD_SQR = 5,
    FIELD_INVERSE = 6,
    FIELD_TO_MONT = 7,
    FIELD_FROM_MONT = 8,
    FIELD_CNEG = 9,         ///< -a if b != 0, else a
    FIELD_MUL_ADD2 = 10,    ///< a b + c d
    FIELD_IS_REDUCED = 11,  ///< 1 or 0 as a plain number; a may be anything
    FIELD_EQUAL = 12,       ///< a == b: 1 or 0 as a plain number
    NUM_FIELD_OPS
};

/// The element type that tests use for parameters P: this build's limbs, but 8-bit ones for the tiny fields.
template <class P> struct TestFieldOf { using type = Field<P>; };
#if !defined(CUZK_TARGET_CUDA)
#define CUZK_TINY_FIELD_TYPE(P) template <> struct TestFieldOf<P> { using type = Field<P, u8>; };
CUZK_TINY_FIELDS(CUZK_TINY_FIELD_TYPE)
#undef CUZK_TINY_FIELD_TYPE
#endif
template <class P> using TestField = typename TestFieldOf<P>::type;

/// An element in memory: as it is, or padded with zeros to one 64-bit limb.
template <class F, bool Padded = sizeof(F) % 8 != 0> struct FieldSlot {
    F value;
    static CUZK_FN FieldSlot of(const F& v) { return {v}; }
};
template <class F> struct alignas(8) FieldSlot<F, true> {
    F value;
    u8 padding[8 - sizeof(F)];
    static CUZK_FN FieldSlot of(const F& v) {
        FieldSlot s = {};
        s.value = v;
        return s;
    }
};
template <class P> using TestSlot = FieldSlot<TestField<P>>;

/// The number 0 or 1, not in Montgomery form.
template <class F> CUZK_FN F plain_bool(bool b) {
    F r = F::zero();
    r.limb[0] = b ? 1 : 0;
    return r;
}
template <class F> struct PlainBool {
    static CUZK_FN F of(bool b) { return plain_bool<F>(b); }
};
template <class B> struct PlainBool<Fp2<B>> {
    static CUZK_FN Fp2<B> of(bool b) { return {plain_bool<B>(b), B::zero()}; }
};

/// One operation; every operand < p unless the opcode says otherwise.  Sets known to false for an unknown opcode.
template <class F>
CUZK_FN F apply_field_op(u64 op, const F& a, const F& b, const F& c, const F& d, bool& known) {
    switch (op) {
        case FIELD_ADD: return a + b;
        case FIELD_SUB: return a - b;
        case FIELD_NEG: return -a;
        case FIELD_DBL: return a.dbl();
        case FIELD_MUL: return a * b;
        case FIELD_SQR: return a.sqr();
        case FIELD_INVERSE: return a.inverse();
        case FIELD_TO_MONT: return a.to_mont();
        case FIELD_FROM_MONT: return a.from_mont();
        case FIELD_CNEG: return a.cneg(!b.is_zero());
        case FIELD_MUL_ADD2: return F::mul_add2(a, b, c, d);
        case FIELD_IS_REDUCED: return PlainBool<F>::of(a.is_reduced());
        case FIELD_EQUAL: return PlainBool<F>::of(a == b);
        default: known = false; return F::zero();
    }
}

#define FIELD_OP_ARGS(F)                                                                                     \
    F(const TestSlot<P>*, a) F(const TestSlot<P>*, b) F(const TestSlot<P>*, c) F(const TestSlot<P>*, d)      \
    F(TestSlot<P>*, dst) F(u64, op) F(u64, n)
CUZK_ARGS_T1(FieldOpArgs, P, FIELD_OP_ARGS)
CUZK_ARGS_T1(Fp2OpArgs, P, FIELD_OP_ARGS)

/// dst[i] = op(a[i], b[i], c[i], d[i]) for i < n.  dst may be any of the operands.
template <class Ex, class P> CUZK_FN void field_op(Ex& ex, const FieldOpArgs<P>& a) {
    for_range(ex, a.n, [&](u64 i) {
        bool known = true;
        const auto r = apply_field_op(a.op, a.a[i].value, a.b[i].value, a.c[i].value, a.d[i].value, known);
        if (!known) ex.fault(FAULT_BAD_INDEX, a.op);
        a.dst[i] = TestSlot<P>::of(r);
    });
}

/// The same over F_p[u] / (u^2 + 1): element i is slots 2i and 2i + 1.
template <class Ex, class P> CUZK_FN void fp2_op(Ex& ex, const Fp2OpArgs<P>& a) {
    using E = Fp2<TestField<P>>;
    const auto at = [](const TestSlot<P>* s, u64 i) { return E{s[2 * i].value, s[2 * i + 1].value}; };
    for_range(ex, a.n, [&](u64 i) {
        bool known = true;
        const E r = apply_field_op(a.op, at(a.a, i), at(a.b, i), at(a.c, i), at(a.d, i), known);
        if (!known) ex.fault(FAULT_BAD_INDEX, a.op);
        a.dst[2 * i] = TestSlot<P>::of(r.c0);
        a.dst[2 * i + 1] = TestSlot<P>::of(r.c1);
    });
}

// ---------------------------------------------------------------- word primitives

enum WordOpcode : u64 {
    WORD_ADD_CC = 0,
    WORD_ADDC_CC = 1,
    WORD_ADDC = 2,
    WORD_SUB_CC = 3,
    WORD_SUBC_CC = 4,
    WORD_SUBC = 5,
    WORD_MAD_LO_CC = 6,
    WORD_MADC_LO_CC = 7,
    WORD_MADC_HI_CC = 8,
    WORD_MADC_HI = 9,
    NUM_WORD_OPS
};

#define WORD_OP_ARGS(F)                                                                                      \
    F(const u64*, a) F(const u64*, b) F(const u64*, d) F(const u64*, carry_in) F(u64*, dst) F(u64*, carry_out) \
    F(u64, op) F(u64, n)
CUZK_ARGS_T1(WordOpArgs, L, WORD_OP_ARGS)

/// One link of a chain whose carry so far is `carry`; OUT: the link passes a carry on.  The three steps stand in one
/// straight line of code, because the GPU's carry register does not survive a branch.
template <bool OUT, class L, class Link> CUZK_FN_INLINE L add_link(L carry, L& out, Link link) {
    Carry<L> c;
    (void)add_cc(L(~L(0)), carry, c);  // carries exactly if carry is 1
    const L r = link(c);
    if constexpr (OUT) out = addc(L(0), L(0), c);
    return r;
}
template <bool OUT, class L, class Link> CUZK_FN_INLINE L sub_link(L borrow, L& out, Link link) {
    Carry<L> c;
    (void)sub_cc(L(0), borrow, c);  // borrows exactly if borrow is 1
    const L r = link(c);
    if constexpr (OUT) out = L(subc(L(0), L(0), c) & 1);
    return r;
}

/// dst[i], carry_out[i] = one primitive on words of type L, with carry_in[i] (0 or 1) as the chain's carry or borrow.
/// Primitives that end a chain leave carry_out 0; those that start one ignore carry_in.
template <class Ex, class L> CUZK_FN void word_op(Ex& ex, const WordOpArgs<L>& w) {
    for_range(ex, w.n, [&](u64 i) {
        const L a = L(w.a[i]), b = L(w.b[i]), d = L(w.d[i]), in = L(w.carry_in[i]);
        L r = 0, out = 0;
        switch (w.op) {
            case WORD_ADD_CC: r = add_link<true>(in, out, [&](Carry<L>& c) { return add_cc(a, b, c); }); break;
            case WORD_ADDC_CC: r = add_link<true>(in, out, [&](Carry<L>& c) { return addc_cc(a, b, c); }); break;
            case WORD_ADDC: r = add_link<false>(in, out, [&](Carry<L>& c) { return addc(a, b, c); }); break;
            case WORD_SUB_CC: r = sub_link<true>(in, out, [&](Carry<L>& c) { return sub_cc(a, b, c); }); break;
            case WORD_SUBC_CC: r = sub_link<true>(in, out, [&](Carry<L>& c) { return subc_cc(a, b, c); }); break;
            case WORD_SUBC: r = sub_link<false>(in, out, [&](Carry<L>& c) { return subc(a, b, c); }); break;
            case WORD_MAD_LO_CC: r = add_link<true>(in, out, [&](Carry<L>& c) { return mad_lo_cc(a, b, d, c); }); break;
            case WORD_MADC_LO_CC:
                r = add_link<true>(in, out, [&](Carry<L>& c) { return madc_lo_cc(a, b, d, c); });
                break;
            case WORD_MADC_HI_CC:
                r = add_link<true>(in, out, [&](Carry<L>& c) { return madc_hi_cc(a, b, d, c); });
                break;
            case WORD_MADC_HI: r = add_link<false>(in, out, [&](Carry<L>& c) { return madc_hi(a, b, d, c); }); break;
            default: ex.fault(FAULT_BAD_INDEX, w.op); break;
        }
        w.dst[i] = r;
        w.carry_out[i] = out;
    });
}

// ---------------------------------------------------------------- batch inversion

#define BATCH_INVERSE_ARGS(F) F(const Fr*, src) F(Fr*, dst) F(u64, n)
CUZK_ARGS_T1(BatchInverseArgs, Fr, BATCH_INVERSE_ARGS)

/// dst[i] = 1 / src[i], and 0 for 0.  dst holds the products in between, so it must not overlap src.
/// Cost: 3M an element and one inversion a thread: choose the grid so that a thread has tens of elements.
/// Source: Montgomery 1987, section 10.3.1.
template <class Ex, class Fr> CUZK_FN void batch_inverse(Ex& ex, const BatchInverseArgs<Fr>& a) {
    const Share mine = my_share(ex, a.n);
    Fr product = Fr::one();
    for (u64 k = 0; k < mine.count; ++k) {
        const u64 i = mine.begin + k * mine.stride;
        const Fr v = a.src[i];
        a.dst[i] = product;
        if (!v.is_zero()) product *= v;
    }
    Fr inverse = product.inverse();
    for (u64 k = mine.count; k-- > 0;) {
        const u64 i = mine.begin + k * mine.stride;
        const Fr v = a.src[i];
        if (v.is_zero()) {
            a.dst[i] = Fr::zero();
            continue;
        }
        a.dst[i] = inverse * a.dst[i];
        inverse *= v;
    }
}

// X(kernel, Args, max block threads, min blocks per SM)
#define CUZK_BATCH_INVERSE_KERNELS(X, Fr) X(batch_inverse, BatchInverseArgs<Fr>, 128, 2)

// X(kernel, Args, name suffix, max block threads, min blocks per SM)
#define CUZK_FULL_FIELD_MODULE(X)                                                                            \
    X(field_op, FieldOpArgs<bls12_381_fp>, bls12_381_fp, 128, 1)                                             \
    X(field_op, FieldOpArgs<bls12_381_fr>, bls12_381_fr, 128, 1)                                             \
    X(field_op, FieldOpArgs<bn254_fp>, bn254_fp, 128, 1)                                                     \
    X(field_op, FieldOpArgs<bn254_fr>, bn254_fr, 128, 1)                                                     \
    X(field_op, FieldOpArgs<toy_fp>, toy_fp, 128, 1)                                                         \
    X(field_op, FieldOpArgs<toy_fr>, toy_fr, 128, 1)                                                         \
    X(field_op, FieldOpArgs<secp256k1_fp>, secp256k1_fp, 128, 1)                                             \
    X(fp2_op, Fp2OpArgs<bls12_381_fp>, bls12_381_fp, 128, 1)                                                 \
    X(fp2_op, Fp2OpArgs<bn254_fp>, bn254_fp, 128, 1)                                                         \
    X(fp2_op, Fp2OpArgs<toy_fp>, toy_fp, 128, 1)                                                             \
    X(word_op, WordOpArgs<u32>, u32, 128, 1)
#if defined(CUZK_TARGET_CUDA)
#define CUZK_FIELDS_MODULE(X) CUZK_FULL_FIELD_MODULE(X)
#else
#define CUZK_FIELDS_MODULE(X)                                                                                \
    CUZK_FULL_FIELD_MODULE(X)                                                                                \
    X(field_op, FieldOpArgs<tiny_257>, tiny_257, 128, 1)                                                     \
    X(field_op, FieldOpArgs<tiny_4093>, tiny_4093, 128, 1)                                                   \
    X(field_op, FieldOpArgs<tiny_32749>, tiny_32749, 128, 1)                                                 \
    X(field_op, FieldOpArgs<tiny_65521>, tiny_65521, 128, 1)                                                 \
    X(fp2_op, Fp2OpArgs<tiny_4093>, tiny_4093, 128, 1)                                                       \
    X(fp2_op, Fp2OpArgs<tiny_65521>, tiny_65521, 128, 1)                                                     \
    X(word_op, WordOpArgs<u8>, u8, 128, 1)                                                                   \
    X(word_op, WordOpArgs<u64>, u64, 128, 1)
#endif

}  // namespace cuzk
