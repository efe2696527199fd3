// SmallVector: a vector that keeps its first N elements inside itself.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tierup {

template <typename T, size_t N>
using SmallVector = boost::container::small_vector<T, N>;

// Sizes, strides and index lists: tensors of up to six dimensions need no allocation.
using IntVector = SmallVector<int64_t, 6>;
using IntSpan = std::span<const int64_t>;

// Boost's iterators are not C++20 contiguous iterators, so the span is made by hand.
inline IntSpan as_span(const IntVector& values) { return {values.data(), values.size()}; }

}  // namespace tierup
