/// Tables of a compiled circuit as the kernels read them, and the variables of an instance of one of its pieces.
///
/// A piece's tables exist once; where it occurs, an instance says which columns its local variables are: -1 is ONE
/// (column 0), 0 .. num_bound - 1 are listed by the instance, the own auxiliary variables follow from num_bound on and
/// are consecutive columns, -2 - j is own input j.  Coefficient codes 0 and 1 are +1 and -1 in every dictionary.
/// Preconditions, which the host checks once per circuit: every index lies in its table.
#pragma once

#include "args.cuh"
#include "field.cuh"

namespace cuzk {

struct alignas(16) PieceInfo {
    u32 first_row, num_rows;        ///< rows of one instance, in the row table
    u32 num_bound, num_aux;         ///< local variables made elsewhere, and own ones
    u32 first_group, num_groups;    ///< the witness program, in the table of groups
    u32 first_instance, num_instances;
};

struct alignas(16) PieceInstance {
    u32 piece;
    u32 first_bound;  ///< where its bound columns begin
    u32 row_base, aux_base, input_base, hint_base;  ///< row, columns and hint that its own begin with
    u32 unused[2];
};

struct alignas(16) PieceQuad {
    i32 x, y, z, t;
};

struct alignas(8) PiecePair {
    i32 var, value;
};

#define PIECE_TABLE_ARGS(F)                                                                                  \
    F(const PieceInfo*, pieces) F(const PieceInstance*, instances) F(const u32*, bound) F(const u32*, row_ptr)  \
    F(const PiecePair*, terms) F(const Fr*, dictionary)

/// No local variable: for sums that leave none out.
constexpr i32 PIECE_NO_VAR = (i32)0x80000000u;
constexpr i32 PIECE_PLUS_ONE = 0, PIECE_MINUS_ONE = 1;

/// Column of a local variable.
template <class Args> CUZK_FN u32 piece_column(const Args& a, const PieceInfo& piece, const PieceInstance& at, i32 var) {
    if (var < 0) return var == -1 ? 0 : at.input_base + (u32)(-2 - var);
    if ((u32)var < piece.num_bound) return a.bound[at.first_bound + (u32)var];
    return at.aux_base + ((u32)var - piece.num_bound);
}

/// sum + coefficient * value, where most values are 0 or 1: these cost no product, and neither do +1 and -1.
template <class Fr, class Args> CUZK_FN Fr piece_add_term(const Fr& sum, const Args& a, i32 code, const Fr& value) {
    if (code == PIECE_PLUS_ONE) return sum + value;
    if (code == PIECE_MINUS_ONE) return sum - value;
    if (value.is_zero()) return sum;
    const Fr coefficient = a.dictionary[code];
    return sum + (value == Fr::one() ? coefficient : value * coefficient);
}

/// Sum of every step-th term from `begin` on, without those of the local variable `left_out`.
template <class Fr, class Args>
CUZK_FN Fr piece_sum(const Args& a, const Fr* w, const PieceInfo& piece, const PieceInstance& at, u32 begin, u32 end,
                     u32 step, i32 left_out) {
    Fr sum = Fr::zero();
    CUZK_NO_UNROLL
    for (u32 k = begin; k < end; k += step) {
        const PiecePair term = a.terms[k];
        if (term.var == left_out) continue;
        sum = piece_add_term(sum, a, term.value, w[piece_column(a, piece, at, term.var)]);
    }
    return sum;
}

/// The sum of what the lanes of a warp hold, in every lane.
template <class Ex, class T> CUZK_FN T sum_over_lanes(Ex& ex, T mine) {
    CUZK_NO_UNROLL
    for (u32 mask = Ex::WARP / 2; mask > 0; mask /= 2) mine = mine + ex.shfl_xor(mine, mask);
    return mine;
}

}  // namespace cuzk
