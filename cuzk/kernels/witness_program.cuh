/// Witness programs: the values of a compiled circuit's variables, an instance of a piece by one block.
///
/// A program is a list of bundles; the lanes of a bundle do not depend on each other.  Bundles that do not depend on
/// each other either make a group: each warp of the block takes some of them, and a barrier stands after the group.
/// Values are read and written in the witness itself: a launch runs instances that do not depend on each other (the
/// host orders them by level).  At width 1 bundles and lanes are turns of loops.
/// Variables that are 0 or 1 are told apart by their lowest limb, since that of Montgomery's 1 is not zero.
#pragma once

#include "pieces.cuh"

namespace cuzk {

enum WitnessOpcode : i32 {
    WITNESS_LOGIC = 1,   ///< operands (a, b, c, table): bit a + 2b + 4c of a truth table
    WITNESS_SUM = 2,     ///< operand (first term, terms, constant low, high): lane i is bit i of a sum of shifted bits
    WITNESS_BITS = 3,    ///< operand (variable): lane i is bit i of its standard form
    WITNESS_SOLVE = 4,   ///< operands (row, sign): sign * (A w * B w - C w without the result)
    WITNESS_WIDE = 5,    ///< the same for one row, whose terms the lanes share
    WITNESS_LINEAR = 6,  ///< operands (first term, terms): a linear combination
    WITNESS_HINT = 7,    ///< lane i is hint first + i of the instance
};

#define WITNESS_BEGIN_ARGS(F) F(const Fr*, inputs) F(u64, has_inputs) F(Fr*, w) F(u64, num_inputs)
#define WITNESS_RUN_ARGS(F)                                                                                  \
    PIECE_TABLE_ARGS(F) F(const u32*, groups) F(const PieceQuad*, bundles) F(const PieceQuad*, operands)       \
    F(const PiecePair*, sum_terms)                                                                           \
    F(const Fr*, hints) F(const u32*, ids) F(u64, num_ids) F(u64, num_rows) F(Fr*, w)
CUZK_ARGS_T1(WitnessBeginArgs, Fr, WITNESS_BEGIN_ARGS)
CUZK_ARGS_T1(WitnessRunArgs, Fr, WITNESS_RUN_ARGS)

/// w[0] = 1 and, where they are given, w[i] = inputs[i - 1] for 0 < i < num_inputs.
template <class Ex, class Fr> CUZK_FN void witness_begin(Ex& ex, const WitnessBeginArgs<Fr>& a) {
    for_range(ex, a.has_inputs ? a.num_inputs : 1, [&](u64 i) { a.w[i] = i == 0 ? Fr::one() : a.inputs[i - 1]; });
}

/// An instance while its program runs.
template <class Fr> struct WitnessPlace {
    const WitnessRunArgs<Fr>& a;
    const PieceInfo piece;
    const PieceInstance at;

    CUZK_FN const Fr& value(i32 var) const { return a.w[piece_column(a, piece, at, var)]; }
    CUZK_FN u32 bit(i32 var) const {
        static_assert(Fr::M::one(0) != 0, "a one is told from a zero by its lowest limb");
        return value(var).limb[0] != 0 ? 1u : 0u;
    }
    CUZK_FN void set(u32 slot, const Fr& value) const {
        a.w[slot < piece.num_aux ? at.aux_base + slot : at.input_base + (slot - piece.num_aux)] = value;
    }
    CUZK_FN void set_bit(u32 slot, u32 bit) const { set(slot, bit ? Fr::one() : Fr::zero()); }
    /// Local variable of a slot.
    CUZK_FN i32 variable(u32 slot) const {
        return slot < piece.num_aux ? (i32)(piece.num_bound + slot) : -2 - (i32)(slot - piece.num_aux);
    }
    CUZK_FN Fr sum(u32 begin, u32 end, u32 step, i32 left_out) const {
        return piece_sum(a, (const Fr*)a.w, piece, at, begin, end, step, left_out);
    }
};

/// Bit i of the total of constant and shifted bits.  The lanes share the terms.  Total < 2^63.
template <class Ex, class Fr>
CUZK_FN void witness_sum(Ex& ex, const WitnessPlace<Fr>& place, const PieceQuad& bundle, u32 lane) {
    const PieceQuad sum = place.a.operands[(u32)bundle.z];
    u64 mine = 0;
    for (u32 k = lane; k < (u32)sum.y; k += Ex::WARP) {
        const PiecePair term = place.a.sum_terms[(u32)sum.x + k];
        const u32 shift = (u32)term.value & 0xffu, negated = (u32)term.value >> 8;
        mine += (u64)(place.bit(term.var) ^ negated) << shift;
    }
    const u64 total = sum_over_lanes(ex, mine) + ((u64)(u32)sum.t << 32 | (u32)sum.z);
    for (u32 i = lane; i < (u32)bundle.y; i += Ex::WARP) place.set_bit((u32)bundle.t + i, (u32)(total >> i) & 1u);
}

/// Bit i of the standard form of a variable.
template <class Ex, class Fr>
CUZK_FN void witness_bits(Ex&, const WitnessPlace<Fr>& place, const PieceQuad& bundle, u32 lane) {
    using L = typename Fr::Limb;
    constexpr u32 BITS = 8 * sizeof(L);
    const Fr standard = place.value(place.a.operands[(u32)bundle.z].x).from_mont();
    for (u32 i = lane; i < (u32)bundle.y; i += Ex::WARP) {
        L word = 0;
        CUZK_UNROLL
        for (u32 j = 0; j < (u32)Fr::N; ++j) word = j == i / BITS ? standard.limb[j] : word;
        place.set_bit((u32)bundle.t + i, (u32)(word >> (i % BITS)) & 1u);
    }
}

/// Every step-th term of one side of a row that is solved, from `offset` on, without the result's own.
template <class Fr>
CUZK_FN Fr witness_side(const WitnessPlace<Fr>& place, u32 row, u32 side, i32 own, u32 offset, u32 step) {
    const u32* ends = place.a.row_ptr + side * (place.a.num_rows + 1) + row;
    return place.sum(ends[0] + offset, ends[1], step, side == 2 ? own : PIECE_NO_VAR);
}

/// What makes rows hold: sign * (A w * B w - C w).  Three lanes take a row, a side each.
/// Cost: a product for the row, and one for every term whose value and coefficient are no units.
template <class Ex, class Fr>
CUZK_FN void witness_solve(Ex& ex, const WitnessPlace<Fr>& place, const PieceQuad& bundle, u32 lane) {
    constexpr u32 LANES = Ex::WARP == 1 ? 1 : 3, AT_ONCE = Ex::WARP / LANES;
    const u32 count = (u32)bundle.y;
    for (u32 base = 0; base < count; base += AT_ONCE) {
        const u32 i = base + lane / LANES;
        const bool mine = i < count && lane < LANES * AT_ONCE;
        const PieceQuad solve = place.a.operands[(u32)bundle.z + (mine ? i : 0)];
        const u32 slot = (u32)bundle.t + i;
        const i32 own = place.variable(slot);
        Fr a = mine ? witness_side(place, (u32)solve.x, lane % LANES, own, 0, 1) : Fr::zero(), b, c;
        if constexpr (Ex::WARP == 1) {
            b = witness_side(place, (u32)solve.x, 1, own, 0, 1);
            c = witness_side(place, (u32)solve.x, 2, own, 0, 1);
        } else {
            b = ex.shfl_down(a, 1);
            c = ex.shfl_down(a, 2);
        }
        if (mine && lane % LANES == 0) place.set(slot, (a * b - c).cneg(solve.y < 0));
    }
}

/// The same for one row, whose terms the lanes share.
template <class Ex, class Fr>
CUZK_FN void witness_wide(Ex& ex, const WitnessPlace<Fr>& place, const PieceQuad& bundle, u32 lane) {
    const PieceQuad solve = place.a.operands[(u32)bundle.z];
    const i32 own = place.variable((u32)bundle.t);
    Fr result = Fr::zero();
    CUZK_NO_UNROLL
    for (u32 side = 0; side < 3; ++side) {
        const Fr value = sum_over_lanes(ex, witness_side(place, (u32)solve.x, side, own, lane, Ex::WARP));
        result = side == 0 ? value : side == 1 ? result * value : result - value;
    }
    if (lane == 0) place.set((u32)bundle.t, result.cneg(solve.y < 0));
}

/// Runs one bundle; an opcode that there is not is a fault.
template <class Ex, class Fr>
CUZK_FN void witness_bundle(Ex& ex, const WitnessPlace<Fr>& place, const PieceQuad& bundle, u32 lane, u64 number) {
    const WitnessRunArgs<Fr>& a = place.a;
    const u32 count = (u32)bundle.y, first = (u32)bundle.z, out = (u32)bundle.t;
    switch (bundle.x) {
        case WITNESS_LOGIC:
            for (u32 i = lane; i < count; i += Ex::WARP) {
                const PieceQuad op = a.operands[first + i];
                const u32 index = place.bit(op.x) | place.bit(op.y) << 1 | place.bit(op.z) << 2;
                place.set_bit(out + i, (u32)op.t >> index & 1u);
            }
            break;
        case WITNESS_SUM: witness_sum(ex, place, bundle, lane); break;
        case WITNESS_BITS: witness_bits(ex, place, bundle, lane); break;
        case WITNESS_SOLVE: witness_solve(ex, place, bundle, lane); break;
        case WITNESS_WIDE: witness_wide(ex, place, bundle, lane); break;
        case WITNESS_LINEAR:
            for (u32 i = lane; i < count; i += Ex::WARP) {
                const PieceQuad op = a.operands[first + i];
                place.set(out + i, place.sum((u32)op.x, (u32)op.x + (u32)op.y, 1, PIECE_NO_VAR));
            }
            break;
        case WITNESS_HINT:
            for (u32 i = lane; i < count; i += Ex::WARP) place.set(out + i, a.hints[place.at.hint_base + first + i]);
            break;
        default: ex.fault(FAULT_BAD_OPCODE, number);
    }
}

/// The programs of the instances listed in `ids`, a block each.  row_ptr holds num_rows + 1 entries a side; groups[g]
/// is where a group of bundles begins.  Behind the last bundle there are as many more as a block has warps: the next
/// bundle is fetched before the barrier, whether or not there is one.
template <class Ex, class Fr> CUZK_FN void witness_run(Ex& ex, const WitnessRunArgs<Fr>& a) {
    const u32 lane = ex.lane(), warp = ex.thread() / Ex::WARP, warps = ex.width() / Ex::WARP;
    for (u64 i = ex.block(); i < a.num_ids; i += ex.num_blocks()) {
        const PieceInstance at = a.instances[a.ids[i]];
        const WitnessPlace<Fr> place{a, a.pieces[at.piece], at};
        const u32* groups = a.groups + place.piece.first_group;
        u32 end = groups[0];
        PieceQuad next = a.bundles[end + warp];
        for (u32 g = 1; g <= place.piece.num_groups; ++g) {
            const u32 begin = end;
            end = groups[g];
            for (u32 b = begin + warp; b < end; b += warps) {
                witness_bundle(ex, place, next, lane, b);
                if (b + warps < end) next = a.bundles[b + warps];
            }
            next = a.bundles[end + warp];
            ex.sync();
        }
    }
}

// X(kernel function template, argument struct, threads per block, blocks per multiprocessor)
#define CUZK_WITNESS_KERNELS(X, Fr)                                                                          \
    X(witness_begin, WitnessBeginArgs<Fr>, 256, 1)                                                           \
    X(witness_run, WitnessRunArgs<Fr>, 256, 1)

}  // namespace cuzk
