/// Execution context at group width 1: one thread a block, so that every collective compiles away.
#pragma once

#include "args.cuh"

namespace cuzk {

struct CpuExec {
    static constexpr u32 WARP = 1;
    FaultWord* fault_word;
    u8* shared_memory;
    u32 block_index;
    u32 block_count;

    static constexpr u32 thread() { return 0; }
    static constexpr u32 width() { return 1; }
    static constexpr u32 lane() { return 0; }
    u32 block() const { return block_index; }
    u32 num_blocks() const { return block_count; }

    void sync() const {}
    void sync_warp() const {}

    template <class T> T* shared(u32 offset_bytes = 0) const {
        return reinterpret_cast<T*>(shared_memory + offset_bytes);
    }

    template <class T> void copy_async(T* slot, const T* source) const { *slot = *source; }
    void copy_wait() const {}

    template <class T> T shfl(T v, u32) const { return v; }
    template <class T> T shfl_xor(T v, u32) const { return v; }
    template <class T> T shfl_up(T v, u32) const { return v; }
    template <class T> T shfl_down(T v, u32) const { return v; }
    u32 ballot(bool b) const { return b ? 1u : 0u; }

    /// Blocks run on several threads, so atomics are real here too.
    template <class T> T atomic_add(T* p, T v) const { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }
    template <class T> T atomic_max(T* p, T v) const {
        T seen = __atomic_load_n(p, __ATOMIC_RELAXED);
        while (seen < v && !__atomic_compare_exchange_n(p, &seen, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        }
        return seen;
    }
    template <class T> T atomic_min(T* p, T v) const {
        T seen = __atomic_load_n(p, __ATOMIC_RELAXED);
        while (seen > v && !__atomic_compare_exchange_n(p, &seen, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        }
        return seen;
    }
    u64 atomic_cas(u64* p, u64 expected, u64 desired) const {
        __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
        return expected;
    }

    void fault(u32 code, u64 index) const {
        if (atomic_cas(&fault_word->code, 0, code) == 0) fault_word->index = index;
    }
};

}  // namespace cuzk
