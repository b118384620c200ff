#include "emulator.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace cuzk {
namespace {

constexpr u8 POISON = 0xA5;
constexpr u32 WARP = EmuExec::WARP;

void thread_main(void* raw) {
    EmuThread* thread = static_cast<EmuThread*>(raw);
    Emulator* owner = thread->block->owner;
    EmuExec ex{};
    ex.self = thread;
    owner->launch.kernel(ex, owner->launch.args);
    thread->wait = Wait::DONE;
    fiber_release(&thread->block->shared);
    fiber_release(&owner->launch_end);
}

}  // namespace

// ---------------------------------------------------------------- what a kernel sees

u32 EmuExec::thread() const { return self->index; }
u32 EmuExec::width() const { return self->block->owner->launch.block; }
u32 EmuExec::block() const { return self->block->index; }
u32 EmuExec::num_blocks() const { return self->block->owner->launch.grid; }

void EmuExec::sync() const {
    fiber_release(self->block);
    self->block->owner->wait(*self, Wait::BLOCK);
    fiber_acquire(self->block);
}

void EmuExec::sync_warp() const {
    void* key = &self->block->warp_barriers[self->index / WARP];
    fiber_release(key);
    self->block->owner->wait(*self, Wait::WARP);
    fiber_acquire(key);
}

void EmuExec::sync_grid() const {
    fiber_release(self->block->owner);
    self->block->owner->wait(*self, Wait::GRID);
    fiber_acquire(self->block->owner);
}

u8* EmuExec::shared_bytes_from(u32 offset_bytes) const {
    EmuBlock& b = *self->block;
    if (offset_bytes >= b.owner->launch.shared_bytes) fault(FAULT_SHARED_OVERFLOW, offset_bytes);
    return b.shared.data() + offset_bytes;
}

const void* EmuExec::publish(const void* mine, u32 source_lane, bool must_exist) const {
    EmuBlock& b = *self->block;
    self->published = mine;
    sync_warp();
    const u32 source = self->index / WARP * WARP + source_lane;
    if (source_lane >= WARP || source >= b.threads.size()) {
        if (must_exist) fault(FAULT_BAD_SHUFFLE, source);
        return mine;
    }
    return b.threads[source]->published;
}

// Shadow memory looks at copies that are under way together: on a GPU they end in any order.
#if !defined(CUZK_COPIES_TOGETHER)
#define CUZK_COPIES_TOGETHER(to, bytes, other, other_bytes) (void)0
#endif
void EmuExec::queue_copy(void* to, const void* from, u32 bytes) {
    if (num_copies == MAX_COPIES) copy_wait();
    for (u32 i = 0; i < num_copies; ++i) CUZK_COPIES_TOGETHER(to, bytes, copies[i].to, copies[i].bytes);
    copies[num_copies++] = {to, from, bytes};
}
void EmuExec::copy_wait() {
    for (u32 i = 0; i < num_copies; ++i) std::memcpy(copies[i].to, copies[i].from, copies[i].bytes);
    num_copies = 0;
}

u32 EmuExec::ballot(bool b) const {
    const u32 mine = b ? 1u : 0u;
    EmuBlock& owner = *self->block;
    self->published = &mine;
    sync_warp();
    u32 result = 0;
    const u32 first = self->index / WARP * WARP;
    for (u32 i = 0; i < WARP && first + i < owner.threads.size(); ++i)
        result |= *static_cast<const u32*>(owner.threads[first + i]->published) << i;
    sync_warp();
    return result;
}

void EmuExec::fault(u32 code, u64 index) const { self->block->owner->raise(code, index); }
void EmuExec::preempt() const { self->block->owner->preempt(*self); }

// ---------------------------------------------------------------- the scheduler

void Emulator::raise(u32 code, u64 index) {
    if (fault_.code == 0) fault_ = {code, index};
}

void Emulator::wait(EmuThread& thread, Wait what) {
    thread.wait = what;
    fiber_release(&launch_end);  // a fault may end the launch here, and the next one reuses memory and stacks
    thread.fiber.yield();
}

void Emulator::preempt(EmuThread& thread) {
    const bool random = launch.order == Order::RANDOM_THREAD || launch.order == Order::RANDOM_WARP;
    if (random && random_() % 8 == 0) wait(thread, Wait::READY);
}

void Emulator::load(EmuBlock& block, u32 index) {
    fiber_acquire(&block.shared);  // the threads that start now take over the memory of a block that has ended
    block.owner = this;
    block.index = index;
    block.shared.assign(launch.shared_bytes + 64, POISON);
    block.warp_barriers.assign((launch.block + WARP - 1) / WARP, 0);
    while (block.threads.size() > launch.block) block.threads.pop_back();
    while (block.threads.size() < launch.block) block.threads.push_back(std::make_unique<EmuThread>());
    for (u32 i = 0; i < launch.block; ++i) {
        EmuThread& t = *block.threads[i];
        t.block = &block;
        t.index = i;
        t.wait = Wait::READY;
        t.published = nullptr;
        t.fiber.start(thread_main, &t);
    }
}

bool Emulator::finished(const EmuBlock& block) const {
    return std::all_of(block.threads.begin(), block.threads.end(), [](const auto& t) { return t->wait == Wait::DONE; });
}

std::vector<u32> Emulator::thread_order(const EmuBlock& block) {
    std::vector<u32> order(block.threads.size());
    std::iota(order.begin(), order.end(), 0u);
    if (launch.order == Order::DESCENDING) std::reverse(order.begin(), order.end());
    if (launch.order == Order::RANDOM_THREAD) std::shuffle(order.begin(), order.end(), random_);
    return order;
}

bool Emulator::run_ready(EmuBlock& block, const std::vector<u32>& order) {
    bool progress = false;
    for (u32 i : order) {
        EmuThread& t = *block.threads[i];
        if (t.wait != Wait::READY) continue;
        progress = true;
        t.fiber.resume();
        if (fault_.code) return progress;
    }
    return progress;
}

/// One round over a block.  Returns whether any thread ran.
bool Emulator::pass(EmuBlock& block) {
    bool progress = false;
    if (launch.order == Order::RANDOM_WARP) {
        const u32 warps = static_cast<u32>(block.warp_barriers.size());
        std::vector<u32> order(warps);
        std::iota(order.begin(), order.end(), 0u);
        std::shuffle(order.begin(), order.end(), random_);
        for (u32 w : order) {
            // One warp goes as far as it can before the next starts: warps drift apart between block barriers.
            const u32 first = w * WARP, last = std::min<u32>(first + WARP, launch.block);
            std::vector<u32> lanes(last - first);
            std::iota(lanes.begin(), lanes.end(), first);
            std::shuffle(lanes.begin(), lanes.end(), random_);
            while (run_ready(block, lanes) && !fault_.code) {
                progress = true;
                resolve_warps(block);
            }
            if (fault_.code) return true;
        }
    } else {
        progress = run_ready(block, thread_order(block));
        if (fault_.code) return true;
        resolve_warps(block);
    }
    resolve_block(block);
    return progress;
}

void Emulator::resolve_warps(EmuBlock& block) {
    const u32 size = static_cast<u32>(block.threads.size());
    for (u32 first = 0; first < size; first += WARP) {
        const u32 last = std::min(first + WARP, size);
        u32 waiting = 0, ready = 0;
        for (u32 i = first; i < last; ++i) {
            waiting += block.threads[i]->wait == Wait::WARP;
            ready += block.threads[i]->wait == Wait::READY;
        }
        if (!waiting || ready) continue;
        if (waiting != last - first) return raise(FAULT_DIVERGENT_BARRIER, block.index);
        for (u32 i = first; i < last; ++i) block.threads[i]->wait = Wait::READY;
    }
}

void Emulator::resolve_block(EmuBlock& block) {
    u32 waiting = 0, others = 0;
    for (const auto& t : block.threads) {
        waiting += t->wait == Wait::BLOCK;
        others += t->wait == Wait::READY || t->wait == Wait::WARP;
    }
    if (!waiting || others) return;
    if (waiting != block.threads.size()) return raise(FAULT_DIVERGENT_BARRIER, block.index);
    for (const auto& t : block.threads) t->wait = Wait::READY;
    ++barriers;
}

bool Emulator::resolve_grid(std::vector<EmuBlock*>& active) {
    if (active.size() != launch.grid) return false;
    for (EmuBlock* b : active)
        for (const auto& t : b->threads)
            if (t->wait != Wait::GRID) return false;
    for (EmuBlock* b : active)
        for (const auto& t : b->threads) t->wait = Wait::READY;
    return true;
}

FaultWord Emulator::run(const EmuLaunch& what) {
    launch = what;
    fault_ = {};
    random_.seed(launch.seed);
    std::vector<u32> order(launch.grid);
    std::iota(order.begin(), order.end(), 0u);
    if (launch.order == Order::DESCENDING || launch.order == Order::LAST_BLOCK_FIRST)
        std::reverse(order.begin(), order.end());
    if (launch.order == Order::RANDOM_THREAD || launch.order == Order::RANDOM_WARP)
        std::shuffle(order.begin(), order.end(), random_);

    const u32 resident = std::max(1u, std::min(launch.resident, launch.grid));
    while (pool_.size() < resident) pool_.push_back(std::make_unique<EmuBlock>());
    std::vector<EmuBlock*> active;
    u32 next = 0;
    for (; next < resident; ++next) {
        load(*pool_[next], order[next]);
        active.push_back(pool_[next].get());
    }
    while (!active.empty() && !fault_.code) {
        bool progress = false;
        for (size_t i = 0; i < active.size() && !fault_.code;) {
            progress |= pass(*active[i]);
            if (!finished(*active[i])) {
                ++i;
            } else if (next < launch.grid) {
                load(*active[i], order[next++]);
            } else {
                active.erase(active.begin() + static_cast<long>(i));
            }
        }
        if (!progress && !fault_.code && !active.empty() && !resolve_grid(active))
            raise(FAULT_DIVERGENT_BARRIER, active.front()->index);
    }
    fiber_acquire(&launch_end);
    return fault_;
}

}  // namespace cuzk
