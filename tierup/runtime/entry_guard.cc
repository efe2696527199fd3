#include "tierup/runtime/entry_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <unordered_set>

#include "tierup/ops/regions/input_form.h"

namespace tierup::runtime {

using profile::ValueProfile;

namespace {

// The same object or the same bits: 0 and -0 are not, a NaN and itself are.
bool is_unchanged(const IValue& before, const IValue& now) {
  if (before.is_float() && now.is_float())
    return std::bit_cast<uint64_t>(before.to_float()) == std::bit_cast<uint64_t>(now.to_float());
  return before.is_same(now);
}

bool is_successor(const IValue& older, const IValue& newer, const WeightSuccessors& successors) {
  if (older.is_tensor() && older.tensor_impl() != nullptr)
    return newer.is_tensor() && successors.of(*older.tensor_impl()).impl() == newer.tensor_impl();
  if (older.is_object())
    return newer.is_object() && successors.of(older.to_object()).get() == &newer.to_object();
  if (older.is_list())
    return newer.is_list() && successors.of(older.to_list()).get() == &newer.to_list();
  return is_unchanged(older, newer);
}

}  // namespace

std::string_view guard_outcome_text(GuardOutcome outcome) {
  switch (outcome) {
    case GuardOutcome::kHolds: return "the guard holds";
    case GuardOutcome::kPolicy: return "grad mode or another mode differs";
    case GuardOutcome::kArgumentKind: return "an argument is of another kind";
    case GuardOutcome::kDtype: return "an argument has another dtype";
    case GuardOutcome::kRank: return "an argument has another number of dimensions";
    case GuardOutcome::kOrder: return "an argument lies in memory in another order";
    case GuardOutcome::kSizes: return "an argument has other sizes";
    case GuardOutcome::kRequiresGrad: return "an argument differs in requires_grad";
    case GuardOutcome::kWeightsChanged: return "a weight or attribute was written";
  }
  return "unknown";
}

EntryGuard EntryGuard::from_profile(const profile::GraphProfile& profile, bool is_static,
                                    const ops::Policy& policy) {
  EntryGuard guard;
  guard.policy_ = policy;
  for (size_t i = 0; i < profile.arguments().size(); ++i) {
    const ValueProfile& seen = profile.arguments()[i];
    ArgumentGuard entry;
    entry.argument = i;
    entry.truth = seen.truth;
    entry.is_tensor = seen.kind == ValueProfile::Kind::kTensor;
    if (!entry.is_tensor && !entry.truth) continue;
    if (entry.is_tensor) {
      entry.dtype = seen.dtype;
      entry.rank = seen.rank;
      entry.order = seen.order;
      // Without grad mode nothing is recorded, whatever asks for it.
      if (policy.grad_mode) entry.requires_grad = seen.requires_grad;
      if (is_static && seen.rank) {
        for (const profile::DimHistory& dim : seen.dims) entry.sizes.emplace_back(dim.last);
      }
    }
    guard.arguments_.push_back(std::move(entry));
  }
  return guard;
}

void EntryGuard::observe(const Ref<Storage>& storage) {
  const bool known = std::any_of(storages_.begin(), storages_.end(),
                                 [&](const auto& entry) { return entry.first == storage; });
  if (!known) storages_.emplace_back(storage, storage->version());
}

void EntryGuard::observe(const Ref<ObjectValue>& object, size_t slot) {
  auto found = std::find_if(objects_.begin(), objects_.end(),
                            [&](const ObservedObject& entry) { return entry.object == object; });
  if (found == objects_.end()) {
    const uint32_t version = object->version.load(std::memory_order_acquire);
    found = objects_.insert(found, {object, version, {}});
  }
  const bool known = std::any_of(found->attributes.begin(), found->attributes.end(),
                                 [&](const auto& entry) { return entry.first == slot; });
  if (!known) found->attributes.emplace_back(slot, object->slots[slot]);
}

void EntryGuard::observe(const Ref<ListValue>& list) {
  const bool known = std::any_of(lists_.begin(), lists_.end(),
                                 [&](const auto& entry) { return entry.first == list; });
  if (!known) lists_.emplace_back(list, list->items);
}

bool EntryGuard::observes(const Storage* storage) const {
  return std::any_of(storages_.begin(), storages_.end(),
                     [&](const auto& entry) { return entry.first.get() == storage; });
}

std::optional<EntryGuard> EntryGuard::over(const WeightSuccessors& successors) const {
  EntryGuard guard;
  guard.policy_ = policy_;
  guard.arguments_ = arguments_;
  std::unordered_set<const Storage*> left;
  for (const auto& [storage, version] : storages_) left.insert(storage.get());
  const std::unordered_set<const Storage*> observed = left;
  for (const WeightSuccessors::Pair& pair : successors.tensors()) {
    if (!observed.contains(pair.older.storage().get())) continue;
    left.erase(pair.older.storage().get());
    guard.observe(pair.newer.storage());
  }
  if (!left.empty()) return std::nullopt;
  for (const ObservedObject& known : objects_) {
    const Ref<ObjectValue> object = successors.of(*known.object);
    if (!object) return std::nullopt;
    for (const auto& [slot, value] : known.attributes) {
      guard.observe(object, slot);
      if (!is_successor(value, object->slots[slot], successors)) return std::nullopt;
    }
  }
  for (const auto& [list, items] : lists_) {
    const Ref<ListValue> newer = successors.of(*list);
    if (!newer || !std::ranges::equal(items, newer->items, &is_unchanged)) return std::nullopt;
    guard.observe(newer);
  }
  return guard;
}

bool EntryGuard::holds(const ObservedObject& observed) {
  const ObjectValue& object = *observed.object;
  if (object.version.load(std::memory_order_acquire) == observed.version) return true;
  return std::all_of(
      observed.attributes.begin(), observed.attributes.end(),
      [&](const auto& entry) { return is_unchanged(entry.second, object.slots[entry.first]); });
}

bool EntryGuard::weights_hold() const {
  for (const auto& [storage, version] : storages_) {
    if (storage->version() != version) return false;
  }
  return std::all_of(objects_.begin(), objects_.end(), &EntryGuard::holds) &&
         std::all_of(lists_.begin(), lists_.end(), [](const auto& entry) {
           const auto& [list, items] = entry;
           return std::equal(items.begin(), items.end(), list->items.begin(), list->items.end(),
                             &is_unchanged);
         });
}

GuardOutcome EntryGuard::check_argument(const ArgumentGuard& guard, const IValue& value) const {
  if (guard.truth) {
    return value.is_bool() && value.to_bool() == *guard.truth ? GuardOutcome::kHolds
                                                              : GuardOutcome::kArgumentKind;
  }
  const TensorImpl* tensor = value.tensor_impl();
  if (tensor == nullptr || !ops::is_plain(*tensor)) return GuardOutcome::kArgumentKind;
  if (guard.dtype && tensor->dtype != *guard.dtype) return GuardOutcome::kDtype;
  if (guard.rank && tensor->sizes.size() != *guard.rank) return GuardOutcome::kRank;
  for (size_t d = 0; d < guard.sizes.size(); ++d) {
    if (guard.sizes[d] && tensor->sizes[d] != *guard.sizes[d]) return GuardOutcome::kSizes;
  }
  if (guard.order) {
    const bool holds = *guard.order == profile::MemoryOrder::kContiguous
                           ? tensor->contiguous
                           : profile::memory_order_of(*tensor) == *guard.order;
    if (!holds) return GuardOutcome::kOrder;
  }
  if (guard.requires_grad && tensor->requires_grad != *guard.requires_grad) {
    return GuardOutcome::kRequiresGrad;
  }
  return GuardOutcome::kHolds;
}

GuardOutcome EntryGuard::check(std::span<const IValue> arguments, const ops::Policy& policy) const {
  if (policy.grad_mode != policy_.grad_mode || policy.inference_mode != policy_.inference_mode ||
      policy.deterministic != policy_.deterministic) {
    return GuardOutcome::kPolicy;
  }
  for (const ArgumentGuard& guard : arguments_) {
    const GuardOutcome outcome = check_argument(guard, arguments[guard.argument]);
    if (outcome != GuardOutcome::kHolds) return outcome;
  }
  return weights_hold() ? GuardOutcome::kHolds : GuardOutcome::kWeightsChanged;
}

std::string EntryGuard::to_string() const {
  std::string text;
  for (const ArgumentGuard& guard : arguments_) {
    text += fmt::format("argument {}:", guard.argument);
    if (guard.truth) text += *guard.truth ? " True" : " False";
    if (guard.dtype) text += fmt::format(" {}", dtype_name(*guard.dtype));
    if (guard.rank) text += fmt::format(" rank {}", *guard.rank);
    for (const auto& size : guard.sizes) text += size ? fmt::format(" {}", *size) : " *";
    text += "\n";
  }
  return text + fmt::format("{} weights and objects unchanged\n", observed_count());
}

}  // namespace tierup::runtime
