#include "tierup/tensor/huge_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>

#include "tierup/base/piece_queue.h"
#include "tierup/tensor/pages.h"

namespace tierup {
namespace {

constexpr int64_t kShare = 100;                        // Of the time, one part in so many.
constexpr int64_t kAtOnce = 150 * int64_t{1'000'000};  // Nanoseconds.

char* next_page(char* at) {
  const auto address = reinterpret_cast<uintptr_t>(at);
  return at + (kHugePageBytes - address % kHugePageBytes);
}

int64_t steady_nanoseconds() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

HugePages& HugePages::of_process() {
  static HugePages& pages = *new HugePages(steady_nanoseconds);
  return pages;
}

bool HugePages::are_dear_at(int64_t time) const {
  const int64_t paid_until = paid_until_.load(std::memory_order_relaxed);
  return paid_until != INT64_MIN && paid_until - time > kShare * kAtOnce;
}

int64_t HugePages::price_of_small_ones() {
  if (const int64_t known = small_price_.load(std::memory_order_relaxed); known > 0) return known;
  constexpr size_t kPages = 64;
  void* space = mmap(nullptr, kPages * kSmallPageBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (space == MAP_FAILED) return INT64_MAX;
  madvise(space, kPages * kSmallPageBytes, MADV_NOHUGEPAGE);
  const int64_t start = now_();
  for (size_t i = 0; i < kPages; ++i) touch_page(static_cast<char*>(space) + i * kSmallPageBytes);
  const int64_t took = now_() - start;
  munmap(space, kPages * kSmallPageBytes);
  const auto price =
      static_cast<int64_t>(kHugePageBytes / kSmallPageBytes / kPages) * std::max<int64_t>(took, 1);
  small_price_.store(price, std::memory_order_relaxed);
  return price;
}

bool HugePages::add_to_cost(int64_t took, int64_t now) {
  int64_t paid_until = paid_until_.load(std::memory_order_relaxed);
  while (!paid_until_.compare_exchange_weak(paid_until, std::max(paid_until, now) + kShare * took,
                                            std::memory_order_relaxed)) {
  }
  return are_dear_at(now);
}

void HugePages::keep_small(char* block, size_t bytes) {
  char* const end = block + bytes;
  char* const second = next_page(block);
  if (second < end) madvise(second, static_cast<size_t>(end - second), MADV_NOHUGEPAGE);
}

void HugePages::make(char* block, size_t bytes) {
  const int64_t small_price = price_of_small_ones();
  char* const end = block + bytes;
  char* const second = next_page(block);
  const auto pages = static_cast<int64_t>(
      second >= end
          ? 1
          : 1 + (static_cast<size_t>(end - second) + kHugePageBytes - 1) / kHugePageBytes);
  std::atomic<bool> is_ended = false;
  parallel_long_pieces(pages, piece_workers(pages, intra_op_threads()), [&](int64_t page, int64_t) {
    if (is_ended.load(std::memory_order_relaxed)) return;
    const int64_t start = now_();
    touch_page(page == 0 ? block : second + static_cast<size_t>(page - 1) * kHugePageBytes);
    const int64_t now = now_();
    if (now - start <= small_price || !add_to_cost(now - start, now)) return;
    // Those that are made stay as they are.
    if (!is_ended.exchange(true)) keep_small(block, bytes);
  });
}

}  // namespace tierup
