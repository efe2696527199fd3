#include "tierup/kernels/net/arena_memory.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tierup/kernels/net/weight_store.h"
#include "tierup/tensor/pages.h"

namespace tierup::kernels::net {

ArenaMemory::~ArenaMemory() {
  idle_.take_each([](Block* block) { const std::unique_ptr<Block> last(block); });
}

std::unique_ptr<ArenaMemory::Block> ArenaMemory::take_idle(size_t bytes) {
  while (Block* idle = idle_.take()) {
    idle_count_.fetch_sub(1, std::memory_order_relaxed);
    std::unique_ptr<Block> block(idle);
    if (block->bytes >= bytes) return block;
  }
  return nullptr;
}

void ArenaMemory::reserve(size_t bytes, int runs) {
  const auto count = std::min(static_cast<size_t>(runs), kMostIdle);
  if (most_idle_.load(std::memory_order_relaxed) < count)
    most_idle_.store(count, std::memory_order_relaxed);
  std::vector<std::unique_ptr<Block>> blocks(count);
  for (std::unique_ptr<Block>& block : blocks) {
    block = take_idle(bytes);
    if (block != nullptr) continue;
    block = std::make_unique<Block>(Block{aligned_block(bytes, PageKind::kHuge), bytes});
    for (size_t at = 0; at < bytes; at += kSmallPageBytes) block->memory[at] = 0;
  }
  for (std::unique_ptr<Block>& block : blocks) give_back(std::move(block));
}

std::unique_ptr<ArenaMemory::Block> ArenaMemory::take(size_t bytes) {
  if (std::unique_ptr<Block> block = take_idle(bytes)) return block;
  return std::make_unique<Block>(Block{aligned_block(bytes), bytes});
}

void ArenaMemory::give_back(std::unique_ptr<Block> block) {
  const bool is_kept = idle_count_.fetch_add(1, std::memory_order_relaxed) <
                           most_idle_.load(std::memory_order_relaxed) &&
                       idle_.put(block.get());
  if (is_kept) {
    static_cast<void>(block.release());
  } else {
    idle_count_.fetch_sub(1, std::memory_order_relaxed);
  }
}

size_t ArenaMemory::idle_bytes() {
  size_t bytes = 0;
  idle_.take_each([&](Block* block) {
    bytes += block->bytes;
    idle_count_.fetch_sub(1, std::memory_order_relaxed);
    give_back(std::unique_ptr<Block>(block));
  });
  return bytes;
}

}  // namespace tierup::kernels::net
