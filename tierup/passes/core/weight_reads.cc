#include "tierup/passes/core/weight_reads.h"

#include <algorithm>

namespace tierup::passes {

// Of a weight's memory, or with such a tensor inside.
bool WeightReads::is_of_weight(const IValue& value) const {
  const auto any = [this](const std::vector<IValue>& items) {
    return std::ranges::any_of(items, [this](const IValue& item) { return is_of_weight(item); });
  };
  switch (value.tag()) {
    case IValue::Tag::kTensor: {
      const TensorImpl* tensor = value.tensor_impl();
      return tensor != nullptr && storages_.contains(tensor->storage.get());
    }
    case IValue::Tag::kList: return any(value.to_list().items);
    case IValue::Tag::kTuple: return any(value.to_tuple().items);
    default: return false;
  }
}

// A tensor of their memory, or several.
bool WeightReads::is_view_of_weights(const IValue& value) const {
  if (!value.is_list()) return value.is_tensor() && is_of_weight(value);
  return std::ranges::all_of(value.to_list().items,
                             [this](const IValue& item) { return is_view_of_weights(item); });
}

void WeightReads::note(std::span<const IValue> arguments, std::span<const IValue> results) {
  const auto is_weight = [this](const IValue& value) { return is_of_weight(value); };
  const auto is_view = [this](const IValue& value) { return is_view_of_weights(value); };
  if (were_read_ || std::ranges::none_of(arguments, is_weight)) return;
  were_read_ = !std::ranges::all_of(results, is_view);
}

}  // namespace tierup::passes
