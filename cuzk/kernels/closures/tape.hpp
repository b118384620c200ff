/// A tape with its field: checked when it is made, run under any setting.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "replay.hpp"

namespace cuzk::closures {

/// How a run goes about it: the variants A1, A2, A3 and A5.
struct Setting {
    int inline_capacity;  // 0 (a plain vector), 1, 2 or 4
    bool presized, in_place, prefetch;
};

/// Arrays as Python gives them.
struct Arrays {
    const u64* sides;
    const u32 *variables, *codes, *aux_so_far;
    const u64* dictionary;
    u64 num_rows, num_steps, dictionary_size;
    u32 num_inputs, num_variables;
};

/// What a run leaves; whoever takes an array gives it back with free().
struct Result {
    u64 *a, *b, *c, *a_aux, *b_inputs, *b_aux;
    u64 aux_words, input_words;
    Counts counts;
    Setting ran;  // read from the code that ran, not from the request
};

[[noreturn]] inline void refuse(const std::string& what, u64 index) {
    throw std::invalid_argument(what + " " + std::to_string(index));
}

/// Checks one side's steps: indices in range, groups closed and not nested.
template <class Fr> void check_side(const Steps<Fr>& tape, u64 side) {
    bool is_open = false;
    const u64 allocated = u64(tape.num_inputs) + tape.aux_so_far[side / 3];
    for (u64 i = tape.sides[side]; i < tape.sides[side + 1]; ++i) {
        const Step& step = tape.steps[i];
        if (step.kind() == STEP_OPEN || step.kind() == STEP_CLOSE) {
            if (is_open == (step.kind() == STEP_OPEN)) refuse("a group that is nested or never opened at step", i);
            is_open = !is_open;
        } else if (step.variable >= allocated) {
            refuse("a variable that is not allocated yet at step", i);
        }
        if (step.kind() != STEP_OPEN && step.coefficient() >= tape.dictionary.size()) {
            refuse("a coefficient beyond the dictionary at step", i);
        }
    }
    if (is_open) refuse("a group is not closed in side", side);
}

template <class Fr> Steps<Fr> checked_steps(const Arrays& in) {
    if (in.num_inputs == 0 || in.num_inputs > in.num_variables) refuse("number of inputs", in.num_inputs);
    Steps<Fr> tape;
    tape.num_inputs = in.num_inputs;
    tape.num_aux = in.num_variables - in.num_inputs;
    tape.sides.assign(in.sides, in.sides + 3 * in.num_rows + 1);
    tape.aux_so_far.assign(in.aux_so_far, in.aux_so_far + in.num_rows);
    for (u64 i = 0; i < in.num_steps; ++i) tape.steps.push_back({in.variables[i], in.codes[i]});
    tape.dictionary.resize(in.dictionary_size);
    if (in.dictionary_size != 0) {
        std::memcpy(static_cast<void*>(tape.dictionary.data()), in.dictionary, in.dictionary_size * sizeof(Fr));
    }
    for (u64 i = 0; i < in.dictionary_size; ++i) {
        if (!tape.dictionary[i].is_reduced()) refuse("not reduced: coefficient", i);
    }
    if (tape.sides.front() != 0 || tape.sides.back() != in.num_steps) refuse("bounds of sides do not end at", in.num_steps);
    for (u64 i = 0; i < 3 * in.num_rows; ++i) {
        if (tape.sides[i] > tape.sides[i + 1]) refuse("bounds decrease at side", i);
    }
    for (u64 i = 0; i < in.num_rows; ++i) {
        if (tape.aux_so_far[i] > tape.num_aux || (i > 0 && tape.aux_so_far[i] < tape.aux_so_far[i - 1])) {
            refuse("allocated variables decrease or are too many at row", i);
        }
    }
    for (u64 i = 0; i < 3 * in.num_rows; ++i) check_side(tape, i);
    return tape;
}

/// A tape over any field.
class Tape {
  public:
    virtual ~Tape() = default;
    virtual u64 num_rows() const = 0;
    virtual u64 num_variables() const = 0;
    virtual u64 limbs() const = 0;
    /// w: all values, inputs first, Montgomery form.
    virtual Result run(const u64* w, const Setting& setting) const = 0;
};

template <class Fr> class TapeOf final : public Tape {
  public:
    explicit TapeOf(const Arrays& in) : tape_(checked_steps<Fr>(in)) {}
    u64 num_rows() const override { return tape_.num_rows(); }
    u64 num_variables() const override { return u64(tape_.num_inputs) + tape_.num_aux; }
    u64 limbs() const override { return sizeof(Fr) / 8; }

    Result run(const u64* w, const Setting& setting) const override {
        switch (setting.inline_capacity) {
            case 0: return run_stored<0>(w, setting);
            case 1: return run_stored<1>(w, setting);
            case 2: return run_stored<2>(w, setting);
            case 4: return run_stored<4>(w, setting);
            default: refuse("no such inline capacity:", u64(setting.inline_capacity));
        }
    }

  private:
    template <int K> Result run_stored(const u64* w, const Setting& setting) const {
        if (setting.in_place) return run_built<K, true>(w, setting);
        return run_built<K, false>(w, setting);
    }
    template <int K, bool IN_PLACE> Result run_built(const u64* w, const Setting& setting) const {
        using Builder = std::conditional_t<IN_PLACE, InPlace<Fr, K>, ByValue<Fr, K>>;
        Result result{};
        Outputs<Fr> out(result.counts);
        if (setting.presized) out.reserve(tape_);
        const Fr* values = reinterpret_cast<const Fr*>(w);
        if (setting.prefetch) {
            replay_rows<Fr, Builder, true>(tape_, values, out, result.counts);
        } else {
            replay_rows<Fr, Builder, false>(tape_, values, out, result.counts);
        }
        result.ran = {K, setting.presized, IN_PLACE, setting.prefetch};
        result.aux_words = out.a_aux.num_words();
        result.input_words = out.b_inputs.num_words();
        result.a = reinterpret_cast<u64*>(out.a.release());
        result.b = reinterpret_cast<u64*>(out.b.release());
        result.c = reinterpret_cast<u64*>(out.c.release());
        result.a_aux = out.a_aux.release();
        result.b_inputs = out.b_inputs.release();
        result.b_aux = out.b_aux.release();
        return result;
    }

    Steps<Fr> tape_;
};

/// One function for each field, each in a file of its own.
std::unique_ptr<Tape> make_bls12_381(const Arrays& in);
std::unique_ptr<Tape> make_bn254(const Arrays& in);
std::unique_ptr<Tape> make_toy(const Arrays& in);

}  // namespace cuzk::closures
