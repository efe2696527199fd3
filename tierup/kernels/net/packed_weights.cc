#include "tierup/kernels/net/packed_weights.h"

#include <algorithm>
#include <utility>

#include "tierup/kernels/net/weight_store.h"

namespace tierup::kernels::net {

PackedName::PackedName(Tensor named, std::vector<int64_t> how, const memory::desc& as,
                       std::vector<float> factors)
    : weight(std::move(named)),
      version(weight.storage()->version()),
      form(std::move(how)),
      layout(as),
      scale(std::move(factors)) {}

bool PackedName::operator==(const PackedName& other) const {
  // By its storage, too: two may borrow the same memory, one after the other.
  return weight.storage().get() == other.weight.storage().get() &&
         weight.raw() == other.weight.raw() && version == other.version &&
         std::ranges::equal(weight.sizes(), other.weight.sizes()) &&
         std::ranges::equal(weight.strides(), other.weight.strides()) && form == other.form &&
         layout == other.layout && scale == other.scale;
}

PackedBlock::PackedBlock(size_t bytes, std::optional<PackedName> name)
    : name_(std::move(name)), bytes_(bytes), memory_(reserved_block(bytes, PageKind::kHuge)) {}

void PackedBlock::fill(const Fill& write) {
  make_pages(memory_.get(), bytes_, PageKind::kHuge);
  spare_ = write(memory_.get());
}

PackedWeights& PackedWeights::of_process() {
  // Never destroyed: nets of static objects may go after it.
  static auto* const weights = new PackedWeights();
  return *weights;
}

std::shared_ptr<PackedBlock> PackedWeights::find(const PackedName& name) const {
  std::vector<std::shared_ptr<PackedBlock>> others;  // May be the last readers' by now.
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [first, last] = blocks_.equal_range(name.weight.raw());
  for (auto known = first; known != last; ++known) {
    std::shared_ptr<PackedBlock> block = known->second.lock();
    if (block != nullptr && *block->name() == name) return block;
    others.push_back(std::move(block));
  }
  return nullptr;
}

void PackedWeights::add(const std::shared_ptr<PackedBlock>& block) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(blocks_, [](const auto& known) { return known.second.expired(); });
  blocks_.emplace(block->name()->weight.raw(), block);
}

}  // namespace tierup::kernels::net
