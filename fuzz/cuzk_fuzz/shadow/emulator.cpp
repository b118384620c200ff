// The package's emulator, whose asynchronous copies are shown to the shadow memory too.
#include <cstring>

extern "C" void* cuzk_shadow_memcpy(void* to, const void* from, std::size_t size);
namespace std {
using ::cuzk_shadow_memcpy;
}
#define memcpy cuzk_shadow_memcpy
#include "native/emulator.cpp"
