#include "tierup/runtime/memory_plan.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <random>

#include "tierup/base/block_marks.h"
#include "tierup/tensor/allocator.h"

namespace tierup::runtime {
namespace {

size_t aligned(size_t bytes) {
  return (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}

// What is tried of orders near the usual one: so many, and so many looks at pairs of blocks.
constexpr size_t kMaxTries = 500;
constexpr size_t kMaxPairs = 10'000'000;

bool overlap_in_time(const BlockLife& a, const BlockLife& b) {
  return a.begin < b.end && b.begin < a.end;
}

}  // namespace

class Arena final : public BlockOwner {
 public:
  Arena(size_t bytes, size_t blocks)
      : bytes_(bytes),
        data_(static_cast<char*>(allocate_bytes(bytes))),
        alive_(std::make_unique<std::atomic<bool>[]>(blocks)) {
    if (!kBlocksAreMarked) return;
    spans_.resize(blocks);
    mark_unusable(data_, bytes_);
  }
  ~Arena() override { free_bytes(data_, bytes_); }

  bool is_alive(uint32_t block) const { return alive_[block].load(std::memory_order_acquire); }
  void* hand_out(uint32_t block, size_t offset, size_t bytes) {
    alive_[block].store(true, std::memory_order_relaxed);
    if (kBlocksAreMarked) spans_[block] = {offset, bytes};
    mark_usable(at(offset), bytes);
    return at(offset);
  }
  void on_release(uint32_t block) noexcept override {
    if (kBlocksAreMarked) mark_unusable(at(spans_[block].offset), spans_[block].bytes);
    alive_[block].store(false, std::memory_order_release);
  }

 private:
  struct Span {
    size_t offset = 0;
    size_t bytes = 0;
  };
  void* at(size_t offset) const { return data_ + offset; }

  size_t bytes_;
  char* data_;
  std::vector<Span> spans_;  // Of the blocks, for the address sanitizer.
  std::unique_ptr<std::atomic<bool>[]> alive_;
};

// --- MemoryPlan ---

MemoryPlan::MemoryPlan(std::vector<BlockLife> lives) : lives_(std::move(lives)) {
  blocks_.resize(lives_.size());
  for (size_t i = 0; i < lives_.size(); ++i) {
    blocks_[i].bytes = lives_[i].bytes;
    blocks_[i].escapes = lives_[i].end == BlockLife::kForever;
  }
  place_blocks();
  find_predecessors();
}

MemoryPlan::~MemoryPlan() { trim(); }

// Each into the lowest gap between the blocks that are alive at the same time, in this order.
MemoryPlan::Placement MemoryPlan::place(const std::vector<uint32_t>& order) const {
  Placement result;
  result.offsets.resize(lives_.size());
  std::vector<uint32_t> placed;  // By offset.
  for (const uint32_t i : order) {
    size_t offset = 0;
    for (const uint32_t other : placed) {
      if (!overlap_in_time(lives_[i], lives_[other])) continue;
      if (result.offsets[other] >= offset + aligned(lives_[i].bytes)) break;
      offset = std::max(offset, result.offsets[other] + aligned(lives_[other].bytes));
    }
    result.offsets[i] = offset;
    const size_t end = offset + aligned(lives_[i].bytes);
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
void MemoryPlan::place_blocks() {
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

void MemoryPlan::find_lower_bound(const std::vector<uint32_t>& order) {
  std::map<uint32_t, int64_t> changes;  // Of the bytes alive, by time.
  for (const uint32_t i : order) {
    changes[lives_[i].begin] += static_cast<int64_t>(aligned(lives_[i].bytes));
    changes[lives_[i].end] -= static_cast<int64_t>(aligned(lives_[i].bytes));
  }
  int64_t alive = 0;
  for (const auto& [time, change] : changes) {
    alive += change;
    lower_bound_ = std::max(lower_bound_, static_cast<size_t>(alive));
  }
}

// The last block before each one over any part of its bytes: while those are dead, so is all that
// lay there before them, for they could not have been handed out otherwise.
void MemoryPlan::find_predecessors() {
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
      const size_t stop = block.offset + aligned(block.bytes);
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

Ref<Arena> MemoryPlan::acquire() {
  if (Arena* arena = kept_.take()) return Ref<Arena>::adopt(arena);
  return make_ref<Arena>(arena_bytes_, blocks_.size());
}

void MemoryPlan::keep(Ref<Arena> arena) {
  if (arena->use_count() > 1) return;  // Something in it is still alive; it goes with that.
  if (kept_.put(arena.get())) std::move(arena).leak();
}

size_t MemoryPlan::trim() {
  size_t freed = 0;
  kept_.take_each([&](Arena* arena) {
    const Ref<Arena> last = Ref<Arena>::adopt(arena);
    ++freed;
  });
  return freed;
}

// --- RecordingScope ---

class RecordingScope::Recorder final : public BlockOwner {
 public:
  Ref<Storage> allocate(size_t bytes) {
    void* data = allocate_bytes(bytes);
    uint32_t block = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      block = static_cast<uint32_t>(lives_.size());
      lives_.push_back({bytes, clock_++, BlockLife::kForever});
      data_.push_back(data);
    }
    return storage_of_block(Ref<BlockOwner>(this), block, data, bytes);
  }
  void on_release(uint32_t block) noexcept override {
    const std::lock_guard<std::mutex> lock(mutex_);
    lives_[block].end = clock_++;
    free_bytes(data_[block], lives_[block].bytes);
  }
  std::vector<BlockLife> lives() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return lives_;
  }

 private:
  mutable std::mutex mutex_;  // Storages may go in other threads.
  uint32_t clock_ = 0;
  std::vector<BlockLife> lives_;
  std::vector<void*> data_;
};

RecordingScope::RecordingScope() : recorder_(make_ref<Recorder>()) {}
RecordingScope::~RecordingScope() = default;
Ref<Storage> RecordingScope::allocate(size_t bytes) { return recorder_->allocate(bytes); }
std::vector<BlockLife> RecordingScope::lives() const { return recorder_->lives(); }

// --- ArenaScope ---

ArenaScope::ArenaScope(MemoryPlan& plan, bool poison)
    : plan_(plan), arena_(plan.acquire()), poison_(poison) {}
ArenaScope::~ArenaScope() { plan_.keep(std::move(arena_)); }

Ref<Storage> ArenaScope::allocate(size_t bytes) {
  if (diverged_ || next_ == plan_.blocks().size() || plan_.blocks()[next_].bytes != bytes) {
    diverged_ = true;
    return nullptr;
  }
  const auto number = static_cast<uint32_t>(next_++);
  const MemoryPlan::Block& block = plan_.blocks()[number];
  if (block.escapes) return nullptr;
  for (const uint32_t earlier : plan_.before(block)) {
    if (arena_->is_alive(earlier)) {
      diverged_ = true;  // Later blocks rely on this one having taken its place.
      return nullptr;
    }
  }
  void* const data = arena_->hand_out(number, block.offset, bytes);
  if (poison_) std::memset(data, 0xff, bytes);
  return storage_of_block(arena_, number, data, bytes);
}

}  // namespace tierup::runtime
