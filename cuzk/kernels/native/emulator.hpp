/// The GPU that is not there: runs one launch of a kernel as fibers under a seeded schedule.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "../exec_emu.hpp"
#include "fiber.hpp"

namespace cuzk {

enum class Order : u32 { ASCENDING = 0, DESCENDING = 1, RANDOM_THREAD = 2, RANDOM_WARP = 3, LAST_BLOCK_FIRST = 4 };

struct EmuLaunch {
    void (*kernel)(EmuExec&, const void*);
    const void* args;
    u32 grid, block, shared_bytes;
    Order order;
    u64 seed;
    u32 resident;  ///< blocks that interleave; all of them in a cooperative launch
};

enum class Wait : u8 { READY, WARP, BLOCK, GRID, DONE };

struct EmuBlock;
class Emulator;

struct EmuThread {
    Fiber fiber;
    EmuBlock* block = nullptr;
    u32 index = 0;
    Wait wait = Wait::DONE;
    const void* published = nullptr;
};

struct EmuBlock {
    Emulator* owner = nullptr;
    u32 index = 0;
    std::vector<std::unique_ptr<EmuThread>> threads;
    std::vector<u8> shared;
    std::vector<u8> warp_barriers;  // one address a warp, for ThreadSanitizer
};

class Emulator {
  public:
    /// Run a launch to its end.  A fault stops it; blocks not yet run stay unrun.
    FaultWord run(const EmuLaunch& launch);

    void raise(u32 code, u64 index);
    void preempt(EmuThread& thread);
    void wait(EmuThread& thread, Wait what);

    EmuLaunch launch{};
    u64 barriers = 0;  ///< block barriers passed, since construction
    u8 launch_end = 0;  ///< an address for ThreadSanitizer: every thread's end happens before run() returns

  private:
    void load(EmuBlock& block, u32 index);
    bool pass(EmuBlock& block);
    bool run_ready(EmuBlock& block, const std::vector<u32>& order);
    void resolve_warps(EmuBlock& block);
    void resolve_block(EmuBlock& block);
    bool resolve_grid(std::vector<EmuBlock*>& active);
    std::vector<u32> thread_order(const EmuBlock& block);
    bool finished(const EmuBlock& block) const;

    std::vector<std::unique_ptr<EmuBlock>> pool_;
    std::mt19937_64 random_;
    FaultWord fault_{};
};

}  // namespace cuzk
