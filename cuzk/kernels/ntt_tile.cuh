/// The part of a number-theoretic transform that happens inside one tile: R = 2^log_r rows, T = 2^log_t columns.
///
/// Each column of a tile gets one R-point transform, by rounds of radix 8, 4 or 2: a thread takes 2^M elements into
/// registers and does M butterfly levels on them.  Between rounds the tile lies in shared memory, and a thread puts its
/// elements back where they were, so that there is one barrier between two rounds and no other.  Roots come from one
/// heap-shaped table for all sizes:
///   roots[h + i] = w_(2h)^i  for h = 1, 2, 4, ... and 0 <= i < h  (entry 0 is unused),
/// where w_m is the primitive m-th root of the transform's direction.
#pragma once

#include "args.cuh"
#include "ntt_factor.cuh"

namespace cuzk {

/// The elements of a tile in shared memory.  Slots run as the elements do in global memory: row k, column t of a strided
/// tile is slot k * T + t, element k of the t-th sub-transform of a contiguous one is slot t * R + k.
///
/// On a GPU the tile is kept as planes of 16-byte quads, and a slot's position within its group of eight is folded
/// with the higher bits of the slot: eight neighbouring threads then hit all banks once, whatever power of two
/// separates their slots.  At group width 1 it is a plain array.
template <class Ex, class Fr> struct NttTile {
    static constexpr bool PLANES = Ex::WARP > 1 && sizeof(Fr) % 16 == 0;
    struct alignas(16) Quad {
        u32 word[4];
    };

    u8* memory;
    u32 size;

    CUZK_FN NttTile(Ex& ex, u32 size_) : memory(ex.template shared<u8>()), size(size_) {}

    static CUZK_FN u32 folded(u32 slot) { return slot ^ ((slot >> 3) & 7) ^ ((slot >> 6) & 7) ^ ((slot >> 9) & 7); }

    CUZK_FN Fr load(u32 slot) const {
        if constexpr (PLANES) {
            const Quad* quads = reinterpret_cast<const Quad*>(memory) + folded(slot);
            Fr v;
            CUZK_UNROLL
            for (u32 plane = 0; plane < sizeof(Fr) / 16; ++plane) {
                const Quad quad = quads[plane * size];
                CUZK_UNROLL
                for (u32 i = 0; i < 4; ++i) v.limb[4 * plane + i] = quad.word[i];
            }
            return v;
        } else {
            return reinterpret_cast<const Fr*>(memory)[slot];
        }
    }

    CUZK_FN void store(u32 slot, const Fr& v) const {
        if constexpr (PLANES) {
            Quad* quads = reinterpret_cast<Quad*>(memory) + folded(slot);
            CUZK_UNROLL
            for (u32 plane = 0; plane < sizeof(Fr) / 16; ++plane) {
                Quad quad;
                CUZK_UNROLL
                for (u32 i = 0; i < 4; ++i) quad.word[i] = v.limb[4 * plane + i];
                quads[plane * size] = quad;
            }
        } else {
            reinterpret_cast<Fr*>(memory)[slot] = v;
        }
    }
};

/// v, but in a form that the compiler knows nothing about.  A condition that is the same for all items of a loop would
/// otherwise give a second copy of the loop, and those here are long.
CUZK_FN_INLINE u32 ntt_hidden(u32 v) {
#if defined(CUZK_TARGET_CUDA)
    asm volatile("" : "+r"(v));
#endif
    return v;
}

/// Butterfly levels of the next round when `left` levels remain: 3 where it can be, without leaving a lone 1 after it.
CUZK_FN u32 ntt_round_levels(u32 left) { return left == 4 || left == 2 ? 2 : (left < 3 ? left : 3); }

/// Butterfly levels on COUNT elements in registers, DIF: distances D, D/2, ..., 1; element i is row j + i * h.
/// ones: h = 1, so that the factors at i = 0 are 1.  It is asked at run time: a second copy of the round with the answer
/// known was measured, and is slower.
template <class A, u32 COUNT, u32 D, class Fr>
CUZK_FN_INLINE void ntt_dif_levels(Fr* x, const Fr* roots, u32 h, u32 j, bool ones) {
    CUZK_UNROLL
    for (u32 i = 0; i < D; ++i) {
        const bool is_one = i == 0 && ones;
        const typename A::Factor w = A::factor(roots, (D + i) * h + j);
        CUZK_UNROLL
        for (u32 pair = 0; pair < COUNT / (2 * D); ++pair) {
            const u32 lo = 2 * D * pair + i, hi = lo + D;
            const Fr difference = A::sub(x[lo], x[hi]);
            x[lo] = A::add(x[lo], x[hi]);
            x[hi] = is_one ? difference : A::mul(difference, w);
        }
    }
    if constexpr (D > 1) ntt_dif_levels<A, COUNT, D / 2>(x, roots, h, j, ones);
}

/// The mirror image, DIT: distances D, 2D, ..., COUNT / 2.
template <class A, u32 COUNT, u32 D, class Fr>
CUZK_FN_INLINE void ntt_dit_levels(Fr* x, const Fr* roots, u32 h, u32 j, bool ones) {
    CUZK_UNROLL
    for (u32 i = 0; i < D; ++i) {
        const bool is_one = i == 0 && ones;
        const typename A::Factor w = A::factor(roots, (D + i) * h + j);
        CUZK_UNROLL
        for (u32 pair = 0; pair < COUNT / (2 * D); ++pair) {
            const u32 lo = 2 * D * pair + i, hi = lo + D;
            const Fr twisted = is_one ? x[hi] : A::mul(x[hi], w);
            x[hi] = A::sub(x[lo], twisted);
            x[lo] = A::add(x[lo], twisted);
        }
    }
    if constexpr (2 * D < COUNT) ntt_dit_levels<A, COUNT, 2 * D>(x, roots, h, j, ones);
}

/// One round of a pass.
struct NttRound {
    u32 levels;   ///< M
    u32 log_sub;  ///< log2 of the sub-transforms that its levels begin (DIF) or end (DIT) with
    u32 log_c;    ///< log2 of the distance between rows in the tile
    u32 get;      ///< take the elements from global memory, not from the tile
    u32 put;      ///< and put them there

    /// First slot of an item, j, and the distance of its slots.
    CUZK_FN_INLINE u32 slot(u32 item, u32& j, u32& step) const {
        const u32 log_h = log_sub - levels, h = 1u << log_h;
        const u32 c = item & ((1u << log_c) - 1), group = item >> log_c;
        j = group & (h - 1);
        step = h << log_c;
        return ((((group >> log_h) << log_sub) | j) << log_c) | c;
    }
};

/// One round: M levels on sub-transforms of 2^log_sub rows, between half-sizes h = 2^(log_sub - M) and 2^(log_sub - 1),
/// the large ones first in DIF, the small ones first in DIT.
/// Cost: M * 2^(M-1) products per 2^M elements; the round with h = 1 skips the factors of 1.
template <bool DIF, u32 M, class A, class Ex, class Fr, class Ends>
CUZK_FN void ntt_round(Ex& ex, const NttTile<Ex, Fr>& tile, const NttRound& round, const Fr* roots, const Ends& ends) {
    constexpr u32 COUNT = 1u << M;
    for_block(ex, tile.size >> M, [&](u32 item) {
        u32 j, step;
        const u32 slot = round.slot(item, j, step), h = 1u << (round.log_sub - M);
        const bool get = ntt_hidden(round.get), put = ntt_hidden(round.put), ones = ntt_hidden(h == 1);
        Fr x[COUNT];
        if (get) {
            CUZK_UNROLL
            for (u32 i = 0; i < COUNT; ++i) x[i] = ends.get(ends.locate(slot + i * step));
        } else {
            CUZK_UNROLL
            for (u32 i = 0; i < COUNT; ++i) x[i] = tile.load(slot + i * step);
        }
        if constexpr (DIF && M > 0) ntt_dif_levels<A, COUNT, COUNT / 2>(x, roots, h, j, ones);
        if constexpr (!DIF && M > 0) ntt_dit_levels<A, COUNT, 1>(x, roots, h, j, ones);
        if (put) {
            CUZK_UNROLL
            for (u32 i = 0; i < COUNT; ++i) ends.put(ends.locate(slot + i * step), A::finish(x[i]));
        } else {
            CUZK_UNROLL
            for (u32 i = 0; i < COUNT; ++i) tile.store(slot + i * step, x[i]);
        }
    });
}

/// fn(slot) for every slot of the tile, one at a time, by the thread whose own it is in this round: no barrier is needed
/// between this and the round, and what costs products on the way in or out has its code once.
template <class Ex, class Fn> CUZK_FN void ntt_own_slots(Ex& ex, u32 size, const NttRound& round, Fn&& fn) {
    for_block(ex, size >> round.levels, [&](u32 item) {
        u32 j, step;
        const u32 slot = round.slot(item, j, step);
        CUZK_NO_UNROLL
        for (u32 i = 0; i < 1u << round.levels; ++i) fn(slot + i * step);
    });
}

/// R-point transform of every column, from global memory to global memory: DIF takes rows from natural to bit-reversed
/// order, DIT from bit-reversed to natural.  One barrier lies between two rounds, and no other is needed.
///
/// `ends` is the pass's side of global memory: locate(slot) -> address, get(address), put(address, v), and where
/// before() or after() says that factors ride on the way in or out, on_get(v, slot) or on_put(v, slot) with them.
template <bool DIF, class A, class Ex, class Fr, class Ends>
CUZK_FN void ntt_tile_transform(Ex& ex, const NttTile<Ex, Fr>& tile, u32 log_r, u32 log_c, const Fr* roots,
                                const Ends& ends) {
    const bool before = ends.before(), after = ends.after();
    u32 done = 0;
    CUZK_NO_UNROLL
    do {
        const u32 levels = ntt_round_levels(log_r - done);
        const bool first = done == 0, last = done + levels == log_r;
        const NttRound round{levels, DIF ? log_r - done : done + levels, log_c, first && !before, last && !after};
        if (first && before) {
            ntt_own_slots(ex, tile.size, round, [&](u32 slot) {
                tile.store(slot, ends.on_get(ends.get(ends.locate(slot)), slot));
            });
        }
        if (levels == 3) {
            ntt_round<DIF, 3, A>(ex, tile, round, roots, ends);
        } else if (levels == 2) {
            ntt_round<DIF, 2, A>(ex, tile, round, roots, ends);
        } else if (levels == 1) {
            ntt_round<DIF, 1, A>(ex, tile, round, roots, ends);
        } else {
            ntt_round<DIF, 0, A>(ex, tile, round, roots, ends);
        }
        if (last && after) {
            ntt_own_slots(ex, tile.size, round, [&](u32 slot) {
                ends.put(ends.locate(slot), ends.on_put(tile.load(slot), slot));
            });
        }
        if (!last) ex.sync();
        done += levels;
    } while (done < log_r);
}

}  // namespace cuzk
