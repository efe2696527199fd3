#include "tierup/runtime/weight_successors.h"

#include <algorithm>

namespace tierup::runtime {
namespace {

// All that a plan may know of a tensor besides its numbers.
bool have_same_form(const TensorImpl& a, const TensorImpl& b) {
  return a.dtype == b.dtype && std::ranges::equal(a.sizes, b.sizes) &&
         std::ranges::equal(a.strides, b.strides) && a.requires_grad == b.requires_grad &&
         a.conjugate == b.conjugate && a.negative == b.negative &&
         a.wrapped_number == b.wrapped_number &&
         a.storage->device().type == b.storage->device().type;
}

}  // namespace

WeightSuccessors::WeightSuccessors(const Ref<ObjectValue>& older, const Ref<ObjectValue>& newer) {
  pair_objects(older, newer);
}

void WeightSuccessors::pair_objects(const Ref<ObjectValue>& older, const Ref<ObjectValue>& newer) {
  const auto [known, is_new] = objects_.emplace(older.get(), newer);
  fit_ = fit_ && known->second == newer && older->type == newer->type;
  if (!is_new || !fit_) return;
  for (size_t slot = 0; slot < older->slots.size(); ++slot)
    pair_values(older->slots[slot], newer->slots[slot]);
}

void WeightSuccessors::pair_values(const IValue& older, const IValue& newer) {
  fit_ = fit_ && older.tag() == newer.tag();
  if (!fit_) return;
  if (older.is_object()) {
    pair_objects(older.object_ref(), newer.object_ref());
  } else if (older.is_list()) {
    const auto [known, is_new] = lists_.emplace(&older.to_list(), newer.list_ref());
    fit_ = known->second == newer.list_ref();
  } else if (older.is_tensor()) {
    pair_tensors(older.to_tensor(), newer.to_tensor());
  }
}

// What was one weight under two names may be two now.
void WeightSuccessors::pair_tensors(const Tensor& older, const Tensor& newer) {
  fit_ = older.defined() == newer.defined();
  if (!fit_ || !older.defined()) return;
  const auto [known, is_new] = places_.emplace(older.impl(), tensors_.size());
  if (is_new) tensors_.push_back({older, newer});
  fit_ =
      tensors_[known->second].newer.is_same(newer) && have_same_form(*older.impl(), *newer.impl());
}

Ref<ObjectValue> WeightSuccessors::of(const ObjectValue& older) const {
  const auto found = objects_.find(&older);
  return found != objects_.end() ? found->second : Ref<ObjectValue>();
}

Ref<ListValue> WeightSuccessors::of(const ListValue& older) const {
  const auto found = lists_.find(&older);
  return found != lists_.end() ? found->second : Ref<ListValue>();
}

Tensor WeightSuccessors::of(const TensorImpl& older) const {
  const auto found = places_.find(&older);
  return found != places_.end() ? tensors_[found->second].newer : Tensor();
}

}  // namespace tierup::runtime
