/// The part of a number-theoretic transform that happens inside one tile: R = 2^log_r rows, T = 2^log_t columns.
///
/// A tile lies in shared memory.  Each of its columns gets one R-point transform, by rounds of radix 8, 4 or 2: a
/// thread takes 2^M elements into registers, does M butterfly levels on them, and puts them back where they were, so
/// that a round needs one barrier.  Roots come from one heap-shaped table for all sizes:
///   roots[h + i] = w_(2h)^i  for h = 1, 2, 4, ... and 0 <= i < h  (entry 0 is unused),
/// where w_m is the primitive m-th root of the transform's direction.
#pragma once

#include "args.cuh"
#include "field.cuh"

namespace cuzk {

/// R x T elements in shared memory; row k, column t is slot k * T + t.
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

/// Butterfly levels of the next round when `left` levels remain: 3 where it can be, without leaving a lone 1 after it.
CUZK_FN u32 ntt_round_levels(u32 left) { return left == 4 || left == 2 ? 2 : (left < 3 ? left : 3); }

/// Butterfly levels on COUNT elements in registers, DIF: distances D, D/2, ..., 1; element i is row j + i * h.
template <u32 COUNT, u32 D, class Fr> CUZK_FN_INLINE void ntt_dif_levels(Fr* x, const Fr* roots, u32 h, u32 j) {
    CUZK_UNROLL
    for (u32 i = 0; i < D; ++i) {
        const bool is_one = i == 0 && h == 1;
        const Fr w = roots[(D + i) * h + j];
        CUZK_UNROLL
        for (u32 pair = 0; pair < COUNT / (2 * D); ++pair) {
            const u32 lo = 2 * D * pair + i, hi = lo + D;
            const Fr difference = x[lo] - x[hi];
            x[lo] = x[lo] + x[hi];
            x[hi] = is_one ? difference : difference * w;
        }
    }
    if constexpr (D > 1) ntt_dif_levels<COUNT, D / 2>(x, roots, h, j);
}

/// The mirror image, DIT: distances D, 2D, ..., COUNT / 2.
template <u32 COUNT, u32 D, class Fr> CUZK_FN_INLINE void ntt_dit_levels(Fr* x, const Fr* roots, u32 h, u32 j) {
    CUZK_UNROLL
    for (u32 i = 0; i < D; ++i) {
        const bool is_one = i == 0 && h == 1;
        const Fr w = roots[(D + i) * h + j];
        CUZK_UNROLL
        for (u32 pair = 0; pair < COUNT / (2 * D); ++pair) {
            const u32 lo = 2 * D * pair + i, hi = lo + D;
            const Fr twisted = is_one ? x[hi] : x[hi] * w;
            x[hi] = x[lo] - twisted;
            x[lo] = x[lo] + twisted;
        }
    }
    if constexpr (2 * D < COUNT) ntt_dit_levels<COUNT, 2 * D>(x, roots, h, j);
}

/// One round: M levels on sub-transforms of 2^log_sub rows, between half-sizes h = 2^(log_sub - M) and 2^(log_sub - 1),
/// the large ones first in DIF, the small ones first in DIT.
/// Cost: M * 2^(M-1) products per 2^M elements; the round with h = 1 skips the factors of 1.
template <bool DIF, u32 M, class Ex, class Fr>
CUZK_FN void ntt_round(Ex& ex, const NttTile<Ex, Fr>& tile, u32 log_t, u32 log_sub, const Fr* roots) {
    constexpr u32 COUNT = 1u << M;
    const u32 log_h = log_sub - M, h = 1u << log_h;
    for_block(ex, tile.size >> M, [&](u32 item) {
        const u32 t = item & ((1u << log_t) - 1), group = item >> log_t, j = group & (h - 1);
        const u32 slot = ((((group >> log_h) << log_sub) | j) << log_t) | t, step = h << log_t;
        Fr x[COUNT];
        CUZK_UNROLL
        for (u32 i = 0; i < COUNT; ++i) x[i] = tile.load(slot + i * step);
        if constexpr (DIF) {
            ntt_dif_levels<COUNT, COUNT / 2>(x, roots, h, j);
        } else {
            ntt_dit_levels<COUNT, 1>(x, roots, h, j);
        }
        CUZK_UNROLL
        for (u32 i = 0; i < COUNT; ++i) tile.store(slot + i * step, x[i]);
    });
}

/// R-point transform of every column: DIF takes rows from natural to bit-reversed order, DIT from bit-reversed to
/// natural.  A barrier follows every round.
template <bool DIF, class Ex, class Fr>
CUZK_FN void ntt_tile_transform(Ex& ex, const NttTile<Ex, Fr>& tile, u32 log_r, u32 log_t, const Fr* roots) {
    CUZK_NO_UNROLL
    for (u32 done = 0; done < log_r;) {
        const u32 levels = ntt_round_levels(log_r - done);
        const u32 log_sub = DIF ? log_r - done : done + levels;
        if (levels == 3) {
            ntt_round<DIF, 3>(ex, tile, log_t, log_sub, roots);
        } else if (levels == 2) {
            ntt_round<DIF, 2>(ex, tile, log_t, log_sub, roots);
        } else {
            ntt_round<DIF, 1>(ex, tile, log_t, log_sub, roots);
        }
        done += levels;
        ex.sync();
    }
}

}  // namespace cuzk
