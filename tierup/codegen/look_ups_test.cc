// Look-ups in groups against the operators one by one: the same bits and the same errors, for every
// kind, over dtypes, layouts, instruction sets, in groups with and without row members.
#include <fmt/format.h>

#include <cmath>
#include <random>

#include "tierup/codegen/group_fixture.h"
#include "tierup/kernels/shape/conversion.h"
#include "tierup/kernels/shape/view.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::codegen {
namespace {

using kernels::InstructionSet;
using ops::LookUpKind;

Tensor numbers(const IntVector& sizes, ScalarType type, uint32_t seed) {
  const Tensor wide = Tensor::empty(sizes, ScalarType::kDouble);
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 3);
  const double special[] = {std::nan(""), HUGE_VAL, -HUGE_VAL, 0.0, -0.0, 1e-45};
  const bool whole = is_integral(type, true);
  for (int64_t i = 0; i < wide.numel(); ++i) {
    const double value = i % 11 == 3 ? special[i / 11 % 6] : normal(random);
    wide.data<double>()[i] = whole ? std::trunc(normal(random) * 100) : value;
  }
  return kernels::convert_to(wide, {type, {}, {}, false});
}

// From `least` on, below `end`.
Tensor places(const IntVector& sizes, ScalarType type, int64_t least, int64_t end) {
  const Tensor wide = Tensor::empty(sizes, ScalarType::kLong);
  for (int64_t i = 0; i < wide.numel(); ++i) {
    wide.data<int64_t>()[i] = least + (i * 7919 + 13) % (end - least);
  }
  return kernels::convert_to(wide, {type, {}, {}, false});
}

// A call of each kind; its table and index are inputs 0 and 1.
struct Case {
  const char* name;
  ops::GroupMember look_up;
  IntVector table;
  IntVector index;
  int64_t entries;
  IntVector result;
};

ops::GroupMember looking_up(std::string_view op, std::vector<ops::GroupArgument> arguments) {
  ops::GroupMember made = call(op, std::move(arguments));
  made.looks_up = made.op->facts().look_up;
  EXPECT_NE(made.looks_up, LookUpKind::kNone) << op;
  return made;
}

std::vector<Case> cases() {
  const auto t = input(0);
  const auto i = input(1);
  const ops::GroupMember embedding =
      looking_up("aten::embedding", {t, i, constant(-1), constant(false), constant(false)});
  const auto select = [&](int64_t dim) {
    return looking_up("aten::index_select", {t, constant(dim), i});
  };
  const auto gather = [&](int64_t dim) {
    return looking_up("aten::gather", {t, constant(dim), i, constant(false)});
  };
  const ops::GroupMember first = looking_up("aten::index.Tensor", {t, i});
  const ops::GroupMember second = looking_up("aten::index.Tensor", {t, constant({}), i});
  const ops::GroupMember unsafe = looking_up("aten::_unsafe_index.Tensor", {t, constant({}), i});
  return {
      {"embedding", embedding, {50, 40}, {3, 7}, 50, {3, 7, 40}},
      {"embedding of narrow rows", embedding, {9, 3}, {2, 500}, 9, {2, 500, 3}},
      {"embedding of wide rows", embedding, {20, 700}, {13}, 20, {13, 700}},
      {"index_select 0", select(0), {30, 4, 33}, {70}, 30, {70, 4, 33}},
      {"index_select 1", select(1), {4, 30, 17}, {50}, 30, {4, 50, 17}},
      {"index_select -1", select(-1), {6, 5, 31}, {90}, 31, {6, 5, 90}},
      {"gather 0", gather(0), {40, 30}, {600, 25}, 40, {600, 25}},
      {"gather -1", gather(-1), {8, 9, 60}, {8, 7, 100}, 60, {8, 7, 100}},
      {"gather 1", gather(1), {8, 60, 9}, {5, 90, 9}, 60, {5, 90, 9}},
      {"index 0", first, {60, 35}, {5, 11}, 60, {5, 11, 35}},
      {"index of numbers", first, {300}, {31, 33}, 300, {31, 33}},
      {"index 1", second, {7, 19, 65}, {21}, 19, {7, 21, 65}},
      {"index 1 by a matrix", second, {4, 19, 9}, {6, 5}, 19, {4, 6, 5, 9}},
      {"_unsafe_index", unsafe, {4, 19}, {70, 2}, 19, {4, 70, 2}},
  };
}

bool wraps(const Case& one) { return one.look_up.looks_up == LookUpKind::kIndex; }

Tensor indices_of(const Case& one, ScalarType type) {
  return places(one.index, type, wraps(one) ? -one.entries : 0, one.entries);
}

// tanh(looked up) * y + looked up.
ops::GroupProgram points(const Case& one) {
  ops::GroupProgram program;
  program.input_count = 3;
  program.members = {one.look_up, call("aten::abs", {member(0)}),
                     call("aten::mul.Tensor", {member(1), input(2)}),
                     call("aten::add.Tensor", {member(2), member(0), constant(1)})};
  program.outputs = {3};
  return program;
}

// softmax(looked up + y), and the sum.
ops::GroupProgram on_rows(const Case& one) {
  ops::GroupProgram program;
  program.input_count = 3;
  program.members = {one.look_up, call("aten::add.Tensor", {member(0), input(2), constant(1)}),
                     call("aten::softmax.int", {member(1), constant(-1), constant({})}),
                     call("aten::mul.Tensor", {member(2), member(0)})};
  program.members[2].by_rows = true;
  program.outputs = {1, 3};
  return program;
}

class LookUps : public ::testing::Test {
 protected:
  void SetUp() override { TIERUP_NEED_CODEGEN(); }
  void TearDown() override { kernels::limit_instruction_set(InstructionSet::kAvx512); }
};

// With y as it is, with one element, one for each row, or one row; strided tables and indices.
void check(const Case& one, ops::GroupProgram program, ScalarType type, ScalarType index_type,
           int bits) {
  const Tensor table = numbers(one.table, type, 1);
  const Tensor index = indices_of(one, index_type);
  const Tensor y = numbers(one.result, type, 2);
  const auto group =
      compiled_group(std::move(program), {table, index, y}, Library::instance(),
                     {.print_ir = false, .perf_map = false, .max_vector_bits = bits});
  ASSERT_GT(group->kernel_count(), 0U) << one.name << ": " << group->refusal().text();
  const std::string what = fmt::format("{} of {}", one.name, scalar_type_name(type));
  expect_twin(*group, {table, index, y}, what);
  expect_twin(*group, {table, index, numbers({1}, type, 3)}, what + ", one y");
  expect_twin(*group, {table, index, numbers({one.result.back()}, type, 4)}, what + ", a row");
  IntVector column = one.result;
  column.back() = 1;
  expect_twin(*group, {table, index, numbers(column, type, 5)}, what + ", a column");
  if (one.table.size() > 1) {
    IntVector turned = one.table;
    std::swap(turned[0], turned[1]);
    expect_twin(*group, {kernels::transpose(numbers(turned, type, 6), 0, 1), index, y},
                what + ", a turned table");
  }
  if (one.index.size() > 1) {
    IntVector turned = one.index;
    std::swap(turned[0], turned[1]);
    Case other = one;
    other.index = turned;
    expect_twin(*group, {table, kernels::transpose(indices_of(other, index_type), 0, 1), y},
                what + ", a turned index");
  }
}

void check_all(int bits, const std::vector<ScalarType>& types) {
  for (const Case& one : cases()) {
    for (const ScalarType type : types) check(one, points(one), type, ScalarType::kLong, bits);
    if (one.result.size() < 2) continue;
    check(one, on_rows(one), ScalarType::kFloat, ScalarType::kLong, bits);
  }
}

TEST_F(LookUps, give_the_bits_of_tier_0) {
  check_all(0, {ScalarType::kFloat, ScalarType::kBFloat16, ScalarType::kLong});
}
TEST_F(LookUps, take_narrow_indices) {
  for (const Case& one : cases()) {
    check(one, points(one), ScalarType::kFloat, ScalarType::kInt, 0);
  }
}
TEST_F(LookUps, give_the_bits_of_tier_0_with_avx2) {
  kernels::limit_instruction_set(InstructionSet::kAvx2);
  check_all(256, {ScalarType::kFloat});
}
TEST_F(LookUps, give_the_bits_of_tier_0_with_sse42) {
  kernels::limit_instruction_set(InstructionSet::kBase);
  check_all(128, {ScalarType::kFloat});
}

std::string said(const ops::FusionGroup& group, const std::vector<Tensor>& inputs, bool twin) {
  try {
    run_group(group, inputs, twin);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

// Negative ones are places for `index` alone.
TEST_F(LookUps, raise_what_tier_0_raises) {
  for (const Case& one : cases()) {
    for (const bool by_rows : {false, true}) {
      const Tensor table = numbers(one.table, ScalarType::kFloat, 1);
      const Tensor y = numbers(one.result, ScalarType::kFloat, 2);
      const Tensor good = indices_of(one, ScalarType::kLong);
      const auto group = compiled_group(by_rows ? on_rows(one) : points(one), {table, good, y});
      for (const int64_t bad : {one.entries, -one.entries - 1, int64_t{-1}, INT64_MAX, INT64_MIN}) {
        const Tensor index = indices_of(one, ScalarType::kLong);
        index.data<int64_t>()[index.numel() - 1] = bad;
        const std::string plain = said(*group, {table, index, y}, true);
        EXPECT_EQ(plain.empty(), wraps(one) && bad == -1) << one.name << bad;
        EXPECT_EQ(said(*group, {table, index, y}, false), plain) << one.name << bad;
      }
    }
  }
}

// No entries, no places, shapes and dtypes that are not those that were expected.
TEST_F(LookUps, leave_what_is_other_to_the_twin) {
  for (const Case& one : cases()) {
    const Tensor table = numbers(one.table, ScalarType::kFloat, 1);
    const Tensor y = numbers({1}, ScalarType::kFloat, 2);
    const auto group = compiled_group(points(one), {table, indices_of(one, ScalarType::kLong), y});
    IntVector none = one.index;
    none.back() = 0;
    const Tensor nowhere = places(none, ScalarType::kLong, 0, 1);
    EXPECT_EQ(said(*group, {table, nowhere, y}, false), said(*group, {table, nowhere, y}, true));
    IntVector empty = one.table;
    empty.front() = 0;
    const Tensor nothing = numbers(empty, ScalarType::kFloat, 1);
    const Tensor index = indices_of(one, ScalarType::kLong);
    EXPECT_EQ(said(*group, {nothing, index, y}, false), said(*group, {nothing, index, y}, true));
    const Tensor narrow = indices_of(one, ScalarType::kInt);
    expect_twin(*group, {table, narrow, y}, one.name, By::kTwin);
    const Tensor number = kernels::view(places({1}, ScalarType::kLong, 0, 1), IntVector{});
    EXPECT_EQ(said(*group, {table, number, y}, false), said(*group, {table, number, y}, true));
  }
}

// embedding(w, ids) + embedding(p, places), normalised: tables of other shapes than the result.
TEST_F(LookUps, are_broadcast) {
  const auto embedding = [](uint32_t table, uint32_t index) {
    return looking_up("aten::embedding",
                      {input(table), input(index), constant(-1), constant(false), constant(false)});
  };
  ops::GroupProgram program;
  program.input_count = 4;
  program.members = {
      embedding(0, 1), embedding(2, 3),
      call("aten::add.Tensor", {member(0), member(1), constant(1)}),
      call("aten::layer_norm", {member(2), constant(IValue(make_int_list(IntVector{48}))),
                                constant({}), constant({}), constant(1e-5), constant(true)})};
  program.members[3].by_rows = true;
  program.outputs = {3};
  ops::GroupProgram points = program;
  points.members[3] = call("aten::relu", {member(2)});
  const Tensor words = numbers({200, 48}, ScalarType::kFloat, 1);
  const Tensor ids = places({6, 40}, ScalarType::kLong, 0, 200);
  const Tensor table = numbers({64, 48}, ScalarType::kFloat, 2);
  for (const ops::GroupProgram& one : {program, points}) {
    const auto group = compiled_group(one, {words, ids, table, ids});
    ASSERT_GT(group->kernel_count(), 0U) << group->refusal().text();
    for (const IntVector& sizes :
         {IntVector{40}, IntVector{1, 40}, IntVector{6, 1}, IntVector{6, 40}, IntVector{1, 1}}) {
      expect_twin(*group, {words, ids, table, places(sizes, ScalarType::kLong, 0, 64)},
                  shape_string(sizes));
    }
  }
}

// What is looked up, turned and cut: views of table and index alike.
TEST_F(LookUps, are_read_through_views) {
  const ops::Op* turn = ops::OpTable::instance().find("aten::transpose.int");
  const ops::Op* cut = ops::OpTable::instance().find("aten::slice.Tensor");
  for (const Case& one : cases()) {
    if (one.result.size() < 2) continue;
    ops::GroupProgram program;
    program.input_count = 3;
    program.chains.push_back({{{turn, {0, 1}}, {cut, {0, 1, 100000, 2}}}});
    program.members = {one.look_up, call("aten::neg", {member(0)}),
                       call("aten::mul.Tensor", {member(1), input(2)})};
    program.members[2].arguments[0].chain = 0;
    program.outputs = {2};
    const Tensor table = numbers(one.table, ScalarType::kFloat, 1);
    const Tensor index = indices_of(one, ScalarType::kLong);
    const Tensor y = numbers({1}, ScalarType::kFloat, 2);
    const auto group = compiled_group(std::move(program), {table, index, y});
    ASSERT_GT(group->kernel_count(), 0U) << group->refusal().text();
    expect_twin(*group, {table, index, y}, one.name);
  }
}

// Each half of cat([looked up, x]) * y.
TEST_F(LookUps, are_parts_of_joins) {
  const Case one = cases()[9];  // index 0
  ops::GroupProgram program;
  program.input_count = 4;
  program.members = {one.look_up, call("aten::neg", {member(0)}),
                     call("aten::cat", {member(1), input(2), constant(1)}),
                     call("aten::mul.Tensor", {member(2), input(3)})};
  program.members[2].joins = true;
  program.outputs = {3};
  const Tensor table = numbers(one.table, ScalarType::kFloat, 1);
  const Tensor index = indices_of(one, ScalarType::kLong);
  const Tensor x = numbers({5, 3, 35}, ScalarType::kFloat, 2);
  const Tensor y = numbers({5, 14, 35}, ScalarType::kFloat, 3);
  const auto group = compiled_group(std::move(program), {table, index, x, y});
  ASSERT_GT(group->kernel_count(), 0U) << group->refusal().text();
  expect_twin(*group, {table, index, x, y}, "cat");
}

// Runs that are short because an operand is broadcast are brought together; in any layout.
TEST_F(LookUps, share_blocks_with_narrow_operands) {
  ops::GroupProgram program;
  program.input_count = 2;
  program.members = {call("aten::neg", {input(0)}), call("aten::mul.Tensor", {member(0), input(1)}),
                     call("aten::add.Tensor", {member(1), member(0), constant(1)})};
  program.outputs = {0, 2};
  for (const ScalarType type : {ScalarType::kFloat, ScalarType::kBFloat16}) {
    const auto group = compiled_group(program, {numbers({2, 2}, type, 1), numbers({2}, type, 1)});
    ASSERT_GT(group->kernel_count(), 0U) << group->refusal().text();
    for (const int64_t width : {1, 2, 3, 8, 31, 32, 33}) {
      for (const IntVector& y : {IntVector{width}, IntVector{90, 1}, IntVector{7, 1, 1},
                                 IntVector{7, 1, width}, IntVector{7, 90, 1}}) {
        const std::string what = fmt::format("{} and {}", width, shape_string(y));
        const Tensor x = numbers({7, 90, width}, type, 2);
        expect_twin(*group, {x, numbers(y, type, 3)}, what);
        const Tensor turned = kernels::transpose(numbers({width, 90, 7}, type, 4), 0, 2);
        expect_twin(*group, {turned, numbers(y, type, 5)}, what + ", turned");
        expect_twin(
            *group,
            {kernels::transpose(numbers({90, 7, width}, type, 4), 0, 1), numbers(y, type, 5)},
            what + ", turned in part");
      }
    }
  }
}

}  // namespace
}  // namespace tierup::codegen
