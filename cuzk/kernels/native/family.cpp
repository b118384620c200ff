// One kernel family of one curve for the host.  Compiled once per (CUZK_CURVE, CUZK_FAMILY_*) and target.
#include "registry.hpp"

#include "../kernels.cuh"

#define CUZK_STRING_(x) #x
#define CUZK_STRING(x) CUZK_STRING_(x)
#define CUZK_PASTE_(a, b, c, d) a##b##c##d
#define CUZK_PASTE(a, b, c, d) CUZK_PASTE_(a, b, c, d)

namespace cuzk {

void CUZK_PASTE(register_, CUZK_CURVE, _, CUZK_FAMILY)(Registry& registry) {
#define CUZK_EXPORT(FN, ARGS, SUFFIX, MAX_THREADS, MIN_BLOCKS)                                               \
    registry.push_back(kernel_info<ARGS>(#FN "_" CUZK_STRING(SUFFIX), MAX_THREADS,                           \
                                         [](HostExec& ex, const void* a) { FN(ex, *static_cast<const ARGS*>(a)); }));
    CUZK_MODULE_KERNELS
#undef CUZK_EXPORT
}

}  // namespace cuzk
