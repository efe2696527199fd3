// What an entry guard holds on to: weights by version, attributes one by one.
#include "tierup/runtime/entry_guard.h"

#include <gtest/gtest.h>

#include <cmath>

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

}  // namespace
}  // namespace tierup::runtime
