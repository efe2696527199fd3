#include "tierup/codegen/code_cache.h"

namespace tierup::codegen {

CodeCache& CodeCache::instance() {
  constexpr size_t kMaxBytes = size_t{64} << 20;
  // Never destroyed: plans of other static objects may end after it.
  static auto* const cache = new CodeCache(kMaxBytes);
  return *cache;
}

std::optional<CachedKernel> CodeCache::find(const std::string& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return std::nullopt;
  uses_.splice(uses_.begin(), uses_, found->second.use);
  ++hits_;
  return found->second.kernel;
}

void CodeCache::add(const std::string& key, const CachedKernel& kernel) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (entries_.contains(key)) return;  // Another thread was faster.
  Uses use{key};
  entries_.emplace(key, Entry{kernel, use.begin()});
  uses_.splice(uses_.begin(), use);
  bytes_ += kernel.bytes;
  trim();
}

void CodeCache::trim() {
  for (auto use = uses_.end(); use != uses_.begin() && bytes_ > max_bytes_;) {
    --use;
    const auto entry = entries_.find(*use);
    if (entry->second.kernel.code->use_count() > 1) continue;  // A plan runs it: nothing is saved.
    bytes_ -= entry->second.kernel.bytes;
    entries_.erase(entry);
    use = uses_.erase(use);
  }
}

uint64_t CodeCache::hits() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return hits_;
}

size_t CodeCache::bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return bytes_;
}

}  // namespace tierup::codegen
