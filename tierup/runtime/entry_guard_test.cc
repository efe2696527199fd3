// What an entry guard holds on to (weights by version, attributes one by one), and what it lets
// through, fact by fact.
#include "tierup/runtime/entry_guard.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tierup/kernels/pointwise/creation.h"

namespace tierup::runtime {
namespace {

// An object with a weight, a scale and a state.
Ref<ObjectValue> make_module() {
  const auto type = ClassType::make("Module", true);
  type->add_attribute({"weight", Type::tensor()});
  type->add_attribute({"scale", Type::floating()});
  type->add_attribute({"state", Type::tensor()});
  auto module = make_ref<ObjectValue>(type);
  module->set("weight", Tensor::empty(IntVector{2}, ScalarType::kFloat));
  module->set("scale", 0.0);
  module->set("state", Tensor::empty(IntVector{2}, ScalarType::kFloat));
  return module;
}

EntryGuard guard_of(const Ref<ObjectValue>& module) {
  EntryGuard guard;
  guard.observe(module, *module->type->find_attribute("weight"));
  guard.observe(module, *module->type->find_attribute("scale"));
  return guard;
}

TEST(EntryGuard, HoldsWhileStateBesideTheWeightsIsWritten) {
  const Ref<ObjectValue> module = make_module();
  const EntryGuard guard = guard_of(module);
  for (int call = 0; call < 3; ++call) {
    module->set("state", Tensor::empty(IntVector{2}, ScalarType::kFloat));
    EXPECT_TRUE(guard.weights_hold());
  }
}

TEST(EntryGuard, FailsOnceAnObservedAttributeIsAnotherObject) {
  const Ref<ObjectValue> module = make_module();
  const EntryGuard guard = guard_of(module);
  const IValue weight = module->get("weight");
  module->set("weight", Tensor::empty(IntVector{2}, ScalarType::kFloat));
  EXPECT_FALSE(guard.weights_hold());
  module->set("weight", weight);
  EXPECT_TRUE(guard.weights_hold());
}

TEST(EntryGuard, ComparesTheItemsOfLists) {
  const Ref<ListValue> list = make_int_list(IntVector{1, 2, 4});
  EntryGuard guard;
  guard.observe(list);
  guard.observe(list);
  EXPECT_EQ(guard.observed_count(), 1U);
  EXPECT_TRUE(guard.weights_hold());
  list->items[1] = IValue(3);
  EXPECT_FALSE(guard.weights_hold());
  list->items[1] = IValue(2);
  EXPECT_TRUE(guard.weights_hold());
  list->items.push_back(IValue(8));
  EXPECT_FALSE(guard.weights_hold());
}

TEST(EntryGuard, TellsNumbersApartByTheirBits) {
  const Ref<ObjectValue> module = make_module();
  const EntryGuard guard = guard_of(module);
  module->set("scale", -0.0);
  EXPECT_FALSE(guard.weights_hold());
  module->set("scale", NAN);
  const EntryGuard of_nan = guard_of(module);
  module->set("state", IValue(1));
  EXPECT_TRUE(of_nan.weights_hold());
}

Tensor floats(IntVector sizes) { return Tensor::empty(std::move(sizes), ScalarType::kFloat); }

Tensor needs_grad(Tensor tensor) {
  tensor.impl()->requires_grad = true;
  return tensor;
}

// A guard for calls like this one; exact sizes.
EntryGuard guard_of(std::vector<IValue> arguments, bool grad_mode) {
  profile::GraphProfile profile;
  profile.record(arguments);
  ops::Policy policy;
  policy.grad_mode = grad_mode;
  return EntryGuard::from_profile(profile, true, policy);
}

GuardOutcome check(const EntryGuard& guard, std::vector<IValue> arguments, bool grad_mode) {
  ops::Policy policy;
  policy.grad_mode = grad_mode;
  return guard.check(arguments, policy);
}

// T35 of the design.
TEST(EntryGuard, TellsSizesGradientsDtypesRanksAndDevicesApart) {
  const EntryGuard guard = guard_of({needs_grad(floats({2, 2})), floats({3, 3})}, true);
  const Tensor first = needs_grad(floats({2, 2}));
  const Tensor second = floats({3, 3});
  EXPECT_EQ(check(guard, {first, second}, true), GuardOutcome::kHolds);
  EXPECT_EQ(check(guard, {needs_grad(floats({2, 3})), second}, true), GuardOutcome::kSizes);
  EXPECT_EQ(check(guard, {needs_grad(floats({2, 2, 1})), second}, true), GuardOutcome::kRank);
  EXPECT_EQ(check(guard, {floats({2, 2}), second}, true), GuardOutcome::kRequiresGrad);
  EXPECT_EQ(check(guard, {first, needs_grad(floats({3, 3}))}, true), GuardOutcome::kRequiresGrad);
  EXPECT_EQ(check(guard, {first, Tensor::empty(IntVector{3, 3}, ScalarType::kInt)}, true),
            GuardOutcome::kDtype);
  EXPECT_EQ(check(guard, {first, IValue()}, true), GuardOutcome::kArgumentKind);
  EXPECT_EQ(check(guard, {first, 3}, true), GuardOutcome::kArgumentKind);
  const Tensor elsewhere =
      kernels::empty_on(IntVector{3, 3}, ScalarType::kFloat, Device{DeviceType::kMeta});
  EXPECT_EQ(check(guard, {first, elsewhere}, true), GuardOutcome::kArgumentKind);
  EXPECT_EQ(check(guard, {first, second}, false), GuardOutcome::kPolicy);
}

// T36: where no gradient is recorded, who would want one is no difference.
TEST(EntryGuard, DoesNotAskForRequiresGradWithoutGradMode) {
  const EntryGuard guard = guard_of({floats({2, 2})}, false);
  EXPECT_EQ(check(guard, {needs_grad(floats({2, 2}))}, false), GuardOutcome::kHolds);
}

// T37.
TEST(EntryGuard, TellsATransposedTensorFromAContiguousOne) {
  const EntryGuard guard = guard_of({floats({4, 4})}, false);
  const Tensor transposed = floats({4, 4}).as_view(IntVector{4, 4}, IntVector{1, 4}, 0);
  EXPECT_EQ(check(guard, {transposed}, false), GuardOutcome::kOrder);
  EXPECT_EQ(check(guard_of({transposed}, false), {transposed}, false), GuardOutcome::kHolds);
}

TEST(EntryGuard, TellsLazyConjugatesFromPlainTensors) {
  const Tensor plain = Tensor::empty(IntVector{2}, ScalarType::kComplexFloat);
  const EntryGuard guard = guard_of({plain}, false);
  const Tensor lazy = plain.detach();
  lazy.impl()->conjugate = true;
  EXPECT_EQ(check(guard, {plain}, false), GuardOutcome::kHolds);
  EXPECT_EQ(check(guard, {lazy}, false), GuardOutcome::kArgumentKind);
}

TEST(EntryGuard, AsksForBoolsByValueAndForOtherNumbersNotAtAll) {
  const EntryGuard guard = guard_of({true, 3, 0.5}, false);
  EXPECT_EQ(check(guard, {true, 4, 1.5}, false), GuardOutcome::kHolds);
  EXPECT_EQ(check(guard, {false, 3, 0.5}, false), GuardOutcome::kArgumentKind);
}

}  // namespace
}  // namespace tierup::runtime
