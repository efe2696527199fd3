// WeightReads: whether anything that passes did follows from the numbers of weights.
//
// What a plan consists of follows from the sizes of weights, from weights of one number and from
// those that are no floats. If nothing more went into it, the plan serves for other weights that
// have the same, once they stand in the places of these (tier/plan_for_weights.h).
#pragma once

#include <span>
#include <unordered_set>

#include "tierup/tensor/ivalue.h"

namespace tierup::passes {

// Whether the plan is to be the same whatever the weight's numbers are.
inline bool is_free_weight(const TensorImpl& tensor) {
  return tensor.numel > 1 && is_floating(tensor.dtype);
}

class WeightReads {
 public:
  // A weight that was taken for constant.
  void add(const Tensor& weight) {
    if (is_free_weight(*weight.impl())) storages_.insert(weight.storage().get());
  }
  // Of what an operator made of the arguments while compiling; views of weights read nothing.
  void note(std::span<const IValue> arguments, std::span<const IValue> results);
  void note(const Tensor& read) { were_read_ = were_read_ || is_of_weight(IValue(read)); }
  bool were_read() const { return were_read_; }

 private:
  bool is_of_weight(const IValue& value) const;
  bool is_view_of_weights(const IValue& value) const;

  std::unordered_set<const Storage*> storages_;
  bool were_read_ = false;
};

}  // namespace tierup::passes
