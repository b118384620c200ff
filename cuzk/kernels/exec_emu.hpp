/// Execution context of an emulated GPU thread: a fiber that stops at every barrier, shuffle and (by seed) atomic.
#pragma once

#include "args.cuh"

namespace cuzk {

struct EmuThread;  // native/emulator.hpp

struct EmuExec {
    static constexpr u32 WARP = 32;
    EmuThread* self;

    u32 thread() const;
    u32 width() const;
    u32 block() const;
    u32 num_blocks() const;
    u32 lane() const { return thread() & 31u; }

    void sync() const;
    void sync_warp() const;
    /// Barrier of the whole grid; only in cooperative launches, which keep every block resident.
    void sync_grid() const;

    template <class T> T* shared(u32 offset_bytes = 0) const {
        return reinterpret_cast<T*>(shared_bytes_from(offset_bytes));
    }

    /// The copy takes place at copy_wait(), so that a kernel that reads too early sees what was there before.
    template <class T> void copy_async(T* slot, const T* source) { queue_copy(slot, source, sizeof(T)); }
    void copy_wait();

    template <class T> T shfl(const T& v, u32 source_lane) const { return exchange(v, source_lane, true); }
    template <class T> T shfl_xor(const T& v, u32 mask) const { return exchange(v, lane() ^ mask, true); }
    /// Lanes without a source keep their own value.
    template <class T> T shfl_up(const T& v, u32 delta) const {
        return exchange(v, lane() >= delta ? lane() - delta : lane(), false);
    }
    template <class T> T shfl_down(const T& v, u32 delta) const {
        return exchange(v, lane() + delta < WARP ? lane() + delta : lane(), false);
    }
    u32 ballot(bool b) const;

    template <class T> T atomic_add(T* p, T v) const {
        preempt();
        return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
    }
    template <class T> T atomic_max(T* p, T v) const {
        preempt();
        const T seen = __atomic_load_n(p, __ATOMIC_RELAXED);
        if (seen < v) __atomic_store_n(p, v, __ATOMIC_RELAXED);
        return seen;
    }
    template <class T> T atomic_min(T* p, T v) const {
        preempt();
        const T seen = __atomic_load_n(p, __ATOMIC_RELAXED);
        if (seen > v) __atomic_store_n(p, v, __ATOMIC_RELAXED);
        return seen;
    }
    u64 atomic_cas(u64* p, u64 expected, u64 desired) const {
        preempt();
        __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
        return expected;
    }

    void fault(u32 code, u64 index) const;

  private:
    static constexpr u32 MAX_COPIES = 8;
    struct Copy {
        void* to;
        const void* from;
        u32 bytes;
    };
    Copy copies[MAX_COPIES];
    u32 num_copies = 0;
    void queue_copy(void* to, const void* from, u32 bytes);

    u8* shared_bytes_from(u32 offset_bytes) const;
    /// Under random schedules another thread may run before an atomic takes effect.
    void preempt() const;
    /// Publish `mine` to the warp, wait, and return what `source_lane` published.
    const void* publish(const void* mine, u32 source_lane, bool must_exist) const;

    template <class T> T exchange(const T& v, u32 source_lane, bool must_exist) const {
        static_assert(sizeof(T) % 4 == 0, "shuffles move whole 32-bit words");
        const T result = *static_cast<const T*>(publish(&v, source_lane, must_exist));
        sync_warp();  // nobody's value may go out of scope while a neighbour still reads it
        return result;
    }
};

}  // namespace cuzk
