#include "tierup/ops/regions/input_form.h"

#include <gtest/gtest.h>

#include <limits>

namespace tierup::ops {
namespace {

Tensor floats(const IntVector& sizes) { return Tensor::empty(sizes, ScalarType::kFloat); }

TEST(InputForm, HoldsTensorsOfItsDtypeSizesAndStrides) {
  const InputForm form{IValue(floats({2, 3}))};
  EXPECT_TRUE(form.holds(IValue(floats({2, 3}))));
  EXPECT_FALSE(form.holds(IValue(floats({3, 2}))));
  EXPECT_FALSE(form.holds(IValue(floats({2, 3, 1}))));
  EXPECT_FALSE(form.holds(IValue(Tensor::empty(IntVector{2, 3}, ScalarType::kDouble))));
  EXPECT_FALSE(form.holds(IValue(floats({3, 2}).as_view(IntVector{2, 3}, IntVector{1, 2}, 0))));
  EXPECT_FALSE(form.holds(IValue(1)));
}

TEST(InputForm, StridesOfOnePlaceDoNotMatter) {
  const InputForm form{IValue(floats({2, 1, 3}))};
  EXPECT_TRUE(form.holds(IValue(floats({6}).as_view(IntVector{2, 1, 3}, IntVector{3, 7, 1}, 0))));
}

TEST(InputForm, HoldsNumbersThatMustBeTurnedForNoTensor) {
  const InputForm form{IValue(floats({2}))};
  const Tensor negative = floats({2});
  negative.impl()->negative = true;
  EXPECT_FALSE(form.holds(IValue(negative)));
}

TEST(InputForm, HoldsEqualConstantsToTheBit) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(InputForm{IValue(nan)}.holds(IValue(nan)));
  EXPECT_FALSE(InputForm{IValue(0.0)}.holds(IValue(-0.0)));
  EXPECT_FALSE(InputForm{IValue(1)}.holds(IValue(true)));
  EXPECT_FALSE(InputForm{IValue(1)}.holds(IValue(floats({}))));
  const InputForm list{IValue(make_int_list(IntVector{1, 2}))};
  EXPECT_TRUE(list.holds(IValue(make_int_list(IntVector{1, 2}))));
  EXPECT_FALSE(list.holds(IValue(make_int_list(IntVector{1, 2, 3}))));
}

// A caller may write to a list after the call.
TEST(InputForm, KeepsListsOfItsOwn) {
  const IValue given(make_int_list(IntVector{1, 2}));
  const InputForm form(given);
  given.to_list().items[0] = IValue(5);
  EXPECT_FALSE(form.holds(given));
  EXPECT_TRUE(form.holds(form.stand_in()));
}

TEST(InputForm, ItsStandInIsLikeIt) {
  const Tensor turned = floats({3, 2}).as_view(IntVector{2, 3}, IntVector{1, 2}, 0);
  const InputForm form{IValue(turned)};
  EXPECT_TRUE(form.holds(form.stand_in()));
}

}  // namespace
}  // namespace tierup::ops
