// freeze_attributes: replaces reads of a module's attributes by the values they have now.
//
//   %w : Tensor = prim::GetAttr[name="weight"](%self)   =>   %w : Tensor =
//   prim::Constant[value=...]()
//
// Requires   calls inlined; the graph's first input is the module.
// Preserves  meaning while no frozen tensor or attribute is written: the observer is told of every
//            tensor and attribute that this rests on, before its value is used.
// Leaves     attributes of a name that the graph writes (state beside weights), tensors that the
// graph may write to, containers but for short lists of numbers that it only reads.
//            Graphs with calls or forks left in them, since those may write anything.
// Counts     frozen, written, kept.
#pragma once

#include <functional>

#include "tierup/passes/core/pass.h"
#include "tierup/tensor/ivalue.h"

namespace tierup::passes {

struct ConstantObserver {
  std::function<void(const Tensor&)> tensor;
  // The attribute in this slot of an object is taken for constant; its other attributes are not.
  std::function<void(const Ref<ObjectValue>&, size_t slot)> attribute;
  // A list's items are taken for what they are now: nothing tells of writes to a list, so that they
  // are to be compared. Lists are not frozen without it.
  std::function<void(const Ref<ListValue>&)> list = {};
  // Tensors are not taken for constant: each is read once, at the beginning of a run. For plans
  // that outlive writes to weights.
  bool reads_tensors = false;
};

void freeze_attributes(PassContext& context, const Ref<ObjectValue>& self,
                       const ConstantObserver& observer);

}  // namespace tierup::passes
