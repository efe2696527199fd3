#include "tierup/kernels/net/weight_store.h"

#include <algorithm>

#include "tierup/base/error.h"
#include "tierup/kernels/net/compiled_net.h"
#include "tierup/tensor/block_memory.h"

namespace tierup::kernels::net {

std::shared_ptr<char[]> aligned_block(size_t bytes, PageKind kind) {
  auto* block = static_cast<char*>(allocate_block(bytes + 64, kind));
  require(block != nullptr, ErrorCode::kOutOfMemory, "no memory for {} bytes", bytes);
  return std::shared_ptr<char[]>(block, [](char* p) { free_block(p); });
}

WeightStore::~WeightStore() {
  for (const Entry& entry : entries_) entry.block->remove_holder();
}

std::shared_ptr<char[]> WeightStore::get(int id, const memory::desc& layout,
                                         std::optional<PackedName> name, const Fill& fill) {
  const auto memory_of = [](const std::shared_ptr<PackedBlock>& block) {
    return std::shared_ptr<char[]>(block, block->data());
  };
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Entry& entry : entries_) {
    if (entry.id == id && entry.layout == layout) return memory_of(entry.block);
  }
  std::shared_ptr<PackedBlock> block = name
                                           ? PackedWeights::of_process().get(*std::move(name), fill)
                                           : std::make_shared<PackedBlock>(layout.get_size(), fill);
  block->add_holder();
  entries_.push_back({id, layout, block});
  return memory_of(block);
}

std::optional<memory::desc> WeightStore::known_layout(int id) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Entry& entry : entries_) {
    if (entry.id == id) return entry.layout;
  }
  return std::nullopt;
}

void WeightStore::set_algorithm(int id, Algorithm algorithm) {
  const std::lock_guard<std::mutex> lock(mutex_);
  algorithms_.emplace_back(id, algorithm);
}

std::optional<Algorithm> WeightStore::algorithm(int id) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = std::find_if(algorithms_.begin(), algorithms_.end(),
                                  [id](const auto& entry) { return entry.first == id; });
  if (found == algorithms_.end()) return std::nullopt;
  return found->second;
}

size_t WeightStore::bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  size_t total = 0;
  for (const Entry& entry : entries_) total += entry.block->share();
  return total;
}

std::shared_ptr<WeightStore> make_weight_store() { return std::make_shared<WeightStore>(); }
size_t held_bytes(const WeightStore& store) { return store.bytes() + store.arenas()->idle_bytes(); }

}  // namespace tierup::kernels::net
