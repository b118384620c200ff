#include "fiber.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <new>

#if !defined(__x86_64__)
#error "the emulator's fiber switch is written for x86-64"
#endif

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define CUZK_ASAN 1
#endif
// Under ThreadSanitizer the kernels are instrumented and the scheduler is not: its own bookkeeping is touched by every
// fiber in turn, on one OS thread.  The build says so, since this file then looks uninstrumented to the compiler.
#if defined(__SANITIZE_THREAD__) || defined(CUZK_TSAN_RUNTIME)
#include <sanitizer/tsan_interface.h>
#define CUZK_TSAN 1
#endif

extern "C" void cuzk_switch_stack(void** save_sp, void* load_sp);

// Callee-saved registers of the System V ABI go to the old stack; the return address is already there.
asm(R"(
.text
.globl cuzk_switch_stack
.hidden cuzk_switch_stack
.type cuzk_switch_stack,@function
cuzk_switch_stack:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size cuzk_switch_stack,.-cuzk_switch_stack
)");

namespace cuzk {
namespace {

// Kernels keep points of up to 768 bytes in locals; sanitizer builds pad every one of them.
constexpr size_t STACK_BYTES = 512 * 1024;
constexpr size_t GUARD_BYTES = 4096;

thread_local Fiber* current_fiber = nullptr;

}  // namespace

void Fiber::allocate() {
    void* memory = mmap(nullptr, STACK_BYTES + GUARD_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    if (mprotect(memory, GUARD_BYTES, PROT_NONE) != 0) throw std::bad_alloc();
    stack_base_ = static_cast<char*>(memory) + GUARD_BYTES;
}

Fiber::~Fiber() {
#if CUZK_TSAN
    if (sanitizer_fiber_) __tsan_destroy_fiber(sanitizer_fiber_);
#endif
    if (stack_base_) munmap(static_cast<char*>(stack_base_) - GUARD_BYTES, STACK_BYTES + GUARD_BYTES);
}

void Fiber::start(Entry entry, void* argument) {
    if (!stack_base_) allocate();
    entry_ = entry;
    argument_ = argument;
    finished_ = false;
    fake_stack_ = nullptr;
#if CUZK_ASAN
    // A run that a fault ended left its frames here, and their shadow.
    __asan_unpoison_memory_region(stack_base_, STACK_BYTES);
#endif
#if CUZK_TSAN
    if (sanitizer_fiber_) __tsan_destroy_fiber(sanitizer_fiber_);
    sanitizer_fiber_ = __tsan_create_fiber(0);
#endif
    // Six zero registers, then the address that `ret` jumps to; the ABI wants rsp = 8 mod 16 at a function's entry.
    void** top = reinterpret_cast<void**>(static_cast<char*>(stack_base_) + STACK_BYTES);
    *--top = nullptr;
    *--top = reinterpret_cast<void*>(&Fiber::trampoline);
    for (int i = 0; i < 6; ++i) *--top = nullptr;
    saved_sp_ = top;
}

void Fiber::trampoline() {
    Fiber* self = current_fiber;
#if CUZK_ASAN
    __sanitizer_finish_switch_fiber(nullptr, &self->scheduler_bottom_, &self->scheduler_size_);
#endif
    fiber_acquire(self);  // this stack's former use is over
    self->entry_(self->argument_);
    fiber_release(self);
    self->finished_ = true;
    self->yield();
    __builtin_unreachable();
}

void Fiber::resume() {
    current_fiber = this;
#if CUZK_TSAN
    sanitizer_scheduler_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(sanitizer_fiber_, __tsan_switch_to_fiber_no_sync);
#endif
#if CUZK_ASAN
    void* own_fake_stack = nullptr;
    __sanitizer_start_switch_fiber(&own_fake_stack, stack_base_, STACK_BYTES);
#endif
    cuzk_switch_stack(&scheduler_sp_, saved_sp_);
#if CUZK_ASAN
    __sanitizer_finish_switch_fiber(own_fake_stack, nullptr, nullptr);
#endif
}

void Fiber::yield() {
#if CUZK_TSAN
    __tsan_switch_to_fiber(sanitizer_scheduler_, __tsan_switch_to_fiber_no_sync);
#endif
#if CUZK_ASAN
    __sanitizer_start_switch_fiber(finished_ ? nullptr : &fake_stack_, scheduler_bottom_, scheduler_size_);
#endif
    cuzk_switch_stack(&saved_sp_, scheduler_sp_);
#if CUZK_ASAN
    __sanitizer_finish_switch_fiber(fake_stack_, &scheduler_bottom_, &scheduler_size_);
#endif
}

void fiber_release([[maybe_unused]] void* key) {
#if CUZK_TSAN
    __tsan_release(key);
#endif
}

void fiber_acquire([[maybe_unused]] void* key) {
#if CUZK_TSAN
    __tsan_acquire(key);
#endif
}

}  // namespace cuzk
