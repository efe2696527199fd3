// InlineVector: a vector that keeps its first N elements inside itself, for objects that are made
// and freed by the million.
//
// Unlike SmallVector it does little, and all of that is small enough to be inlined: elements are
// added at the end, moved with the vector, and never copied but by assign(). Elements beyond N lie
// in memory for small objects (object_memory.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "tierup/base/object_memory.h"

namespace tierup {

template <typename T, size_t N>
class InlineVector {
  static_assert(std::is_nothrow_move_constructible_v<T>);
  static_assert(alignof(T) <= alignof(std::max_align_t));

 public:
  InlineVector() {}  // NOLINT(modernize-use-equals-default): leaves the room for elements as it is.
  explicit InlineVector(size_t size) { resize(size); }
  InlineVector(InlineVector&& other) noexcept { take(other); }
  InlineVector& operator=(InlineVector&& other) noexcept {
    if (this == &other) return *this;
    clear();
    free_memory();
    take(other);
    return *this;
  }
  ~InlineVector() {
    clear();
    free_memory();
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }

  template <typename... Args>
  T& emplace_back(Args&&... args) {
    if (size_ == capacity_) [[unlikely]]
      return emplace_grown(std::forward<Args>(args)...);
    return *std::construct_at(data_ + size_++, std::forward<Args>(args)...);
  }
  void push_back(T value) { emplace_back(std::move(value)); }
  void reserve(size_t capacity) {
    if (capacity > capacity_) [[unlikely]]
      grow(capacity);
  }
  // New elements are made by T().
  void resize(size_t size) {
    reserve(size);
    while (size_ < size) std::construct_at(data_ + size_++);
    drop_to(size);
  }
  void clear() { drop_to(0); }
  void pop_back() { drop_to(size_ - size_t{1}); }
  // Holds copies of `values`, which are none of its own.
  void assign(std::span<const T> values) {
    clear();
    reserve(values.size());
    for (const T& value : values) std::construct_at(data_ + size_++, value);
  }

 private:
  void drop_to(size_t size) {
    while (size_ > size) std::destroy_at(data_ + --size_);
  }
  T* inside() { return reinterpret_cast<T*>(room_); }
  void free_memory() {
    if (data_ != inside()) [[unlikely]]
      free_object(data_, capacity_ * sizeof(T));
  }

  // Into an empty vector without memory of its own.
  void take(InlineVector& other) {
    if (other.data_ == other.inside()) {
      data_ = inside();
      capacity_ = N;
      for (size_ = 0; size_ < other.size_; ++size_) {
        std::construct_at(data_ + size_, std::move(other.data_[size_]));
      }
      other.clear();
      return;
    }
    data_ = std::exchange(other.data_, other.inside());
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, static_cast<uint32_t>(N));
  }

  [[gnu::noinline]] void grow(size_t wanted) {
    const size_t capacity = std::max<size_t>(wanted, size_t{2} * capacity_);
    T* const memory = static_cast<T*>(allocate_object(capacity * sizeof(T)));
    std::uninitialized_move(begin(), end(), memory);
    std::destroy(begin(), end());
    free_memory();
    data_ = memory;
    capacity_ = static_cast<uint32_t>(capacity);
  }

  // The arguments may be of an element that growing moves.
  template <typename... Args>
  [[gnu::noinline]] T& emplace_grown(Args&&... args) {
    T value(std::forward<Args>(args)...);
    grow(size_t{capacity_} + 1);
    return *std::construct_at(data_ + size_++, std::move(value));
  }

  T* data_ = inside();
  uint32_t size_ = 0;
  uint32_t capacity_ = N;
  alignas(T) std::byte room_[N * sizeof(T)];
};

}  // namespace tierup
