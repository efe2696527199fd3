#include "tierup/tier/sized_plans.h"

#include <algorithm>
#include <new>

namespace tierup::tier {

SizedPlans::~SizedPlans() = default;

SizedPlans::Signature SizedPlans::signature_of(std::span<const IValue> arguments) {
  Signature hash = 0xcbf29ce484222325ULL;
  const auto mix = [&](uint64_t word) { hash = (hash ^ word) * 0x100000001b3ULL; };
  for (const IValue& argument : arguments) {
    const TensorImpl* tensor = argument.tensor_impl();
    if (tensor == nullptr) continue;
    mix(tensor->sizes.size() + 1);
    for (const int64_t size : tensor->sizes) mix(static_cast<uint64_t>(size));
  }
  return hash;
}

SizedPlan* SizedPlans::find(Signature signature) const {
  for (const auto& place : places_) {
    SizedPlan* sized = place.load(std::memory_order_acquire);
    if (sized == nullptr) return nullptr;
    if (sized->signature == signature) return sized;
  }
  return nullptr;
}

SizedPlan* SizedPlans::at(Signature signature) {
  SizedPlan* sized = find(signature);
  if (sized == nullptr) sized = add(signature);
  // The order of uses counts where there are others.
  if (sized != nullptr && places_[1].load(std::memory_order_relaxed) != nullptr) {
    sized->last_use_.store(look_ups_.fetch_add(1, std::memory_order_relaxed),
                           std::memory_order_relaxed);
  }
  return sized;
}

SizedPlan* SizedPlans::add(Signature signature) {
  const std::unique_lock<std::mutex> lock(writers_, std::try_to_lock);
  if (!lock.owns_lock()) return nullptr;
  if (SizedPlan* known = find(signature)) return known;
  const auto is_before = [](const auto& a, const auto& b) {
    const SizedPlan* x = a.load(std::memory_order_relaxed);
    const SizedPlan* y = b.load(std::memory_order_relaxed);
    if (x == nullptr || y == nullptr) return x == nullptr && y != nullptr;
    return x->last_use_.load(std::memory_order_relaxed) <
           y->last_use_.load(std::memory_order_relaxed);
  };
  auto place = std::min_element(places_.begin(), places_.end(), is_before);
  SizedPlan* former = place->load(std::memory_order_relaxed);
  std::unique_ptr<SizedPlan> sized;
  try {
    if (former != nullptr && !is_worth_a_place(signature)) return nullptr;
    sized = std::make_unique<SizedPlan>(signature);
    owned_.push_back(nullptr);
  } catch (const std::bad_alloc&) {
    return nullptr;  // No reason for a call to fail.
  }
  owned_.back() = std::move(sized);
  place->store(owned_.back().get(), std::memory_order_release);
  if (former != nullptr) {
    replacements_.fetch_add(1, std::memory_order_relaxed);
    if (runtime::MemoryPlan* memory = former->memory()) memory->trim();
  }
  return owned_.back().get();
}

bool SizedPlans::is_worth_a_place(Signature signature) {
  const auto is_same = [&](Signature known) { return known == signature; };
  auto* newcomer = newcomers_.find(is_same);
  if (newcomer == nullptr) {
    newcomers_.add(signature);
    return false;
  }
  ++newcomer->calls;
  if (!Newcomers<Signature>::may_replace(*newcomer, kMost, replacements())) return false;
  newcomers_.remove(*newcomer);
  return true;
}

bool SizedPlans::wants_recording(SizedPlan& sized) {
  if (!sized.came_before_.exchange(true, std::memory_order_relaxed)) return false;
  return !is_recorded_.exchange(true, std::memory_order_acquire);
}

void SizedPlans::add_memory(SizedPlan& sized, std::unique_ptr<runtime::MemoryPlan> memory) {
  const std::lock_guard<std::mutex> lock(writers_);
  if (sized.memory() == nullptr) {
    sized.owned_memory_ = std::move(memory);
    sized.memory_.store(sized.owned_memory_.get(), std::memory_order_release);
  }
  is_recorded_.store(false, std::memory_order_release);
}

void SizedPlans::take_layouts(const SizedPlans& older) {
  for (const SizedPlan* sized : older.entries()) {
    const runtime::MemoryPlan* memory = sized->memory();
    if (memory == nullptr) continue;
    SizedPlan* mine = at(sized->signature);
    if (mine == nullptr) continue;
    add_memory(*mine, std::make_unique<runtime::MemoryPlan>(memory->shared_layout()));
  }
}

std::vector<SizedPlan*> SizedPlans::entries() const {
  const std::lock_guard<std::mutex> lock(writers_);
  std::vector<SizedPlan*> found;
  for (const auto& sized : owned_) {
    if (find(sized->signature) == sized.get()) found.push_back(sized.get());
  }
  return found;
}

size_t SizedPlans::arena_bytes() const {
  size_t bytes = 0;
  for (const SizedPlan* sized : entries())
    bytes += sized->memory() != nullptr ? sized->memory()->layout().arena_bytes() : 0;
  return bytes;
}

size_t SizedPlans::trim() {
  const std::lock_guard<std::mutex> lock(writers_);
  size_t freed = 0;
  for (const auto& sized : owned_)
    freed += sized->memory() != nullptr ? sized->memory()->trim() : 0;
  return freed;
}

}  // namespace tierup::tier
