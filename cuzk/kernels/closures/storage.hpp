/// Growing arrays for the classic synthesis, with the growth rules of the vectors that bellperson keeps its linear
/// combinations in (Rust's Vec, and a SmallVec with room for 1, 2 or 4 elements), and counts of what they cost.
///
/// All elements are moved as bytes.  Memory comes from malloc, as it does in a Rust program without an allocator of its own.
#pragma once

#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

#include "platform.cuh"

namespace cuzk::closures {

/// What a run did; exact, and the proof that a setting acted.
struct Counts {
    u64 terms = 0;                 // terms as written, before equal variables merge
    u64 merges = 0;                // of these, terms of a variable that was there already
    u64 combinations = 0;          // linear combinations begun from zero, those of bits and of groups included
    u64 relocations = 0;           // whole combinations handed on by value
    u64 recycled = 0;              // combinations begun in storage that was used before
    u64 allocations = 0;           // blocks of memory for terms
    u64 reallocations = 0;         // such blocks that became larger
    u64 spills = 0;                // combinations that outgrew their inline room; each is an allocation too
    u64 vector_allocations = 0;    // blocks for a, b, c, the assignment and the densities
    u64 vector_reallocations = 0;  // such blocks that became larger
    u64 prefetches = 0;            // values of variables asked for ahead of their use
};

inline void* checked(void* block) {
    if (block == nullptr) throw std::bad_alloc();
    return block;
}

/// Room for K elements inside an object.
template <class T, int K> struct Room {
    alignas(T) unsigned char bytes[K * sizeof(T)];
    T* here() { return reinterpret_cast<T*>(bytes); }
};
template <class T> struct Room<T, 0> {
    T* here() { return nullptr; }
};

/// The terms of one linear combination: K of them inside the object, more of them on the heap.
template <class T, int K> class Items : private Room<T, K> {
    static_assert(std::is_trivially_copyable<T>::value, "elements are moved as bytes");

  public:
    Items() = default;
    Items(const Items&) = delete;
    Items& operator=(const Items&) = delete;
    /// Every byte moves, inline room included, as it does when a value is passed on.
    Items(Items&& other) noexcept {
        std::memcpy(static_cast<void*>(this), static_cast<const void*>(&other), sizeof(Items));
        other.size_ = 0;
        other.capacity_ = K;
    }
    ~Items() {
        if (on_heap()) std::free(heap_);
    }

    u64 size() const { return size_; }
    T* data() { return on_heap() ? heap_ : this->here(); }
    const T* data() const { return const_cast<Items*>(this)->data(); }
    /// Forgets the elements and keeps the memory.
    void clear() { size_ = 0; }
    bool has_memory() const { return on_heap(); }

    /// Puts an element before element `at`; at <= size().
    void insert(u64 at, const T& item, Counts& counts) {
        if (size_ == capacity_) grow(counts);
        T* items = data();
        std::memmove(static_cast<void*>(items + at + 1), static_cast<const void*>(items + at), (size_ - at) * sizeof(T));
        items[at] = item;
        ++size_;
    }

    /// Becomes a copy with just enough memory.  *this must be empty and without memory.
    void copy_from(const Items& other, Counts& counts) {
        if (other.size_ > u64(K)) {
            heap_ = static_cast<T*>(checked(std::malloc(other.size_ * sizeof(T))));
            capacity_ = other.size_;
            ++counts.allocations;
        }
        size_ = other.size_;
        if (size_ == 0) return;
        std::memcpy(static_cast<void*>(data()), static_cast<const void*>(other.data()), size_ * sizeof(T));
    }

  private:
    bool on_heap() const { return capacity_ > u64(K); }

    /// A vector doubles from 4; with inline room the next power of two is taken.
    __attribute__((noinline)) void grow(Counts& counts) {
        u64 wanted = K == 0 ? 4 : 1;
        while (wanted <= size_) wanted *= 2;
        if constexpr (K == 0) {
            if (wanted < 2 * capacity_) wanted = 2 * capacity_;
        }
        if (on_heap()) {
            heap_ = static_cast<T*>(checked(std::realloc(static_cast<void*>(heap_), wanted * sizeof(T))));
            ++counts.reallocations;
        } else {
            T* block = static_cast<T*>(checked(std::malloc(wanted * sizeof(T))));
            if constexpr (K != 0) {
                std::memcpy(static_cast<void*>(block), static_cast<const void*>(this->here()), size_ * sizeof(T));
                ++counts.spills;
            }
            heap_ = block;
            ++counts.allocations;
        }
        capacity_ = wanted;
    }

    u64 size_ = 0, capacity_ = K;
    T* heap_ = nullptr;
};

/// A vector of results that grows by one element at a time, or has its memory from the start.
template <class T> class Growing {
  public:
    explicit Growing(Counts& counts) : counts_(counts) {}
    Growing(const Growing&) = delete;
    Growing& operator=(const Growing&) = delete;
    ~Growing() { std::free(data_); }

    void reserve(u64 wanted) {
        if (wanted > capacity_) resize(wanted);
    }
    void push(const T& value) {
        if (size_ == capacity_) resize(capacity_ < 2 ? 4 : 2 * capacity_);
        data_[size_++] = value;
    }
    u64 size() const { return size_; }
    T* data() { return data_; }
    T& operator[](u64 i) { return data_[i]; }
    /// Hands the memory over; free() gives it back.
    T* release() {
        T* block = data_;
        data_ = nullptr;
        size_ = capacity_ = 0;
        return block;
    }

  private:
    __attribute__((noinline)) void resize(u64 wanted) {
        data_ = static_cast<T*>(checked(std::realloc(static_cast<void*>(data_), wanted * sizeof(T))));
        ++(capacity_ == 0 ? counts_.vector_allocations : counts_.vector_reallocations);
        capacity_ = wanted;
    }

    Counts& counts_;
    T* data_ = nullptr;
    u64 size_ = 0, capacity_ = 0;
};

/// Which variables a matrix uses: a bit each, least significant first.
class Density {
  public:
    explicit Density(Counts& counts) : words_(counts) {}
    void reserve(u64 variables) { words_.reserve((variables + 63) / 64); }
    /// One more variable, not used so far.
    void extend() {
        if (variables_++ % 64 == 0) words_.push(0);
    }
    void use(u64 variable) { words_[variable / 64] |= u64(1) << (variable % 64); }
    u64 num_words() const { return words_.size(); }
    u64* release() { return words_.release(); }

  private:
    Growing<u64> words_;
    u64 variables_ = 0;
};

}  // namespace cuzk::closures
