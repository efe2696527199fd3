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

}  // namespace tierup
