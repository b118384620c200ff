/// Linear combinations as bellperson's circuits build them: inputs and auxiliary variables apart, each a sorted vector of
/// (index, coefficient) in which equal variables merge.
#pragma once

#include <utility>

#include "field.cuh"
#include "storage.hpp"

namespace cuzk::closures {

template <class Fr> struct Term {
    u64 index;
    Fr coefficient;
};

/// A variable as the tape names it: inputs first, ONE being input 0, then the auxiliary ones.
struct Variable {
    u32 index;
    bool is_input;
};

/// One sorted vector of terms.  The place of the last insertion is kept, so that runs of neighbouring variables need no
/// search; anything else is found by bisection.
template <class Fr, int K> class Indexer {
  public:
    Indexer() = default;
    Indexer(Indexer&&) noexcept = default;

    const Term<Fr>* begin() const { return items_.data(); }
    const Term<Fr>* end() const { return items_.data() + items_.size(); }
    u64 size() const { return items_.size(); }
    bool has_memory() const { return items_.has_memory(); }
    void clear() {
        items_.clear();
        has_last_ = false;
    }
    void copy_from(const Indexer& other, Counts& counts) {
        items_.copy_from(other.items_, counts);
        has_last_ = other.has_last_;
        last_place_ = other.last_place_;
        last_index_ = other.last_index_;
    }

    /// Adds coefficient * variable; a coefficient that becomes 0 stays as an entry.
    void add(u64 index, const Fr& coefficient, Counts& counts) {
        Term<Fr>* items = items_.data();
        if (has_last_) {
            if (last_index_ == index) return merge(items[last_place_], coefficient, counts);
            if (last_index_ + 1 == index) {
                const u64 place = last_place_ + 1;
                if (place < items_.size() && items[place].index == index) {
                    return merge(items[place], coefficient, counts);
                }
                return insert(place, index, coefficient, counts);
            }
        }
        u64 low = 0, high = items_.size();
        while (low < high) {
            const u64 middle = low + (high - low) / 2;
            if (items[middle].index == index) return merge(items[middle], coefficient, counts);
            if (items[middle].index < index) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        insert(low, index, coefficient, counts);
    }

  private:
    static void merge(Term<Fr>& term, const Fr& coefficient, Counts& counts) {
        term.coefficient += coefficient;
        ++counts.merges;
    }
    void insert(u64 place, u64 index, const Fr& coefficient, Counts& counts) {
        items_.insert(place, Term<Fr>{index, coefficient}, counts);
        has_last_ = true;
        last_place_ = place;
        last_index_ = index;
    }

    Items<Term<Fr>, K> items_;
    bool has_last_ = false;
    u64 last_place_ = 0, last_index_ = 0;
};

template <class Fr, int K> struct Combination {
    Indexer<Fr, K> inputs, aux;

    Combination() = default;
    Combination(Combination&&) noexcept = default;

    void clear() {
        inputs.clear();
        aux.clear();
    }
    bool has_memory() const { return inputs.has_memory() || aux.has_memory(); }
    void add(Variable variable, const Fr& coefficient, Counts& counts) {
        (variable.is_input ? inputs : aux).add(variable.index, coefficient, counts);
    }
    void add_all(const Combination& other, Counts& counts) {
        for (const auto& term : other.inputs) inputs.add(term.index, term.coefficient, counts);
        for (const auto& term : other.aux) aux.add(term.index, term.coefficient, counts);
    }
    void add_scaled(const Combination& other, const Fr& factor, Counts& counts) {
        for (const auto& term : other.inputs) inputs.add(term.index, term.coefficient * factor, counts);
        for (const auto& term : other.aux) aux.add(term.index, term.coefficient * factor, counts);
    }
    void copy_from(const Combination& other, Counts& counts) {
        inputs.copy_from(other.inputs, counts);
        aux.copy_from(other.aux, counts);
    }
};

/// A combination that each + takes by value and gives back: the object moves into the place of the result, its terms on the
/// heap stay where they are.  One move for each +, which is what the original's calls need at least.
template <class Lc> class Passed {
  public:
    explicit Passed(Counts& counts) : counts_(counts) {
        new (slot(0)) Lc();
        ++counts.combinations;
    }
    Passed(const Passed&) = delete;
    Passed& operator=(const Passed&) = delete;
    ~Passed() { get().~Lc(); }

    Lc& get() { return *static_cast<Lc*>(slot(now_)); }

    /// get() = get() + what `add` adds.
    template <class Add> void plus(Add add) {
        Lc* result = new (slot(now_ ^ 1)) Lc(std::move(get()));
        become(result);
        add(*result);
        ++counts_.relocations;
    }
    /// get() = get().clone() + factor * other.
    template <class Fr> void clone_plus(const Lc& other, const Fr& factor) {
        Lc* result = new (slot(now_ ^ 1)) Lc();
        result->copy_from(get(), counts_);
        become(result);
        result->add_scaled(other, factor, counts_);
    }

  private:
    void* slot(int which) { return slots_[which]; }
    void become(Lc*) {
        get().~Lc();
        now_ ^= 1;
    }

    Counts& counts_;
    int now_ = 0;
    alignas(Lc) unsigned char slots_[2][sizeof(Lc)];
};

}  // namespace cuzk::closures
