#include "tierup/kernels/net/weight_store.h"

#include <algorithm>
#include <functional>
#include <span>

#include "tierup/base/error.h"
#include "tierup/base/parallel.h"
#include "tierup/base/piece_queue.h"
#include "tierup/kernels/net/compiled_net.h"
#include "tierup/tensor/allocator.h"
#include "tierup/tensor/block_memory.h"
#include "tierup/tensor/pages.h"

namespace tierup::kernels::net {

namespace {

std::shared_ptr<char[]> owned(void* block, size_t bytes) {
  require(block != nullptr, ErrorCode::kOutOfMemory, "no memory for {} bytes", bytes);
  return {static_cast<char*>(block), [](char* p) { free_block(p); }};
}

}  // namespace

std::shared_ptr<char[]> aligned_block(size_t bytes, PageKind kind) {
  return owned(allocate_block(bytes + 64, kind), bytes);
}
std::shared_ptr<char[]> reserved_block(size_t bytes, PageKind kind) {
  return owned(reserve_block(bytes + 64, kind), bytes);
}

WeightStore::~WeightStore() {
  for (const Entry& entry : entries_) entry.block->remove_holder();
}

WeightStore::Memory WeightStore::memory_of(const Entry& entry) {
  return {entry.block, entry.block->data()};
}

const WeightStore::Entry* WeightStore::find(int id, const memory::desc& layout) const {
  const auto is_it = [&](const Entry& entry) { return entry.id == id && entry.layout == layout; };
  const auto known = std::ranges::find_if(entries_, is_it);
  if (known != entries_.end()) return &*known;
  const auto pending = std::ranges::find_if(pending_, is_it, &Pending::entry);
  return pending != pending_.end() ? &pending->entry : nullptr;
}

const WeightStore::Entry& WeightStore::add(Entry entry) {
  entry.block->add_holder();
  return entries_.emplace_back(std::move(entry));
}

WeightStore::Memory WeightStore::get(int id, const memory::desc& layout, const Fill& fill) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const Entry* known = find(id, layout)) return memory_of(*known);
  const auto block = std::make_shared<PackedBlock>(layout.get_size());
  block->fill(fill);
  return memory_of(add({id, layout, block}));
}

WeightStore::Memory WeightStore::get_later(int id, const memory::desc& layout,
                                           std::optional<PackedName> name, Fill fill) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const Entry* known = find(id, layout)) return memory_of(*known);
  if (name) {
    if (auto block = PackedWeights::of_process().find(*name))
      return memory_of(add({id, layout, std::move(block)}));
    const auto same = std::ranges::find(
        pending_, name, [](const Pending& pending) { return pending.entry.block->name(); });
    if (same != pending_.end()) {
      pending_.push_back({{id, layout, same->entry.block}, nullptr});
      return memory_of(pending_.back().entry);
    }
  }
  auto block = std::make_shared<PackedBlock>(layout.get_size(), std::move(name));
  pending_.push_back({{id, layout, std::move(block)}, std::move(fill)});
  return memory_of(pending_.back().entry);
}

// A weight of several huge pages for each thread is packed by all of them: while it is, its source
// is in memory as well. The others are packed by one thread each, the largest first, where there
// are enough of them.
void WeightStore::fill_pending() {
  std::vector<Pending> all;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    all.swap(pending_);
  }
  std::vector<const Pending*> parts;
  for (const Pending& pending : all)
    if (pending.fill) parts.push_back(&pending);
  const auto bytes_of = [](const Pending* part) { return part->entry.block->bytes(); };
  std::ranges::sort(parts, std::greater(), bytes_of);
  const auto threads = static_cast<size_t>(intra_op_threads());
  const size_t for_all = 2 * kHugePageBytes * threads;
  auto rest =
      std::ranges::find_if(parts, [&](const Pending* part) { return bytes_of(part) < for_all; });
  if (static_cast<size_t>(parts.end() - rest) < threads) rest = parts.end();
  for (auto part = parts.begin(); part != rest; ++part) (*part)->entry.block->fill((*part)->fill);
  const std::span<const Pending*> others(rest, parts.end());
  const auto count = static_cast<int64_t>(others.size());
  parallel_long_pieces(count, piece_workers(count, intra_op_threads()), [&](int64_t i, int64_t) {
    const ThreadCountScope one(1);
    const Pending& part = *others[static_cast<size_t>(i)];
    part.entry.block->fill(part.fill);
    release_thread_cache();  // Of copies that were packed.
  });
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Pending& pending : all) {
    if (pending.fill && pending.entry.block->name())
      PackedWeights::of_process().add(pending.entry.block);
    add(std::move(pending.entry));
  }
}

void WeightStore::drop_pending() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  pending_.clear();
}

std::optional<memory::desc> WeightStore::known_layout(int id) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto is_it = [id](const Entry& entry) { return entry.id == id; };
  const auto known = std::ranges::find_if(entries_, is_it);
  if (known != entries_.end()) return known->layout;
  const auto pending = std::ranges::find_if(pending_, is_it, &Pending::entry);
  return pending != pending_.end() ? std::optional(pending->entry.layout) : std::nullopt;
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
