/// What one native module can launch: kernels by name, with their argument fields.
#pragma once

#include <string>
#include <vector>

#include "../platform.cuh"

#if defined(CUZK_TARGET_EMU)
#include "../exec_emu.hpp"
#else
#include "../exec_cpu.hpp"
#endif

namespace cuzk {

#if defined(CUZK_TARGET_EMU)
using HostExec = EmuExec;
#else
using HostExec = CpuExec;
#endif

struct ArgField {
    std::string name;
    char kind;  ///< 'c' pointer to const, 'p' pointer, 'i' integer
};

struct KernelInfo {
    std::string name;
    std::vector<ArgField> fields;
    u32 max_threads;
    void (*run)(HostExec&, const void* args);
};

using Registry = std::vector<KernelInfo>;

template <class Args> KernelInfo kernel_info(std::string name, u32 max_threads, void (*run)(HostExec&, const void*)) {
    KernelInfo info{std::move(name), {}, max_threads, run};
    Args::describe([&](const char* field, char kind) { info.fields.push_back({field, kind}); });
    static_assert(sizeof(Args) % 8 == 0);
    return info;
}

// One function per curve and family, each defined by one compilation of family.cpp.
#define CUZK_FOR_EACH_FAMILY(X)                                                                              \
    X(bls12_381, fr) X(bls12_381, g1) X(bls12_381, g2) X(bn254, fr) X(bn254, g1) X(bn254, g2)                \
    X(toy, fr) X(toy, g1) X(toy, g2) X(any, fields)

#define CUZK_DECLARE_FAMILY(curve, family) void register_##curve##_##family(Registry& registry);
CUZK_FOR_EACH_FAMILY(CUZK_DECLARE_FAMILY)

}  // namespace cuzk
