#include "tierup/kernels/memory/scratch.h"

#include <array>
#include <memory>

#include "tierup/base/error.h"
#include "tierup/tensor/block_memory.h"

namespace tierup::kernels {
namespace {

struct FreeBlock {
  void operator()(void* block) const { free_block(block); }
};

struct Scratch {
  std::unique_ptr<void, FreeBlock> block;
  size_t bytes = 0;
};

}  // namespace

void* thread_scratch(size_t bytes) {
  thread_local Scratch scratch;
  if (bytes > scratch.bytes) {
    const size_t rounded = (bytes + 4095) / 4096 * 4096;
    // Nothing is kept of the old one, whose pages are there already.
    std::array<void*, 1> old = {scratch.block.release()};
    scratch.bytes = 0;
    void* block = allocate_block_over(rounded, old);
    if (old[0] != nullptr) free_block(old[0]);
    require(block != nullptr, ErrorCode::kOutOfMemory, "no memory for {} bytes of scratch space",
            bytes);
    scratch.block.reset(block);
    scratch.bytes = rounded;
  }
  return scratch.block.get();
}

}  // namespace tierup::kernels
