// Two ways to transform 2^log_n scalars of BN254 on one core, in one translation unit with the same flags:
// the kernel's passes at group width 1, and the loop of a textbook.
#include "exec_cpu.hpp"

#include "ntt.cuh"

using namespace cuzk;
using Fr = Field<bn254_fr>;

extern "C" {

/// Decimation in frequency, radix 2, in place: natural -> bit-reversed.  roots[h + i] = w_(2h)^i, up to h = 2^(log_n - 1).
void plain_dif(Fr* x, u64 log_n, const Fr* roots) {
    const u64 n = (u64)1 << log_n;
    for (u64 h = n / 2; h > 0; h /= 2) {
        for (u64 base = 0; base < n; base += 2 * h) {
            for (u64 j = 0; j < h; ++j) {
                const Fr u = x[base + j], v = x[base + j + h];
                x[base + j] = u + v;
                x[base + j + h] = (u - v) * roots[h + j];
            }
        }
    }
}

/// One launch of ntt_dif_pass, all tiles in one block.
void width1_pass(const NttPassArgs<Fr>* args, u8* scratch) {
    FaultWord fault{};
    CpuExec ex{&fault, scratch, 0, 1};
    ntt_dif_pass(ex, *args);
}
}
