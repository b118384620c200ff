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
/// Twist factors and scale factors come from two small tables each (fr_vec.cuh), so no table has 2^log_n entries.
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

/// Where the elements of one tile lie in global memory.
struct NttPlace {
    u64 base;        ///< first element of the tile
    u64 column;      ///< j of the tile's first column
    u32 log_s;       ///< log2 of the distance between rows; 0: T contiguous sub-transforms
    u32 log_r, log_t;

    CUZK_FN NttPlace(u64 tile, u32 log_l, u32 log_r_, u32 log_t_) : log_s(log_l - log_r_), log_r(log_r_), log_t(log_t_) {
        if (log_s == 0) {
            base = tile << (log_r + log_t);
            column = 0;
        } else {
            column = (tile & (((u64)1 << (log_s - log_t)) - 1)) << log_t;
            base = (tile >> (log_s - log_t) << log_l) + column;
        }
    }

    /// Row, column and address of the element-th element, in the order that runs along global memory.
    CUZK_FN void locate(u32 element, u32& row, u32& col, u64& address) const {
        if (log_s == 0) {
            row = element & ((1u << log_r) - 1);
            col = element >> log_r;
            address = base + element;
        } else {
            row = element >> log_t;
            col = element & ((1u << log_t) - 1);
            address = base + ((u64)row << log_s) + col;
        }
    }
};

/// v times the factor that `mode` asks for, for the element at this address.
template <class Fr> CUZK_FN Fr ntt_scaled(const Fr& v, const NttPassArgs<Fr>& a, u64 mode, u64 address) {
    if (mode == NTT_SCALE_NONE) return v;
    if (mode == NTT_SCALE_CONSTANT) return v * a.scale_outer[0];
    return v * split_power(a.scale_outer, a.scale_inner, a.scale_bits, address & (((u64)1 << a.log_n) - 1));
}

/// v times w_L^(j * q), q = rev(row).  Where the inner table covers all of w_n's powers it is used alone.
template <class Fr> CUZK_FN Fr ntt_twisted(const Fr& v, const NttPassArgs<Fr>& a, u64 j, u32 row) {
    const u64 exponent = j * reverse_bits(row, (u32)a.log_r) << (a.log_n - a.log_l);
    if (a.twist_bits >= a.log_n) return v * a.twist_inner[exponent];
    return v * split_power(a.twist_outer, a.twist_inner, a.twist_bits, exponent);
}

/// One pass, natural -> bit-reversed.  Shared memory: 2^(log_r + log_t) elements.
/// Cost per element: log_r / 2 products (less the factors of 1), 2 for the twist where log_l > log_r, up to 2 a scaling.
template <class Ex, class Fr> CUZK_FN void ntt_dif_pass(Ex& ex, const NttPassArgs<Fr>& a) {
    const u32 log_r = (u32)a.log_r, log_t = (u32)a.log_t;
    const NttTile<Ex, Fr> tile(ex, 1u << (log_r + log_t));
    for (u64 index = ex.block(); index < a.num_tiles; index += ex.num_blocks()) {
        const NttPlace place(index, (u32)a.log_l, log_r, log_t);
        for_block(ex, tile.size, [&](u32 e) {
            u32 row, col;
            u64 address;
            place.locate(e, row, col, address);
            tile.store((row << log_t) | col, ntt_scaled(a.src[address], a, a.scale_in, address));
        });
        ex.sync();
        ntt_tile_transform<true>(ex, tile, log_r, log_t, a.roots);
        for_block(ex, tile.size, [&](u32 e) {
            u32 row, col;
            u64 address;
            place.locate(e, row, col, address);
            Fr v = tile.load((row << log_t) | col);
            if (place.log_s != 0) v = ntt_twisted(v, a, place.column + col, row);
            a.dst[address] = ntt_scaled(v, a, a.scale_out, address);
        });  // no barrier: the next tile's element e goes where this thread has just read element e
    }
}

/// One pass, bit-reversed -> natural.  Shared memory and cost as ntt_dif_pass.
template <class Ex, class Fr> CUZK_FN void ntt_dit_pass(Ex& ex, const NttPassArgs<Fr>& a) {
    const u32 log_r = (u32)a.log_r, log_t = (u32)a.log_t;
    const NttTile<Ex, Fr> tile(ex, 1u << (log_r + log_t));
    for (u64 index = ex.block(); index < a.num_tiles; index += ex.num_blocks()) {
        const NttPlace place(index, (u32)a.log_l, log_r, log_t);
        for_block(ex, tile.size, [&](u32 e) {
            u32 row, col;
            u64 address;
            place.locate(e, row, col, address);
            Fr v = ntt_scaled(a.src[address], a, a.scale_in, address);
            if (place.log_s != 0) v = ntt_twisted(v, a, place.column + col, row);
            tile.store((row << log_t) | col, v);
        });
        ex.sync();
        ntt_tile_transform<false>(ex, tile, log_r, log_t, a.roots);
        for_block(ex, tile.size, [&](u32 e) {
            u32 row, col;
            u64 address;
            place.locate(e, row, col, address);
            a.dst[address] = ntt_scaled(tile.load((row << log_t) | col), a, a.scale_out, address);
        });  // no barrier, as in ntt_dif_pass
    }
}

// X(kernel function template, argument struct, threads per block, blocks per multiprocessor)
#define CUZK_NTT_KERNELS(X, Fr)                                                                              \
    X(ntt_dif_pass, NttPassArgs<Fr>, 128, 4)                                                                 \
    X(ntt_dit_pass, NttPassArgs<Fr>, 128, 4)

}  // namespace cuzk
