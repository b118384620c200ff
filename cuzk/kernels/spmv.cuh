/// Sparse matrix times vector over Fr: out = M * w, M in CSR with coefficients as indices into a dictionary.
///
/// Row i holds entries row_ptr[i] .. row_ptr[i+1] - 1; an entry is a column (u32) and a coefficient code of one, two
/// or four bytes.  R1CS matrices are mostly +1 and -1: those codes cost an addition.  Rows of more than `long_row`
/// entries are left out by spmv_rows and taken by spmv_long_rows, whole blocks at a time, so that one dense row does
/// not hold up its neighbours.  Entries may repeat a column or cancel; a row without entries gives 0.
/// Preconditions, which the host checks once per matrix: row_ptr ascends from 0, columns and codes are in range.
#pragma once

#include "args.cuh"
#include "field.cuh"

namespace cuzk {

#define SPMV_ARGS(F)                                                                                         \
    F(const i64*, row_ptr) F(const u32*, cols) F(const u8*, codes) F(u64, code_bytes) F(const Fr*, dictionary) \
    F(u64, one_code) F(u64, minus_one_code) F(const Fr*, w) F(Fr*, out)
#define SPMV_ROWS_ARGS(F) SPMV_ARGS(F) F(u64, num_rows) F(u64, num_rows_out) F(u64, long_row)
#define SPMV_LONG_ROWS_ARGS(F) SPMV_ARGS(F) F(const u32*, rows) F(u64, num_long)
CUZK_ARGS_T1(SpmvRowsArgs, Fr, SPMV_ROWS_ARGS)
CUZK_ARGS_T1(SpmvLongRowsArgs, Fr, SPMV_LONG_ROWS_ARGS)

/// Coefficient code of entry k.
template <class Args> CUZK_FN u64 spmv_code(const Args& a, i64 k) {
    if (a.code_bytes == 1) return a.codes[k];
    if (a.code_bytes == 2) return reinterpret_cast<const u16*>(a.codes)[k];
    return reinterpret_cast<const u32*>(a.codes)[k];
}

/// sum + coefficient * w of entry k.  Cost: one addition, and one product unless the coefficient is +1 or -1.
template <class Fr, class Args> CUZK_FN Fr spmv_add_entry(const Fr& sum, const Args& a, i64 k) {
    const u64 code = spmv_code(a, k);
    const Fr value = a.w[a.cols[k]];
    if (code == a.one_code) return sum + value;
    if (code == a.minus_one_code) return sum - value;
    return sum + value * a.dictionary[code];
}

/// Rows of at most long_row entries, a thread each; rows num_rows .. num_rows_out - 1 (the padding of the domain) are 0.
template <class Ex, class Fr> CUZK_FN void spmv_rows(Ex& ex, const SpmvRowsArgs<Fr>& a) {
    for_range(ex, a.num_rows_out, [&](u64 row) {
        Fr sum = Fr::zero();
        if (row < a.num_rows) {
            const i64 begin = a.row_ptr[row], end = a.row_ptr[row + 1];
            if ((u64)(end - begin) > a.long_row) return;
            for (i64 k = begin; k < end; ++k) sum = spmv_add_entry(sum, a, k);
        }
        a.out[row] = sum;
    });
}

/// The rows listed in `rows`, a block each: threads take entries in turn, then their sums are added as a tree.
/// Shared memory: one element a thread.
template <class Ex, class Fr> CUZK_FN void spmv_long_rows(Ex& ex, const SpmvLongRowsArgs<Fr>& a) {
    Fr* sums = ex.template shared<Fr>();
    for (u64 i = ex.block(); i < a.num_long; i += ex.num_blocks()) {
        const u32 row = a.rows[i];
        const i64 end = a.row_ptr[row + 1];
        Fr sum = Fr::zero();
        for (i64 k = a.row_ptr[row] + ex.thread(); k < end; k += ex.width()) sum = spmv_add_entry(sum, a, k);
        sums[ex.thread()] = sum;
        ex.sync();
        for (u32 count = ex.width(); count > 1;) {
            const u32 half = (count + 1) / 2;
            if (ex.thread() < count - half) sums[ex.thread()] = sums[ex.thread()] + sums[ex.thread() + half];
            ex.sync();
            count = half;
        }
        if (ex.thread() == 0) a.out[row] = sums[0];  // no barrier: nobody else writes sums[0] for the next row
    }
}

// X(kernel function template, argument struct, threads per block, blocks per multiprocessor)
#define CUZK_SPMV_KERNELS(X, Fr)                                                                             \
    X(spmv_rows, SpmvRowsArgs<Fr>, 256, 1)                                                                   \
    X(spmv_long_rows, SpmvLongRowsArgs<Fr>, 256, 1)

}  // namespace cuzk
