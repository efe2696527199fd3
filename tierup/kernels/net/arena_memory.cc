#include "tierup/kernels/net/arena_memory.h"

#include <utility>

#include "tierup/kernels/net/weight_store.h"
#include "tierup/tensor/pages.h"

namespace tierup::kernels::net {

ArenaMemory::~ArenaMemory() {
  idle_.take_each([](Block* block) { const std::unique_ptr<Block> last(block); });
}

std::unique_ptr<ArenaMemory::Block> ArenaMemory::take_idle(size_t bytes) {
  while (Block* idle = idle_.take()) {
    std::unique_ptr<Block> block(idle);
    if (block->bytes >= bytes) return block;
  }
  return nullptr;
}

void ArenaMemory::reserve(size_t bytes) {
  std::unique_ptr<Block> block = take_idle(bytes);
  if (block == nullptr) {
    block = std::make_unique<Block>(Block{aligned_block(bytes, PageKind::kHuge), bytes});
    for (size_t at = 0; at < bytes; at += kSmallPageBytes) block->memory[at] = 0;
  }
  give_back(std::move(block));
}

std::unique_ptr<ArenaMemory::Block> ArenaMemory::take(size_t bytes) {
  if (std::unique_ptr<Block> block = take_idle(bytes)) return block;
  return std::make_unique<Block>(Block{aligned_block(bytes), bytes});
}

void ArenaMemory::give_back(std::unique_ptr<Block> block) {
  if (idle_.put(block.get())) static_cast<void>(block.release());
}

size_t ArenaMemory::idle_bytes() {
  size_t bytes = 0;
  idle_.take_each([&](Block* block) {
    bytes += block->bytes;
    give_back(std::unique_ptr<Block>(block));
  });
  return bytes;
}

}  // namespace tierup::kernels::net
