/// Compiled once for each curve, CUZK_CURVE being its name.
#include "tape.hpp"

#define CUZK_JOIN_(a, b) a##b
#define CUZK_JOIN(a, b) CUZK_JOIN_(a, b)

namespace cuzk::closures {

std::unique_ptr<Tape> CUZK_JOIN(make_, CUZK_CURVE)(const Arrays& in) {
    return std::make_unique<TapeOf<Field<CUZK_JOIN(CUZK_CURVE, _fr)>>>(in);
}

}  // namespace cuzk::closures
