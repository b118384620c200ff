/// A stack and a saved stack pointer: the smallest thing that can stop in the middle of a kernel and go on.
///
/// The switch is hand-written (six registers and a stack pointer; a swapcontext costs a system call) and tells
/// AddressSanitizer and ThreadSanitizer about each change of stack.
#pragma once

#include <cstddef>

namespace cuzk {

class Fiber {
  public:
    using Entry = void (*)(void*);

    Fiber() = default;
    ~Fiber();
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    /// Prepare to run entry(argument) from the top of this fiber's stack, whatever it held before.
    void start(Entry entry, void* argument);
    /// Run until the fiber yields or its entry returns.  Called from the scheduler's own stack.
    void resume();
    /// Back to the scheduler.  Called on the fiber's stack.
    void yield();

  private:
    static void trampoline();
    void allocate();

    void* stack_base_ = nullptr;  // lowest usable address; a guard page lies below
    void* saved_sp_ = nullptr;
    void* scheduler_sp_ = nullptr;
    Entry entry_ = nullptr;
    void* argument_ = nullptr;
    bool finished_ = true;
    void* sanitizer_fiber_ = nullptr;      // TSan's handle
    void* sanitizer_scheduler_ = nullptr;  // TSan's handle of the resuming stack
    void* fake_stack_ = nullptr;           // ASan's
    const void* scheduler_bottom_ = nullptr;
    size_t scheduler_size_ = 0;
};

/// ThreadSanitizer: what happened before release() on a key happens before what follows acquire() on it.
void fiber_release(void* key);
void fiber_acquire(void* key);

}  // namespace cuzk
