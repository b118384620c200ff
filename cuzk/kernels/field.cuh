// Prime fields in Montgomery form: one template for every modulus and limb type.
//
// Params P (generated): BITS, modulus(i) / r(i) / r2(i) (64-bit limbs of p, R mod p, R^2 mod p), NINV64 = -p^-1 mod 2^64,
// and log2 R = WORD_BITS * WORDS.  Every element is < p before and after every function.
#pragma once
#include "field_inverse.cuh"
#include "field_mul32.cuh"
#include "field_mul64.cuh"
#include "generated/constants.cuh"

namespace cuzk {

/// Which counters an operation belongs to: base field, scalar field, or none (fields that only tests use).
enum class FieldRole { none, base, scalar };
template <class P> struct RoleOf { static constexpr FieldRole value = FieldRole::none; };
template <> struct RoleOf<bls12_381_fp> { static constexpr FieldRole value = FieldRole::base; };
template <> struct RoleOf<bls12_381_fr> { static constexpr FieldRole value = FieldRole::scalar; };
template <> struct RoleOf<bn254_fp> { static constexpr FieldRole value = FieldRole::base; };
template <> struct RoleOf<bn254_fr> { static constexpr FieldRole value = FieldRole::scalar; };
template <> struct RoleOf<toy_fp> { static constexpr FieldRole value = FieldRole::base; };
template <> struct RoleOf<toy_fr> { static constexpr FieldRole value = FieldRole::scalar; };

template <class P> CUZK_FN_INLINE void count_field([[maybe_unused]] CounterId base, [[maybe_unused]] CounterId scalar) {
    if constexpr (RoleOf<P>::value == FieldRole::base) CUZK_COUNT(base);
    if constexpr (RoleOf<P>::value == FieldRole::scalar) CUZK_COUNT(scalar);
}

#if defined(CUZK_TARGET_CUDA)
/// -p^-1 mod 2^32 where the compiler cannot see it.  A literal 0xffffffff (p = 1 mod 2^32) would turn the quotient into a
/// negation, which ptxas carries into the products by the modulus: they then no longer fuse into wide multiplies.
template <class P> __device__ __constant__ u32 hidden_ninv = P::NINV32;
#endif

/// The modulus as limbs of type L.
template <class P, class L> struct ModulusLimbs {
    static constexpr int BITS = 8 * int(sizeof(L));
    static CUZK_CONST_FN L of(u64 word, int i) { return L(word >> (BITS * (i % (64 / BITS)))); }
    static CUZK_CONST_FN L limb(int i) { return of(P::modulus(i * BITS / 64), i); }
    static CUZK_CONST_FN L one(int i) { return of(P::r(i * BITS / 64), i); }
    static CUZK_CONST_FN L r2(int i) { return of(P::r2(i * BITS / 64), i); }
    static CUZK_CONST_FN L ninv() { return L(P::NINV64); }
    /// The same for products on the GPU.
    static CUZK_FN_INLINE L quotient_factor() {
#if defined(CUZK_TARGET_CUDA)
        if constexpr (P::NINV32 == 0xffffffffu) return hidden_ninv<P>;
#endif
        return ninv();
    }
};

/// log2 of the Montgomery radix.
template <class P> inline constexpr int MONT_BITS = P::WORD_BITS * P::WORDS;

/// Bytes to align an element to: full vectors where its size is a multiple of them, else one 64-bit limb; elements of
/// the tiny test fields, which are shorter than that, only live in registers.
template <class P> inline constexpr int FIELD_ALIGN =
    MONT_BITS<P> % (8 * VECTOR_ALIGN_BYTES) == 0 ? VECTOR_ALIGN_BYTES : MONT_BITS<P> % 64 == 0 ? 8 : P::WORD_BITS / 8;

/// The multiplication kernels for a limb type.
template <class P, class L> struct MulKernel {
    using type = EvenOdd<L, MONT_BITS<P> / (8 * int(sizeof(L))), P::SPARE_BITS, ModulusLimbs<P, L>>;
};
#if !defined(CUZK_TARGET_CUDA)
template <class P> struct MulKernel<P, u64> {
    using type = Cios64<MONT_BITS<P> / 64, P::SPARE_BITS, ModulusLimbs<P, u64>>;
};
#endif

template <class P, class L = limb_t> struct alignas(FIELD_ALIGN<P>) Field {
    using Params = P;
    using Limb = L;
    using M = ModulusLimbs<P, L>;
    static constexpr int N = MONT_BITS<P> / (8 * int(sizeof(L)));
    static constexpr int SPARE_BITS = P::SPARE_BITS;
    using Kernel = typename MulKernel<P, L>::type;

    L limb[N];

    static CUZK_FN Field zero() {
        Field r;
        CUZK_UNROLL
        for (int i = 0; i < N; ++i) r.limb[i] = 0;
        return r;
    }
    /// R mod p.
    static CUZK_FN Field one() {
        Field r;
        CUZK_UNROLL
        for (int i = 0; i < N; ++i) r.limb[i] = M::one(i);
        return r;
    }

    CUZK_FN bool is_zero() const {
        L acc = 0;
        CUZK_UNROLL
        for (int i = 0; i < N; ++i) acc = L(acc | limb[i]);
        return acc == 0;
    }
    CUZK_FN bool operator==(const Field& o) const {
        L acc = 0;
        CUZK_UNROLL
        for (int i = 0; i < N; ++i) acc = L(acc | (limb[i] ^ o.limb[i]));
        return acc == 0;
    }
    CUZK_FN bool operator!=(const Field& o) const { return !(*this == o); }

    /// Is the stored number < p?  The one function that accepts any limbs.
    CUZK_FN_LIMBS bool is_reduced() const {
        Carry<L> c;
        (void)sub_cc(limb[0], M::limb(0), c);
        CUZK_UNROLL
        for (int i = 1; i < N; ++i) (void)subc_cc(limb[i], M::limb(i), c);
        return subc(L(0), L(0), c) != 0;
    }

    /// t mod p for t in [0, 2p), `top` being the bit above limb N - 1.
    static CUZK_FN_INLINE Field reduce_once(const L* t, L top) {
        Field s;
        Carry<L> c;
        s.limb[0] = sub_cc(t[0], M::limb(0), c);
        CUZK_UNROLL
        for (int i = 1; i < N; ++i) s.limb[i] = subc_cc(t[i], M::limb(i), c);
        // All ones if t < p, else 0: where top is 1, t - p < p < R borrows from it.
        L keep = SPARE_BITS == 0 ? subc(top, L(0), c) : subc(L(0), L(0), c);
        CUZK_UNROLL
        for (int i = 0; i < N; ++i) s.limb[i] = select_limb(keep, t[i], s.limb[i]);
        return s;
    }

    CUZK_FN_LIMBS Field operator+(const Field& o) const {
        count_field<P>(COUNT_FP_ADD, COUNT_FR_ADD);
        L t[N];
        Carry<L> c;
        t[0] = add_cc(limb[0], o.limb[0], c);
        CUZK_UNROLL
        for (int i = 1; i < N; ++i) t[i] = addc_cc(limb[i], o.limb[i], c);
        L top = SPARE_BITS == 0 ? addc(L(0), L(0), c) : L(0);
        return reduce_once(t, top);
    }
    CUZK_FN_LIMBS Field operator-(const Field& o) const {
        count_field<P>(COUNT_FP_ADD, COUNT_FR_ADD);
        Field r;
        Carry<L> c;
        r.limb[0] = sub_cc(limb[0], o.limb[0], c);
        CUZK_UNROLL
        for (int i = 1; i < N; ++i) r.limb[i] = subc_cc(limb[i], o.limb[i], c);
        L mask = subc(L(0), L(0), c);
        r.limb[0] = scalar(add_cc(r.limb[0], L(M::limb(0) & mask), c));
        CUZK_UNROLL
        for (int i = 1; i < N - 1; ++i) r.limb[i] = scalar(addc_cc(r.limb[i], L(M::limb(i) & mask), c));
        if (N > 1) r.limb[N - 1] = scalar(addc(r.limb[N - 1], L(M::limb(N - 1) & mask), c));
        return r;
    }
    CUZK_FN_LIMBS Field operator-() const {
        count_field<P>(COUNT_FP_ADD, COUNT_FR_ADD);
        L mask = is_zero() ? L(0) : L(~L(0));
        Field r;
        Carry<L> c;
        r.limb[0] = scalar(sub_cc(L(M::limb(0) & mask), limb[0], c));
        CUZK_UNROLL
        for (int i = 1; i < N - 1; ++i) r.limb[i] = scalar(subc_cc(L(M::limb(i) & mask), limb[i], c));
        if (N > 1) r.limb[N - 1] = scalar(subc(L(M::limb(N - 1) & mask), limb[N - 1], c));
        return r;
    }
    /// -a if negate, else a.
    CUZK_FN_LIMBS Field cneg(bool negate) const {
        const Field n = -*this;
        const L mask = negate ? L(~L(0)) : L(0);
        Field r;
        CUZK_UNROLL
        for (int i = 0; i < N; ++i) r.limb[i] = select_limb(mask, n.limb[i], limb[i]);
        return r;
    }
    CUZK_FN Field dbl() const { return *this + *this; }

    /// a * b * R^-1 mod p.
    CUZK_FN Field operator*(const Field& o) const {
        Field r;
        multiply(r, *this, o);
        return r;
    }
    /// a^2 * R^-1 mod p.
    CUZK_FN Field sqr() const {
        Field r;
        square(r, *this);
        return r;
    }
    CUZK_FN Field& operator+=(const Field& o) { return *this = *this + o; }
    CUZK_FN Field& operator-=(const Field& o) { return *this = *this - o; }
    CUZK_FN Field& operator*=(const Field& o) {
        multiply(*this, *this, o);
        return *this;
    }

    /// An unreduced product or a sum of such: a number below 2^(2 * limb bits * N).
    struct Wide {
        L limb[2 * N];

        CUZK_FN_LIMBS Wide& operator+=(const Wide& o) {
            Carry<L> c;
            limb[0] = add_cc(limb[0], o.limb[0], c);
            CUZK_UNROLL
            for (int i = 1; i < 2 * N - 1; ++i) limb[i] = addc_cc(limb[i], o.limb[i], c);
            limb[2 * N - 1] = addc(limb[2 * N - 1], o.limb[2 * N - 1], c);
            return *this;
        }
        /// Wraps modulo 2^(2 * limb bits * N), i.e. gives two's complement.
        CUZK_FN_LIMBS Wide& operator-=(const Wide& o) {
            Carry<L> c;
            limb[0] = sub_cc(limb[0], o.limb[0], c);
            CUZK_UNROLL
            for (int i = 1; i < 2 * N - 1; ++i) limb[i] = subc_cc(limb[i], o.limb[i], c);
            limb[2 * N - 1] = subc(limb[2 * N - 1], o.limb[2 * N - 1], c);
            return *this;
        }
        /// Adds R p to a negative number, which must be above -R p.
        CUZK_FN_LIMBS void make_positive() {
            L mask = L(L(0) - (limb[2 * N - 1] >> (8 * sizeof(L) - 1)));
            Carry<L> c;
            limb[N] = add_cc(limb[N], L(M::limb(0) & mask), c);
            CUZK_UNROLL
            for (int i = 1; i < N - 1; ++i) limb[N + i] = addc_cc(limb[N + i], L(M::limb(i) & mask), c);
            if (N > 1) limb[2 * N - 1] = addc(limb[2 * N - 1], L(M::limb(N - 1) & mask), c);
        }
        /// this / R mod p, for this < R p.
        CUZK_FN_HEAVY Field reduce() const {
            L t[N];
            L top = Kernel::reduce_wide(t, limb);
            return reduce_once(t, top);
        }
    };
    /// a * b without reduction; a and b may be any N-limb numbers.
    static CUZK_FN_HEAVY Wide mul_wide(const Field& a, const Field& b) {
        count_field<P>(COUNT_FP_MUL, COUNT_FR_MUL);
        const Registers x(a), y(b);
        Wide w;
        Kernel::mul_wide(w.limb, x.limb, y.limb);
        return w;
    }
    /// a + b without reduction: the result is below 2p and only fit for mul_wide.  Needs a spare bit.
    static CUZK_FN_LIMBS Field add_lazy(const Field& a, const Field& b) {
        static_assert(SPARE_BITS >= 1, "2p must fit");
        count_field<P>(COUNT_FP_ADD, COUNT_FR_ADD);
        Field r;
        Carry<L> c;
        r.limb[0] = add_cc(a.limb[0], b.limb[0], c);
        CUZK_UNROLL
        for (int i = 1; i < N - 1; ++i) r.limb[i] = addc_cc(a.limb[i], b.limb[i], c);
        if (N > 1) r.limb[N - 1] = addc(a.limb[N - 1], b.limb[N - 1], c);
        return r;
    }

    /// a * b + c * d, one reduction where the modulus has two spare bits.
    static CUZK_FN_HEAVY Field mul_add2(const Field& a, const Field& b, const Field& c, const Field& d) {
        if constexpr (SPARE_BITS >= 2) {
            count_field<P>(COUNT_FP_MUL, COUNT_FR_MUL);
            count_field<P>(COUNT_FP_MUL, COUNT_FR_MUL);
            const Registers w(a), x(b), y(c), z(d);
            L t[N];
            Kernel::mul_add2(t, w.limb, x.limb, y.limb, z.limb);
            return reduce_once(t, 0);
        } else {
            return a * b + c * d;
        }
    }

    /// Standard form (< p) to Montgomery form and back.
    CUZK_FN Field to_mont() const {
        Field r2;
        CUZK_UNROLL
        for (int i = 0; i < N; ++i) r2.limb[i] = M::r2(i);
        return *this * r2;
    }
    CUZK_FN Field from_mont() const {
        Field unit = zero();
        unit.limb[0] = 1;
        return *this * unit;
    }

    /// a^-1, and 0 for 0.  Takes the same time for every a: about 60 to 100 multiplications.
    CUZK_FN_NOINLINE Field inverse() const {
        count_field<P>(COUNT_FP_INV, COUNT_FR_INV);
        Field r;
        Divsteps<L, N, P::BITS, M>::inverse(r.limb, limb);
        return r;
    }

  private:
    /// An operand read from memory once.  On the GPU every use of a limb would otherwise load it again, because the
    /// compiler lets no value in memory live across an `asm volatile`; and two loads of one limb are two operands, which
    /// keeps the products from fusing.  A host reads the operand in place.
#if defined(CUZK_TARGET_CUDA)
    struct Registers {
        L limb[N];
        CUZK_FN_INLINE explicit Registers(const Field& a) {
            CUZK_UNROLL
            for (int i = 0; i < N; ++i) limb[i] = a.limb[i];
        }
    };
#else
    struct Registers {
        const L* limb;
        CUZK_FN_INLINE explicit Registers(const Field& a) : limb(a.limb) {}
    };
#endif

    /// r = a b / R; r may be a or b.
    static CUZK_FN_HEAVY void multiply(Field& r, const Field& a, const Field& b) {
        count_field<P>(COUNT_FP_MUL, COUNT_FR_MUL);
        const Registers x(a), y(b);
        L t[N];
        L top = Kernel::mul(t, x.limb, y.limb);
        r = reduce_once(t, top);
    }
    /// r = a^2 / R; r may be a.
    static CUZK_FN_HEAVY void square(Field& r, const Field& a) {
        count_field<P>(COUNT_FP_SQR, COUNT_FR_SQR);
        const Registers x(a);
        L t[N], top;
        if constexpr (Kernel::OWN_SQUARE) {
            L wide[2 * N];
            Kernel::sqr_wide(wide, x.limb);
            top = Kernel::reduce_wide(t, wide);
        } else {
            top = Kernel::mul(t, x.limb, x.limb);
        }
        r = reduce_once(t, top);
    }
};

}  // namespace cuzk
