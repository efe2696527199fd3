#include "tierup/base/piece_queue.h"

namespace tierup {
namespace {

constexpr uint64_t packed(uint64_t first, uint64_t last) { return first << 32 | last; }
constexpr uint64_t first_of(uint64_t range) { return range >> 32; }
constexpr uint64_t last_of(uint64_t range) { return range & 0xffffffffU; }

}  // namespace

PieceQueue::PieceQueue(int64_t pieces, int workers) : workers_(workers) {
  for (int64_t i = 0; i < workers; ++i) {
    const auto first = static_cast<uint64_t>(pieces * i / workers);
    const auto last = static_cast<uint64_t>(pieces * (i + 1) / workers);
    shares_[static_cast<size_t>(i)].range.store(packed(first, last), std::memory_order_relaxed);
  }
}

int64_t PieceQueue::take_front(Share& share) {
  uint64_t range = share.range.load(std::memory_order_relaxed);
  while (first_of(range) < last_of(range)) {
    const uint64_t rest = packed(first_of(range) + 1, last_of(range));
    if (share.range.compare_exchange_weak(range, rest, std::memory_order_relaxed))
      return static_cast<int64_t>(first_of(range));
  }
  return -1;
}

int64_t PieceQueue::take_back(Share& share) {
  uint64_t range = share.range.load(std::memory_order_relaxed);
  while (first_of(range) < last_of(range)) {
    const uint64_t rest = packed(first_of(range), last_of(range) - 1);
    if (share.range.compare_exchange_weak(range, rest, std::memory_order_relaxed))
      return static_cast<int64_t>(last_of(range)) - 1;
  }
  return -1;
}

int64_t PieceQueue::take(int worker) {
  int64_t piece = take_front(shares_[static_cast<size_t>(worker)]);
  for (int i = 1; i < workers_ && piece < 0; ++i)
    piece = take_back(shares_[static_cast<size_t>((worker + i) % workers_)]);
  return piece;
}

}  // namespace tierup
