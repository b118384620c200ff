/// The classic synthesis: for every constraint the closures' work is done again, linear combinations are built from zero and
/// evaluated on the assignment, which grows meanwhile.
#pragma once

#include <vector>

#include "combination.hpp"

namespace cuzk::closures {

/// What one step of a circuit's code does to the combination it is building.
enum StepKind : u32 {
    STEP_TERM = 0,   // + (coefficient, variable)
    STEP_BIT = 1,    // + the combination of a bit, coefficient * variable, which is built for this and dropped
    STEP_OPEN = 2,   // what follows goes to a combination of its own,
    STEP_CLOSE = 3,  // which is added, scaled by the coefficient
};
constexpr u32 KIND_BITS = 2;

/// A step: variable (inputs first), and kind | index of the coefficient << 2.
struct Step {
    u32 variable, code;
    u32 kind() const { return code & ((1u << KIND_BITS) - 1); }
    u32 coefficient() const { return code >> KIND_BITS; }
};

/// A circuit's steps.  Side s of row i is steps[sides[3i + s]] .. steps[sides[3i + s + 1]].
template <class Fr> struct Steps {
    std::vector<u64> sides;
    std::vector<Step> steps;
    std::vector<Fr> dictionary;
    std::vector<u32> aux_so_far;  // auxiliary variables allocated when a row is enforced
    u32 num_inputs = 0, num_aux = 0;

    u64 num_rows() const { return aux_so_far.size(); }
};

/// The assignment so far, and what the rows gave.  Density of A over the inputs is not kept: a proof takes them all.
template <class Fr> struct Outputs {
    explicit Outputs(Counts& counts)
        : inputs(counts), aux(counts), a(counts), b(counts), c(counts), a_aux(counts), b_inputs(counts), b_aux(counts) {}
    Growing<Fr> inputs, aux, a, b, c;
    Density a_aux, b_inputs, b_aux;

    void reserve(const Steps<Fr>& tape) {
        inputs.reserve(tape.num_inputs);
        aux.reserve(tape.num_aux);
        for (Growing<Fr>* rows : {&a, &b, &c}) rows->reserve(tape.num_rows());
        a_aux.reserve(tape.num_aux);
        b_inputs.reserve(tape.num_inputs);
        b_aux.reserve(tape.num_aux);
    }
    void allocate_inputs(const Fr* w, u64 count) {
        for (u64 i = 0; i < count; ++i) {
            inputs.push(w[i]);
            b_inputs.extend();
        }
    }
    /// Auxiliary variables up to `count`; w is the first one's value.
    void allocate_aux(const Fr* w, u64 count) {
        for (u64 i = aux.size(); i < count; ++i) {
            aux.push(w[i]);
            a_aux.extend();
            b_aux.extend();
        }
    }
};

/// A value of the assignment is asked for this many terms ahead.
constexpr u64 AHEAD = 8;

template <class Fr> CUZK_FN_INLINE void prefetch(const Fr& value, Counts& counts) {
    __builtin_prefetch(&value);
    ++counts.prefetches;
}

/// The sum of coefficient * value over one indexer; terms of coefficient 0 neither count nor show in the density.
template <bool PREFETCH, class Fr, int K>
Fr evaluate_terms(Fr sum, const Indexer<Fr, K>& terms, const Fr* values, Density* density, const Fr& one, Counts& counts) {
    const Term<Fr>* const end = terms.end();
    for (const Term<Fr>* term = terms.begin(); term != end; ++term) {
        if constexpr (PREFETCH) {
            if (u64(end - term) > AHEAD) prefetch(values[term[AHEAD].index], counts);
        }
        if (term->coefficient.is_zero()) continue;
        const Fr& value = values[term->index];
        if (term->coefficient == one) {
            sum += value;
        } else {
            sum += value * term->coefficient;
        }
        if (density != nullptr) density->use(term->index);
    }
    return sum;
}

/// Asks for the first values of a combination, before the row's evaluation begins.
template <class Fr, int K> void prefetch_first(const Indexer<Fr, K>& terms, const Fr* values, Counts& counts) {
    const Term<Fr>* term = terms.begin();
    const u64 count = terms.size() < AHEAD ? terms.size() : AHEAD;
    for (u64 i = 0; i < count; ++i) prefetch(values[term[i].index], counts);
}

/// Builds the combinations of a row's side, A3 off: every + takes its operand by value and gives a new value back.
template <class Fr, int K> struct ByValue {
    using Lc = Combination<Fr, K>;
    /// Nothing outlives a row.
    struct Storage {};
    class Side {
      public:
        Side(Storage&, int, Counts& counts) : counts_(counts), sum_(counts) {}
        const Lc& get() { return sum_.get(); }
        void build(const Steps<Fr>& tape, const Step* step, const Step* end) {
            while (step != end) {
                if (step->kind() != STEP_OPEN) {
                    add(sum_, tape, *step++);
                    continue;
                }
                Passed<Lc> group(counts_);
                for (++step; step->kind() != STEP_CLOSE; ++step) add(group, tape, *step);
                sum_.clone_plus(group.get(), tape.dictionary[step++->coefficient()]);
            }
        }

      private:
        void add(Passed<Lc>& sum, const Steps<Fr>& tape, const Step& step) {
            const Fr& coefficient = tape.dictionary[step.coefficient()];
            const bool is_input = step.variable < tape.num_inputs;
            const Variable variable{is_input ? step.variable : step.variable - tape.num_inputs, is_input};
            ++counts_.terms;
            if (step.kind() == STEP_TERM) {
                sum.plus([&](Lc& lc) { lc.add(variable, coefficient, counts_); });
                return;
            }
            Passed<Lc> bit(counts_);
            bit.plus([&](Lc& lc) { lc.add(variable, coefficient, counts_); });
            sum.plus([&](Lc& lc) { lc.add_all(bit.get(), counts_); });
        }

        Counts& counts_;
        Passed<Lc> sum_;
    };
};

/// The same, A3 on: terms, also those of bits, are added to the combination where it is, and its memory serves the next row.
template <class Fr, int K> struct InPlace {
    using Lc = Combination<Fr, K>;
    struct Storage {
        Lc sums[3], group;
    };
    class Side {
      public:
        Side(Storage& storage, int which, Counts& counts) : counts_(counts), sum_(storage.sums[which]), group_(storage.group) {
            begin(sum_);
        }
        const Lc& get() { return sum_; }
        void build(const Steps<Fr>& tape, const Step* step, const Step* end) {
            for (; step != end; ++step) {
                if (step->kind() != STEP_OPEN) {
                    add(sum_, tape, *step);
                    continue;
                }
                begin(group_);
                for (++step; step->kind() != STEP_CLOSE; ++step) add(group_, tape, *step);
                sum_.add_scaled(group_, tape.dictionary[step->coefficient()], counts_);
            }
        }

      private:
        void begin(Lc& lc) {
            lc.clear();
            ++counts_.combinations;
            counts_.recycled += lc.has_memory();
        }
        void add(Lc& sum, const Steps<Fr>& tape, const Step& step) {
            const bool is_input = step.variable < tape.num_inputs;
            const Variable variable{is_input ? step.variable : step.variable - tape.num_inputs, is_input};
            ++counts_.terms;
            sum.add(variable, tape.dictionary[step.coefficient()], counts_);
        }

        Counts& counts_;
        Lc &sum_, &group_;
    };
};

/// All rows of a tape.  w: the values of all variables, inputs first.  Form: Montgomery.
template <class Fr, class Builder, bool PREFETCH>
__attribute__((noinline)) void replay_rows(const Steps<Fr>& tape, const Fr* w, Outputs<Fr>& out, Counts& counts) {
    const Fr one = Fr::one();
    typename Builder::Storage storage;
    out.allocate_inputs(w, tape.num_inputs);
    for (u64 row = 0; row < tape.num_rows(); ++row) {
        out.allocate_aux(w + tape.num_inputs, tape.aux_so_far[row]);
        typename Builder::Side a(storage, 0, counts), b(storage, 1, counts), c(storage, 2, counts);
        const u64* bounds = &tape.sides[3 * row];
        const Step* steps = tape.steps.data();
        a.build(tape, steps + bounds[0], steps + bounds[1]);
        b.build(tape, steps + bounds[1], steps + bounds[2]);
        c.build(tape, steps + bounds[2], steps + bounds[3]);
        const Fr *inputs = out.inputs.data(), *aux = out.aux.data();
        if constexpr (PREFETCH) {
            for (const auto* lc : {&a.get(), &b.get(), &c.get()}) prefetch_first(lc->aux, aux, counts);
        }
        const auto value = [&](const auto& lc, Density* of_inputs, Density* of_aux) {
            const Fr sum = evaluate_terms<PREFETCH>(Fr::zero(), lc.inputs, inputs, of_inputs, one, counts);
            return evaluate_terms<PREFETCH>(sum, lc.aux, aux, of_aux, one, counts);
        };
        out.a.push(value(a.get(), nullptr, &out.a_aux));
        out.b.push(value(b.get(), &out.b_inputs, &out.b_aux));
        out.c.push(value(c.get(), nullptr, nullptr));
    }
    out.allocate_aux(w + tape.num_inputs, tape.num_aux);
}

}  // namespace cuzk::closures
