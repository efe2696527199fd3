// WeightSuccessors: what stands in a module's copy with other weights (another generation) where
// something stands in the module.
//
// Both trees are walked side by side, attribute by attribute. Only what plans take for constant is
// paired: objects, their tensors and their lists. Where the trees differ in more than the numbers
// of their tensors, nothing is said of them.
#pragma once

#include <unordered_map>
#include <vector>

#include "tierup/tensor/ivalue.h"

namespace tierup::runtime {

class WeightSuccessors {
 public:
  struct Pair {
    Tensor older;
    Tensor newer;
  };

  WeightSuccessors(const Ref<ObjectValue>& older, const Ref<ObjectValue>& newer);

  // Whether the trees have the same attributes, of the same forms.
  bool fit() const { return fit_; }
  // Each tensor once.
  const std::vector<Pair>& tensors() const { return tensors_; }
  // Null, or undefined, for what is not in the older tree.
  Ref<ObjectValue> of(const ObjectValue& older) const;
  Ref<ListValue> of(const ListValue& older) const;
  Tensor of(const TensorImpl& older) const;

 private:
  void pair_objects(const Ref<ObjectValue>& older, const Ref<ObjectValue>& newer);
  void pair_values(const IValue& older, const IValue& newer);
  void pair_tensors(const Tensor& older, const Tensor& newer);

  bool fit_ = true;
  std::vector<Pair> tensors_;
  std::unordered_map<const TensorImpl*, size_t> places_;  // In `tensors_`.
  std::unordered_map<const ObjectValue*, Ref<ObjectValue>> objects_;
  std::unordered_map<const ListValue*, Ref<ListValue>> lists_;
};

}  // namespace tierup::runtime
