// PackedWeights: each weight packed once, for all nets of the process that read it in one form.
//
// A loop that was written out leaves a net in each of its steps, a plan's variant has the nets of
// the plan, and both read the same weights. A form is held as long as one of its readers stands,
// and goes with the last: what is named here are the weights' memory, its version and the way of
// packing, so nobody takes what was packed before a weight was written. Weights that a net makes
// for itself have no such name, since their memory is used again.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tierup/kernels/memory/spare_pages.h"
#include "tierup/kernels/net/layouts.h"
#include "tierup/tensor/tensor.h"

namespace tierup::kernels::net {

// Ways to pack a weight.
enum class PackedForm : uint8_t { kReordered, kPanels, kRowPanels, kWinograd, kChannels, kPlanes };

// What is packed, and how. `form`: a PackedForm and the numbers that it goes by, apart from the
// layout and the weight's sizes; `scale`: of the output channels, or empty.
struct PackedName {
  Tensor weight;  // Held: its memory is nobody else's while the packed form stands.
  uint32_t version = 0;
  std::vector<int64_t> form;
  memory::desc layout;
  std::vector<float> scale;

  PackedName(Tensor named, std::vector<int64_t> how, const memory::desc& as,
             std::vector<float> factors);
  bool operator==(const PackedName& other) const;
};

// Packed numbers. The same for all who have it; any thread, once it is filled.
class PackedBlock {
 public:
  // Writes a block, and tells which weight is spare beside it, if one is.
  using Fill = std::function<SpareWeight(char*)>;
  // Memory that is not written yet.
  explicit PackedBlock(size_t bytes, std::optional<PackedName> name = std::nullopt);
  PackedBlock(const PackedBlock&) = delete;
  PackedBlock& operator=(const PackedBlock&) = delete;

  // Once, by one thread.
  void fill(const Fill& write);
  size_t bytes() const { return bytes_; }
  char* data() const { return memory_.get(); }
  const std::optional<PackedName>& name() const { return name_; }
  // Of the bytes, the part of each who says that it holds the block.
  size_t share() const { return bytes_ / std::max<size_t>(holders_.load(), 1); }
  void add_holder() { holders_.fetch_add(1); }
  void remove_holder() { holders_.fetch_sub(1); }

 private:
  const std::optional<PackedName> name_;
  const size_t bytes_;
  const std::shared_ptr<char[]> memory_;
  SpareWeight spare_;
  std::atomic<size_t> holders_{0};
};

// Thread rule: any thread. Two that miss the same form at once both pack it; later ones have one of
// the two.
class PackedWeights {
 public:
  static PackedWeights& of_process();
  PackedWeights() = default;
  PackedWeights(const PackedWeights&) = delete;
  PackedWeights& operator=(const PackedWeights&) = delete;

  // Null where nobody has it.
  std::shared_ptr<PackedBlock> find(const PackedName& name) const;
  // A filled block that has a name.
  void add(const std::shared_ptr<PackedBlock>& block);

 private:
  mutable std::mutex mutex_;
  std::unordered_multimap<const void*, std::weak_ptr<PackedBlock>> blocks_;  // By weights' memory.
};

}  // namespace tierup::kernels::net
