// IdleSlots<T, N>: a few objects that nobody uses just now, for whoever needs one next.
//
// Taking and putting are one atomic operation each where a slot fits at once; nobody ever waits.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

namespace tierup {

// Knows nothing of lifetimes: its user owns what it puts, and takes all of it before the end.
// Thread rule: any thread.
template <typename T, size_t N>
class IdleSlots {
 public:
  IdleSlots() = default;
  IdleSlots(const IdleSlots&) = delete;
  IdleSlots& operator=(const IdleSlots&) = delete;

  // Null if all slots are empty.
  T* take() {
    for (auto& slot : slots_) {
      if (slot.load(std::memory_order_relaxed) == nullptr) continue;
      if (T* object = slot.exchange(nullptr, std::memory_order_acquire)) return object;
    }
    return nullptr;
  }

  // False if all slots are full.
  bool put(T* object) {
    for (auto& slot : slots_) {
      T* expected = nullptr;
      if (slot.load(std::memory_order_relaxed) == nullptr &&
          slot.compare_exchange_strong(expected, object, std::memory_order_release,
                                       std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  // Takes each object once and hands it to `use`, which may put it back.
  template <typename Use>
  void take_each(Use&& use) {
    for (auto& slot : slots_) {
      if (T* object = slot.exchange(nullptr, std::memory_order_acquire)) use(object);
    }
  }

  size_t count() const {
    size_t count = 0;
    for (const auto& slot : slots_) {
      count += slot.load(std::memory_order_relaxed) != nullptr ? 1 : 0;
    }
    return count;
  }

 private:
  std::array<std::atomic<T*>, N> slots_{};
};

}  // namespace tierup
