// The Python face of one host build of the kernels: cuzk._cpu, cuzk._cpu_v3 or cuzk._emu.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>

#include "registry.hpp"

#if defined(CUZK_TARGET_EMU)
#include "emulator.hpp"
#else
#include "pool.hpp"
#endif

namespace nb = nanobind;

extern "C" const char cuzk_source_digest[];  // written by the build (cuzk/device/sources.py)

namespace cuzk {
namespace {

const Registry& registry() {
    static const Registry kernels = [] {
        Registry r;
#define CUZK_CALL_FAMILY(curve, family) register_##curve##_##family(r);
        CUZK_FOR_EACH_FAMILY(CUZK_CALL_FAMILY)
        return r;
    }();
    return kernels;
}

const KernelInfo& checked_kernel(size_t index, nb::bytes args) {
    const KernelInfo& k = registry().at(index);
    if (args.size() != 8 * k.fields.size()) throw std::invalid_argument(k.name + ": wrong argument size");
    return k;
}

using Fault = std::pair<u64, u64>;

#if defined(CUZK_TARGET_EMU)

Emulator& emulator() {
    static Emulator instance;
    return instance;
}

Fault launch(size_t kernel, nb::bytes args, u32 grid, u32 block, u32 shared_bytes, u32 order, u64 seed, u32 resident) {
    const KernelInfo& k = checked_kernel(kernel, args);
    // The GIL stays held: one emulator, one operation counter, one schedule at a time.
    const FaultWord f = emulator().run(
        {k.run, args.c_str(), grid, block, shared_bytes, static_cast<Order>(order), seed, resident});
    return {f.code, f.index};
}

std::vector<std::pair<std::string, u64>> counters() {
    std::vector<std::pair<std::string, u64>> result;
    for (u32 i = 0; i < NUM_COUNTERS; ++i) result.emplace_back(COUNTER_NAMES[i], op_counters[i]);
    result.emplace_back("barriers", emulator().barriers);
    return result;
}

void reset_counters() {
    for (u32 i = 0; i < NUM_COUNTERS; ++i) op_counters[i] = 0;
    emulator().barriers = 0;
}

#else

constexpr size_t SHARED_ALIGNMENT = 64;

Fault launch(size_t kernel, nb::bytes args, u32 grid, u32 shared_bytes, u32 threads) {
    static Pool pool;
    const KernelInfo& k = checked_kernel(kernel, args);
    FaultWord fault{};
    const void* raw = args.c_str();
    nb::gil_scoped_release unlocked;
    // Scratch that stands in for shared memory, one piece a worker, cache-line aligned.
    const size_t stride = (shared_bytes + SHARED_ALIGNMENT - 1) / SHARED_ALIGNMENT * SHARED_ALIGNMENT;
    const std::unique_ptr<u8[]> scratch(new u8[stride * std::max(threads, 1u) + SHARED_ALIGNMENT]);
    u8* base = scratch.get() + (SHARED_ALIGNMENT - reinterpret_cast<uintptr_t>(scratch.get()) % SHARED_ALIGNMENT);
    pool.run(grid, threads, [&](unsigned worker, unsigned block) {
        CpuExec ex{&fault, base + worker * stride, block, grid};
        k.run(ex, raw);
    });
    return {fault.code, fault.index};
}

#endif

}  // namespace

NB_MODULE(CUZK_MODULE_NAME, m) {
    m.def("source_digest", [] { return std::string(cuzk_source_digest); },
          "Digest of the sources that this build was made from.");
    m.def("kernels", [] {
        std::vector<std::tuple<std::string, std::vector<std::pair<std::string, std::string>>, u32>> result;
        for (const KernelInfo& k : registry()) {
            std::vector<std::pair<std::string, std::string>> fields;
            for (const ArgField& f : k.fields) fields.emplace_back(f.name, std::string(1, f.kind));
            result.emplace_back(k.name, fields, k.max_threads);
        }
        return result;
    }, "Every kernel as (name, [(field, kind)], most threads a block); kind is c (const pointer), p or i.");
#if defined(CUZK_TARGET_EMU)
    m.def("launch", &launch, nb::arg("kernel"), nb::arg("args"), nb::arg("grid"), nb::arg("block"),
          nb::arg("shared_bytes"), nb::arg("order"), nb::arg("seed"), nb::arg("resident"),
          "Run one launch under a schedule; returns (fault code, fault index).");
    m.def("counters", &counters, "Operations counted since the last reset.");
    m.def("reset_counters", &reset_counters);
#else
    m.def("launch", &launch, nb::arg("kernel"), nb::arg("args"), nb::arg("grid"), nb::arg("shared_bytes"),
          nb::arg("threads"), "Run one launch on worker threads; returns (fault code, fault index).");
#endif
}

}  // namespace cuzk
