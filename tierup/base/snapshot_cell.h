// SnapshotCell<T>: a value that many threads read and few replace; readers never wait.
//
// Readers see an immutable T behind an atomic pointer. A reader announces itself in one of two
// counters, takes from the value what it wants to keep (references), and leaves; a writer swaps the
// pointer and waits until both counters were once empty before it frees the old value. Only
// writers ever wait, and only for readers in those few instructions.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

namespace tierup {

template <typename T>
class SnapshotCell {
 public:
  SnapshotCell() = default;
  ~SnapshotCell() { delete value_.load(); }
  SnapshotCell(const SnapshotCell&) = delete;
  SnapshotCell& operator=(const SnapshotCell&) = delete;

  // Holds the value alive; to be kept for a few instructions only. Any thread.
  // A reader may be counted under a phase that has just ended; the writer therefore drains both
  // counters, one after the other.
  class Reader {
   public:
    explicit Reader(const SnapshotCell& cell) : cell_(cell), side_(cell.phase_.load() & 1U) {
      cell_.readers_[side_].fetch_add(1);  // Sequentially consistent: before the pointer is read.
      value_ = cell_.value_.load();
    }
    ~Reader() { cell_.readers_[side_].fetch_sub(1, std::memory_order_release); }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    // Null before the first replace().
    const T* get() const { return value_; }

   private:
    const SnapshotCell& cell_;
    uint32_t side_;
    const T* value_;
  };

  bool empty() const { return value_.load(std::memory_order_acquire) == nullptr; }

  // For writers, who hold a lock of their own between each other: the value as it stands.
  const T* current() const { return value_.load(); }
  // Puts a value (or none) in the old one's place, which is freed before this returns.
  void replace(std::unique_ptr<const T> next) {
    const std::unique_ptr<const T> old(value_.exchange(next.release()));
    for (int round = 0; round < 2; ++round) {
      const uint32_t side = phase_.fetch_add(1) & 1U;
      while (readers_[side].load() != 0) std::this_thread::yield();
    }
  }

 private:
  std::atomic<const T*> value_{nullptr};
  mutable std::array<std::atomic<uint32_t>, 2> readers_{};
  std::atomic<uint32_t> phase_{0};
};

}  // namespace tierup
