// The curves: fields and groups by name.
#pragma once
#include "point.cuh"

namespace cuzk {

/// Reads a field element or an Fp2 element from a generated table of 64-bit limbs, starting at limb `at`.
template <class F> struct FromTable {
    template <class Table> static CUZK_FN F read(Table table, int at) {
        constexpr int PER_WORD = 8 / int(sizeof(typename F::Limb));
        F r;
        CUZK_UNROLL
        for (int i = 0; i < F::N; ++i) {
            r.limb[i] = typename F::Limb(table(at + i / PER_WORD) >> (i % PER_WORD * 8 * int(sizeof(typename F::Limb))));
        }
        return r;
    }
};
template <class B> struct FromTable<Fp2<B>> {
    template <class Table> static CUZK_FN Fp2<B> read(Table table, int at) {
        return {FromTable<B>::read(table, at), FromTable<B>::read(table, at + B::Params::LIMBS64)};
    }
};

/// A group of points on y^2 = x^3 + b.  Coordinate: Fp or Fp2; Constants: generated b and generator.
template <class Coordinate, class Scalar, class Constants> struct Group {
    using F = Coordinate;
    using Fr = Scalar;
    static CUZK_FN F b() {
        return FromTable<F>::read([](int i) { return Constants::b(i); }, 0);
    }
    static CUZK_FN Affine<Group> generator() {
        constexpr int LIMBS64 = int(sizeof(F)) / 8;
        auto table = [](int i) { return Constants::generator(i); };
        return {FromTable<F>::read(table, 0), FromTable<F>::read(table, LIMBS64)};
    }
};

#define CUZK_DEFINE_CURVE(name)                                        \
    struct Curve_##name {                                              \
        using Fp = Field<name##_fp>;                                   \
        using Fr = Field<name##_fr>;                                   \
        using Fp2 = ::cuzk::Fp2<Fp>;                                   \
        using G1 = Group<Fp, Fr, name##_g1_constants>;                 \
        using G2 = Group<Fp2, Fr, name##_g2_constants>;                \
    };                                                                 \
    static_assert(sizeof(Curve_##name::Fp) == name##_fp::BYTES);       \
    static_assert(sizeof(Curve_##name::Fr) == name##_fr::BYTES);       \
    static_assert(sizeof(Xyzz<Curve_##name::G2>) == 8 * name##_fp::BYTES);
CUZK_CURVES(CUZK_DEFINE_CURVE)
#undef CUZK_DEFINE_CURVE

}  // namespace cuzk
