// Members that join others (cat, stack), at the end of a group and between others, against the
// operators one by one: the same bits in the same layout, or the operators' own errors.
#include <cmath>
#include <random>

#include "tierup/codegen/group_fixture.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/shape/conversion.h"
#include "tierup/kernels/shape/view.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::codegen {
namespace {

Tensor numbers(const IntVector& sizes, ScalarType type, uint32_t seed) {
  const Tensor wide = Tensor::empty(sizes, ScalarType::kDouble);
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 3);
  const double special[] = {std::nan(""), HUGE_VAL, -HUGE_VAL, 0.0, -0.0, 1e-45, -1e-40};
  for (int64_t i = 0; i < wide.numel(); ++i) {
    wide.data<double>()[i] = i % 11 == 3 ? special[i % 7] : normal(random);
  }
  return kernels::convert_to(wide, {type, {}, {}, false});
}

ops::GroupMember join(std::string_view op, std::vector<ops::GroupArgument> parts, int64_t dim) {
  parts.push_back(constant(dim));
  ops::GroupMember made = call(op, std::move(parts));
  made.joins = true;
  return made;
}

// join(-x, y, x - y)
ops::GroupProgram at_the_end(std::string_view op, int64_t dim) {
  ops::GroupProgram program;
  program.input_count = 2;
  program.members = {call("aten::neg", {input(0)}),
                     call("aten::sub.Tensor", {input(0), input(1), constant(1)}),
                     join(op, {member(0), input(1), member(1)}, dim)};
  program.outputs = {2};
  return program;
}

// z * join(-x, y) + w, and its absolute value: what rotary embeddings do.
ops::GroupProgram between(std::string_view op, int64_t dim) {
  ops::GroupProgram program;
  program.input_count = 4;
  program.members = {call("aten::neg", {input(0)}), join(op, {member(0), input(1)}, dim),
                     call("aten::mul.Tensor", {input(2), member(1)}),
                     call("aten::add.Tensor", {member(2), input(3), constant(1)}),
                     call("aten::abs", {member(3)})};
  program.outputs = {3, 4};
  return program;
}

class Joins : public ::testing::Test {
 protected:
  void SetUp() override { TIERUP_NEED_CODEGEN(); }
  void TearDown() override { kernels::limit_instruction_set(kernels::InstructionSet::kAvx512); }
};

// The same elements in another layout.
Tensor turned(const Tensor& tensor) {
  return kernels::transpose(kernels::contiguous(kernels::transpose(tensor, 0, tensor.dim() - 1)), 0,
                            tensor.dim() - 1);
}
Tensor spread(const IntVector& sizes, ScalarType type) {
  IntVector one(sizes);
  one[0] = 1;
  return kernels::expand(numbers(one, type, 9), sizes, false);
}

void check_ends(ScalarType type, int bits) {
  for (const char* op : {"aten::cat", "aten::stack"}) {
    for (const int64_t dim : {0, 1, -1}) {
      const Tensor like = numbers({3, 4, 5}, type, 1);
      const auto group =
          compiled_group(at_the_end(op, dim), {like, like}, Library::instance(),
                         {.print_ir = false, .perf_map = false, .max_vector_bits = bits});
      ASSERT_GT(group->kernel_count(), 0U) << group->refusal().text();
      for (const IntVector& sizes : {IntVector{3, 4, 5}, IntVector{1, 70, 33}, IntVector{70, 1, 40},
                                     IntVector{7, 100, 200}, IntVector{3, 0, 5}}) {
        const Tensor x = numbers(sizes, type, 2);
        const Tensor y = numbers(sizes, type, 3);
        const std::string what = std::string(op) + std::to_string(dim) + shape_string(sizes);
        expect_twin(*group, {x, y}, what);
        expect_twin(*group, {turned(x), y}, what + ", turned");
        expect_twin(*group, {x, spread(sizes, type)}, what + ", expanded");
      }
    }
  }
}

TEST_F(Joins, end_groups_with_the_bits_of_tier_0) {
  for (const ScalarType type : {ScalarType::kFloat, ScalarType::kDouble, ScalarType::kBFloat16}) {
    check_ends(type, 0);
  }
}
TEST_F(Joins, end_groups_with_avx2) {
  kernels::limit_instruction_set(kernels::InstructionSet::kAvx2);
  check_ends(ScalarType::kFloat, 256);
}
TEST_F(Joins, end_groups_with_sse42) {
  kernels::limit_instruction_set(kernels::InstructionSet::kBase);
  check_ends(ScalarType::kFloat, 128);
}

TEST_F(Joins, are_read_part_by_part) {
  for (const ScalarType type : {ScalarType::kFloat, ScalarType::kBFloat16}) {
    const Tensor like = numbers({2, 3, 4}, type, 1);
    const auto group = compiled_group(between("aten::cat", -1), {like, like, like, like});
    ASSERT_GT(group->kernel_count(), 0U) << group->refusal().text();
    for (const auto& [a, b] :
         {std::pair{32, 32}, std::pair{1, 7}, std::pair{0, 5}, std::pair{64, 3}}) {
      const Tensor x = numbers({40, 30, a}, type, 2);
      const Tensor y = numbers({40, 30, b}, type, 3);
      for (const IntVector& z : {IntVector{40, 30, a + b}, IntVector{30, a + b}, IntVector{a + b},
                                 IntVector{40, 1, 1}, IntVector{1}}) {
        for (const IntVector& w : {IntVector{40, 30, a + b}, IntVector{40, 1, a + b}}) {
          expect_twin(*group, {x, y, numbers(z, type, 4), numbers(w, type, 5)},
                      shape_string(z) + shape_string(w) + std::to_string(a));
        }
      }
    }
    // Broadcast against more rows than were joined.
    expect_twin(*group,
                {numbers({30, 8}, type, 2), numbers({30, 9}, type, 3), numbers({17}, type, 4),
                 numbers({5, 30, 17}, type, 5)},
                "of more rows");
  }
}

ops::GroupMember zeros_like(ops::GroupArgument argument) {
  const ops::GroupArgument none = constant(IValue());
  return call("aten::zeros_like", {std::move(argument), none, none, none, none, none});
}

// A part that no element of the inputs is read for: only its sizes are the inputs'.
TEST_F(Joins, begin_with_a_part_that_reads_nothing) {
  for (const int64_t dim : {0, 1}) {
    ops::GroupProgram program;
    program.input_count = 2;
    program.members = {zeros_like(input(0)), join("aten::cat", {member(0), input(1)}, dim)};
    program.outputs = {1};
    const Tensor like = numbers({4, 3, 6}, ScalarType::kFloat, 1);
    const auto group = compiled_group(program, {like, like});
    ASSERT_GT(group->kernel_count(), 0U) << group->refusal().text();
    for (const IntVector& sizes : {IntVector{4, 3, 6}, IntVector{40, 50, 6}, IntVector{1, 1, 1}}) {
      IntVector more = sizes;
      more[static_cast<size_t>(dim)] += 5;
      expect_twin(*group,
                  {numbers(sizes, ScalarType::kFloat, 2), numbers(more, ScalarType::kFloat, 3)},
                  shape_string(sizes));
    }
  }
}

TEST_F(Joins, of_nothing_that_is_read_have_their_shape) {
  ops::GroupProgram program;
  program.input_count = 2;
  program.members = {zeros_like(input(0)), zeros_like(input(1)),
                     join("aten::cat", {member(0), member(1)}, 0)};
  program.outputs = {2};
  const Tensor like = numbers({4, 3}, ScalarType::kFloat, 1);
  const auto group = compiled_group(program, {like, like});
  ASSERT_GT(group->kernel_count(), 0U) << group->refusal().text();
  expect_twin(*group,
              {numbers({7, 300}, ScalarType::kFloat, 2), numbers({9, 300}, ScalarType::kFloat, 3)},
              "zeros");
}

TEST_F(Joins, stand_between_in_a_new_dimension) {
  const Tensor like = numbers({2, 3, 4}, ScalarType::kFloat, 1);
  const auto group = compiled_group(between("aten::stack", 1), {like, like, like, like});
  ASSERT_GT(group->kernel_count(), 0U) << group->refusal().text();
  for (const IntVector& sizes : {IntVector{40, 50}, IntVector{1, 1}, IntVector{300, 200}}) {
    const Tensor x = numbers(sizes, ScalarType::kFloat, 2);
    const Tensor y = numbers(sizes, ScalarType::kFloat, 3);
    const Tensor z = numbers({sizes[0], 2, sizes[1]}, ScalarType::kFloat, 4);
    const Tensor w = numbers({2, 1}, ScalarType::kFloat, 5);
    // A stack of matrices has three dimensions, as what it is expected to meet.
    expect_twin(*group, {x, y, z, w}, shape_string(sizes));
  }
}

TEST_F(Joins, leave_what_does_not_fit_to_the_twin) {
  const Tensor like = numbers({2, 3, 4}, ScalarType::kFloat, 1);
  const auto group = compiled_group(between("aten::cat", 1), {like, like, like, like});
  ASSERT_GT(group->kernel_count(), 0U) << group->refusal().text();
  const Tensor one = numbers({1}, ScalarType::kFloat, 2);
  const Tensor x = numbers({4, 3, 5, 6}, ScalarType::kFloat, 3);
  expect_twin(*group, {x, x, one, one}, "as expected");
  // Channels last in, channels last out.
  const Tensor last = kernels::contiguous(x, MemoryFormat::kChannelsLast);
  expect_twin(*group, {x, last, one, one}, "one channels last");
  EXPECT_THROW(run_group(*group, {one, one, one, one}), Error);
  // What was joined becomes longer than its parts together.
  const Tensor thin = numbers({4, 1, 1, 6}, ScalarType::kFloat, 4);
  const Tensor nothing = numbers({4, 0, 1, 6}, ScalarType::kFloat, 4);
  expect_twin(*group, {thin, nothing, x, one}, "broadcast along the joint", By::kTwin);
  const Tensor empty = numbers({0}, ScalarType::kFloat, 4);
  expect_twin(*group, {x, empty, one, one}, "an empty vector", By::kTwin);
  EXPECT_THROW(run_group(*group, {x, numbers({4, 3, 5}, ScalarType::kFloat, 1), one, one}), Error);
  EXPECT_THROW(run_group(*group, {x, numbers({4, 3, 5, 7}, ScalarType::kFloat, 1), one, one}),
               Error);
}

TEST_F(Joins, say_why_there_is_no_kernel) {
  const Tensor like = numbers({2, 3}, ScalarType::kFloat, 1);
  const Tensor other = numbers({2, 3}, ScalarType::kDouble, 1);
  EXPECT_NE(
      compiled_group(at_the_end("aten::cat", 0), {like, other})->refusal().text().find("dtypes"),
      std::string::npos);
  ops::GroupProgram program = between("aten::cat", 0);
  program.chains.push_back(
      {{{ops::OpTable::instance().find("aten::t"), {}}}, ops::PromotionCategory::kDimensioned});
  program.members[2].arguments[1].chain = 0;
  EXPECT_NE(compiled_group(program, {like, like, like, like})->refusal().text().find("views"),
            std::string::npos);
}

}  // namespace
}  // namespace tierup::codegen
