// ObjectPool: objects that stay where they are made until all go together.
//
// They stand in arrays that grow with their number, so that a graph of ten thousand nodes asks the
// heap a few hundred times, and one of three nodes takes no more than four. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace tierup {

// T is made by its default constructor, some before they are asked for.
template <typename T>
class ObjectPool {
 public:
  T& make() {
    if (used_ == size_) add_array();
    return arrays_.back()[used_++];
  }

 private:
  static constexpr size_t kLeast = 4;
  static constexpr size_t kMost = 32;

  void add_array() {
    size_ = std::clamp(2 * size_, kLeast, kMost);
    arrays_.push_back(std::make_unique<T[]>(size_));
    used_ = 0;
  }

  std::vector<std::unique_ptr<T[]>> arrays_;
  size_t size_ = 0;  // Of the last array,
  size_t used_ = 0;  // and how many of it were given out.
};

}  // namespace tierup
