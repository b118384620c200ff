/// Shadow memory behind the hooks that `-fsanitize=thread` puts in front of every access of a kernel.
///
/// The compiler only inserts the calls; the run-time library that usually answers them is not linked.  This one knows
/// what a GPU's threads may do: accesses to one word by two threads, one of them a plain write, have to be separated by
/// a barrier that both pass; a word has to be written before it is read; and a kernel may touch its arguments' arrays,
/// its block's shared memory and its own variables, nothing else.
#pragma once

#include "native/registry.hpp"

namespace cuzk::shadow {

/// Codes above those of args.cuh.
enum : u32 { FAULT_RACE = 101, FAULT_UNWRITTEN = 102, FAULT_OUTSIDE = 103 };

/// The first fault of a launch.  Arrays are numbered as regions() got them; SHARED stands for shared memory.
struct Report {
    u64 code, array, offset, size, is_write;
    u64 block, thread;              ///< who
    u64 other_block, other_thread;  ///< whose access it races with
    u64 other_is_write;
};
constexpr u64 SHARED = ~u64(0), NOWHERE = ~u64(1);

/// Begin a launch of a kernel; thread_main() is then what the emulator runs.
void begin(void (*kernel)(HostExec&, const void*), u64 num_fields);
void thread_main(HostExec& ex, const void* args);
Report report();
/// The arrays of the next launch, and whether it may read shared memory that nobody wrote.
void regions(u64 count, const u64* begins, const u64* sizes, bool unwritten_shared);
void mark(u64 begin, u64 size, bool is_written);

}  // namespace cuzk::shadow
