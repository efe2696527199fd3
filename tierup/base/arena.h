// Arena: memory for many small things that live and end together.
//
// A tree of ten thousand nodes is a few blocks of the heap instead of as many, each with its
// header, and its nodes lie side by side. Nothing is destroyed: only types without a destructor may
// stand in it. Not thread-safe; what stands in it may be read by any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tierup {

class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // What the first block should hold; later ones grow by themselves.
  void expect(size_t bytes) { next_block_ = std::clamp(bytes, kLeastBlock, kMostBlock); }

  template <typename T, typename... Args>
  T* make(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (allocate(sizeof(T), alignof(T))) T(std::forward<Args>(args)...);
  }

  template <typename T>
  std::span<T> copy(std::span<const T> items) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (items.empty()) return {};
    T* begin = static_cast<T*>(allocate(items.size_bytes(), alignof(T)));
    std::uninitialized_copy(items.begin(), items.end(), begin);
    return {begin, items.size()};
  }
  std::string_view copy(std::string_view text) {
    const std::span<char> made = copy(std::span<const char>(text));
    return {made.data(), made.size()};
  }

  void* allocate(size_t bytes, size_t alignment) {
    const size_t padding = (0 - reinterpret_cast<uintptr_t>(at_)) & (alignment - 1);
    if (bytes + padding > static_cast<size_t>(end_ - at_)) {
      add_block(bytes);
      return std::exchange(at_, at_ + bytes);  // Blocks are aligned for everything.
    }
    std::byte* place = at_ + padding;
    at_ = place + bytes;
    return place;
  }

 private:
  static constexpr size_t kLeastBlock = 512;
  static constexpr size_t kMostBlock = size_t{32} << 10;

  void add_block(size_t least) {
    const size_t bytes = std::max(least, next_block_);
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
    at_ = blocks_.back().get();
    end_ = at_ + bytes;
    next_block_ = std::min(2 * next_block_, kMostBlock);
  }

  std::byte* at_ = nullptr;
  std::byte* end_ = nullptr;
  size_t next_block_ = kLeastBlock;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
};

}  // namespace tierup
