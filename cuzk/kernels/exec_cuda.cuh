/// Execution context of a kernel on a GPU: thin names for what the hardware gives.
#pragma once

#include "args.cuh"

namespace cuzk {

extern __shared__ __align__(16) u8 cuda_shared_memory[];

struct CudaExec {
    static constexpr u32 WARP = 32;
    FaultWord* fault_word;

    CUZK_FN u32 thread() const { return threadIdx.x; }
    CUZK_FN u32 width() const { return blockDim.x; }
    CUZK_FN u32 block() const { return blockIdx.x; }
    CUZK_FN u32 num_blocks() const { return gridDim.x; }
    CUZK_FN u32 lane() const { return threadIdx.x & 31u; }

    CUZK_FN void sync() const { __syncthreads(); }
    CUZK_FN void sync_warp() const { __syncwarp(); }

    /// Block shared memory from a byte offset on.  The launch gives its size.
    template <class T> CUZK_FN T* shared(u32 offset_bytes = 0) const {
        return reinterpret_cast<T*>(cuda_shared_memory + offset_bytes);
    }

    /// Start copying *source to *slot, which is in shared memory and this thread's own; it is there after copy_wait().
    template <class T> CUZK_FN void copy_async(T* slot, const T* source) const {
        constexpr u32 UNIT = alignof(T) % 16 == 0 ? 16 : 8;  // a size is a multiple of its alignment
        static_assert(alignof(T) % UNIT == 0, "asynchronous copies move 8 or 16 bytes");
        const u32 to = u32(__cvta_generic_to_shared(slot));
        const u8* from = reinterpret_cast<const u8*>(source);
        CUZK_UNROLL
        for (u32 i = 0; i < sizeof(T); i += UNIT)
            asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to + i), "l"(from + i), "n"(UNIT) : "memory");
    }
    CUZK_FN void copy_wait() const { asm volatile("cp.async.wait_all;" ::: "memory"); }

    template <class T> CUZK_FN T shfl(T v, u32 source_lane) const {
        return each_word(v, [=](u32 w) { return __shfl_sync(0xffffffffu, w, source_lane); });
    }
    template <class T> CUZK_FN T shfl_xor(T v, u32 mask) const {
        return each_word(v, [=](u32 w) { return __shfl_xor_sync(0xffffffffu, w, mask); });
    }
    /// Lanes without a source keep their own value.
    template <class T> CUZK_FN T shfl_up(T v, u32 delta) const {
        return each_word(v, [=](u32 w) { return __shfl_up_sync(0xffffffffu, w, delta); });
    }
    template <class T> CUZK_FN T shfl_down(T v, u32 delta) const {
        return each_word(v, [=](u32 w) { return __shfl_down_sync(0xffffffffu, w, delta); });
    }
    CUZK_FN u32 ballot(bool b) const { return __ballot_sync(0xffffffffu, b); }

    CUZK_FN u32 atomic_add(u32* p, u32 v) const { return atomicAdd(p, v); }
    CUZK_FN u64 atomic_add(u64* p, u64 v) const { return atomicAdd((unsigned long long*)p, v); }
    CUZK_FN u32 atomic_max(u32* p, u32 v) const { return atomicMax(p, v); }
    CUZK_FN u64 atomic_max(u64* p, u64 v) const { return atomicMax((unsigned long long*)p, v); }
    CUZK_FN u32 atomic_min(u32* p, u32 v) const { return atomicMin(p, v); }
    CUZK_FN u64 atomic_min(u64* p, u64 v) const { return atomicMin((unsigned long long*)p, v); }
    CUZK_FN u64 atomic_cas(u64* p, u64 expected, u64 desired) const {
        return atomicCAS((unsigned long long*)p, expected, desired);
    }

    CUZK_FN void fault(u32 code, u64 index) const {
        if (atomic_cas(&fault_word->code, 0, code) == 0) fault_word->index = index;
    }

  private:
    template <class T, class Fn> static CUZK_FN T each_word(T v, Fn fn) {
        static_assert(sizeof(T) % 4 == 0, "shuffles move whole 32-bit words");
        u32* words = reinterpret_cast<u32*>(&v);
        CUZK_UNROLL
        for (u32 i = 0; i < sizeof(T) / 4; ++i) words[i] = fn(words[i]);
        return v;
    }
};

}  // namespace cuzk
