// Every point-wise row that has an expression, compiled, against its tier-0 kernel: bit for bit.
#include <cmath>
#include <limits>
#include <random>

#include "tierup/codegen/group_fixture.h"
#include "tierup/kernels/memory/cast.h"
#include "tierup/kernels/shape/conversion.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::codegen {
namespace {

using kernels::InstructionSet;

// Special values against each other, then random ones of many magnitudes.
std::vector<double> sample(size_t seed, size_t count) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> special = {
      0.0,   -0.0,   1.0,  -1.0,   0.5,    -0.5,   2.0,       -2.0,  3.0,
      -3.0,  6.0,    20.0, -20.0,  88.7,   -88.7,  -103.,     1e-6,  -1e-6,
      1e-40, -1e-45, 1e30, -1e30,  3.4e38, 1e-300, 1e300,     inf,   -inf,
      0.7,   -0.7,   1e10, 2.4142, 0.625,  1.0e-3, 0.9999999, 1e-20, std::nan("")};
  std::vector<double> values;
  std::mt19937 random(static_cast<uint32_t>(seed * 7919 + 13));
  for (size_t i = 0; values.size() < count && i < special.size() * special.size(); ++i) {
    values.push_back(seed == 0 ? special[i % special.size()] : special[i / special.size()]);
  }
  std::uniform_real_distribution<double> exponent(-12, 12);
  std::normal_distribution<double> normal(0, 3);
  while (values.size() < count) {
    values.push_back(values.size() % 3 == 0
                         ? std::copysign(std::pow(10, exponent(random)), normal(random))
                         : normal(random));
  }
  return values;
}

Tensor sample_tensor(ScalarType type, size_t seed) {
  std::vector<double> values = sample(seed, 3001);
  if (is_integral(type, true)) {
    for (double& value : values) {
      if (!(std::abs(value) < 1e6)) value = std::isnan(value) ? 7 : std::copysign(12345, value);
      value = std::trunc(value);
    }
  }
  const auto size = static_cast<int64_t>(values.size());
  const Tensor wide = Tensor::empty({&size, 1}, ScalarType::kDouble);
  std::memcpy(wide.raw(), values.data(), values.size() * sizeof(double));
  return kernels::convert_to(wide, {type, {}, {}, false});
}

// Arguments for one call: tensors where the schema has tensors, and plausible numbers.
bool fill_arguments(const ops::Op& op, ops::GroupProgram& program) {
  ops::GroupMember member{&op, {}};
  double number = 0.75;
  for (const ir::Argument& argument : op.schema().arguments) {
    if (argument.type->is(TypeKind::kTensor)) {
      member.arguments.push_back(input(program.input_count++));
    } else if (argument.default_value) {
      member.arguments.push_back(constant(*argument.default_value));
    } else if (argument.type->is(TypeKind::kNumber) || argument.type->is(TypeKind::kFloat)) {
      member.arguments.push_back(constant(number));
      number += 1.5;
    } else if (argument.type->is(TypeKind::kInt)) {
      member.arguments.push_back(constant(int64_t{2}));
    } else if (argument.type->is(TypeKind::kOptional)) {
      member.arguments.push_back(constant(IValue()));
    } else {
      return false;
    }
  }
  program.members.push_back(std::move(member));
  program.outputs = {0};
  return program.input_count > 0;
}

int check_row(const ops::Op& op, ScalarType type) {
  ops::GroupProgram program;
  if (!fill_arguments(op, program)) return 0;
  std::vector<Tensor> inputs;
  for (uint32_t i = 0; i < program.input_count; ++i) inputs.push_back(sample_tensor(type, i));
  const Ref<ops::FusionGroup> group = compiled_group(program, inputs);
  if (group->kernel_count() == 0) return 0;
  const std::string what =
      op.schema().qualified_name() + " of " + std::string(scalar_type_name(type));
  const auto fused = run_group(*group, inputs);
  EXPECT_EQ(group->twin_runs(), 0U) << what;
  expect_same(fused[0], run_group(*group, inputs, true)[0], what);
  return 1;
}

int check_all(ScalarType type) {
  int checked = 0;
  for (const ops::Op* op : ops::OpTable::instance().all()) {
    if (op->body() != nullptr) checked += check_row(*op, type);
  }
  return checked;
}

class Bodies : public ::testing::Test {
 protected:
  void SetUp() override { TIERUP_NEED_CODEGEN(); }
  void TearDown() override { kernels::limit_instruction_set(InstructionSet::kAvx512); }
};

TEST_F(Bodies, give_the_bits_of_tier_0_in_float) { EXPECT_GT(check_all(ScalarType::kFloat), 150); }
TEST_F(Bodies, give_the_bits_of_tier_0_in_double) {
  EXPECT_GT(check_all(ScalarType::kDouble), 100);
}
// Lanes far from zero, infinities and NaN go to the C library.
TEST_F(Bodies, of_angles_are_compiled) {
  for (const char* name : {"aten::sin", "aten::cos", "aten::tan", "aten::sinc"}) {
    const ops::Op* op = ops::OpTable::instance().find(name);
    ASSERT_NE(op, nullptr) << name;
    EXPECT_EQ(check_row(*op, ScalarType::kFloat), 1) << name;
  }
  EXPECT_EQ(check_row(*ops::OpTable::instance().find("aten::sin"), ScalarType::kDouble), 1);
}
// Tier 0 and compiled code contract products and sums alike at each level: decision 0022.
TEST_F(Bodies, give_the_bits_of_tier_0_with_avx2) {
  kernels::limit_instruction_set(InstructionSet::kAvx2);
  EXPECT_GT(check_all(ScalarType::kFloat), 150);
  EXPECT_GT(check_all(ScalarType::kDouble), 100);
}
TEST_F(Bodies, give_the_bits_of_tier_0_with_sse42) {
  kernels::limit_instruction_set(InstructionSet::kBase);
  EXPECT_GT(check_all(ScalarType::kFloat), 150);
  EXPECT_GT(check_all(ScalarType::kDouble), 100);
}
TEST_F(Bodies, give_the_bits_of_tier_0_in_bfloat16) {
  EXPECT_GT(check_all(ScalarType::kBFloat16), 150);
}
TEST_F(Bodies, give_the_bits_of_tier_0_in_int64) { EXPECT_GT(check_all(ScalarType::kLong), 40); }
TEST_F(Bodies, give_the_bits_of_tier_0_in_int32) { EXPECT_GT(check_all(ScalarType::kInt), 40); }
TEST_F(Bodies, give_the_bits_of_tier_0_in_bool) { EXPECT_GT(check_all(ScalarType::kBool), 15); }

}  // namespace
}  // namespace tierup::codegen
