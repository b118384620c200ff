/// Number-theoretic transforms of 2^log_n scalars, one tile pass per launch.
///
/// A pass takes sub-transforms of L = 2^log_l elements from natural to bit-reversed order by one radix R = 2^log_r
/// (decimation in frequency), or back (decimation in time).  With S = L / R, element k * S + j of a sub-transform is
/// row k of column j.  DIF: every column gets an R-point transform, after which row k holds frequency q = rev(k), and
/// is multiplied by w_L^(j q); rows are then sub-transforms of S elements for the next pass.  DIT runs that backwards.
/// So log_l = log_n, log_n - r1, log_n - r1 - r2, ... down to the last radix in DIF, and upwards in DIT.
///
/// A tile is T = 2^log_t neighbouring columns (S > 1, T <= S: runs of T elements in global memory), or T neighbouring
/// sub-transforms of the pass with S = 1 (one contiguous run).  Vectors of a batch lie one after another, and since
/// tiles never cross a sub-transform, a batch is only a larger number of tiles.  A tile is read completely before any
/// of it is written, so src == dst is allowed; otherwise they must not overlap.
///
/// Scale factors come from two small tables (fr_vec.cuh), so that no table has 2^log_n entries, and so do the twist
/// factors of large sub-transforms; those of small ones have a table in the order of memory.  On a GPU roots and twist
/// factors are fixed factors (ntt_factor.cuh), two elements each; at group width 1 they are single elements.
/// Source: the four-step split of Gentleman & Sande (1966), Cooley & Tukey (1965), applied to a prime field.
#pragma once

#include "fr_vec.cuh"
#include "ntt_tile.cuh"

namespace cuzk {

/// What scale_in and scale_out mean.
enum NttScale : u32 {
    NTT_SCALE_NONE = 0,
    NTT_SCALE_CONSTANT = 1,  ///< multiply by scale_outer[0]
    NTT_SCALE_POWERS = 2,    ///< multiply element i of the vector, as it lies in memory, by the scale sequence at i
};

#define NTT_PASS_ARGS(F)                                                                                     \
    F(const Fr*, src) F(Fr*, dst) F(u64, num_tiles) F(u64, log_n) F(u64, log_l) F(u64, log_r) F(u64, log_t)  \
    F(const Fr*, roots) F(const Fr*, twist_outer) F(const Fr*, twist_inner) F(u64, twist_bits)               \
    F(u64, scale_in) F(u64, scale_out) F(const Fr*, scale_outer) F(const Fr*, scale_inner) F(u64, scale_bits)
CUZK_ARGS_T1(NttPassArgs, Fr, NTT_PASS_ARGS)

/// twist_bits of a table that holds the factor of the element at address i of a sub-transform at its index i.
inline constexpr u64 NTT_TWIST_PLACED = 64;

/// The side of one tile that lies in global memory: addresses, and the factors that ride on reading and writing.
template <bool DIF, class A, class Fr> struct NttEnds {
    const NttPassArgs<Fr>& a;
    u64 base;    ///< address of the tile's first element
    u64 column;  ///< j of the tile's first column
    u32 log_s;   ///< log2 of the distance between rows; 0: T contiguous sub-transforms
    u32 log_c;   ///< log2 of the distance between rows in the tile: of T, or 0 where log_s is

    CUZK_FN NttEnds(const NttPassArgs<Fr>& a_, u64 tile) : a(a_), column(0), log_s((u32)(a_.log_l - a_.log_r)), log_c(0) {
        if (log_s == 0) {
            base = tile << (a.log_r + a.log_t);
        } else {
            log_c = (u32)a.log_t;
            column = (tile & (((u64)1 << (log_s - log_c)) - 1)) << log_c;
            base = (tile >> (log_s - log_c) << a.log_l) + column;
        }
    }

    CUZK_FN_INLINE u64 locate(u32 slot) const {
        return base + ((u64)(slot >> log_c) << log_s) + (slot & ((1u << log_c) - 1));
    }
    CUZK_FN_INLINE Fr get(u64 address) const { return a.src[address]; }
    CUZK_FN_INLINE void put(u64 address, const Fr& v) const { a.dst[address] = v; }

    CUZK_FN_INLINE bool before() const { return a.scale_in != NTT_SCALE_NONE || (!DIF && log_s != 0); }
    CUZK_FN_INLINE bool after() const { return a.scale_out != NTT_SCALE_NONE || (DIF && log_s != 0); }
    CUZK_FN Fr on_get(const Fr& v, u32 slot) const {
        const Fr u = scaled(v, a.scale_in, slot);
        return !DIF && log_s != 0 ? twisted(u, slot) : u;
    }
    CUZK_FN Fr on_put(const Fr& v, u32 slot) const {
        const Fr u = DIF && log_s != 0 ? twisted(v, slot) : v;
        return a.scale_out == NTT_SCALE_NONE ? A::finish(u) : scaled(u, a.scale_out, slot);
    }

    /// v times the factor that `mode` asks for, reduced unless there is none.
    CUZK_FN Fr scaled(const Fr& v, u64 mode, u32 slot) const {
        if (mode == NTT_SCALE_NONE) return v;
        Fr factor = a.scale_outer[0];
        if (mode == NTT_SCALE_POWERS) {
            const u64 i = locate(slot) & (((u64)1 << a.log_n) - 1);
            factor = split_power(a.scale_outer, a.scale_inner, a.scale_bits, i);
        }
        return factor * v;  // in this order: of a Montgomery product only the first operand must be reduced
    }

    /// v times w_L^(j * q), q = rev(row).  Where one table has all the powers it is used alone.
    CUZK_FN Fr twisted(const Fr& v, u32 slot) const {
        const bool placed = a.twist_bits == NTT_TWIST_PLACED;
        const u64 j = column + (slot & ((1u << log_c) - 1));
        const u64 exponent = j * reverse_bits(slot >> log_c, (u32)a.log_r) << (a.log_n - a.log_l);
        const u64 at = placed ? locate(slot) & (((u64)1 << a.log_l) - 1) : exponent & (((u64)1 << a.twist_bits) - 1);
        const Fr u = A::mul(v, A::factor(a.twist_inner, at));
        return a.twist_bits >= a.log_n ? u : A::mul(u, A::factor(a.twist_outer, exponent >> a.twist_bits));
    }
};

/// One pass: the tiles of this block, one after another.
template <bool DIF, class Ex, class Fr> CUZK_FN void ntt_pass(Ex& ex, const NttPassArgs<Fr>& a) {
    using A = NttField<Fr, (Ex::WARP > 1)>;
    const NttTile<Ex, Fr> tile(ex, 1u << (a.log_r + a.log_t));
    for (u64 index = ex.block(); index < a.num_tiles; index += ex.num_blocks()) {
        if (index != ex.block()) ex.sync();  // the last round of the tile before may still read its slots
        const NttEnds<DIF, A, Fr> ends(a, index);
        ntt_tile_transform<DIF, A>(ex, tile, (u32)a.log_r, ends.log_c, a.roots, ends);
    }
}

/// One pass, natural -> bit-reversed.  Shared memory: 2^(log_r + log_t) elements.
/// Cost per element: log_r / 2 products (less the factors of 1), 1 or 2 for the twist where log_l > log_r, up to 2 a scaling.
template <class Ex, class Fr> CUZK_FN void ntt_dif_pass(Ex& ex, const NttPassArgs<Fr>& a) { ntt_pass<true>(ex, a); }

/// One pass, bit-reversed -> natural.  Shared memory and cost as ntt_dif_pass.
template <class Ex, class Fr> CUZK_FN void ntt_dit_pass(Ex& ex, const NttPassArgs<Fr>& a) { ntt_pass<false>(ex, a); }

#define NTT_FACTORS_ARGS(F)                                                                                  \
    F(const Fr*, outer) F(const Fr*, inner) F(u64, bits) F(u64, log_n) F(u64, log_l) F(u64, log_r) F(Fr*, out) F(u64, n)
CUZK_ARGS_T1(NttFactorsArgs, Fr, NTT_FACTORS_ARGS)

/// out[2i], out[2i + 1] = the two parts of the fixed factor s_e, where s is the geometric sequence of the two tables and
/// e = i, or where log_r > 0 the twist exponent of address i in a sub-transform of 2^log_l elements.
template <class Ex, class Fr> CUZK_FN void ntt_factors(Ex& ex, const NttFactorsArgs<Fr>& a) {
    for_range(ex, a.n, [&](u64 i) {
        u64 exponent = i;
        if (a.log_r > 0) {
            const u64 log_s = a.log_l - a.log_r, j = i & (((u64)1 << log_s) - 1);
            exponent = j * reverse_bits((u32)(i >> log_s), (u32)a.log_r) << (a.log_n - a.log_l);
        }
        const FixedFactor<Fr> f = fixed_factor(split_power(a.outer, a.inner, a.bits, exponent));
        a.out[2 * i] = f.value;
        a.out[2 * i + 1] = f.quotient;
    });
}

// X(kernel function template, argument struct, threads per block, blocks per multiprocessor)
#define CUZK_NTT_KERNELS(X, Fr)                                                                              \
    X(ntt_dif_pass, NttPassArgs<Fr>, 128, 4)                                                                 \
    X(ntt_dit_pass, NttPassArgs<Fr>, 128, 4)                                                                 \
    X(ntt_factors, NttFactorsArgs<Fr>, 256, 1)

}  // namespace cuzk
