// A C interface to a handful of kernels: what a shared object made from an altered header exports.
//
// The object that is tested defines register_mutant(); this file, compiled once, lists its kernels and launches them.
#include "native/registry.hpp"

#include <memory>
#include <string>

#if defined(CUZK_TARGET_EMU)
#include "native/emulator.hpp"
#endif
#if defined(CUZK_SHADOW)
#include "runtime.hpp"
#endif

namespace cuzk {

void register_mutant(Registry& registry);

namespace {
const Registry& registry() {
    static const Registry kernels = [] {
        Registry r;
        register_mutant(r);
        return r;
    }();
    return kernels;
}
}  // namespace

}  // namespace cuzk

extern "C" {

/// One line a kernel: name, most threads, then field:kind for every argument, separated by blanks.
const char* cuzk_describe() {
    static const std::string text = [] {
        std::string all;
        for (const cuzk::KernelInfo& k : cuzk::registry()) {
            all += k.name + " " + std::to_string(k.max_threads);
            for (const cuzk::ArgField& f : k.fields) all += " " + f.name + ":" + f.kind;
            all += "\n";
        }
        return all;
    }();
    return text.c_str();
}

/// Launch kernel number `kernel`.  shape: grid, block, shared bytes, order, resident.  fault: code and index.
void cuzk_launch(cuzk::u64 kernel, const void* args, const cuzk::u32* shape, [[maybe_unused]] cuzk::u64 seed,
                 cuzk::u64* fault) {
    const cuzk::KernelInfo& k = cuzk::registry().at(kernel);
#if defined(CUZK_TARGET_EMU)
    static cuzk::Emulator emulator;
    auto run = k.run;
#if defined(CUZK_SHADOW)
    cuzk::shadow::begin(run, k.fields.size());
    run = cuzk::shadow::thread_main;
#endif
    const cuzk::FaultWord f = emulator.run(
        {run, args, shape[0], shape[1], shape[2], static_cast<cuzk::Order>(shape[3]), seed, shape[4]});
#else
    cuzk::FaultWord f{};
    const std::unique_ptr<cuzk::u8[]> scratch(new cuzk::u8[shape[2] + 64]);
    cuzk::u8* shared = scratch.get() + (64 - reinterpret_cast<uintptr_t>(scratch.get()) % 64);
    for (cuzk::u32 block = 0; block < shape[0]; ++block) {  // one after another: whoever loads this may have forked
        cuzk::CpuExec ex{&f, shared, block, shape[0]};
        k.run(ex, args);
    }
#endif
    fault[0] = f.code;
    fault[1] = f.index;
}
}
