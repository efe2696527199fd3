#include "tierup/runtime/block_layout.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "tierup/tensor/allocator.h"

namespace tierup::runtime {
namespace {

// What is tried of orders near the usual one: so many, and so many looks at pairs of blocks.
constexpr size_t kMaxTries = 500;
constexpr size_t kMaxPairs = 10'000'000;

bool overlap_in_time(const BlockLife& a, const BlockLife& b) {
  return a.begin < b.end && b.begin < a.end;
}

}  // namespace

size_t staggered_bytes(size_t bytes) {
  constexpr size_t kLeastLines = 32;
  constexpr size_t kRound = 16;  // Lines: four blocks of as many come round to the same 12 bits.
  constexpr size_t kMore = 5;
  const size_t lines = (bytes + kTensorAlignment - 1) / kTensorAlignment;
  const bool is_round = lines >= kLeastLines && (lines + 1) % kRound <= 2;
  return (is_round ? lines + kMore : lines) * kTensorAlignment;
}

BlockLayout::BlockLayout(std::vector<BlockLife> lives) : lives_(std::move(lives)) {
  blocks_.resize(lives_.size());
  for (size_t i = 0; i < lives_.size(); ++i) {
    blocks_[i].bytes = lives_[i].bytes;
    blocks_[i].escapes = lives_[i].end == BlockLife::kForever;
  }
  place_blocks();
  find_predecessors();
}

// Each into the lowest gap between the blocks that are alive at the same time, in this order.
BlockLayout::Placement BlockLayout::place(const std::vector<uint32_t>& order) const {
  Placement result;
  result.offsets.resize(lives_.size());
  std::vector<uint32_t> placed;  // By offset.
  for (const uint32_t i : order) {
    size_t offset = 0;
    for (const uint32_t other : placed) {
      if (!overlap_in_time(lives_[i], lives_[other])) continue;
      if (result.offsets[other] >= offset + staggered_bytes(lives_[i].bytes)) break;
      offset = std::max(offset, result.offsets[other] + staggered_bytes(lives_[other].bytes));
    }
    result.offsets[i] = offset;
    const size_t end = offset + staggered_bytes(lives_[i].bytes);
    if (end > result.bytes) {
      result.bytes = end;
      result.highest = i;
    }
    placed.insert(std::upper_bound(placed.begin(), placed.end(), i,
                                   [&](uint32_t a, uint32_t b) {
                                     return result.offsets[a] < result.offsets[b];
                                   }),
                  i);
  }
  return result;
}

// Largest first, which is the best order mostly; where it leaves holes, orders near it are tried:
// the block that ends highest goes to an earlier place.
void BlockLayout::place_blocks() {
  std::vector<uint32_t> order(lives_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::erase_if(order, [&](uint32_t i) { return blocks_[i].escapes; });
  find_lower_bound(order);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return lives_[a].bytes > lives_[b].bytes; });
  Placement best = place(order);
  std::minstd_rand random;  // Seeded alike, always: the same lives get the same plan.
  const size_t pairs = std::max<size_t>(order.size() * order.size(), 1);
  const size_t tries = std::min<size_t>(kMaxTries, kMaxPairs / pairs);
  std::vector<uint32_t> current = order;
  size_t current_bytes = best.bytes;
  uint32_t highest = best.highest;
  for (size_t i = 0; i < tries && best.bytes > lower_bound_; ++i) {
    std::vector<uint32_t> next = current;
    const auto from = std::find(next.begin(), next.end(), highest);
    const auto to = next.begin() + static_cast<ptrdiff_t>(random() % next.size());
    if (i % 2 == 0 && to < from) {
      std::rotate(to, from, from + 1);
    } else {
      std::swap(*to, next[random() % next.size()]);
    }
    Placement tried = place(next);
    if (tried.bytes > current_bytes) continue;
    current = std::move(next);
    current_bytes = tried.bytes;
    highest = tried.highest;
    if (tried.bytes < best.bytes) best = std::move(tried);
  }
  arena_bytes_ = best.bytes;
  for (const uint32_t i : order) blocks_[i].offset = best.offsets[i];
}

void BlockLayout::find_lower_bound(const std::vector<uint32_t>& order) {
  std::map<uint32_t, int64_t> changes;  // Of the bytes alive, by time.
  for (const uint32_t i : order) {
    changes[lives_[i].begin] += static_cast<int64_t>(staggered_bytes(lives_[i].bytes));
    changes[lives_[i].end] -= static_cast<int64_t>(staggered_bytes(lives_[i].bytes));
  }
  int64_t alive = 0;
  for (const auto& [time, change] : changes) {
    alive += change;
    lower_bound_ = std::max(lower_bound_, static_cast<size_t>(alive));
  }
}

// The last block before each one over any part of its bytes: while those are dead, so is all that
// lay there before them, for they could not have been handed out otherwise.
void BlockLayout::find_predecessors() {
  std::map<size_t, uint32_t> owners;  // From an offset on: the block that last lay there.
  constexpr uint32_t kNobody = UINT32_MAX;
  owners[0] = kNobody;
  const auto split = [&](size_t offset) {
    const auto after = owners.upper_bound(offset);
    return owners.emplace(offset, std::prev(after)->second).first;
  };
  for (uint32_t i = 0; i < blocks_.size(); ++i) {
    Block& block = blocks_[i];
    block.before_begin = static_cast<uint32_t>(before_.size());
    if (!block.escapes) {
      const size_t stop = block.offset + staggered_bytes(block.bytes);
      split(stop);
      const auto first = split(block.offset);
      for (auto at = first; at->first < stop; ++at) {
        if (at->second != kNobody) before_.push_back(at->second);
      }
      owners.erase(std::next(first), owners.find(stop));
      first->second = i;
    }
    std::sort(before_.begin() + block.before_begin, before_.end());
    before_.erase(std::unique(before_.begin() + block.before_begin, before_.end()), before_.end());
    block.before_end = static_cast<uint32_t>(before_.size());
  }
}

}  // namespace tierup::runtime
