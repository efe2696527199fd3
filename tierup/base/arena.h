// Arena: memory for many small things that live and end together.
//
// A tree of ten thousand nodes is a few blocks of the heap instead of as many, each with its
// header, and its nodes lie side by side. Nothing is destroyed: only types without a destructor may
// stand in it. Not thread-safe; what stands in it may be read by any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tierup {

class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // What the first block should hold; later ones grow by themselves. Before anything stands here.
  void expect(size_t bytes) { memory_.emplace(std::clamp(bytes, kLeastBlock, kMostBlock)); }

  template <typename T, typename... Args>
  T* make(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (memory_->allocate(sizeof(T), alignof(T))) T(std::forward<Args>(args)...);
  }

  template <typename T>
  std::span<T> copy(std::span<const T> items) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (items.empty()) return {};
    T* begin = static_cast<T*>(memory_->allocate(items.size_bytes(), alignof(T)));
    std::uninitialized_copy(items.begin(), items.end(), begin);
    return {begin, items.size()};
  }
  std::string_view copy(std::string_view text) {
    const std::span<char> made = copy(std::span<const char>(text));
    return {made.data(), made.size()};
  }

 private:
  static constexpr size_t kLeastBlock = 512;
  static constexpr size_t kMostBlock = size_t{32} << 10;

  std::optional<std::pmr::monotonic_buffer_resource> memory_{std::in_place, kLeastBlock};
};

}  // namespace tierup
