// Every operator that works on rows, as a member of a group between point-wise ones, against tier
// 0: bit for bit, over ordinary and special values, widths, dtypes and instruction sets.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tierup/base/parallel.h"
#include "tierup/codegen/group_fixture.h"
#include "tierup/kernels/shape/conversion.h"
#include "tierup/kernels/shape/slicing.h"
#include "tierup/kernels/shape/view.h"
#include "tierup/kernels/simd/instruction_set.h"
#include "tierup/ops/table/role.h"
#include "tierup/tensor/allocator.h"

namespace tierup::codegen {
namespace {

using kernels::InstructionSet;
using ops::RowSpace;

constexpr double kInf = std::numeric_limits<double>::infinity();

// Rows of random numbers, some with special values among them, some of one value only.
Tensor rows(const IntVector& sizes, ScalarType type, uint32_t seed) {
  const double special[] = {std::nan(""), kInf, -kInf, 0.0, -0.0, 1e-45, -1e-40, 3e38, -88.7, 1e9};
  const Tensor wide = Tensor::empty(sizes, ScalarType::kDouble);
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 3);
  const int64_t width = sizes.back();
  const bool whole = is_integral(type, true);
  for (int64_t i = 0; i < wide.numel(); ++i) {
    const int64_t row = i / width;
    const double of_row = special[row / 3 % std::size(special)];
    double value = normal(random);
    if (row % 3 == 1 && i % width == (row * 7) % width) value = of_row;
    if (row % 3 == 2 && row % 2 == 0) value = of_row;
    if (whole) value = std::isfinite(value) ? std::trunc(std::fmod(value, 1000)) : 5;
    wide.data<double>()[i] = value;
  }
  return kernels::convert_to(wide, {type, {}, {}, false});
}

// How a call is made: over the last `rank` dimensions, which have these sizes.
struct Form {
  IntVector row;
  bool keepdim;
};

IntVector last_dims(size_t count) {
  IntVector dims;
  for (size_t d = count; d > 0; --d) dims.push_back(-static_cast<int64_t>(d));
  return dims;
}

// The call's arguments, on the group's first member; parameters become inputs of the group.
bool fill_call(const ops::Op& op, const Form& form, ops::GroupProgram& program,
               ops::GroupMember& made) {
  made.op = &op;
  made.by_rows = true;
  bool has_keepdim = false;
  for (const ir::Argument& argument : op.schema().arguments) {
    const bool is_list = argument.type->to_string().find("List") != std::string::npos;
    if (made.arguments.empty()) {
      made.arguments.push_back(member(0));
    } else if (argument.name == "normalized_shape") {
      made.arguments.push_back(constant(IValue(make_int_list(form.row))));
    } else if (argument.name == "dim") {
      if (!is_list && form.row.size() != 1) return false;
      made.arguments.push_back(constant(is_list ? IValue(make_int_list(last_dims(form.row.size())))
                                                : IValue(int64_t{-1})));
    } else if (argument.name == "keepdim") {
      has_keepdim = true;
      made.arguments.push_back(constant(form.keepdim));
    } else if (argument.name == "weight" || argument.name == "bias" || argument.name == "index") {
      made.arguments.push_back(input(program.input_count++));
    } else if (argument.default_value) {
      made.arguments.push_back(constant(*argument.default_value));
    } else if (argument.name == "eps") {
      made.arguments.push_back(constant(1e-5));
    } else if (argument.name == "p") {
      made.arguments.push_back(constant(2));
    } else if (argument.name == "half_to_float") {
      made.arguments.push_back(constant(false));
    } else {
      ADD_FAILURE() << op.schema().qualified_name() << ": " << argument.name;
      return false;
    }
  }
  return has_keepdim || form.keepdim;  // The forms differ by it alone.
}

// Where in a row an index points to.
Tensor places(const IntVector& sizes, int64_t width) {
  const Tensor index = Tensor::empty(sizes, ScalarType::kLong);
  for (int64_t i = 0; i < index.numel(); ++i) {
    index.data<int64_t>()[i] = i * 7 % std::max<int64_t>(width, 1);
  }
  return index;
}

std::vector<Tensor> inputs_for(const ops::GroupProgram& program, const IntVector& row,
                               ScalarType type) {
  IntVector sizes{3, 11};
  sizes.insert(sizes.end(), row.begin(), row.end());
  std::vector<Tensor> inputs{rows(sizes, type, 1)};
  const ops::GroupMember& call = program.members[1];
  for (size_t i = 1; i < call.arguments.size(); ++i) {
    if (call.arguments[i].source == ops::GroupArgument::Source::kInput &&
        is_for_each_row(*call.op, i)) {
      inputs.push_back(places({3, 11, 1}, row.back()));
    }
  }
  while (inputs.size() < program.input_count) {
    inputs.push_back(rows(row, type, static_cast<uint32_t>(inputs.size() + 5)));
  }
  return inputs;
}

// What the call gives for -x, and its absolute value; null if no group takes it.
Ref<ops::FusionGroup> group_of(const ops::Op& op, const Form& form, ScalarType type, int bits) {
  ops::GroupProgram program;
  program.input_count = 1;
  program.row_rank = static_cast<uint32_t>(form.row.size());
  ops::GroupMember made;
  if (!fill_call(op, form, program, made)) return {};
  std::vector<ops::MeaningArgument> arguments;
  for (size_t i = 0; i < made.arguments.size(); ++i) {
    const ops::GroupArgument& argument = made.arguments[i];
    const bool is_tensor = argument.source != ops::GroupArgument::Source::kConstant;
    const ScalarType of = is_for_each_row(op, i) ? ScalarType::kLong : type;
    arguments.push_back(
        {is_tensor ? std::optional(ops::ValueForm{of}) : std::nullopt, argument.constant});
  }
  const ops::RowMeaning meaning = row_meaning_of(op, arguments);
  if (meaning.refusal) return {};
  made.space = meaning.space;
  std::vector<ops::GroupMember> results{made};
  while (results.size() < op.schema().returns.size()) {
    ops::GroupMember more = made;
    more.result = static_cast<uint32_t>(results.size());
    const ops::RowMeaning its = row_meaning_of(op, arguments, more.result);
    if (its.refusal) return {};
    more.space = its.space;
    results.push_back(std::move(more));
  }
  const auto change = [](ScalarType of, const char* name) {
    return of == ScalarType::kBool ? "aten::logical_not" : name;
  };
  program.members = {call(change(type, "aten::neg"), {input(0)})};
  for (const ops::GroupMember& result : results) {
    program.outputs.push_back(static_cast<uint32_t>(program.members.size()));
    program.members.push_back(result);
  }
  program.outputs.push_back(static_cast<uint32_t>(program.members.size()));
  program.members.push_back(call(change(meaning.result.dtype, "aten::abs"), {member(1)}));
  if (made.space == RowSpace::kFlat) program.members.back().space = RowSpace::kFlat;
  const std::vector<Tensor> like = inputs_for(program, form.row, type);
  auto group = compiled_group(std::move(program), like, Library::instance(),
                              {.print_ir = false, .perf_map = false, .max_vector_bits = bits});
  EXPECT_GT(group->kernel_count(), 0U) << op.schema().qualified_name() << group->refusal().text();
  return group;
}

int check(const ops::Op& op, const std::vector<IntVector>& rows_of_one_rank, bool keepdim,
          ScalarType type, int bits) {
  const auto& arguments = op.schema().arguments;
  const bool names_sizes = std::any_of(arguments.begin(), arguments.end(),
                                       [](const auto& a) { return a.name == "normalized_shape"; });
  Ref<ops::FusionGroup> group;
  for (const IntVector& row : rows_of_one_rank) {
    if (!group || names_sizes) group = group_of(op, {row, keepdim}, type, bits);
    if (!group) return 0;
    const std::string what = fmt::format("{} of {} over {}", op.schema().qualified_name(),
                                         scalar_type_name(type), shape_string(row));
    const std::vector<Tensor> inputs = inputs_for(group->program(), row, type);
    const uint64_t before = group->compiled_runs();
    const auto fused = run_group(*group, inputs);
    EXPECT_EQ(group->compiled_runs(), before + 1) << what;
    const ThreadCountScope one_thread(1);
    const auto alone = run_group(*group, inputs);
    const auto plain = run_group(*group, inputs, true);
    for (size_t i = 0; i < fused.size(); ++i) {
      expect_same(fused[i], plain[i], what);
      expect_same(alone[i], plain[i], what + ", in one thread");
    }
  }
  return 1;
}

// How many calls there are.
int check_all(ScalarType type, int bits) {
  int checked = 0;
  for (const ops::Op* op : ops::OpTable::instance().all()) {
    if (op->role() != ops::Role::kRowwise) continue;
    for (const bool keepdim : {true, false}) {
      checked +=
          check(*op, {{1}, {2}, {7}, {16}, {17}, {100}, {1031}, {9000}}, keepdim, type, bits);
      checked += check(*op, {{3, 5}, {1, 33}, {20, 1}}, keepdim, type, bits);
    }
  }
  return checked;
}

class Rows : public ::testing::Test {
 protected:
  void SetUp() override { TIERUP_NEED_CODEGEN(); }
  void TearDown() override { kernels::limit_instruction_set(InstructionSet::kAvx512); }
};

TEST_F(Rows, give_the_bits_of_tier_0_in_float) { EXPECT_GT(check_all(ScalarType::kFloat, 0), 30); }
TEST_F(Rows, give_the_bits_of_tier_0_in_double) {
  EXPECT_GT(check_all(ScalarType::kDouble, 0), 30);
}
TEST_F(Rows, give_the_bits_of_tier_0_in_bfloat16) {
  EXPECT_GT(check_all(ScalarType::kBFloat16, 0), 30);
}
TEST_F(Rows, give_the_bits_of_tier_0_in_int64) { EXPECT_GT(check_all(ScalarType::kLong, 0), 8); }
TEST_F(Rows, give_the_bits_of_tier_0_in_int32) { EXPECT_GT(check_all(ScalarType::kInt, 0), 8); }
TEST_F(Rows, give_the_bits_of_tier_0_in_bool) { EXPECT_GT(check_all(ScalarType::kBool, 0), 4); }

TEST_F(Rows, give_the_bits_of_tier_0_with_avx2) {
  kernels::limit_instruction_set(InstructionSet::kAvx2);
  EXPECT_GT(check_all(ScalarType::kFloat, 256), 30);
}
TEST_F(Rows, give_the_bits_of_tier_0_with_sse42) {
  kernels::limit_instruction_set(InstructionSet::kBase);
  EXPECT_GT(check_all(ScalarType::kFloat, 128), 30);
}
// Results or errors, of no rows and of rows without elements.
void expect_the_same_of_nothing(const ops::FusionGroup& group, const std::vector<Tensor>& inputs,
                                const std::string& what) {
  std::vector<Tensor> plain;
  try {
    plain = run_group(group, inputs, true);
  } catch (const Error& error) {
    EXPECT_THROW(run_group(group, inputs), Error) << what << ": " << error.message();
    return;
  }
  const auto fused = run_group(group, inputs);
  for (size_t i = 0; i < fused.size(); ++i) expect_same(fused[i], plain[i], what);
}

TEST_F(Rows, of_nothing_are_answered_as_at_tier_0) {
  for (const ops::Op* op : ops::OpTable::instance().all()) {
    if (op->role() != ops::Role::kRowwise) continue;
    for (const bool keepdim : {true, false}) {
      const auto group = group_of(*op, {{7}, keepdim}, ScalarType::kFloat, 0);
      if (!group) continue;
      std::vector<Tensor> inputs = inputs_for(group->program(), {7}, ScalarType::kFloat);
      for (const IntVector& sizes : {IntVector{0, 11, 7}, IntVector{3, 0, 7}, IntVector{3, 11, 0},
                                     IntVector{0, 7}, IntVector{7}, IntVector{0}}) {
        inputs[0] = rows(sizes, ScalarType::kFloat, 9);
        expect_the_same_of_nothing(*group, inputs,
                                   op->schema().qualified_name() + shape_string(sizes));
      }
    }
  }
}

// -log_softmax(x)[target]: an index out of range raises what tier 0 raises.
TEST_F(Rows, pick_one_element_of_each) {
  ops::GroupProgram program;
  program.input_count = 2;
  program.members = {call("aten::exp", {input(0)}),
                     call("aten::log_softmax.int", {member(0), constant(-1), constant({})}),
                     call("aten::gather", {member(1), constant(-1), input(1), constant(false)}),
                     call("aten::neg", {member(2)})};
  program.members[1].by_rows = program.members[2].by_rows = true;
  program.members[2].space = RowSpace::kColumn;
  program.outputs = {3};
  const Tensor x = rows({7, 100, 300}, ScalarType::kFloat, 1);
  const Tensor index = places({7, 100, 1}, 300);
  const auto group = compiled_group(program, {x, index});
  ASSERT_GT(group->kernel_count(), 0U) << group->refusal().text();
  expect_same(run_group(*group, {x, index})[0], run_group(*group, {x, index}, true)[0], "all");
  EXPECT_EQ(group->compiled_runs(), 1U);
  // The index is a column of a wider tensor, as a batch's targets at one time are.
  const Tensor wide = places({7, 100, 3}, 300);
  const Tensor apart = Tensor::from_storage(wide.storage(), wide.dtype(), IntVector{7, 100, 1},
                                            IntVector{300, 3, 1}, 1);
  expect_same(run_group(*group, {x, apart})[0], run_group(*group, {x, apart}, true)[0], "apart");
  EXPECT_EQ(group->compiled_runs(), 2U);
  // Fewer rows, several elements of a row, other dtypes: left to the twin.
  for (const IntVector& sizes : {IntVector{7, 99, 1}, IntVector{1, 100, 1}, IntVector{7, 100, 4}}) {
    const Tensor other = places(sizes, 300);
    expect_same(run_group(*group, {x, other})[0], run_group(*group, {x, other}, true)[0],
                shape_string(sizes));
  }
  EXPECT_EQ(group->compiled_runs(), 2U);
  for (const int64_t bad : {int64_t{300}, int64_t{-1}}) {
    index.data<int64_t>()[650] = bad;
    std::string said;
    try {
      run_group(*group, {x, index}, true);
    } catch (const Error& error) {
      said = error.message();
    }
    EXPECT_NE(said.find("out of bounds"), std::string::npos);
    try {
      run_group(*group, {x, index});
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.message(), said);
    }
  }
}

// softmax(x + y) * z, with y and z of many shapes.
TEST_F(Rows, take_broadcast_inputs) {
  ops::GroupProgram program;
  program.input_count = 3;
  program.members = {call("aten::add.Tensor", {input(0), input(1), constant(1)}),
                     call("aten::softmax.int", {member(0), constant(-1), constant({})}),
                     call("aten::mul.Tensor", {member(1), input(2)})};
  program.members[1].by_rows = true;
  program.outputs = {2};
  const Tensor x = rows({4, 3, 50, 40}, ScalarType::kFloat, 1);
  const auto group = compiled_group(program, {x, x, x});
  ASSERT_GT(group->kernel_count(), 0U) << group->refusal().text();
  const std::vector<IntVector> shapes{{4, 3, 50, 40}, {4, 1, 1, 40}, {50, 40}, {1, 3, 50, 1},
                                      {40},           {4, 1, 50, 1}, {1},      {1, 1, 1, 40}};
  uint64_t runs = 0;
  for (const IntVector& y : shapes) {
    for (const IntVector& z : shapes) {
      const std::vector<Tensor> inputs{x, rows(y, ScalarType::kFloat, 2),
                                       rows(z, ScalarType::kFloat, 3)};
      expect_same(run_group(*group, inputs)[0], run_group(*group, inputs, true)[0],
                  shape_string(y) + " and " + shape_string(z));
      EXPECT_EQ(group->compiled_runs(), ++runs);
    }
  }
}

// Groups must not answer for results that have fewer elements than their space.
TEST_F(Rows, leave_smaller_results_to_the_twin) {
  ops::GroupProgram program;
  program.input_count = 2;
  program.members = {
      call("aten::exp", {input(0)}), call("aten::mul.Tensor", {member(0), input(1)}),
      call("aten::sum.dim_IntList", {member(1), constant(IValue(make_int_list(IntVector{-1}))),
                                     constant(false), constant({})})};
  program.members[2].by_rows = true;
  program.members[2].space = RowSpace::kFlat;
  program.outputs = {0, 2};
  const Tensor whole = rows({6, 5, 8}, ScalarType::kFloat, 1);
  const auto group = compiled_group(program, {whole, whole});
  ASSERT_GT(group->kernel_count(), 0U) << group->refusal().text();
  for (const IntVector& x : {IntVector{6, 5, 8}, IntVector{5, 8}, IntVector{1, 5, 8},
                             IntVector{6, 1, 8}, IntVector{8}, IntVector{6, 5, 1}}) {
    const std::vector<Tensor> inputs{rows(x, ScalarType::kFloat, 2), whole};
    const auto fused = run_group(*group, inputs);
    const auto plain = run_group(*group, inputs, true);
    for (size_t i = 0; i < 2; ++i) expect_same(fused[i], plain[i], shape_string(x));
  }
  EXPECT_EQ(group->compiled_runs(), 1U);
}

// log(sum(x * x)) + y: what lacks the rows' dimension goes on without it.
TEST_F(Rows, go_on_with_one_element_for_each) {
  ops::GroupProgram program;
  program.input_count = 2;
  program.members = {
      call("aten::mul.Tensor", {input(0), input(0)}),
      call("aten::sum.dim_IntList", {member(0), constant(IValue(make_int_list(IntVector{-1}))),
                                     constant(false), constant({})}),
      call("aten::log", {member(1)}), call("aten::add.Tensor", {member(2), input(1), constant(1)})};
  program.members[1].by_rows = true;
  for (size_t i = 1; i < 4; ++i) program.members[i].space = RowSpace::kFlat;
  program.outputs = {3};
  const Tensor x = rows({70, 9, 300}, ScalarType::kFloat, 1);
  const auto group = compiled_group(program, {x, rows({70, 9}, ScalarType::kFloat, 2)});
  ASSERT_GT(group->kernel_count(), 0U) << group->refusal().text();
  uint64_t runs = 0;
  for (const IntVector& y :
       {IntVector{70, 9}, IntVector{1}, IntVector{1, 1}, IntVector{9}, IntVector{70, 1}}) {
    const std::vector<Tensor> inputs{x, rows(y, ScalarType::kFloat, 2)};
    expect_same(run_group(*group, inputs)[0], run_group(*group, inputs, true)[0], shape_string(y));
    EXPECT_EQ(group->compiled_runs(), ++runs) << shape_string(y);
  }
  const std::vector<Tensor> wider{x, rows({2, 70, 9}, ScalarType::kFloat, 2)};
  expect_same(run_group(*group, wider)[0], run_group(*group, wider, true)[0], "wider");
  EXPECT_EQ(group->compiled_runs(), runs);
}

// What folds rows leaves their order behind; a result of all their elements would lie in it.
TEST_F(Rows, may_lie_in_another_order_until_they_are_folded) {
  for (const char* fold : {"aten::sum.dim_IntList", "aten::mean.dim", "aten::amax"}) {
    ops::GroupProgram program;
    program.input_count = 1;
    std::vector<ops::GroupArgument> arguments{
        member(0), constant(IValue(make_int_list(IntVector{-1}))), constant(false)};
    if (fold != std::string_view("aten::amax")) arguments.push_back(constant({}));
    program.members = {call("aten::mul.Tensor", {input(0), input(0)}), call(fold, arguments),
                       call("aten::neg", {member(1)})};
    program.members[1].by_rows = true;
    for (size_t i = 1; i < 3; ++i) program.members[i].space = RowSpace::kFlat;
    program.outputs = {2};
    for (const int64_t width : {2, 3, 40, 300}) {
      const Tensor x = kernels::transpose(rows({70, 9, width}, ScalarType::kFloat, 1), 0, 1);
      const auto group = compiled_group(program, {x});
      ASSERT_GT(group->kernel_count(), 0U) << group->refusal().text();
      expect_twin(*group, {x}, fold);
    }
    program.outputs = {0, 2};
    const Tensor x = kernels::transpose(rows({70, 9, 8}, ScalarType::kFloat, 1), 0, 1);
    const auto group = compiled_group(program, {x});
    expect_twin(*group, {x}, fold, By::kTwin);
  }
}

// sum((a - b)^2) * mass over pairs: rows of three, of which a number of each column goes with one.
TEST_F(Rows, of_pairs_take_one_number_for_each_second) {
  ops::GroupProgram program;
  program.input_count = 3;
  program.members = {
      call("aten::sub.Tensor", {input(0), input(1), constant(1)}),
      call("aten::mul.Tensor", {member(0), member(0)}),
      call("aten::sum.dim_IntList", {member(1), constant(IValue(make_int_list(IntVector{-1}))),
                                     constant(false), constant({})}),
      call("aten::mul.Tensor", {input(2), member(2)})};
  program.members[2].by_rows = true;
  program.members[2].space = program.members[3].space = RowSpace::kFlat;
  program.outputs = {0, 3};
  const Tensor points = rows({90, 3}, ScalarType::kFloat, 1);
  const std::vector<Tensor> inputs{kernels::unsqueeze(points, 0), kernels::unsqueeze(points, 1),
                                   rows({90}, ScalarType::kFloat, 2)};
  const auto group = compiled_group(program, inputs);
  ASSERT_GT(group->kernel_count(), 0U) << group->refusal().text();
  expect_twin(*group, inputs, "pairs");
}

// Rows of two dimensions, of which the first may be one element; or the inputs' elements lie apart.
TEST_F(Rows, may_lie_apart_and_be_repeated_in_part) {
  ops::GroupProgram program;
  program.input_count = 2;
  program.row_rank = 2;
  program.members = {
      call("aten::add.Tensor", {input(0), input(1), constant(1)}),
      call("aten::sum.dim_IntList", {member(0), constant(IValue(make_int_list(IntVector{-2, -1}))),
                                     constant(true), constant({})}),
      call("aten::mul.Tensor", {member(0), member(1)})};
  program.members[1].by_rows = true;
  program.members[1].space = RowSpace::kColumn;
  program.outputs = {2};
  const Tensor x = rows({40, 1, 30}, ScalarType::kFloat, 1);
  const Tensor wide = rows({30, 2}, ScalarType::kFloat, 2);
  const auto group = compiled_group(program, {x, wide});
  ASSERT_GT(group->kernel_count(), 0U) << group->refusal().text();
  for (const Tensor& y : {kernels::select(wide, 1, 1), rows({30}, ScalarType::kFloat, 3)}) {
    expect_twin(*group, {x, y}, "one line");
  }
  const Tensor lines = rows({40, 4, 30}, ScalarType::kFloat, 4);
  for (const Tensor& y :
       {rows({4, 1}, ScalarType::kFloat, 5), rows({40, 1, 30}, ScalarType::kFloat, 6),
        kernels::transpose(rows({30, 4}, ScalarType::kFloat, 7), 0, 1)}) {
    expect_twin(*group, {lines, y}, "four lines");
  }
}

// What stops a run is not tried again by the twin, which would need still more memory.
TEST_F(Rows, stop_where_memory_ends) {
  ops::GroupProgram program;
  program.input_count = 1;
  program.members = {call("aten::exp", {input(0)}),
                     call("aten::softmax.int", {member(0), constant(-1), constant({})}),
                     call("aten::neg", {member(1)})};
  program.members[1].by_rows = true;
  program.outputs = {2};
  const Tensor x = rows({512, 512}, ScalarType::kFloat, 1);
  const auto group = compiled_group(program, {x});
  ASSERT_GT(group->kernel_count(), 0U) << group->refusal().text();
  const ThreadCountScope one_thread(1);
  run_group(*group, {x});
  const int64_t needed = static_cast<int64_t>(x.bytes()) + 16384;  // The result, and no tile.
  set_memory_limit(allocator_stats().live_bytes + needed);
  try {
    run_group(*group, {x});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOutOfMemory);
  }
  set_memory_limit(0);
  EXPECT_EQ(group->twin_runs(), 0U);
}

}  // namespace
}  // namespace tierup::codegen
