// Each reason for which a group of known operators gets no kernels; those for which a pass makes no
// group are in tests/passes/group_refusals.tir.
#include <sys/resource.h>

#include "tierup/base/emulator_fixture.h"
#include "tierup/codegen/group_fixture.h"

namespace tierup::codegen {
namespace {

using ops::GroupRefusal;

ops::GroupProgram alone(ops::GroupMember member, uint32_t inputs) {
  ops::GroupProgram program;
  program.input_count = inputs;
  program.members = {std::move(member)};
  program.outputs = {0};
  return program;
}

Tensor zeros(const IntVector& sizes, ScalarType dtype = ScalarType::kFloat) {
  const Tensor tensor = Tensor::empty(sizes, dtype);
  std::memset(tensor.raw(), 0, tensor.bytes());
  return tensor;
}

GroupRefusal refusal_of(ops::GroupProgram program, const std::vector<Tensor>& like) {
  const Ref<ops::FusionGroup> group = compiled_group(std::move(program), like);
  EXPECT_EQ(group->kernel_count(), 0U);
  return group->refusal().reason;
}

// The rows of the input, as a member on rows with these other arguments.
GroupRefusal rows_refusal(const char* op, std::vector<ops::GroupArgument> arguments,
                          ops::RowSpace space = ops::RowSpace::kFull) {
  arguments.insert(arguments.begin(), input(0));
  ops::GroupMember member = call(op, std::move(arguments));
  member.by_rows = true;
  member.space = space;
  return refusal_of(alone(std::move(member), 1), {zeros({4, 8})});
}

TEST(GroupRefusals, of_dtypes_and_dimensions) {
  const ops::GroupMember neg = call("aten::neg", {input(0)});
  EXPECT_EQ(refusal_of(alone(neg, 1), {zeros({4}, ScalarType::kComplexFloat)}),
            GroupRefusal::kNoLanes);
  ops::GroupMember look_up = call("aten::index_select", {input(0), constant(0), input(1)});
  look_up.looks_up = look_up.op->facts().look_up;
  EXPECT_EQ(refusal_of(alone(look_up, 2), {zeros({4, 8}), zeros({3})}), GroupRefusal::kIndexDtype);
  EXPECT_EQ(refusal_of(alone(look_up, 2), {zeros({4, 8}), zeros({}, ScalarType::kLong)}),
            GroupRefusal::kNoDimensions);
}

TEST(GroupRefusals, of_rows) {
  EXPECT_EQ(rows_refusal("aten::softmax.int", {constant(0), constant({})}),
            GroupRefusal::kNotLastDimensions);
  EXPECT_EQ(rows_refusal("aten::softmax.int", {constant(-1), constant({})}, ops::RowSpace::kFlat),
            GroupRefusal::kOtherRows);
}

TEST(GroupRefusals, of_joined_values) {
  ops::GroupProgram program;
  program.input_count = 2;
  ops::GroupMember join = call("aten::cat", {input(0), input(1), constant(0)});
  join.joins = true;
  program.members = {join, call("aten::neg", {member(0)})};
  program.outputs = {1};
  program.chains.push_back(
      {{{ops::OpTable::instance().find("aten::t"), {}}}, ops::PromotionCategory::kDimensioned});
  program.members[1].arguments[0].chain = 0;
  EXPECT_EQ(refusal_of(program, {zeros({2, 3}), zeros({2, 3})}), GroupRefusal::kViewedJoin);
}

TEST(GroupRefusals, of_what_there_is_no_generator_for) {
  const Library absent("/nonexistent/libtierup_codegen.so");
  const auto group = compiled_group(alone(call("aten::neg", {input(0)}), 1), {zeros({4})}, absent);
  EXPECT_EQ(group->refusal().reason, GroupRefusal::kNoGenerator);
}

// The generator wants some memory left before it begins.
TEST(GroupRefusals, of_a_generator_that_fails) {
  TIERUP_NEED_CODEGEN();
  if (is_emulated())
    GTEST_SKIP() << "QEMU bounds no program's memory: the heap would fill for ever";
  // A kernel that no other test has compiled: the process keeps them.
  ops::GroupProgram program;
  program.input_count = 1;
  program.members = {call("aten::ceil", {input(0)}), call("aten::neg", {member(0)}),
                     call("aten::floor", {member(1)}), call("aten::neg", {member(2)})};
  program.outputs = {3};
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  rlimit none = before;
  none.rlim_cur = 1;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &none), 0);
  // What earlier tests gave back to the heap would be enough.
  std::vector<std::unique_ptr<char[]>> taken;
  taken.reserve(4096);
  while (char* block = new (std::nothrow) char[1 << 20]) taken.emplace_back(block);
  const auto group = compiled_group(program, {zeros({4}, ScalarType::kDouble)});
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  taken.clear();
  EXPECT_EQ(group->refusal().reason, GroupRefusal::kGeneratorFailed) << group->refusal().text();
}

}  // namespace
}  // namespace tierup::codegen
