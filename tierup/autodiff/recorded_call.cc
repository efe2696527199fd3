#include "tierup/autodiff/recorded_call.h"

#include <algorithm>

namespace tierup::autodiff {
namespace {

bool holds_tensors(const IValue& value) {
  return value.is_list() && std::ranges::any_of(value.to_list().items, [](const IValue& item) {
           return item.is_tensor();
         });
}

}  // namespace

void RecordedValue::note(const IValue& value) {
  if (const TensorImpl* tensor = value.tensor_impl()) {
    kind = Kind::kTensor;
    dtype = tensor->dtype;
    sizes = tensor->sizes;
  } else if (holds_tensors(value)) {
    kind = Kind::kTensorList;
    elements = std::make_unique<std::vector<RecordedValue>>();
    for (const IValue& item : value.to_list().items) elements->emplace_back().note(item);
  } else {
    constant = value;
  }
}

RecordedCall::RecordedCall(const ops::Op& row, std::span<const IValue> arguments) : op(&row) {
  args.resize(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    args[i].note(arguments[i]);
    const TensorImpl* tensor = arguments[i].tensor_impl();
    if (tensor == nullptr || !row.derivative()->makes_view) continue;
    args[i].layout = std::make_unique<Layout>(Layout{tensor->strides, tensor->offset});
  }
}

}  // namespace tierup::autodiff
