// The group step over inputs that it was and was not compiled for.
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tierup/codegen/group_fixture.h"
#include "tierup/kernels/shape/conversion.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::codegen {
namespace {

Tensor numbers(std::vector<int64_t> sizes, double start = -3,
               ScalarType type = ScalarType::kFloat) {
  const Tensor tensor = Tensor::empty(sizes, ScalarType::kDouble);
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    tensor.data<double>()[i] = start + 0.37 * static_cast<double>(i % 23);
  }
  return kernels::convert_to(tensor, {type, {}, {}, false});
}

// tanh(x * y + x) and x * y.
ops::GroupProgram sample_program() {
  ops::GroupProgram program;
  program.input_count = 2;
  program.members = {call("aten::mul.Tensor", {input(0), input(1)}),
                     call("aten::add.Tensor", {member(0), input(0), constant(int64_t{1})}),
                     call("aten::tanh", {member(1)})};
  program.outputs = {0, 2};
  return program;
}

class Group : public ::testing::Test {
 protected:
  void SetUp() override {
    TIERUP_NEED_CODEGEN();
    group_ = compiled_group(sample_program(), {numbers({2, 3}), numbers({2, 3})});
    ASSERT_GT(group_->kernel_count(), 0U) << group_->refusal().text();
  }
  // By the kernel, and as the twin gives it.
  void expect_compiled(const Tensor& x, const Tensor& y, const std::string& what) {
    const uint64_t before = group_->compiled_runs();
    expect_twin(x, y, what);
    EXPECT_EQ(group_->compiled_runs(), before + 1) << what;
  }
  void expect_twin(const Tensor& x, const Tensor& y, const std::string& what) {
    const auto fused = run_group(*group_, {x, y});
    const auto plain = run_group(*group_, {x, y}, true);
    for (size_t i = 0; i < fused.size(); ++i) expect_same(fused[i], plain[i], what);
  }
  Ref<ops::FusionGroup> group_;
};

TEST_F(Group, runs_any_size) {
  for (const int64_t n : {0, 1, 3, 15, 16, 17, 1000, 100000}) {
    expect_compiled(numbers({n}), numbers({n}, 1), "size " + std::to_string(n));
  }
}

TEST_F(Group, runs_broadcasts_of_the_whole) {
  // Every output needs the full shape: x * y has it if one input has.
  expect_compiled(numbers({7, 33}), numbers({33}, 1), "a row");
  expect_compiled(numbers({7, 33}), numbers({7, 1}, 1), "a column");
  expect_compiled(numbers({5, 1, 9}), numbers({4, 1}, 1), "both ways");
  expect_compiled(numbers({3, 4}), numbers({1}, 1), "one element");
}

TEST_F(Group, runs_strided_inputs) {
  const Tensor base = numbers({40, 30});
  const Tensor turned = kernels::transpose(base, 0, 1);
  expect_compiled(turned, kernels::transpose(numbers({40, 30}, 2), 0, 1), "both transposed");
  expect_compiled(turned, numbers({30, 40}, 1), "one transposed");
  const Tensor every_other = base.as_view(IntVector{40, 15}, IntVector{30, 2}, 0);
  expect_compiled(every_other, numbers({40, 15}, 1), "every other column");
}

TEST_F(Group, gives_dimensions_of_one_place_tier_0s_strides) {
  const Tensor column = numbers({40, 30}).as_view(IntVector{40, 1}, IntVector{2, 90}, 0);
  expect_compiled(column, column, "a stride that no element needs");
}

TEST_F(Group, leaves_other_dtypes_to_the_twin) {
  const uint64_t before = group_->twin_runs();
  expect_twin(numbers({4}, -3, ScalarType::kDouble), numbers({4}), "double");
  expect_twin(numbers({4}, -3, ScalarType::kHalf), numbers({4}, 1, ScalarType::kHalf), "half");
  expect_twin(numbers({}), numbers({4}), "a 0-dim tensor");
  EXPECT_EQ(group_->twin_runs(), before + 3);
}

TEST_F(Group, raises_what_the_operators_raise) {
  EXPECT_THROW(run_group(*group_, {numbers({4}), numbers({5})}), Error);
}

TEST_F(Group, takes_over_memory_that_nobody_else_reads) {
  std::vector<IValue> args{IValue(numbers({100})), IValue(numbers({100}, 1))};
  const void* memory = args[0].to_tensor().raw();
  std::vector<IValue> results(2);
  ops::RunContext context;
  ops::OpCall taken{args, results, context};
  group_->run(taken);
  EXPECT_TRUE(results[0].to_tensor().raw() == memory || results[1].to_tensor().raw() == memory);
  const auto plain = run_group(*group_, {numbers({100}), numbers({100}, 1)}, true);
  expect_same(results[1].to_tensor(), plain[1], "in place");

  const Tensor kept = numbers({100});
  run_group(*group_, {kept, numbers({100}, 1)});
  expect_same(kept, numbers({100}), "an input that others read");
}

// sigmoid((x - mean(x)) * rsqrt(var(x) + eps) * y), and the mean.
ops::GroupProgram row_program() {
  const IValue last = IValue(make_int_list(IntVector{-1}));
  ops::GroupProgram program;
  program.input_count = 2;
  program.members = {
      call("aten::mean.dim", {input(0), constant(last), constant(true), constant({})}),
      call("aten::var.correction", {input(0), constant(last), constant(0), constant(true)}),
      call("aten::sub.Tensor", {input(0), member(0), constant(1)}),
      call("aten::add.Scalar", {member(1), constant(1e-5), constant(1)}),
      call("aten::rsqrt", {member(3)}),
      call("aten::mul.Tensor", {member(2), member(4)}),
      call("aten::mul.Tensor", {member(5), input(1)}),
      call("aten::sigmoid", {member(6)})};
  program.members[0].by_rows = true;
  program.members[0].space = ops::RowSpace::kColumn;
  program.members[1].by_rows = true;
  program.members[1].space = ops::RowSpace::kColumn;
  program.outputs = {0, 7};
  return program;
}

// exp(x - max(x)) / sum(exp(x - max(x)))
ops::GroupProgram softmax_program() {
  const IValue last = IValue(make_int_list(IntVector{-1}));
  ops::GroupProgram program;
  program.input_count = 1;
  program.members = {
      call("aten::amax", {input(0), constant(last), constant(true)}),
      call("aten::sub.Tensor", {input(0), member(0), constant(1)}), call("aten::exp", {member(1)}),
      call("aten::sum.dim_IntList", {member(2), constant(last), constant(true), constant({})}),
      call("aten::div.Tensor", {member(2), member(3)})};
  program.members[0].by_rows = true;
  program.members[0].space = ops::RowSpace::kColumn;
  program.members[3].by_rows = true;
  program.members[3].space = ops::RowSpace::kColumn;
  program.outputs = {4};
  return program;
}

TEST_F(Group, runs_reductions_over_rows) {
  group_ = compiled_group(row_program(), {numbers({2, 3}), numbers({3})});
  ASSERT_GT(group_->kernel_count(), 0U) << group_->refusal().text();
  expect_compiled(numbers({37, 100}), numbers({100}, 1), "a row for all");
  expect_compiled(numbers({37, 100}), numbers({37, 100}, 1), "of one shape");
  expect_compiled(numbers({2, 5, 17}), numbers({2, 5, 1}, 1), "a column");
  expect_compiled(numbers({300, 1000}), numbers({1000}, 1), "many tiles");
  expect_compiled(numbers({6, 1}), numbers({6, 1}, 1), "rows of one element");
  expect_twin(numbers({0, 4}), numbers({4}, 1), "no rows");
  expect_twin(kernels::transpose(numbers({8, 9}), 0, 1), numbers({8}, 1), "not dense");

  group_ = compiled_group(softmax_program(), {numbers({2, 3})});
  ASSERT_GT(group_->kernel_count(), 0U) << group_->refusal().text();
  const Tensor x = numbers({70, 333});
  expect_same(run_group(*group_, {x})[0], run_group(*group_, {x}, true)[0], "softmax");
  EXPECT_EQ(group_->compiled_runs(), 1U);
}

TEST(FusionGroup, runs_its_twin_without_the_library) {
  const Library absent("/nonexistent/libtierup_codegen.so");
  const Ref<ops::FusionGroup> group =
      compiled_group(sample_program(), {numbers({2}), numbers({2})}, absent);
  EXPECT_EQ(group->kernel_count(), 0U);
  EXPECT_NE(group->refusal().text().find("could not be loaded"), std::string::npos)
      << group->refusal().text();
  const auto results = run_group(*group, {numbers({5}), numbers({5}, 1)});
  EXPECT_EQ(results[1].numel(), 5);
  EXPECT_EQ(group->twin_runs(), 1U);
}

TEST(FusionGroup, says_why_it_has_no_kernel) {
  ops::GroupProgram program;
  program.input_count = 1;
  program.members = {call("aten::lgamma", {input(0)})};
  program.outputs = {0};
  const Ref<ops::FusionGroup> group = compiled_group(program, {numbers({2})});
  EXPECT_EQ(group->kernel_count(), 0U);
  EXPECT_NE(group->refusal().text().find("Lgamma"), std::string::npos) << group->refusal().text();
}

TEST_F(Group, shows_its_code_and_names_it_for_perf_on_request) {
  const std::string map = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  testing::internal::CaptureStderr();
  compiled_group(sample_program(), {numbers({3}), numbers({3})}, Library::instance(),
                 {.print_ir = true, .perf_map = true, .max_vector_bits = 0});
  EXPECT_NE(testing::internal::GetCapturedStderr().find("define void @fused_"), std::string::npos);
  std::ifstream file(map);
  std::string address;
  std::string size;
  std::string name;
  ASSERT_TRUE(file >> address >> size >> name);
  EXPECT_TRUE(name.starts_with("fused_")) << name;
  EXPECT_NE(std::stoull(address, nullptr, 16), 0U);
  std::filesystem::remove(map);
}

// /tmp is anybody's.
TEST_F(Group, names_for_perf_go_through_no_link) {
  const std::string map = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  const std::string victim = ::testing::TempDir() + "perf_victim_" + std::to_string(getpid());
  const auto compile = [] {  // What is shown is made anew, whatever was before.
    testing::internal::CaptureStderr();
    compiled_group(sample_program(), {numbers({5}), numbers({5})}, Library::instance(),
                   {.print_ir = true, .perf_map = true, .max_vector_bits = 0});
    EXPECT_NE(testing::internal::GetCapturedStderr(), "");
  };
  std::ofstream(victim) << "kept";
  std::filesystem::remove(map);
  std::filesystem::create_symlink(victim, map);
  compile();
  std::filesystem::remove(map);
  std::filesystem::create_hard_link(victim, map);
  compile();
  std::filesystem::remove(map);
  std::ifstream file(victim);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "kept");
  std::filesystem::remove(victim);
}

}  // namespace
}  // namespace tierup::codegen
