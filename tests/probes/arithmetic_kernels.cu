// Representative kernels of the group and field arithmetic, for two probes:
//   probe_ptxas.py compiles them for every architecture and reads registers, spills and compile time;
//   built with -DRATES it is a program that prints their rates on the GPU at hand.
// The point loops are the shapes that an MSM has: `accumulate` gathers affine points into one XYZZ sum a thread, `reduce`
// adds XYZZ points in a running sum.
#include "curve.cuh"

using namespace cuzk;

#ifndef CURVE
#define CURVE Curve_bls12_381
#endif
using G1 = CURVE::G1;
using G2 = CURVE::G2;

template <class G>
__device__ __forceinline__ void accumulate(Xyzz<G>* out, const Affine<G>* bases, const u32* entries, u32 length, u32 mask) {
    const u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    Xyzz<G> sum = Xyzz<G>::inf();
    for (u32 i = 0; i < length; ++i) {
        const u32 entry = entries[(t * 97 + i) & mask];
        const Affine<G> point = bases[entry & mask];
        sum.add(point.cneg(entry >> 31 != 0));
    }
    out[t] = sum;
}

template <class G>
__device__ __forceinline__ void reduce(Xyzz<G>* out, const Xyzz<G>* buckets, u32 length, u32 mask) {
    const u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    Xyzz<G> running = Xyzz<G>::inf(), sum = Xyzz<G>::inf();
    for (u32 i = 0; i < length; ++i) {
        running.add(buckets[(t * 31 + i) & mask]);
        sum.add(running);
    }
    sum.add(sum.dbl());
    out[t] = sum;
}

template <class F, class Op> __device__ __forceinline__ void repeat(F* out, u32 length, Op op) {
    const u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    F x = out[t], y = out[t + 1];
    for (u32 i = 0; i < length; ++i) x = op(x, y);
    out[t] = x;
}

#define ACCUMULATE(name, G, threads, blocks)                                                              \
    extern "C" __global__ void __launch_bounds__(threads, blocks)                                         \
        name(Xyzz<G>* out, const Affine<G>* bases, const u32* entries, u32 length, u32 mask) {            \
        accumulate(out, bases, entries, length, mask);                                                    \
    }
#define REDUCE(name, G, threads, blocks)                                                                  \
    extern "C" __global__ void __launch_bounds__(threads, blocks)                                         \
        name(Xyzz<G>* out, const Xyzz<G>* buckets, u32 length, u32 mask) {                                \
        reduce(out, buckets, length, mask);                                                               \
    }
#define REPEAT(name, F, expression)                                                                       \
    extern "C" __global__ void name(F* out, u32 length) {                                                 \
        repeat(out, length, [](const F& x, const F& y) { (void)y; return expression; });                  \
    }

#if !defined(ONLY) || ONLY == 1
ACCUMULATE(accumulate_g1, G1, 128, 3)
#endif
#if !defined(ONLY) || ONLY == 2
REDUCE(reduce_g1, G1, 128, 3)
#endif
#if !defined(ONLY) || ONLY == 3
ACCUMULATE(accumulate_g2, G2, 128, 2)
#endif
#if !defined(ONLY) || ONLY == 4
REDUCE(reduce_g2, G2, 128, 2)
#endif
#if !defined(ONLY) || ONLY == 5
REPEAT(fp_mul, CURVE::Fp, x * y)
REPEAT(fp_sqr, CURVE::Fp, x.sqr())
REPEAT(fp_add, CURVE::Fp, x + y)
REPEAT(fp_inverse, CURVE::Fp, x.inverse())
REPEAT(fp_mul_add2, CURVE::Fp, CURVE::Fp::mul_add2(x, y, y, x))
REPEAT(fr_mul, CURVE::Fr, x * y)
REPEAT(fr_sqr, CURVE::Fr, x.sqr())
REPEAT(fr_add, CURVE::Fr, x + y)
REPEAT(fr_inverse, CURVE::Fr, x.inverse())
REPEAT(fp2_mul, CURVE::Fp2, x * y)
REPEAT(fp2_sqr, CURVE::Fp2, x.sqr())
#endif

#if defined(RATES)
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_OK(call)                                                                        \
    do {                                                                                     \
        cudaError_t error = (call);                                                          \
        if (error != cudaSuccess) {                                                          \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
            std::exit(1);                                                                    \
        }                                                                                    \
    } while (0)

constexpr u32 TABLE = 1u << 16;

// Median milliseconds of five launches after one warm-up.
template <class Launch> static float median_ms(Launch launch) {
    cudaEvent_t begin, end;
    CUDA_OK(cudaEventCreate(&begin));
    CUDA_OK(cudaEventCreate(&end));
    std::vector<float> times;
    for (int i = 0; i < 6; ++i) {
        CUDA_OK(cudaEventRecord(begin));
        launch();
        CUDA_OK(cudaGetLastError());
        CUDA_OK(cudaEventRecord(end));
        CUDA_OK(cudaEventSynchronize(end));
        float ms;
        CUDA_OK(cudaEventElapsedTime(&ms, begin, end));
        if (i > 0) times.push_back(ms);
    }
    std::sort(times.begin(), times.end());
    return times[2];
}

template <class F> static void rate(const char* name, void (*kernel)(F*, u32), void* data, u32 length, int sms) {
    const int grid = sms * 8, block = 256;
    const float ms = median_ms([&] { kernel<<<grid, block>>>(static_cast<F*>(data), length); });
    std::printf("%-16s %9.3f G/s\n", name, double(grid) * block * length / ms * 1e-6);
}

int main() {
    cudaDeviceProp device;
    CUDA_OK(cudaGetDeviceProperties(&device, 0));
    const int sms = device.multiProcessorCount;
    std::printf("%s, %d SMs\n", device.name, sms);
    // Random numbers with the top byte cleared are below every modulus; the formulas do not use the curve equation.
    std::vector<u64> host(std::size_t(TABLE) * 48);
    u64 state = 1;
    for (std::size_t i = 0; i < host.size(); ++i) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        host[i] = (state ^ state >> 29) & 0x0fffffffffffffffull;
    }
    void *data, *out, *entries;
    const std::size_t out_bytes = std::size_t(sms) * 8 * 256 * sizeof(Xyzz<G2>) + 4096;
    CUDA_OK(cudaMalloc(&data, host.size() * 8));
    CUDA_OK(cudaMalloc(&entries, TABLE * 4));
    CUDA_OK(cudaMalloc(&out, out_bytes));
    CUDA_OK(cudaMemcpy(data, host.data(), host.size() * 8, cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpy(entries, host.data(), TABLE * 4, cudaMemcpyHostToDevice));
    for (std::size_t at = 0; at < out_bytes; at += host.size() * 8) {
        const std::size_t n = std::min(out_bytes - at, host.size() * 8);
        CUDA_OK(cudaMemcpy(static_cast<char*>(out) + at, host.data(), n, cudaMemcpyHostToDevice));
    }
    rate("fp_mul", fp_mul, out, 4000, sms);
    rate("fp_sqr", fp_sqr, out, 4000, sms);
    rate("fp_add", fp_add, out, 40000, sms);
    rate("fp_mul_add2", fp_mul_add2, out, 4000, sms);
    rate("fp_inverse", fp_inverse, out, 40, sms);
    rate("fr_mul", fr_mul, out, 8000, sms);
    rate("fr_sqr", fr_sqr, out, 8000, sms);
    rate("fr_add", fr_add, out, 40000, sms);
    rate("fr_inverse", fr_inverse, out, 40, sms);
    rate("fp2_mul", fp2_mul, out, 2000, sms);
    rate("fp2_sqr", fp2_sqr, out, 2000, sms);
    const auto points = [&](const char* name, int blocks, double adds, auto kernel, auto... args) {
        const int grid = sms * blocks * 4;
        const float ms = median_ms([&] { kernel<<<grid, 128>>>(args...); });
        std::printf("%-16s %9.3f G/s\n", name, double(grid) * 128 * adds / ms * 1e-6);
    };
    const u32* index = static_cast<const u32*>(entries);
    const u32 mask = TABLE - 1, length = 200;
    points("madd_g1", 3, length, accumulate_g1, (Xyzz<G1>*)out, (const Affine<G1>*)data, index, length, mask);
    points("add_g1", 3, 2 * length, reduce_g1, (Xyzz<G1>*)out, (const Xyzz<G1>*)data, length, mask);
    points("madd_g2", 2, length, accumulate_g2, (Xyzz<G2>*)out, (const Affine<G2>*)data, index, length, mask);
    points("add_g2", 2, 2 * length, reduce_g2, (Xyzz<G2>*)out, (const Xyzz<G2>*)data, length, mask);
    CUDA_OK(cudaDeviceSynchronize());
    return 0;
}
#endif
