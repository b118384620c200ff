// The package's emulator, whose asynchronous copies are shown to the shadow memory too.
#include <cstring>

extern "C" void* cuzk_shadow_memcpy(void* to, const void* from, std::size_t size);
extern "C" void cuzk_shadow_copies(void* to, std::size_t size, void* other, std::size_t other_size);
namespace std {
using ::cuzk_shadow_memcpy;
}
#define memcpy cuzk_shadow_memcpy
#define CUZK_COPIES_TOGETHER cuzk_shadow_copies
#include "native/emulator.cpp"
