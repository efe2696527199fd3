// LastUses: for every place that reads a value, whether nothing reads it afterwards.
//
// What the lowering needs to move values instead of copying them and to free them early. A value
// that a loop's body reads from outside stays alive for the whole loop; one that only one branch
// of an If reads is dropped at the start of the other.
#pragma once

#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "tierup/base/small_vector.h"
#include "tierup/ir/graph.h"

namespace tierup::runtime {

class LastUses {
 public:
  explicit LastUses(const ir::Graph& graph);

  using Flags = SmallVector<bool, 8>;
  using Values = std::vector<const ir::Value*>;
  struct NodeUses {
    Flags is_last;      // By input: nothing reads it behind this node (or a later input).
    Values dead_after;  // Unused outputs; what only a loop's body read.
  };
  struct BlockUses {
    Values dead_at_start;
    Flags is_last;  // By return.
  };
  const NodeUses& of(const ir::Node& node) const { return nodes_.at(&node); }
  const BlockUses& of(const ir::Block& block) const { return blocks_.at(&block); }

 private:
  // Of value indices, as words: branches are compared and joined 64 values at a time.
  class LiveSet {
   public:
    explicit LiveSet(size_t size) : words_((size + 63) / 64) {}
    bool contains(size_t i) const { return (words_[i / 64] >> (i % 64) & 1) != 0; }
    void insert(size_t i) { words_[i / 64] |= uint64_t{1} << (i % 64); }
    void erase(size_t i) { words_[i / 64] &= ~(uint64_t{1} << (i % 64)); }
    void insert_all(const LiveSet& other);
    // What stands here and not in `other`, in order.
    std::vector<size_t> without(const LiveSet& other) const;

   private:
    std::vector<uint64_t> words_;
  };

  void number_values(const ir::Block& block);
  LiveSet walk(const ir::Block& block, LiveSet live);
  void walk_if(const ir::Node& node, LiveSet& live);
  void walk_loop(const ir::Node& node, LiveSet& live, NodeUses& uses);
  void collect_uses(const ir::Block& block, LiveSet& used) const;
  size_t index(const ir::Value* value) const {
    const uint32_t index = index_[static_cast<size_t>(value->id())];
    TIERUP_CHECK(index < values_.size());
    return index;
  }

  // A value's number by its id: graphs keep the ids of values that are gone.
  std::vector<uint32_t> index_;
  std::vector<const ir::Value*> values_;
  std::unordered_map<const ir::Node*, NodeUses> nodes_;
  std::unordered_map<const ir::Block*, BlockUses> blocks_;
};

}  // namespace tierup::runtime
