/// Rows of a compiled circuit times its witness: out[row] = M w for one matrix, from pieces and their instances.
///
/// The matrix is never there as a whole.  Consecutive threads take consecutive rows of one instance, then of the next:
/// what they write is consecutive, what they read of the witness nearly so, and the piece's rows come from the cache.
/// Work is cut into tiles: (piece, first row), rows counted over all instances of the piece.  Rows of more than
/// `long_row` terms are left to piece_long_rows, a warp each.  Rows that no instance covers are piece_rest's.
#pragma once

#include "pieces.cuh"

namespace cuzk {

#define PIECE_SPMV_ARGS(F) PIECE_TABLE_ARGS(F) F(const Fr*, w) F(Fr*, out)
#define PIECE_ROWS_ARGS(F)                                                                                   \
    PIECE_SPMV_ARGS(F) F(const PiecePair*, tiles) F(u64, num_tiles) F(u64, tile_rows) F(u64, long_row)
#define PIECE_LONG_ROWS_ARGS(F) PIECE_SPMV_ARGS(F) F(const PiecePair*, rows) F(u64, num_long)
#define PIECE_REST_ARGS(F) F(const Fr*, w) F(u64, num_bound) F(Fr*, out) F(u64, n)
CUZK_ARGS_T1(PieceRowsArgs, Fr, PIECE_ROWS_ARGS)
CUZK_ARGS_T1(PieceLongRowsArgs, Fr, PIECE_LONG_ROWS_ARGS)
CUZK_ARGS_T1(PieceRestArgs, Fr, PIECE_REST_ARGS)

/// Rows of at most long_row terms, a thread each.
template <class Ex, class Fr> CUZK_FN void piece_rows(Ex& ex, const PieceRowsArgs<Fr>& a) {
    for (u64 i = ex.block(); i < a.num_tiles; i += ex.num_blocks()) {
        const PiecePair tile = a.tiles[i];
        const PieceInfo piece = a.pieces[tile.var];
        const u32 start = (u32)tile.value, left = piece.num_rows * piece.num_instances - start;
        for_block(ex, left < a.tile_rows ? left : (u32)a.tile_rows, [&](u32 k) {
            const u32 instance = (start + k) / piece.num_rows, row = (start + k) - instance * piece.num_rows;
            const u32 begin = a.row_ptr[piece.first_row + row], end = a.row_ptr[piece.first_row + row + 1];
            if (end - begin > a.long_row) return;
            const PieceInstance at = a.instances[piece.first_instance + instance];
            a.out[at.row_base + row] = piece_sum(a, a.w, piece, at, begin, end, 1, PIECE_NO_VAR);
        });
    }
}

/// The listed rows (instance, row of its piece), a warp each.
template <class Ex, class Fr> CUZK_FN void piece_long_rows(Ex& ex, const PieceLongRowsArgs<Fr>& a) {
    const u32 lane = ex.lane(), warps = ex.width() / Ex::WARP;
    for (u64 i = (u64)ex.block() * warps + ex.thread() / Ex::WARP; i < a.num_long; i += (u64)ex.num_blocks() * warps) {
        const PieceInstance at = a.instances[a.rows[i].var];
        const PieceInfo piece = a.pieces[at.piece];
        const u32 row = (u32)a.rows[i].value;
        const u32* ends = a.row_ptr + piece.first_row + row;
        const Fr mine = piece_sum(a, a.w, piece, at, ends[0] + lane, ends[1], Ex::WARP, PIECE_NO_VAR);
        const Fr sum = sum_over_lanes(ex, mine);
        if (lane == 0) a.out[at.row_base + row] = sum;
    }
}

/// The rows behind the circuit's: out[i] = w[i] for i < num_bound (they bind the inputs in A), 0 from there to n.
template <class Ex, class Fr> CUZK_FN void piece_rest(Ex& ex, const PieceRestArgs<Fr>& a) {
    for_range(ex, a.n, [&](u64 i) { a.out[i] = i < a.num_bound ? a.w[i] : Fr::zero(); });
}

// X(kernel function template, argument struct, threads per block, blocks per multiprocessor)
#define CUZK_PIECE_SPMV_KERNELS(X, Fr)                                                                       \
    X(piece_rows, PieceRowsArgs<Fr>, 256, 1)                                                                 \
    X(piece_long_rows, PieceLongRowsArgs<Fr>, 128, 1)                                                        \
    X(piece_rest, PieceRestArgs<Fr>, 256, 1)

}  // namespace cuzk
