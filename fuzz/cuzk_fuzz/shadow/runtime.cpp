#include "runtime.hpp"

#include <cstring>
#include <deque>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "native/emulator.hpp"

// Where this shared object lies, with its tables of constants and the operation counters.
extern "C" __attribute__((visibility("hidden"))) char __ehdr_start[], _end[];

namespace cuzk::shadow {
namespace {

constexpr u8 POISON = 0xA5;  // native/emulator.cpp, cuzk/device/host.py
constexpr u64 GRANULE = 8, PAGE = 512, CELLS = 4;
// native/fiber.cpp: kernels' variables lie in stacks of this size, below the frame of thread_main.
constexpr u64 STACK_BYTES = 512 * 1024, ABOVE = 1024;

/// When something happened, as far as barriers tell.
struct Moment {
    u32 launch = 0, block = 0, thread = 0, grid_epoch = 0, block_epoch = 0, warp_epoch = 0;
};

/// A fiber of the emulator; the scheduler's own has no thread.
struct State {
    EmuThread* self = nullptr;
    Moment now;
};

struct Cell {
    Moment when;
    u8 bytes = 0;
    bool is_write = false, is_atomic = false;
};
struct Granule {
    Cell cells[CELLS];
    u8 next = 0, unwritten = 0;
};
struct Page {
    Granule granules[PAGE / GRANULE];
};
struct Region {
    u64 begin, size, name;
};

struct Memory {
    std::unordered_map<u64, std::unique_ptr<Page>> pages;
    u64 last_number = ~u64(0);
    Page* last = nullptr;

    Granule& at(u64 address) {
        const u64 number = address / PAGE;
        if (number != last_number) {
            std::unique_ptr<Page>& page = pages[number];
            if (!page) page = std::make_unique<Page>();
            last = page.get();
            last_number = number;
        }
        return last->granules[address % PAGE / GRANULE];
    }
};

Memory memory;
State scheduler, *current = &scheduler;
std::deque<State> states;
std::vector<State*> spare;
std::vector<Region> arrays;
std::set<u64> stacks;

/// The shared memory of a resident block: whose it is, and what it held when its running thread began to run.
struct SharedMemory {
    u32 launch = 0, block = 0;
    std::vector<u8> before;
};
std::unordered_map<const EmuBlock*, SharedMemory> loaded;
bool leaving = false;  // the thread is on its way to the scheduler already
Report first{};
void (*kernel)(HostExec&, const void*) = nullptr;
u64 args_begin = 0, args_size = 0;
u32 launch_number = 0;
bool lenient = false;

bool is_ordered(const Moment& a, const Moment& b) {
    if (a.launch != b.launch || a.grid_epoch != b.grid_epoch) return true;
    if (a.block != b.block) return false;
    if (a.thread == b.thread || a.block_epoch != b.block_epoch) return true;
    return a.thread / EmuExec::WARP == b.thread / EmuExec::WARP && a.warp_epoch != b.warp_epoch;
}

/// Keep the first fault and leave the thread for good: the scheduler sees the fault and ends the launch.
void stop(u32 code, const Region& where, u64 address, u64 size, bool is_write, const Cell* other = nullptr) {
    State& me = *current;
    first = {code, where.name, address - where.begin, size, is_write, me.now.block, me.now.thread, 0, 0, 0};
    if (other) {
        first.other_block = other->when.block;
        first.other_thread = other->when.thread;
        first.other_is_write = other->is_write;
    }
    Emulator& owner = *me.self->block->owner;
    owner.raise(code, address - where.begin);
    if (!leaving) owner.wait(*me.self, Wait::READY);
}

/// Whether some of the bytes hold what was there before the kernels.  g++ gives no sign of a structure that a call returns
/// right into memory, so bytes that nobody was seen to write and that are no longer poison were written that way.
bool is_unwritten(Granule& g, u64 address, u8 bytes) {
    const u8* memory = reinterpret_cast<const u8*>(address);
    for (u32 i = 0; i < GRANULE; ++i)
        if (bytes >> i & 1 && g.unwritten >> i & 1 && memory[i] != POISON) g.unwritten &= u8(~bytes);
    return g.unwritten & bytes;
}

void check_granule(u64 address, u8 bytes, const Region& where, bool is_write, bool is_atomic, bool is_read) {
    Granule& g = memory.at(address);
    const u64 size = u64(__builtin_popcount(bytes)), begin = address + u64(__builtin_ctz(bytes));
    if (is_read && !(lenient && where.name == SHARED) && is_unwritten(g, address, bytes))
        return stop(FAULT_UNWRITTEN, where, begin, size, is_write);
    if (is_write) g.unwritten &= u8(~bytes);
    const Moment& now = current->now;
    Cell* place = nullptr;
    for (Cell& c : g.cells) {
        if (!c.bytes) {
            place = place ? place : &c;
        } else if (is_ordered(c.when, now)) {
            // Whoever races with an earlier ordered access of these bytes races with this one, if it is as strong.
            if (!(c.bytes & ~bytes) && (is_write || !c.is_write || c.when.launch != now.launch)) place = &c;
        } else if ((c.bytes & bytes) && (c.is_write || is_write) && !(c.is_atomic && is_atomic)) {
            return stop(FAULT_RACE, where, begin, size, is_write, &c);
        }
    }
    if (!place) place = &g.cells[g.next++ % CELLS];
    *place = {now, bytes, is_write, is_atomic};
}

bool is_private(u64 address) {
    const auto top = stacks.lower_bound(address);
    if (top != stacks.end() && *top - address < STACK_BYTES) return true;
    return address >= reinterpret_cast<u64>(__ehdr_start) && address < reinterpret_cast<u64>(_end);
}

/// The array, or the shared memory, that all of an access lies in.
bool find_region(u64 address, u64 size, Region& where) {
    for (const Region& r : arrays)
        if (address - r.begin < r.size && size <= r.size - (address - r.begin)) return where = r, true;
    const EmuBlock& block = *current->self->block;
    const u64 shared = reinterpret_cast<u64>(block.shared.data());
    where = {shared, block.owner->launch.shared_bytes, SHARED};
    return address - shared < where.size && size <= where.size - (address - shared);
}

void access(const void* pointer, u64 size, bool is_write, bool is_atomic = false, bool is_read = false) {
    if (!current->self || !size) return;
    const u64 address = reinterpret_cast<u64>(pointer);
    Region where{};
    if (!find_region(address, size, where)) {
        if (is_private(address) || (!is_write && address - args_begin < args_size)) return;
        // Name the array that it begins in or just beside of.
        Region near{address, 0, NOWHERE};
        arrays.push_back(where);  // shared memory
        for (const Region& r : arrays)
            if (r.size && address + 64 >= r.begin && address - r.begin <= r.size + 64) near = r;
        arrays.pop_back();
        return stop(FAULT_OUTSIDE, near, address, size, is_write);
    }
    for (u64 at = address; at < address + size;) {
        const u64 base = at / GRANULE * GRANULE, end = std::min(base + GRANULE, address + size);
        const u8 bytes = u8(((1u << (end - at)) - 1) << (at - base));
        check_granule(base, bytes, where, is_write, is_atomic, is_read || !is_write);
        at = end;
    }
}

/// Note the writes to shared memory that the compiler gave no sign of, before another thread runs.
void note_silent_writes() {
    const EmuBlock& block = *current->self->block;
    std::vector<u8>& before = loaded[&block].before;
    const u8* now = block.shared.data();
    if (before.empty() || !std::memcmp(before.data(), now, before.size())) return;
    const Region where{reinterpret_cast<u64>(now), before.size(), SHARED};
    leaving = true;
    for (u64 at = 0; at < before.size() && !first.code; at += GRANULE) {
        u8 bytes = 0;
        for (u64 i = at; i < std::min<u64>(at + GRANULE, before.size()); ++i)
            bytes |= u8((before[i] != now[i]) << (i - at));
        if (bytes) check_granule(where.begin + at, bytes, where, true, false, false);
    }
    leaving = false;
    std::memcpy(before.data(), now, before.size());
}

}  // namespace

void begin(void (*run)(HostExec&, const void*), u64 num_fields) {
    kernel = run;
    args_size = 8 * num_fields;
    first = {};
    ++launch_number;
}

void thread_main(HostExec& ex, const void* args) {
    EmuBlock& block = *ex.self->block;
    args_begin = reinterpret_cast<u64>(args);
    stacks.insert(reinterpret_cast<u64>(__builtin_frame_address(0)) + ABOVE);
    SharedMemory& last = loaded[&block];
    if (last.launch != launch_number || last.block != block.index) {
        const u8* shared = block.shared.data();
        last = {launch_number, block.index, {shared, shared + block.owner->launch.shared_bytes}};
        mark(reinterpret_cast<u64>(shared), last.before.size(), false);
    }
    current->self = ex.self;
    current->now = {launch_number, block.index, ex.self->index, 0, 0, 0};
    kernel(ex, args);
    note_silent_writes();
    current->self = nullptr;
}

Report report() { return first; }

void regions(u64 count, const u64* begins, const u64* sizes, bool unwritten_shared) {
    lenient = unwritten_shared;
    arrays.clear();
    for (u64 i = 0; i < count; ++i) arrays.push_back({begins[i], sizes[i], i});
}

void mark(u64 begin, u64 size, bool is_written) {
    for (u64 at = begin; at < begin + size;) {
        const u64 base = at / GRANULE * GRANULE, end = std::min(base + GRANULE, begin + size);
        const u8 bytes = u8(((1u << (end - at)) - 1) << (at - base));
        Granule& g = memory.at(base);
        for (Cell& c : g.cells) c.bytes &= u8(~bytes);
        g.unwritten = is_written ? g.unwritten & u8(~bytes) : g.unwritten | bytes;
        at = end;
    }
}

}  // namespace cuzk::shadow

// ---------------------------------------------------------------- what the compiler and the emulator call

using namespace cuzk::shadow;

extern "C" {

#define PLAIN(SIZE)                                                      \
    void __tsan_read##SIZE(void* p) { access(p, SIZE, false); }          \
    void __tsan_write##SIZE(void* p) { access(p, SIZE, true); }          \
    void __tsan_unaligned_read##SIZE(void* p) { access(p, SIZE, false); } \
    void __tsan_unaligned_write##SIZE(void* p) { access(p, SIZE, true); }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)
void __tsan_read_range(void* p, size_t size) { access(p, size, false); }
void __tsan_write_range(void* p, size_t size) { access(p, size, true); }
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void*, void*) {}

#define ATOMIC(BITS)                                                                                          \
    typedef std::uint##BITS##_t a##BITS;                                                                      \
    a##BITS __tsan_atomic##BITS##_load(const volatile a##BITS* p, int) {                                      \
        access(const_cast<a##BITS*>(p), BITS / 8, false, true);                                               \
        return *p;                                                                                            \
    }                                                                                                         \
    void __tsan_atomic##BITS##_store(volatile a##BITS* p, a##BITS v, int) {                                   \
        access(const_cast<a##BITS*>(p), BITS / 8, true, true);                                                \
        *p = v;                                                                                               \
    }                                                                                                         \
    a##BITS __tsan_atomic##BITS##_fetch_add(volatile a##BITS* p, a##BITS v, int) {                            \
        access(const_cast<a##BITS*>(p), BITS / 8, true, true, true);                                          \
        const a##BITS old = *p;                                                                               \
        *p = old + v;                                                                                         \
        return old;                                                                                           \
    }                                                                                                         \
    int __tsan_atomic##BITS##_compare_exchange_strong(volatile a##BITS* p, a##BITS* expected, a##BITS v, int, \
                                                      int) {                                                  \
        access(const_cast<a##BITS*>(p), BITS / 8, true, true, true);                                          \
        const a##BITS old = *p;                                                                               \
        if (old == *expected) return *p = v, 1;                                                               \
        return *expected = old, 0;                                                                            \
    }                                                                                                         \
    a##BITS __tsan_atomic##BITS##_compare_exchange_val(volatile a##BITS* p, a##BITS expected, a##BITS v, int, \
                                                       int) {                                                 \
        access(const_cast<a##BITS*>(p), BITS / 8, true, true, true);                                          \
        const a##BITS old = *p;                                                                               \
        if (old == expected) *p = v;                                                                          \
        return old;                                                                                           \
    }
ATOMIC(32)
ATOMIC(64)

/// The asynchronous copies of the emulator: see emulator.cpp beside this file.
void* cuzk_shadow_memcpy(void* to, const void* from, size_t size) {
    access(from, size, false);
    access(to, size, true);
    return __builtin_memcpy(to, from, size);
}

/// Two copies of one thread that nobody has waited for, into one place: a GPU may end them in any order.
void cuzk_shadow_copies(void* to, size_t size, void* other, size_t other_size) {
    const auto first_byte = reinterpret_cast<cuzk::u64>(to), other_byte = reinterpret_cast<cuzk::u64>(other);
    if (first_byte >= other_byte + other_size || other_byte >= first_byte + size) return;
    Region where{};
    if (!find_region(first_byte, size, where)) return;
    const Cell earlier{current->now, 0xff, true, false};
    stop(cuzk::shadow::FAULT_RACE, where, first_byte, size, true, &earlier);
}

void* __tsan_create_fiber(unsigned) {
    if (spare.empty()) return &states.emplace_back();
    State* state = spare.back();
    spare.pop_back();
    *state = {};
    return state;
}
void __tsan_destroy_fiber(void* fiber) { spare.push_back(static_cast<State*>(fiber)); }
void* __tsan_get_current_fiber() { return current; }
void __tsan_switch_to_fiber(void* fiber, unsigned) {
    if (current->self) note_silent_writes();
    current = static_cast<State*>(fiber);
}
void __tsan_release(void*) {}
/// A thread that has waited takes up what the others did before the barrier: its epoch begins.
void __tsan_acquire(void* key) {
    const cuzk::EmuThread* self = current->self;
    if (!self) return;
    if (key == self->block->owner) ++current->now.grid_epoch;
    else if (key == self->block) ++current->now.block_epoch;
    else if (key == &self->block->warp_barriers[self->index / cuzk::EmuExec::WARP]) ++current->now.warp_epoch;
}

/// For Python: see NativeKernels in native.py.
__attribute__((visibility("default"))) void cuzk_shadow_regions(u_int64_t count, const u_int64_t* begins,
                                                                const u_int64_t* sizes, int unwritten_shared) {
    regions(count, begins, sizes, unwritten_shared != 0);
}
__attribute__((visibility("default"))) void cuzk_shadow_mark(u_int64_t begin, u_int64_t size, int is_written) {
    mark(begin, size, is_written != 0);
}
__attribute__((visibility("default"))) void cuzk_shadow_report(Report* out) { *out = report(); }
}
