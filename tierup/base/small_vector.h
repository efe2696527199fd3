// SmallVector: a vector that keeps its first N elements inside itself.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tierup {

// Boost's, and convertible to a span (Boost 1.74's iterators do not satisfy C++20's contiguity).
template <typename T, size_t N>
class SmallVector : public boost::container::small_vector<T, N> {
 public:
  using boost::container::small_vector<T, N>::small_vector;
  // NOLINTBEGIN(google-explicit-constructor): a vector is a view of its elements.
  operator std::span<const T>() const { return {this->data(), this->size()}; }
  operator std::span<T>() { return {this->data(), this->size()}; }
  // NOLINTEND(google-explicit-constructor)
};

// Sizes, strides and index lists: tensors of up to six dimensions need no allocation.
using IntVector = SmallVector<int64_t, 6>;
using IntSpan = std::span<const int64_t>;

}  // namespace tierup
