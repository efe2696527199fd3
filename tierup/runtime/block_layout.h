// BlockLayout: where the blocks of a recorded run lie in one piece of memory.
//
// Blocks whose lives do not overlap share bytes: greedy by size, as Pisarchyk and Lee 2020,
// "Efficient Memory Management for Deep Neural Net Inference", then orders near that one are tried.
// The search may take milliseconds; a layout is constant, so plans of the same graph share one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tierup::runtime {

// One allocation of a recorded run. Times count allocations and releases.
struct BlockLife {
  size_t bytes;
  uint32_t begin;
  uint32_t end;  // kForever: alive when the run ended.
  static constexpr uint32_t kForever = UINT32_MAX;
};

// What a block takes beside others: whole lines. A core takes a load for one of what it has just
// stored where the last 12 bits of the addresses agree, and keeps lines whose addresses agree in
// them in few places of its first cache; tensors of 4 KiB side by side meet that in each loop over
// several. So what is almost a multiple of 1 KiB gets some lines more, few beside that.
size_t staggered_bytes(size_t bytes);

// Constant. Thread rule: any thread.
class BlockLayout {
 public:
  explicit BlockLayout(std::vector<BlockLife> lives);

  struct Block {
    size_t bytes = 0;
    size_t offset = 0;
    bool escapes = false;  // Comes from the allocator.
    // Earlier blocks that last lay where this one does: [first, last) of before().
    uint32_t before_begin = 0;
    uint32_t before_end = 0;
  };
  const std::vector<Block>& blocks() const { return blocks_; }
  std::span<const uint32_t> before(const Block& block) const {
    return {before_.data() + block.before_begin, before_.data() + block.before_end};
  }
  const std::vector<BlockLife>& lives() const { return lives_; }
  size_t arena_bytes() const { return arena_bytes_; }
  // The most bytes alive at one time: no layout can do with less.
  size_t lower_bound() const { return lower_bound_; }

 private:
  struct Placement {
    std::vector<size_t> offsets;  // By block.
    size_t bytes = 0;
    uint32_t highest = 0;  // The block that ends there.
  };
  Placement place(const std::vector<uint32_t>& order) const;
  void place_blocks();
  void find_lower_bound(const std::vector<uint32_t>& order);
  void find_predecessors();

  std::vector<BlockLife> lives_;
  std::vector<Block> blocks_;
  std::vector<uint32_t> before_;
  size_t arena_bytes_ = 0;
  size_t lower_bound_ = 0;
};

}  // namespace tierup::runtime
