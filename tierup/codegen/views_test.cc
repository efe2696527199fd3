// Members that read others through views, against the operators one by one: the same bits in the
// same layout, for views of many kinds over inputs of many shapes and layouts.
#include <cmath>
#include <random>

#include "tierup/codegen/group_fixture.h"
#include "tierup/kernels/shape/conversion.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::codegen {
namespace {

Tensor numbers(const IntVector& sizes, ScalarType type, uint32_t seed) {
  const Tensor wide = Tensor::empty(sizes, ScalarType::kDouble);
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 3);
  const double special[] = {std::nan(""), HUGE_VAL, -HUGE_VAL, 0.0, -0.0, 1e-45};
  for (int64_t i = 0; i < wide.numel(); ++i) {
    wide.data<double>()[i] = i % 11 == 3 ? special[i % 6] : normal(random);
  }
  return kernels::convert_to(wide, {type, {}, {}, false});
}

IValue ints(IntVector values) { return IValue(make_int_list(values)); }

ops::ViewStep view(std::string_view op, std::vector<IValue> rest, int64_t part = -1) {
  const ops::Op* found = ops::OpTable::instance().find(op);
  EXPECT_NE(found, nullptr) << op;
  return {found, std::move(rest), part};
}

ops::GroupArgument member_through(uint32_t index, uint32_t chain) {
  ops::GroupArgument argument = member(index);
  argument.chain = chain;
  return argument;
}

// neg(tanh(x + y)[views]) + tanh(x + y)[views] * z, as one group.
ops::GroupProgram through(std::vector<ops::ViewStep> steps, ops::PromotionCategory category) {
  ops::GroupProgram program;
  program.input_count = 3;
  program.chains.push_back({std::move(steps), category});
  program.members = {call("aten::add.Tensor", {input(0), input(1), constant(1)}),
                     call("aten::tanh", {member(0)}), call("aten::neg", {member_through(1, 0)}),
                     call("aten::mul.Tensor", {member_through(1, 0), input(2)}),
                     call("aten::add.Tensor", {member(2), member(3), constant(1)})};
  program.outputs = {4};
  return program;
}

class Views : public ::testing::Test {
 protected:
  void SetUp() override { TIERUP_NEED_CODEGEN(); }
};

struct Case {
  const char* name;
  std::vector<ops::ViewStep> steps;
};

std::vector<Case> cases() {
  std::vector<Case> cases;
  const auto add = [&](const char* name, std::vector<ops::ViewStep> steps) {
    cases.push_back({name, std::move(steps)});
  };
  add("aten::slice.Tensor", {view("aten::slice.Tensor", {1, 1, 5, 2})});
  add("aten::select.int", {view("aten::select.int", {-2, 3})});
  add("aten::transpose.int", {view("aten::transpose.int", {0, 2})});
  add("aten::permute", {view("aten::permute", {ints({1, 2, 0})})});
  add("aten::unsqueeze", {view("aten::unsqueeze", {1})});
  add("aten::squeeze.dim", {view("aten::squeeze.dim", {0})});
  add("aten::expand",
      {view("aten::unsqueeze", {0}), view("aten::expand", {ints({2, -1, -1, -1}), false})});
  add("aten::narrow", {view("aten::narrow", {2, 1, 4})});
  add("aten::view", {view("aten::view", {ints({3, -1})})});
  add("aten::reshape", {view("aten::reshape", {ints({-1, 6})})});
  add("aten::flatten.using_ints", {view("aten::flatten.using_ints", {0, 1})});
  add("aten::unflatten.int", {view("aten::unflatten.int", {1, ints({2, 3})})});
  add("aten::chunk", {view("aten::chunk", {2, 2}, 1)});
  add("aten::split.Tensor", {view("aten::split.Tensor", {4, 1}, 1)});
  add("aten::split_with_sizes", {view("aten::split_with_sizes", {ints({1, 5}), 1}, 1)});
  add("aten::unbind.int", {view("aten::unbind.int", {0}, 1)});
  add("aten::movedim.int", {view("aten::movedim.int", {0, -1})});
  add("aten::t", {view("aten::select.int", {0, 1}), view("aten::t", {})});
  add("slices of slices",
      {view("aten::slice.Tensor", {2, 0, 6, 1}), view("aten::transpose.int", {1, 2}),
       view("aten::slice.Tensor", {0, 1, 3, 1})});
  return cases;
}

// The shapes of x, y and z that each case is tried with.
std::vector<IntVector> shapes() { return {{3, 6, 8}, {6, 8}, {3, 1, 8}, {8}, {1, 6, 1}, {}}; }

TEST_F(Views, of_what_is_not_read_give_their_shape) {
  ops::GroupArgument turned = input(0);
  turned.chain = 0;
  const ops::GroupArgument none = constant(IValue());
  ops::GroupProgram program;
  program.input_count = 1;
  program.chains.push_back(
      {{view("aten::transpose.int", {0, 1})}, ops::PromotionCategory::kDimensioned});
  program.members = {call("aten::zeros_like", {turned, none, none, none, none, none}),
                     call("aten::cos", {member(0)})};
  program.outputs = {1};
  const Tensor x = numbers({5, 300}, ScalarType::kFloat, 1);
  const auto group = compiled_group(program, {x});
  ASSERT_GT(group->kernel_count(), 0U) << group->refusal().text();
  expect_twin(*group, {x}, "ones");
}

TEST_F(Views, give_the_bits_of_tier_0) {
  for (const ScalarType type : {ScalarType::kFloat, ScalarType::kDouble, ScalarType::kBFloat16}) {
    for (const Case& one : cases()) {
      const Tensor x = numbers({3, 6, 8}, type, 1);
      const auto group =
          compiled_group(through(one.steps, ops::PromotionCategory::kDimensioned), {x, x, x});
      ASSERT_GT(group->kernel_count(), 0U) << one.name << ": " << group->refusal().text();
      const Tensor turned = kernels::transpose(numbers({8, 6, 3}, type, 4), 0, 2);
      for (const IntVector& sizes : shapes()) {
        if (sizes.empty()) continue;
        const Tensor y = numbers(sizes, type, 2);
        const Tensor z = numbers({1}, type, 3);
        const std::string what = std::string(one.name) + " " + shape_string(sizes);
        // What has no view in another layout may be the operators' to answer for.
        const bool may_be_copied =
            one.steps[0].op->schema().name.find("slice") == std::string::npos;
        const bool is_whole = sizes.size() == 3 && sizes[1] == 6 && sizes[2] == 8;
        const By by = is_whole || !may_be_copied ? By::kKernel : By::kEither;
        expect_twin(*group, {x, y, z}, what, by);
        expect_twin(*group, {x, y, run_group(*group, {x, y, z}, true)[0]}, what + ", a whole z",
                    by);
        if (one.steps[0].op->schema().name == "aten::view") continue;  // Refused for what follows.
        expect_twin(*group, {turned, y, z}, what + ", turned", By::kEither);
      }
    }
  }
}

TEST_F(Views, leave_what_does_not_fit_to_the_twin) {
  const Tensor x = numbers({3, 6, 8}, ScalarType::kFloat, 1);
  const Tensor one = numbers({1}, ScalarType::kFloat, 2);
  auto group = compiled_group(
      through({view("aten::select.int", {0, 2})}, ops::PromotionCategory::kDimensioned),
      {x, x, one});
  ASSERT_GT(group->kernel_count(), 0U) << group->refusal().text();
  expect_twin(*group, {x, one, one}, "as expected");
  // Selected from one dimension it is a number, which is promoted otherwise.
  expect_twin(*group, {numbers({5}, ScalarType::kFloat, 1), one, one}, "a number", By::kTwin);
  const Tensor short_one = numbers({2, 6}, ScalarType::kFloat, 1);
  EXPECT_THROW(run_group(*group, {short_one, one, one}), Error);
  expect_twin(*group, {numbers({3, 0}, ScalarType::kFloat, 1), one, one}, "no elements");
  group = compiled_group(
      through({view("aten::view", {ints({-1})})}, ops::PromotionCategory::kDimensioned),
      {x, x, one});
  EXPECT_THROW(run_group(*group, {kernels::transpose(x, 0, 1), one, one}), Error);
}

// sigmoid(a) * tanh(b) + c of the parts of x + y: the gates of a recurrent cell.
TEST_F(Views, compute_gates_from_their_parts) {
  ops::GroupProgram program;
  program.input_count = 3;
  for (int64_t part = 0; part < 4; ++part) {
    program.chains.push_back(
        {{view("aten::chunk", {4, 1}, part)}, ops::PromotionCategory::kDimensioned});
  }
  program.members = {call("aten::add.Tensor", {input(0), input(1), constant(1)}),
                     call("aten::sigmoid", {member_through(0, 0)}),
                     call("aten::sigmoid", {member_through(0, 1)}),
                     call("aten::tanh", {member_through(0, 2)}),
                     call("aten::sigmoid", {member_through(0, 3)}),
                     call("aten::mul.Tensor", {member(2), input(2)}),
                     call("aten::mul.Tensor", {member(1), member(3)}),
                     call("aten::add.Tensor", {member(5), member(6), constant(1)}),
                     call("aten::tanh", {member(7)}),
                     call("aten::mul.Tensor", {member(4), member(8)})};
  program.outputs = {7, 9};
  const Tensor like = numbers({2, 8}, ScalarType::kFloat, 1);
  const auto group = compiled_group(program, {like, like, like});
  ASSERT_GT(group->kernel_count(), 0U) << group->refusal().text();
  for (const int64_t rows : {0, 1, 3, 64}) {
    for (const int64_t width : {1, 2, 17, 128}) {
      expect_twin(*group,
                  {numbers({rows, 4 * width}, ScalarType::kFloat, 1),
                   numbers({4 * width}, ScalarType::kFloat, 2),
                   numbers({rows, width}, ScalarType::kFloat, 3)},
                  std::to_string(rows) + " x " + std::to_string(width));
    }
  }
}

// Views of views that show members: each is computed where it is read.
TEST_F(Views, go_through_one_another) {
  ops::GroupProgram program;
  program.input_count = 2;
  program.chains = {
      {{view("aten::transpose.int", {0, 1})}, ops::PromotionCategory::kDimensioned},
      {{view("aten::slice.Tensor", {0, 1, 4, 1})}, ops::PromotionCategory::kDimensioned}};
  program.members = {call("aten::exp", {input(0)}),
                     call("aten::mul.Tensor", {member_through(0, 0), input(1)}),
                     call("aten::neg", {member_through(1, 1)})};
  program.outputs = {2};
  const Tensor like = numbers({2, 8}, ScalarType::kFloat, 1);
  const auto group = compiled_group(program, {like, like});
  ASSERT_GT(group->kernel_count(), 0U) << group->refusal().text();
  for (const auto& [x, y] : std::vector<std::pair<IntVector, IntVector>>{
           {{7, 5}, {5, 7}}, {{7, 5}, {7}}, {{7, 5}, {5, 1}}, {{1, 5}, {5, 9}}, {{2, 2}, {2}}}) {
    expect_twin(*group, {numbers(x, ScalarType::kFloat, 1), numbers(y, ScalarType::kFloat, 2)},
                shape_string(x) + " " + shape_string(y));
  }
}

}  // namespace
}  // namespace tierup::codegen
