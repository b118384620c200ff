// The carry of narrow chains as the GPU keeps it, read before any header: one register, which holds anything when a
// chain begins.  A chain that starts with the carry of another, or runs while another does, then gives wrong answers
// here too, where each chain else has a bit of its own that begins as 0.
#pragma once
#include <cstdint>

namespace cuzk {

template <class L> struct Carry;

template <class L> struct SharedCarry {
    static inline L bit = 1;
    SharedCarry() { bit = 1; }
};
template <> struct Carry<std::uint8_t> : SharedCarry<std::uint8_t> {};
template <> struct Carry<std::uint32_t> : SharedCarry<std::uint32_t> {};

}  // namespace cuzk
