// Modular inversion by division steps, the same number of steps for every input.
//
// Source: Bernstein & Yang 2019, https://gcd.cr.yp.to/papers.html (DOI 10.13154/tches.v2019.i3.340-398), in the variant
// that starts with delta = 1/2, and the batching of P. Wuille, "safegcd implementation explained" (libsecp256k1).
// B steps at a time look only at the lowest B bits of f and g and yield a 2x2 matrix of small integers, which is then
// applied to f, g (exactly) and to d, e (modulo p).  Invariants: d x = f k and e x = g k mod p, where x is the input
// and k the constant that e starts with; when g has become 0, f is +-1 and k / x = +-d.
// Steps needed for n bits: (45907 n + 26313) / 19929, from the same write-up.
#pragma once
#include "word.cuh"

namespace cuzk {

/// B: steps per batch and bits per signed limb; Word holds a limb or a matrix entry, Acc a sum of their products.
template <class L> struct DivstepWord;
template <> struct DivstepWord<u8> { static constexpr int B = 6; using Word = i8; using Acc = i32; };
template <> struct DivstepWord<u32> { static constexpr int B = 30; using Word = i32; using Acc = i64; };
#if !defined(CUZK_TARGET_CUDA)
template <> struct DivstepWord<u64> {
    static constexpr int B = 62;
    using Word = i64;
    __extension__ using Acc = __int128;
};
#endif

/// Inverts N-limb numbers modulo an odd p of BITS bits.  M: accessor with limb(i), r2(i) and ninv().
template <class L, int N, int BITS, class M> struct Divsteps {
    using Word = typename DivstepWord<L>::Word;
    using Acc = typename DivstepWord<L>::Acc;
    static constexpr int B = DivstepWord<L>::B;
    static constexpr int W = 8 * int(sizeof(L));
    static constexpr int COUNT = (BITS + 2 + B - 1) / B;  // limbs for -2p .. 2p
    static constexpr int BATCHES = ((45907 * BITS + 26313) / 19929 + B) / B;
    static constexpr L LOW = L(L(L(1) << B) - 1);  // B ones

    struct Signed {
        Word v[COUNT];
    };
    struct Matrix {
        Word u, v, q, r;
    };

    /// B bits of an N-limb number from bit B * i on.
    template <class Limb> static CUZK_FN_INLINE Word bits_at(Limb limb, int i) {
        int pos = i * B, at = pos / W, shift = pos % W;
        if (at >= N) return 0;
        L w = L(limb(at) >> shift);
        if (shift > W - B && at + 1 < N) w = L(w | L(limb(at + 1) << (W - shift)));
        return Word(w & LOW);
    }
    template <class Limb> static CUZK_FN_INLINE Signed split(Limb limb) {
        Signed s;
        CUZK_UNROLL
        for (int i = 0; i < COUNT; ++i) s.v[i] = bits_at(limb, i);
        return s;
    }
    static CUZK_FN_INLINE Word modulus(int i) {
        return bits_at([](int j) { return M::limb(j); }, i);
    }

    /// B division steps on the low bits of f and g; zeta = -(delta + 1/2).  Returns 2^B times the transition matrix.
    static CUZK_FN_INLINE Matrix steps(Word& zeta, L f, L g) {
        L u = 1, v = 0, q = 0, r = 1;
        L z = L(zeta);
        CUZK_NO_UNROLL
        for (int i = 0; i < B; ++i) {
            L swap = L(L(0) - (z >> (W - 1)));       // all ones if delta > 0
            L odd = L(L(0) - (g & 1));
            g = L(g + (L((f ^ swap) - swap) & odd));  // g -= f if delta > 0, else g += f; only if g is odd
            q = L(q + (L((u ^ swap) - swap) & odd));
            r = L(r + (L((v ^ swap) - swap) & odd));
            swap = L(swap & odd);
            z = L((z ^ swap) - 1);
            f = L(f + (g & swap));                   // f becomes the old g
            u = L(u + (q & swap));
            v = L(v + (r & swap));
            g = L(g >> 1);
            u = L(u << 1);
            v = L(v << 1);
        }
        zeta = Word(z);
        return {Word(u), Word(v), Word(q), Word(r)};
    }

    /// (f, g) = matrix * (f, g) / 2^B, exactly.
    static CUZK_FN_INLINE void update_fg(const Matrix& t, Signed& f, Signed& g) {
        Acc cf = Acc(t.u) * f.v[0] + Acc(t.v) * g.v[0];
        Acc cg = Acc(t.q) * f.v[0] + Acc(t.r) * g.v[0];
        cf >>= B;  // the low B bits are zero
        cg >>= B;
        CUZK_UNROLL
        for (int i = 1; i < COUNT; ++i) {
            cf += Acc(t.u) * f.v[i] + Acc(t.v) * g.v[i];
            cg += Acc(t.q) * f.v[i] + Acc(t.r) * g.v[i];
            f.v[i - 1] = Word(L(cf) & LOW);
            g.v[i - 1] = Word(L(cg) & LOW);
            cf >>= B;
            cg >>= B;
        }
        f.v[COUNT - 1] = Word(cf);
        g.v[COUNT - 1] = Word(cg);
    }

    /// (d, e) = matrix * (d, e) / 2^B mod p; both in (-2p, p) before and after.
    static CUZK_FN_INLINE void update_de(const Matrix& t, Signed& d, Signed& e) {
        // Multiples of p to add: first enough to make negative d and e positive, then what clears the low B bits.
        constexpr L PINV = L(L(0) - M::ninv());
        Word sd = Word(d.v[COUNT - 1] >> (W - 1)), se = Word(e.v[COUNT - 1] >> (W - 1));
        Word md = Word((t.u & sd) + (t.v & se)), me = Word((t.q & sd) + (t.r & se));
        Acc cd = Acc(t.u) * d.v[0] + Acc(t.v) * e.v[0];
        Acc ce = Acc(t.q) * d.v[0] + Acc(t.r) * e.v[0];
        md = Word(md - Word(L(PINV * L(cd) + L(md)) & LOW));
        me = Word(me - Word(L(PINV * L(ce) + L(me)) & LOW));
        cd += Acc(modulus(0)) * md;
        ce += Acc(modulus(0)) * me;
        cd >>= B;
        ce >>= B;
        CUZK_UNROLL
        for (int i = 1; i < COUNT; ++i) {
            cd += Acc(t.u) * d.v[i] + Acc(t.v) * e.v[i] + Acc(modulus(i)) * md;
            ce += Acc(t.q) * d.v[i] + Acc(t.r) * e.v[i] + Acc(modulus(i)) * me;
            d.v[i - 1] = Word(L(cd) & LOW);
            e.v[i - 1] = Word(L(ce) & LOW);
            cd >>= B;
            ce >>= B;
        }
        d.v[COUNT - 1] = Word(cd);
        e.v[COUNT - 1] = Word(ce);
    }

    /// d = (d if positive else d + p), each limb then in [0, 2^B) but the top one, which has the sign.
    static CUZK_FN_INLINE void add_modulus_if_negative(Signed& d, Word flip) {
        Word negative = Word(d.v[COUNT - 1] >> (W - 1));
        Word carry = 0;
        CUZK_UNROLL
        for (int i = 0; i < COUNT; ++i) {
            Word w = Word(d.v[i] + (modulus(i) & negative));
            w = Word((w ^ flip) - flip + carry);
            carry = Word(w >> B);
            d.v[i] = i == COUNT - 1 ? w : Word(w & Word(LOW));
        }
    }

    /// out = R^2 / a mod p, which is 1 / a in Montgomery form for a in Montgomery form; 0 for 0.  a < p.
    static CUZK_FN_INLINE void inverse(L* out, const L* a) {
        Signed f = split([](int i) { return M::limb(i); }), g = split([a](int i) { return a[i]; });
        Signed d = split([](int) { return L(0); }), e = split([](int i) { return M::r2(i); });
        Word zeta = -1;
        CUZK_NO_UNROLL
        for (int i = 0; i < BATCHES; ++i) {
            const Matrix t = steps(zeta, L(f.v[0]), L(g.v[0]));
            update_de(t, d, e);
            update_fg(t, f, g);
        }
        const Word flip = Word(f.v[COUNT - 1] >> (W - 1));
        add_modulus_if_negative(d, flip);  // (-2p, p) -> (-p, p), then the sign of f
        add_modulus_if_negative(d, 0);     // -> [0, p)
        CUZK_UNROLL
        for (int j = 0; j < N; ++j) {
            L w = 0;
            CUZK_UNROLL
            for (int i = 0; i < COUNT; ++i) {
                int shift = i * B - j * W;
                if (shift >= 0 && shift < W) w = L(w | (L(d.v[i]) << (shift >= 0 && shift < W ? shift : 0)));
                if (shift < 0 && shift > -B) w = L(w | (L(d.v[i]) >> (shift < 0 && shift > -B ? -shift : 0)));
            }
            out[j] = w;
        }
    }
};

}  // namespace cuzk
