#include "tierup/runtime/memory_plan.h"

#include <atomic>
#include <cstring>
#include <mutex>

#include "tierup/base/block_marks.h"
#include "tierup/tensor/allocator.h"

namespace tierup::runtime {
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

MemoryPlan::~MemoryPlan() { trim(); }

Ref<Arena> MemoryPlan::acquire() {
  if (Arena* arena = kept_.take()) return Ref<Arena>::adopt(arena);
  return make_ref<Arena>(layout_->arena_bytes(), layout_->blocks().size());
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
  const std::vector<BlockLayout::Block>& blocks = plan_.layout().blocks();
  if (diverged_ || next_ == blocks.size() || blocks[next_].bytes != bytes) {
    diverged_ = true;
    return nullptr;
  }
  const auto number = static_cast<uint32_t>(next_++);
  const BlockLayout::Block& block = blocks[number];
  if (block.escapes) return nullptr;
  for (const uint32_t earlier : plan_.layout().before(block)) {
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
