/// The Python module cuzk._pairing: the BN254 pairing on arrays of Montgomery limbs.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <stdexcept>
#include <string>

#include "bn254.hpp"
#include "groups.hpp"

namespace nb = nanobind;

namespace cuzk::pairing {
namespace {

constexpr std::size_t LIMBS = 4;
using G1Array = nb::ndarray<const u64, nb::shape<-1, 2, LIMBS>, nb::c_contig, nb::device::cpu>;
using G2Array = nb::ndarray<const u64, nb::shape<-1, 2, 2, LIMBS>, nb::c_contig, nb::device::cpu>;
using GtArray = nb::ndarray<const u64, nb::shape<12, LIMBS>, nb::c_contig, nb::device::cpu>;
using ScalarArray = nb::ndarray<const u64, nb::shape<-1, LIMBS>, nb::c_contig, nb::device::cpu>;
using G1Result = nb::ndarray<nb::numpy, u64, nb::shape<1, 2, LIMBS>>;
using GtResult = nb::ndarray<nb::numpy, u64, nb::shape<12, LIMBS>>;

/// Several points of G2 with their lines; immutable, shared freely between threads.
struct PreparedG2 {
    std::vector<PreparedPoint> points;
};

template <class Point> void check_point(const Point& p, std::size_t index, const char* what) {
    const std::string where = std::string(what) + " " + std::to_string(index);
    if (!p.x.is_reduced() || !p.y.is_reduced()) throw std::invalid_argument(where + ": a coordinate is >= p");
    if (!p.is_on_curve()) throw std::invalid_argument(where + " is not on the curve");
}

template <class Point, class Array> std::vector<Point> read_points(const Array& array, const char* what) {
    std::vector<Point> points(array.shape(0));
    for (std::size_t i = 0; i < points.size(); ++i) {
        std::memcpy(static_cast<void*>(&points[i]), array.data() + i * sizeof(Point) / 8, sizeof(Point));
        check_point(points[i], i, what);
    }
    return points;
}

PreparedG2 prepare_g2(const G2Array& array) {
    const auto points = read_points<G2Affine>(array, "G2 point");
    const nb::gil_scoped_release release;
    PreparedG2 result;
    for (const auto& q : points) result.points.push_back(prepare(q));
    return result;
}

/// The product of e(p[i], q[i]); q is the concatenation of the prepared groups.
Fp12 product(const G1Array& g1, const std::vector<const PreparedG2*>& g2) {
    const auto p = read_points<G1Affine>(g1, "G1 point");
    std::vector<const PreparedPoint*> q;
    for (const PreparedG2* group : g2) {
        for (const auto& point : group->points) q.push_back(&point);
    }
    if (p.size() != q.size()) {
        throw std::invalid_argument(std::to_string(p.size()) + " points of G1 but " + std::to_string(q.size()) +
                                    " points of G2");
    }
    const nb::gil_scoped_release release;
    return final_exponentiation(miller_loop(p, q));
}

GtResult pairing_product(const G1Array& g1, const std::vector<const PreparedG2*>& g2) {
    static_assert(sizeof(Fp12) == 12 * LIMBS * 8);
    const Fp12 value = product(g1, g2);
    u64* data = new u64[12 * LIMBS];
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<u64*>(p); });
    std::memcpy(data, static_cast<const void*>(&value), sizeof(value));
    return GtResult(data, {12, LIMBS}, owner);
}

bool pairing_product_is_one(const G1Array& g1, const std::vector<const PreparedG2*>& g2) {
    return product(g1, g2) == Fp12::one();
}

bool pairing_product_equals(const G1Array& g1, const std::vector<const PreparedG2*>& g2, const GtArray& gt) {
    Fp12 wanted;
    std::memcpy(static_cast<void*>(&wanted), gt.data(), sizeof(wanted));
    return product(g1, g2) == wanted;
}

G1Result g1_linear_combination(const G1Array& points, const ScalarArray& scalars) {
    auto terms = read_points<G1Affine>(points, "G1 point");
    if (terms.size() != scalars.shape(0) + 1) throw std::invalid_argument("one point more than scalars is needed");
    const G1Affine base = terms.front();
    terms.erase(terms.begin());
    const G1Affine sum = linear_combination(base, terms, scalars.data());
    u64* data = new u64[2 * LIMBS];
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<u64*>(p); });
    std::memcpy(data, static_cast<const void*>(&sum), sizeof(sum));
    return G1Result(data, {1, 2, LIMBS}, owner);
}

std::vector<bool> g2_in_subgroup(const G2Array& array) {
    std::vector<bool> result;
    for (const auto& q : read_points<G2Affine>(array, "G2 point")) result.push_back(in_subgroup(q));
    return result;
}

}  // namespace
}  // namespace cuzk::pairing

NB_MODULE(_pairing, m) {
    using namespace cuzk::pairing;
    m.doc() =
        "Optimal ate pairing of BN254 for verification.\n\n"
        "Arrays are uint64, little-endian limbs, Montgomery form, < p: G1 points (n, 2, 4), G2 points (n, 2, 2, 4) with\n"
        "c0 before c1, infinity all zero.  A value of GT is (12, 4): the Fp coefficients of Fp12 = Fp6[w], Fp6 = Fp2[v],\n"
        "Fp2 = Fp[u], innermost u, then v, then w, as snarkjs lists them.  Points of G2 must be of order r.";
    nb::class_<PreparedG2>(m, "PreparedG2", "Points of G2 with the lines of their Miller loops.")
        .def("__len__", [](const PreparedG2& self) { return self.points.size(); });
    m.def("prepare_g2", &prepare_g2, nb::arg("points").noconvert(),
          "Compute the lines of points of G2, once for as many pairings as wanted.\n\n"
          "Raises ValueError for a coordinate >= p and for a point off the curve.");
    m.def("pairing_product", &pairing_product, nb::arg("g1").noconvert(), nb::arg("g2"),
          "The product of e(g1[i], Q_i) over all i, where g2 is a list of PreparedG2 and Q_i runs through their points.\n\n"
          "The pairing is the power that snarkjs stores (vk_alphabeta_12).");
    m.def("pairing_product_is_one", &pairing_product_is_one, nb::arg("g1").noconvert(), nb::arg("g2"),
          "Whether the product of the pairings is 1.");
    m.def("pairing_product_equals", &pairing_product_equals, nb::arg("g1").noconvert(), nb::arg("g2"), nb::arg("gt").noconvert(),
          "Whether the product of the pairings is the given value of GT.");
    m.def("g1_linear_combination", &g1_linear_combination, nb::arg("points").noconvert(), nb::arg("scalars").noconvert(),
          "points[0] + sum of scalars[i] * points[i + 1]; scalars (n, 4) in standard form.");
    m.def("g2_in_subgroup", &g2_in_subgroup, nb::arg("points").noconvert(),
          "For each point of G2 whether its order divides r.  Raises ValueError for a point off the curve.");
}
