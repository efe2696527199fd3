// InputForm: what of an input something rests on that was made for certain inputs.
//
// Compiled nets, layouts of groups with products and plans of recorded parts are made for dtypes,
// sizes and strides, and for the values of inputs that are no tensors. They are found again by
// comparing what a call comes with; nothing is worked out for that.
#pragma once

#include <span>
#include <vector>

#include "tierup/tensor/ivalue.h"
#include "tierup/tensor/tensor.h"

namespace tierup::ops {

// Dense numbers in memory, as they are.
inline bool is_plain(const TensorImpl& tensor) {
  return !tensor.conjugate && !tensor.negative && tensor.storage->device().type == DeviceType::kCpu;
}
// Equal by tag and bits, lists and tuples by their items: -0.0 is not 0.0, 1 is not True, and a NaN
// is itself. Tensors are the same object.
bool same_constant(const IValue& a, const IValue& b);

struct InputForm {
  bool is_tensor = false;
  bool is_contiguous = false;
  ScalarType dtype = ScalarType::kFloat;
  IntVector sizes;
  IntVector strides;
  IValue constant;  // Of an input that is no tensor.

  explicit InputForm(const IValue& value);
  explicit InputForm(const TensorImpl& tensor);
  bool holds(const IValue& value) const;
  // Strides of contiguous tensors may differ, where a dimension has one place.
  bool holds(const TensorImpl& tensor) const;
  // The constant, or a tensor of this form with undefined elements.
  IValue stand_in() const;
};

template <typename Form>
bool all_hold(const std::vector<Form>& forms, std::span<const IValue> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!forms[i].holds(inputs[i])) return false;
  }
  return true;
}

}  // namespace tierup::ops
