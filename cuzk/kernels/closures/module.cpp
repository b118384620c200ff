/// The Python modules cuzk._closures and cuzk._closures_v3: the classic synthesis over tapes of a circuit's steps.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include "tape.hpp"

namespace nb = nanobind;

namespace cuzk::closures {
namespace {

template <class T> using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Values = nb::ndarray<const u64, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

std::unique_ptr<Tape> make_tape(const std::string& curve, const Vector<u64>& sides, const Vector<u32>& variables,
                                const Vector<u32>& codes, const Vector<u32>& aux_so_far, const Values& dictionary,
                                u32 num_inputs, u32 num_variables) {
    const auto make = curve == "bls12_381" ? make_bls12_381 : curve == "bn254" ? make_bn254 : curve == "toy" ? make_toy : nullptr;
    if (make == nullptr) throw std::invalid_argument("no tapes over the curve " + curve);
    if (sides.shape(0) != 3 * aux_so_far.shape(0) + 1) refuse("three sides a row; rows:", aux_so_far.shape(0));
    if (codes.shape(0) != variables.shape(0)) refuse("as many codes as variables; codes:", codes.shape(0));
    if (dictionary.shape(1) != (curve == "toy" ? 1 : 4)) refuse("limbs of a coefficient:", dictionary.shape(1));
    const Arrays in{sides.data(),      variables.data(),  codes.data(),        aux_so_far.data(), dictionary.data(),
                    aux_so_far.shape(0), variables.shape(0), dictionary.shape(0), num_inputs,        num_variables};
    const nb::gil_scoped_release release;
    return make(in);
}

/// Takes memory from malloc over.
nb::object owned(u64* data, u64 rows, u64 limbs) {
    nb::capsule owner(data == nullptr ? checked(std::malloc(1)) : data, [](void* p) noexcept { std::free(p); });
    if (limbs == 0) return nb::cast(nb::ndarray<nb::numpy, u64, nb::ndim<1>>(data, {rows}, owner));
    return nb::cast(nb::ndarray<nb::numpy, u64, nb::ndim<2>>(data, {rows, limbs}, owner));
}

nb::dict as_dict(const Counts& n) {
    nb::dict d;
    d["terms"] = n.terms;
    d["merges"] = n.merges;
    d["combinations"] = n.combinations;
    d["relocations"] = n.relocations;
    d["recycled"] = n.recycled;
    d["allocations"] = n.allocations;
    d["reallocations"] = n.reallocations;
    d["spills"] = n.spills;
    d["vector_allocations"] = n.vector_allocations;
    d["vector_reallocations"] = n.vector_reallocations;
    d["prefetches"] = n.prefetches;
    return d;
}

nb::dict run_tape(const Tape& tape, const Values& w, int inline_capacity, bool presized, bool in_place, bool prefetch) {
    if (w.shape(0) != tape.num_variables() || w.shape(1) != tape.limbs()) refuse("values of all variables; values:", w.shape(0));
    Result done;
    {
        const nb::gil_scoped_release release;
        done = tape.run(w.data(), {inline_capacity, presized, in_place, prefetch});
    }
    nb::dict d;
    d["a"] = owned(done.a, tape.num_rows(), tape.limbs());
    d["b"] = owned(done.b, tape.num_rows(), tape.limbs());
    d["c"] = owned(done.c, tape.num_rows(), tape.limbs());
    d["a_aux"] = owned(done.a_aux, done.aux_words, 0);
    d["b_inputs"] = owned(done.b_inputs, done.input_words, 0);
    d["b_aux"] = owned(done.b_aux, done.aux_words, 0);
    d["counts"] = as_dict(done.counts);
    d["ran"] = nb::make_tuple(done.ran.inline_capacity, done.ran.presized, done.ran.in_place, done.ran.prefetch);
    return d;
}

}  // namespace
}  // namespace cuzk::closures

NB_MODULE(CUZK_MODULE_NAME, m) {
    using namespace cuzk::closures;
    m.doc() =
        "Classic synthesis: linear combinations built from zero for every constraint and evaluated on an assignment.\n\n"
        "A tape holds what a circuit's code does, row by row: sides (3 rows + 1) uint64, bounds of the steps of A, B and C;\n"
        "variables uint32, inputs first; codes uint32, kind | coefficient << 2; aux_so_far uint32, auxiliary variables\n"
        "allocated when a row is enforced; dictionary (d, limbs) uint64, Montgomery form, < r.";
    nb::class_<Tape>(m, "Tape", "A checked tape; immutable, shared freely between threads.")
        .def("run", &run_tape, nb::arg("w").noconvert(), nb::arg("inline_capacity"), nb::arg("presized"), nb::arg("in_place"),
             nb::arg("prefetch"),
             "Run the tape on the values of all variables, (n, limbs) uint64, Montgomery form, < r.\n\n"
             "Returns a dict: a, b, c (rows, limbs); a_aux, b_inputs, b_aux (words), bits of the variables in use, least\n"
             "significant first; counts; ran, the setting of the code that ran.");
    m.def("make_tape", &make_tape, nb::arg("curve"), nb::arg("sides").noconvert(), nb::arg("variables").noconvert(),
          nb::arg("codes").noconvert(), nb::arg("aux_so_far").noconvert(), nb::arg("dictionary").noconvert(),
          nb::arg("num_inputs"), nb::arg("num_variables"), "Check a tape and keep a copy.  Raises ValueError.");
    m.attr("STEP_TERM") = unsigned(STEP_TERM);
    m.attr("STEP_BIT") = unsigned(STEP_BIT);
    m.attr("STEP_OPEN") = unsigned(STEP_OPEN);
    m.attr("STEP_CLOSE") = unsigned(STEP_CLOSE);
    m.attr("KIND_BITS") = unsigned(KIND_BITS);
}
