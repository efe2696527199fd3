#include "tierup/autodiff/recorded_call.h"

#include <algorithm>

#include "tierup/base/error.h"

namespace tierup::autodiff {
namespace {

bool holds_tensors(const IValue& value) {
  return value.is_list() && std::ranges::any_of(value.to_list().items, [](const IValue& item) {
           return item.is_tensor();
         });
}

}  // namespace

void fail_overwritten(const SavedTensor& saved, const std::string& origin,
                      const std::string& reader) {
  fail(ErrorCode::kInvalidArgument,
       "one of the variables needed for gradient computation has been modified by an inplace "
       "operation: [torch.{}Tensor {}]{} is at version {}; expected version {} instead. Hint: the "
       "derivative of {} reads it; write to a copy, or after the backward pass.",
       scalar_type_name(saved.tensor().dtype()), shape_string(saved.tensor().sizes()), origin,
       saved.current_version(), saved.version(), reader);
}

void fail_freed() {
  fail(ErrorCode::kInvalidArgument,
       "Trying to backward through the graph a second time (or directly access saved tensors "
       "after they have already been freed). Saved intermediate values of the graph are freed "
       "when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to "
       "backward through the graph a second time or if you need to access saved tensors after "
       "calling backward.");
}

RecordedValue::RecordedValue(const IValue& value) {
  if (const TensorImpl* tensor = value.tensor_impl()) {
    kind = Kind::kTensor;
    dtype = tensor->dtype;
    sizes.assign(tensor->sizes);
  } else if (holds_tensors(value)) {
    kind = Kind::kTensorList;
    elements = std::make_unique<std::vector<RecordedValue>>();
    for (const IValue& item : value.to_list().items) elements->emplace_back(item);
  } else {
    constant = value;
  }
}

RecordedCall::RecordedCall(const ops::Op& row, std::span<const IValue> arguments) : op(&row) {
  args.reserve(arguments.size());
  for (const IValue& argument : arguments) args.emplace_back(argument);
  if (!row.derivative()->reads_layout) return;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const TensorImpl* tensor = arguments[i].tensor_impl();
    if (tensor == nullptr) continue;
    args[i].layout = std::make_unique<Layout>(Layout{tensor->strides, tensor->offset});
  }
}

void RecordedCall::note_results(std::span<const IValue> values) {
  results.clear();
  results.reserve(values.size());
  for (const IValue& value : values) results.emplace_back(value);
}

}  // namespace tierup::autodiff
